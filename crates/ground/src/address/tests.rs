use super::*;
use proptest::prelude::*;

fn ip(text: &str) -> IpAddr {
    text.parse().expect("a test writes addresses right")
}

/// First and last address of each special block, and the public neighbours.
#[test]
fn special_registries() {
    let not_public = [
        ("0.0.0.0", "0.255.255.255"),
        ("10.0.0.0", "10.255.255.255"),
        ("100.64.0.0", "100.127.255.255"),
        ("127.0.0.0", "127.255.255.255"),
        ("169.254.0.0", "169.254.255.255"),
        ("172.16.0.0", "172.31.255.255"),
        ("192.0.0.0", "192.0.0.255"),
        ("192.0.2.0", "192.0.2.255"),
        ("192.31.196.0", "192.31.196.255"),
        ("192.52.193.0", "192.52.193.255"),
        ("192.88.99.0", "192.88.99.255"),
        ("192.168.0.0", "192.168.255.255"),
        ("192.175.48.0", "192.175.48.255"),
        ("198.18.0.0", "198.19.255.255"),
        ("198.51.100.0", "198.51.100.255"),
        ("203.0.113.0", "203.0.113.255"),
        ("224.0.0.0", "239.255.255.255"),
        ("240.0.0.0", "255.255.255.255"),
        ("::", "::ffff"),        // unspecified, loopback, compatible
        ("::7f00:1", "::a00:1"), // IPv4-compatible
        ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff"), // local NAT64
        ("100::", "100::ffff:ffff:ffff:ffff"), // discard
        ("100:0:0:1::", "100:0:0:1:ffff:ffff:ffff:ffff"), // dummy
        ("2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff"), // benchmarking
        ("2001:10::", "2001:1f:ffff::"), // ORCHID
        ("2001:20::", "2001:2f:ffff::"), // ORCHID 2
        ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("2620:4f:8000::", "2620:4f:8000:ffff::"),
        ("3ffe::", "3ffe:ffff::"),
        ("3fff::", "3fff:fff:ffff::"),
        ("5f00::", "5f00:ffff::"), // segment routing
        ("fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("fec0::", "feff::1"), // site-local
        ("ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("4000::", "e000::1"), // unassigned
    ];
    for (first, last) in not_public {
        assert!(!is_public(ip(first)), "{first}");
        assert!(!is_public(ip(last)), "{last}");
    }
    let public = [
        "1.0.0.0",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.0",
        "192.0.3.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "198.51.99.255",
        "198.51.101.0",
        "203.0.112.255",
        "203.0.114.0",
        "223.255.255.255",
        "2000::1",
        "2001:200::1",
        "2001:4860:4860::8888",
        "2606:4700::1111",
        "2a00:1450::1",
        "2001:db7:ffff::",
        "2001:db9::",
        "3fff:1000::",
        "2003::1",
    ];
    for address in public {
        assert!(is_public(ip(address)), "{address}");
    }
}

#[test]
fn an_address_inside_an_address_is_judged() {
    let cases = [
        ("::ffff:127.0.0.1", false),
        ("::ffff:10.1.2.3", false),
        ("::ffff:8.8.8.8", true),
        ("64:ff9b::127.0.0.1", false),
        ("64:ff9b::192.168.1.1", false),
        ("64:ff9b::8.8.8.8", true),
        ("2002:7f00:1::1", false),            // 6to4 of 127.0.0.1
        ("2002:c0a8:101::1", false),          // 6to4 of 192.168.1.1
        ("2002:808:808::1", true),            // 6to4 of 8.8.8.8
        ("2001:0:808:808::f7f7:f7f7", true),  // Teredo, server and client 8.8.8.8
        ("2001:0:808:808::80ff:fffe", false), // Teredo, client 127.0.0.1
        ("2001:0:a00:1::f7f7:f7f7", false),   // Teredo, server 10.0.0.1
    ];
    for (address, public) in cases {
        assert_eq!(is_public(ip(address)), public, "{address}");
    }
}

proptest! {
    #[test]
    fn mapped_addresses_are_judged_like_their_own(bits: u32) {
        let v4 = Ipv4Addr::from_bits(bits);
        prop_assert_eq!(is_public(v4.into()), is_public(v4.to_ipv6_mapped().into()));
    }

    #[test]
    fn never_more_generous_than_the_standard_library(bits: u32) {
        let v4 = Ipv4Addr::from_bits(bits);
        if v4.is_loopback() || v4.is_private() || v4.is_link_local() || v4.is_multicast()
            || v4.is_broadcast() || v4.is_documentation() || v4.is_unspecified() {
            prop_assert!(!is_public(v4.into()));
        }
    }
}
