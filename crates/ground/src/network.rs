//! Which addresses are neighbours.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The network of an address: what one server farm has, mostly in one place (IPv4 /24, IPv6 /48). An address of
/// `100::/64`, which is nobody's (RFC 6666), stands for a host whose address is not known: it is a network of its own.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(nobodys) if nobodys.to_bits() >> 64 == 0x0100 << 48 => address,
        IpAddr::V4(address) => Ipv4Addr::from_bits(address.to_bits() & (u32::MAX << 8)).into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 80)).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_prefixes() {
        let of = |text: &str| network(text.parse().expect("an address")).to_string();
        assert_eq!(of("192.0.2.77"), "192.0.2.0");
        assert_eq!(of("::ffff:192.0.2.77"), "192.0.2.0");
        assert_eq!(of("2001:db8:1:2::3"), "2001:db8:1::");
        assert_eq!(of("2001:db8:1:ffff::"), "2001:db8:1::");
        assert_eq!(of("100::3"), "100::3");
        assert_eq!(of("100:0:0:1::3"), "100::");
    }
}
