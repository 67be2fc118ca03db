//! Who a host belongs to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The registrable domain of a host's name, by the public suffix list: what one owner has. An
/// address, a public suffix and a bare name stand for themselves.
pub fn site(name: &str) -> &str {
    let name = name.strip_suffix('.').unwrap_or(name);
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    if bare.parse::<IpAddr>().is_ok() {
        return bare;
    }
    suffixes::registrable(name).unwrap_or(name)
}

/// The network of an address: what one server farm has (IPv4 /24, IPv6 /48). An address of `100::/64`, which is nobody's
/// (RFC 6666), stands for a host whose address is not known: it is a network of its own.
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
    fn sites_are_registrable_domains() {
        assert_eq!(site("a.b.example.co.uk"), "example.co.uk");
        assert_eq!(site("www.example.org."), "example.org");
        assert_eq!(site("me.github.io"), "me.github.io");
        assert_eq!(site("localhost"), "localhost");
        assert_eq!(site("192.0.2.7"), "192.0.2.7");
        assert_eq!(site("[2001:db8::1]"), "2001:db8::1");
    }

    #[test]
    fn networks_are_prefixes() {
        let of = |text: &str| network(text.parse().expect("an address")).to_string();
        assert_eq!(of("192.0.2.77"), "192.0.2.0");
        assert_eq!(of("::ffff:192.0.2.77"), "192.0.2.0");
        assert_eq!(of("2001:db8:1:2::3"), "2001:db8:1::");
        assert_eq!(of("100::3"), "100::3");
        assert_eq!(of("100:0:0:1::3"), "100::");
    }
}
