//! A small writer of `.mmdb` files, enough to be read back.

/// A database of IPv4 blocks, each with an AS number.
pub fn database(blocks: &[([u8; 2], u8)]) -> Vec<u8> {
    const EMPTY: u32 = u32::MAX;
    let mut nodes: Vec<[u32; 2]> = vec![[EMPTY; 2]];
    for (bytes, length) in blocks {
        let bits = u32::from(bytes[0]) << 24 | u32::from(bytes[1]) << 16;
        let mut node = 0;
        for depth in 0..*length {
            let side = (bits >> (31 - depth) & 1) as usize;
            if depth + 1 == *length {
                nodes[node][side] = EMPTY - 1;
            } else {
                if nodes[node][side] == EMPTY {
                    nodes[node][side] = nodes.len() as u32;
                    nodes.push([EMPTY; 2]);
                }
                node = nodes[node][side] as usize;
            }
        }
    }
    let count = nodes.len() as u32;
    let mut file = Vec::new();
    for record in nodes.iter().flatten() {
        let value = match *record {
            EMPTY => count,
            // the only value, at the start of the data
            value if value == EMPTY - 1 => count + 16,
            node => node,
        };
        file.extend(&value.to_be_bytes()[1..]);
    }
    file.extend([0; 16]);
    map(&mut file, 1);
    string(&mut file, "autonomous_system_number");
    number(&mut file, 6, 64_500);
    file.extend(b"\xab\xcd\xefMaxMind.com");
    map(&mut file, 9);
    for (key, kind, value) in [
        ("binary_format_major_version", 5, 2),
        ("binary_format_minor_version", 5, 0),
        ("build_epoch", 9, 1_700_000_000),
        ("ip_version", 5, 4),
        ("node_count", 6, count),
        ("record_size", 5, 24),
    ] {
        string(&mut file, key);
        number(&mut file, kind, value);
    }
    string(&mut file, "database_type");
    string(&mut file, "Test-ASN");
    string(&mut file, "languages");
    // an empty array: type 11, written as 0 and 11 − 7
    file.extend([0, 4]);
    string(&mut file, "description");
    map(&mut file, 0);
    file
}

fn map(file: &mut Vec<u8>, entries: u8) {
    file.push(7 << 5 | entries);
}

fn string(file: &mut Vec<u8>, text: &str) {
    assert!(text.len() < 29);
    file.push(2 << 5 | text.len() as u8);
    file.extend(text.as_bytes());
}

/// Unsigned numbers: 5 is 16 bits, 6 is 32 bits, 9 is 64 bits.
fn number(file: &mut Vec<u8>, kind: u8, value: u32) {
    let bytes = value.to_be_bytes();
    let first = bytes.iter().position(|&byte| byte != 0).unwrap_or(4);
    let size = 4 - first as u8;
    if kind > 7 {
        file.extend([size, kind - 7]);
    } else {
        file.push(kind << 5 | size);
    }
    file.extend(&bytes[first..]);
}
