//! Who a host belongs to.

use std::net::IpAddr;

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
}
