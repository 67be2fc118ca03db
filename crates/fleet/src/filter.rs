//! Administrative rules of a member, which come before the table.
//!
//! Servers are owned whole, so only addresses can steer: a server goes to a member whose ranges
//! hold it. Domains and paths then say which of the server's pages the member takes; a page that
//! its owner refuses is counted and dropped, and the partitioner keeps such servers elsewhere.

use std::net::IpAddr;

use partition::routing::Prefix;

use crate::identity::Text;
use crate::wire::{Wire, WireError, wire_struct};

/// A block of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block(pub Prefix);

impl Wire for Block {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.address().put(out);
        self.0.length().put(out);
    }

    fn take(from: &mut &[u8]) -> Result<Self, WireError> {
        let (address, length) = (IpAddr::take(from)?, u8::take(from)?);
        match Prefix::around(address, length) {
            Some(prefix) if prefix.address() == address => Ok(Self(prefix)),
            _ => Err(WireError::Value {
                what: "prefix length",
                value: length.into(),
            }),
        }
    }
}

/// What a member takes. An empty list takes everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of servers: networks, or the blocks of a country.
    pub ranges: Vec<Block>,
    /// Of names: these and whatever is below them.
    pub domains: Vec<Text>,
    /// Beginnings of paths that are not taken.
    pub refused_paths: Vec<Text>,
}
wire_struct!(Filter {
    ranges,
    domains,
    refused_paths
});

impl Filter {
    /// Whether the member may own the server.
    pub fn takes_server(&self, address: IpAddr) -> bool {
        self.ranges.is_empty() || self.ranges.iter().any(|block| block.0.contains(address))
    }

    /// Whether the member wants the page of a server that it may own.
    pub fn takes_page(&self, name: &str, path: &str) -> bool {
        let within = |domain: &Text| {
            name.strip_suffix(&**domain)
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        (self.domains.is_empty() || self.domains.iter().any(within))
            && !(self.refused_paths.iter()).any(|start| path.starts_with(&**start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_domains_and_paths() {
        let filter = Filter {
            ranges: vec![Block("192.0.2.0/24".parse().unwrap())],
            domains: vec!["example.org".into()],
            refused_paths: vec!["/private/".into()],
        };
        assert!(filter.takes_server("192.0.2.9".parse().unwrap()));
        assert!(!filter.takes_server("198.51.100.9".parse().unwrap()));
        assert!(filter.takes_page("www.example.org", "/"));
        assert!(filter.takes_page("example.org", "/private"));
        assert!(!filter.takes_page("badexample.org", "/"));
        assert!(!filter.takes_page("example.org", "/private/x"));
        let open = Filter::default();
        assert!(open.takes_page("any.where", "/") && open.takes_server("::1".parse().unwrap()));
    }
}
