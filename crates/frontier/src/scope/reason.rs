//! The verdict on a URL, in words.

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

use super::Reach;

/// Whether something belongs to the crawl.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// It does.
    In,
    /// It does not.
    Out(Reason),
}

impl Judgement {
    /// Whether it does.
    pub fn is_in(&self) -> bool {
        *self == Self::In
    }
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::In => f.write_str("in scope"),
            Self::Out(reason) => write!(f, "out of scope: {reason}"),
        }
    }
}

/// Why something does not belong to the crawl.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Reason {
    /// Too many links from a seed.
    #[error("{depth} links away from a seed, at most {most} are followed")]
    TooDeep {
        /// Links from a seed.
        depth: u16,
        /// The most allowed.
        most: u16,
    },
    /// No seed reaches it, nor any list that widens the scope.
    #[error("{}", out_of_reach(*.0))]
    OutOfReach(Reach),
    /// The URL names no host.
    #[error("it names no host")]
    NoHost,
    /// An `exclude` expression matches.
    #[error("excluded by the expression {0}")]
    Excluded(Arc<str>),
    /// Its domain is denied.
    #[error("the domain {0} is denied")]
    DomainDenied(Arc<str>),
    /// Domains are allowed by name, its own is not.
    #[error("its domain is not among those allowed")]
    DomainNotAllowed,
    /// Its path is denied.
    #[error("paths like {0} are denied")]
    PathDenied(Arc<str>),
    /// Paths are allowed by name, its own is not.
    #[error("its path is not among those allowed")]
    PathNotAllowed,
    /// The content type is denied.
    #[error("the content type {0} is denied")]
    TypeDenied(Arc<str>),
    /// Content types are allowed by name, this one is not.
    #[error("its content type is not among those allowed")]
    TypeNotAllowed,
    /// The server's address is denied.
    #[error("the addresses {0} are denied")]
    AddressDenied(Arc<str>),
    /// Addresses are allowed by range, this one is not.
    #[error("the server's address is not among those allowed")]
    AddressNotAllowed,
}

fn out_of_reach(reach: Reach) -> &'static str {
    match reach {
        Reach::Site => "on the site of no seed",
        Reach::Domain => "in the domain of no seed",
        Reach::Host => "on the host of no seed",
        Reach::Prefix => "below no seed",
        Reach::Anywhere | Reach::Nowhere => "nothing in the configuration includes it",
    }
}

/// A configuration that draws no scope.
#[derive(Debug, Clone, Error)]
pub enum Invalid {
    /// An entry of `prefixes` is no URL.
    #[error("{0:?} is not a URL prefix: {1}")]
    Prefix(String, #[source] url::ParseError),
    /// An entry of `domains` or `suffixes` is no name.
    #[error("{0:?} is not a domain name")]
    Domain(String),
    /// An entry of `addresses` is no range.
    #[error("{0:?} is not an address range such as 192.0.2.0/24")]
    Address(String),
    /// A regular expression cannot be read.
    #[error(transparent)]
    Expression(#[from] regex::Error),
}
