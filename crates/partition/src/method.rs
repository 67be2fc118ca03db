//! The partitioners by name.

use std::fmt;
use std::str::FromStr;

/// A way to divide hosts among robots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Method {
    /// [`crate::multilevel`].
    Graph,
    /// [`crate::single_level`].
    SingleLevel,
    /// [`crate::hash::Shares::of_host`].
    HashHost,
    /// [`crate::hash::Shares::of_address`].
    HashAddress,
    /// [`crate::hash::Shares::of_url`].
    HashUrl,
    /// [`crate::hash::Ring`].
    ConsistentHash,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Graph,
        Self::SingleLevel,
        Self::HashHost,
        Self::HashAddress,
        Self::HashUrl,
        Self::ConsistentHash,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Graph => "graph",
            Self::SingleLevel => "single-level",
            Self::HashHost => "hash-host",
            Self::HashAddress => "hash-address",
            Self::HashUrl => "hash-url",
            Self::ConsistentHash => "consistent-hash",
        }
    }

    /// Whether it looks at the graph.
    pub fn is_graph(self) -> bool {
        matches!(self, Self::Graph | Self::SingleLevel)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no method has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a method: expected graph, single-level, hash-host, hash-address, hash-url or consistent-hash"
)]
pub struct UnknownMethod(String);

impl FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(text: &str) -> Result<Self, UnknownMethod> {
        let found = Self::ALL.into_iter().find(|method| method.name() == text);
        found.ok_or_else(|| UnknownMethod(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for method in Method::ALL {
            assert_eq!(method.to_string().parse(), Ok(method));
        }
        assert!("hash".parse::<Method>().is_err());
    }
}
