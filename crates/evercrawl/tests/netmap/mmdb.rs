//! Writes the smallest geolocation databases that there are: one network, one record.

/// A value of a record.
pub enum Value {
    Text(&'static str),
    Double(f64),
    Number(u32),
    Map(Vec<(&'static str, Value)>),
}

fn head(kind: u8, size: usize) -> Vec<u8> {
    match size {
        0..=28 => vec![(kind << 5) + size as u8],
        _ => vec![(kind << 5) + 29, (size - 29) as u8],
    }
}

fn text(text: &str) -> Vec<u8> {
    [head(2, text.len()), text.as_bytes().to_vec()].concat()
}

fn encode(value: &Value) -> Vec<u8> {
    match value {
        Value::Text(words) => text(words),
        Value::Double(number) => [head(3, 8), number.to_be_bytes().to_vec()].concat(),
        Value::Number(number) => [head(6, 4), number.to_be_bytes().to_vec()].concat(),
        Value::Map(fields) => {
            let mut bytes = head(7, fields.len());
            for (key, value) in fields {
                bytes.extend(text(key));
                bytes.extend(encode(value));
            }
            bytes
        }
    }
}

/// A database in which the IPv4 network has that record, and nothing else has one.
pub fn database(network: [u8; 4], bits: u32, kind: &str, record: &Value) -> Vec<u8> {
    let network = u32::from_be_bytes(network);
    let mut bytes = Vec::new();
    for bit in 0..bits {
        let next = if bit + 1 < bits { bit + 1 } else { bits + 16 };
        let right = network >> (31 - bit) & 1 == 1;
        let pair = if right { [bits, next] } else { [next, bits] };
        for record in pair {
            bytes.extend(&record.to_be_bytes()[1..]);
        }
    }
    bytes.extend([0; 16]);
    bytes.extend(encode(record));
    bytes.extend(b"\xab\xcd\xefMaxMind.com");
    let short = |number: u16| [head(5, 2), number.to_be_bytes().to_vec()].concat();
    let fields: [(&str, Vec<u8>); 9] = [
        ("binary_format_major_version", short(2)),
        ("binary_format_minor_version", short(0)),
        // extended types: 64 bits and arrays
        ("build_epoch", vec![1, 2, 1]),
        ("database_type", text(kind)),
        ("description", head(7, 0)),
        ("ip_version", short(4)),
        ("languages", vec![0, 4]),
        ("node_count", encode(&Value::Number(bits))),
        ("record_size", short(24)),
    ];
    bytes.extend(head(7, fields.len()));
    for (key, value) in fields {
        bytes.extend(text(key));
        bytes.extend(value);
    }
    bytes
}
