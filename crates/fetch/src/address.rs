//! Which addresses may be contacted.

use ground::{Prefix, is_public};
use std::net::IpAddr;

/// Which addresses may be contacted: every public one, and what is allowed besides.
#[derive(Clone, Debug, Default)]
pub struct AddressRules {
    /// Blocks that may be contacted although they are not public.
    pub allowed: Vec<Prefix>,
}

impl AddressRules {
    /// May `address` be contacted? Never `0.0.0.0` or `::`: as an answer they mean "nowhere", and
    /// as a destination this machine.
    pub fn permits(&self, address: IpAddr) -> bool {
        !address.to_canonical().is_unspecified()
            && (is_public(address) || self.allowed.iter().any(|n| n.contains(address)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("a test writes addresses right")
    }

    #[test]
    fn rules_allow_only_what_they_name() {
        let rules = AddressRules {
            allowed: vec!["127.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()],
        };
        for address in [
            "127.0.0.1",
            "127.9.9.9",
            "::ffff:127.0.0.1",
            "fd12::1",
            "8.8.8.8",
        ] {
            assert!(rules.permits(ip(address)), "{address}");
        }
        for address in [
            "10.0.0.1",
            "::1",
            "fc00::1",
            "::ffff:10.0.0.1",
            "2002:7f00:1::1",
        ] {
            assert!(!rules.permits(ip(address)), "{address}");
        }
        let all = AddressRules {
            allowed: vec!["0.0.0.0/0".parse().unwrap(), "::/0".parse().unwrap()],
        };
        assert!(all.permits(ip("10.0.0.1")) && all.permits(ip("::1")));
        for nowhere in ["0.0.0.0", "::", "::ffff:0.0.0.0"] {
            assert!(!all.permits(ip(nowhere)), "{nowhere}");
        }
    }
}
