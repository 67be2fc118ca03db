//! Which addresses are public (W11: no other is contacted unless the configuration says so).
//!
//! The tables follow the IANA special-purpose registries (RFC 6890 and its updates).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 blocks that are not reachable, or not meant to be, over the public Internet.
const NOT_PUBLIC_V4: [([u8; 4], u8); 17] = [
    ([0, 0, 0, 0], 8),       // this network
    ([10, 0, 0, 0], 8),      // private
    ([100, 64, 0, 0], 10),   // shared by carriers
    ([127, 0, 0, 0], 8),     // loopback
    ([169, 254, 0, 0], 16),  // link-local, clouds' metadata
    ([172, 16, 0, 0], 12),   // private
    ([192, 0, 0, 0], 24),    // protocol assignments
    ([192, 0, 2, 0], 24),    // documentation
    ([192, 31, 196, 0], 24), // AS112
    ([192, 52, 193, 0], 24), // multicast tunnels
    ([192, 88, 99, 0], 24),  // 6to4 relays, deprecated
    ([192, 168, 0, 0], 16),  // private
    ([192, 175, 48, 0], 24), // AS112
    ([198, 18, 0, 0], 15),   // benchmarking
    ([198, 51, 100, 0], 24), // documentation
    ([203, 0, 113, 0], 24),  // documentation
    ([224, 0, 0, 0], 3),     // multicast, reserved, broadcast
];

/// Blocks inside global unicast (`2000::/3`) that are not public.
const NOT_PUBLIC_V6: [([u16; 4], u8); 5] = [
    ([0x2001, 0, 0, 0], 23),     // protocol assignments; Teredo is judged before
    ([0x2001, 0xdb8, 0, 0], 32), // documentation
    ([0x2620, 0x4f, 0x8000, 0], 48), // AS112
    ([0x3ffe, 0, 0, 0], 16),     // 6bone, returned
    ([0x3fff, 0, 0, 0], 20),     // documentation
];

/// Is this an address of the public Internet? One that carries an IPv4 address inside (mapped,
/// 6to4, Teredo, NAT64) is as public as the address inside.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let bits = u128::from(address.to_bits());
    !NOT_PUBLIC_V4
        .iter()
        .any(|&(base, prefix)| same_prefix(bits, u128::from(u32::from_be_bytes(base)), 32, prefix))
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(v4) = address.to_ipv4_mapped() {
        return is_public_v4(v4);
    }
    let [a, b, c, d, e, f, g, h] = address.segments();
    let v4 = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    match (a, b) {
        // NAT64 with the well-known prefix
        (0x64, 0xff9b) if [c, d, e, f] == [0; 4] => is_public_v4(v4(g, h)),
        // Teredo: the server's address, and the client's with its bits flipped
        (0x2001, 0) => is_public_v4(v4(c, d)) && is_public_v4(v4(!g, !h)),
        // 6to4
        (0x2002, _) => is_public_v4(v4(b, c)),
        _ if a >> 13 != 0b001 => false,
        _ => {
            let bits = address.to_bits();
            !NOT_PUBLIC_V6.iter().any(|&([a, b, c, d], prefix)| {
                let base = Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).to_bits();
                same_prefix(bits, base, 128, prefix)
            })
        }
    }
}

fn same_prefix(a: u128, b: u128, width: u8, prefix: u8) -> bool {
    (a ^ b).checked_shr(u32::from(width - prefix)).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests;
