//! The verdict on a URL, in words.

use std::fmt;
use std::sync::Arc;

use thiserror::Error;
use url::Url;

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

/// What brings a URL into the scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// The whole Web is.
    Anywhere {
        /// The expression of `include` that it matches.
        include: Option<String>,
    },
    /// A seed reaches it.
    Seed {
        /// The first of them.
        seed: Url,
        /// How far it reaches.
        reach: Reach,
        /// Whether that is its own reach.
        own: bool,
        /// The expression of `include` that it matches.
        include: Option<String>,
    },
    /// An entry of a list: the key under `scope`, and the entry.
    Entry(&'static str, String),
}

impl Rule {
    /// The key that decides.
    pub fn key(&self) -> &'static str {
        match self {
            Self::Anywhere { .. } | Self::Seed { .. } => "reach",
            Self::Entry(key, _) => key,
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let include = match self {
            Self::Entry(key, entry) => return write!(f, "by scope.{key}: {entry}"),
            Self::Anywhere { include } => {
                f.write_str("everything is (scope.reach = \"anywhere\")")?;
                include
            }
            Self::Seed {
                seed,
                reach,
                own,
                include,
            } => {
                if *reach == Reach::Page {
                    f.write_str("it is a seed")?;
                } else {
                    write!(f, "{} the seed {seed}", place(*reach))?;
                }
                if *own {
                    write!(f, " (whose reach is {})", reach.word())?;
                }
                include
            }
        };
        match include {
            Some(entry) => write!(f, ", and by scope.include: {entry}"),
            None => Ok(()),
        }
    }
}

/// Where a URL is that a seed reaches.
fn place(reach: Reach) -> &'static str {
    match reach {
        Reach::Site => "on the site of",
        Reach::Domain => "in the domain of",
        Reach::Host => "on the host of",
        Reach::Prefix => "below",
        Reach::Page | Reach::Anywhere | Reach::Nowhere => "reached by",
    }
}

/// Why something does not belong to the crawl.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Reason {
    /// Too many links from a seed.
    #[error("{depth} links away from a seed, at most {most} are followed (scope.max_depth)")]
    TooDeep {
        /// Links from a seed.
        depth: u16,
        /// The most allowed.
        most: u16,
    },
    /// No seed reaches it, nor any list that widens the scope.
    #[error("{}", out_of_reach(*.0))]
    OutOfReach(Option<Reach>),
    /// A seed reaches it, but no `include` expression matches.
    #[error("it matches none of scope.include")]
    NotIncluded,
    /// The URL names no host.
    #[error("it names no host")]
    NoHost,
    /// An `exclude` expression matches.
    #[error("by scope.exclude: {0}")]
    Excluded(Arc<str>),
    /// Its domain is denied.
    #[error("by scope.domains.deny: {0}")]
    DomainDenied(Arc<str>),
    /// Domains are allowed by name, its own is not.
    #[error("its domain is not among scope.domains.allow")]
    DomainNotAllowed,
    /// Its path is denied.
    #[error("by scope.paths.deny: {0}")]
    PathDenied(Arc<str>),
    /// Paths are allowed by name, its own is not.
    #[error("its path is not among scope.paths.allow")]
    PathNotAllowed,
    /// The content type is denied.
    #[error("by scope.types.deny: {0}")]
    TypeDenied(Arc<str>),
    /// Content types are allowed by name, this one is not.
    #[error("its content type is not among scope.types.allow")]
    TypeNotAllowed,
    /// The server's address is denied.
    #[error("by scope.addresses.deny: {0}")]
    AddressDenied(Arc<str>),
    /// Addresses are allowed by range, this one is not.
    #[error("the server's address is not among scope.addresses.allow")]
    AddressNotAllowed,
    /// The server's country is denied.
    #[error("the server is in a country of scope.places.deny: {0}")]
    PlaceDenied(Arc<str>),
    /// Countries are allowed by name, this one is not.
    #[error("the server's country is not among scope.places.allow")]
    PlaceNotAllowed,
    /// Countries are allowed by name, and nobody knows the server's.
    #[error("the server's country is not known, and scope.places.allow names some")]
    PlaceUnknown,
}

impl Reason {
    /// The key under `scope` that decides.
    pub fn key(&self) -> &'static str {
        match self {
            Self::TooDeep { .. } => "max_depth",
            Self::OutOfReach(_) | Self::NoHost => "reach",
            Self::NotIncluded => "include",
            Self::Excluded(_) => "exclude",
            Self::DomainDenied(_) => "domains.deny",
            Self::DomainNotAllowed => "domains.allow",
            Self::PathDenied(_) => "paths.deny",
            Self::PathNotAllowed => "paths.allow",
            Self::TypeDenied(_) => "types.deny",
            Self::TypeNotAllowed => "types.allow",
            Self::AddressDenied(_) => "addresses.deny",
            Self::AddressNotAllowed => "addresses.allow",
            Self::PlaceDenied(_) => "places.deny",
            Self::PlaceNotAllowed | Self::PlaceUnknown => "places.allow",
        }
    }
}

fn out_of_reach(reach: Option<Reach>) -> &'static str {
    let Some(reach) = reach else {
        return "reached by no seed; each has its reach";
    };
    match reach {
        Reach::Site => "on the site of no seed (scope.reach = \"site\")",
        Reach::Domain => "in the domain of no seed (scope.reach = \"domain\")",
        Reach::Host => "on the host of no seed (scope.reach = \"host\")",
        Reach::Prefix => "below no seed (scope.reach = \"prefix\")",
        Reach::Page => "it is not a seed (scope.reach = \"page\")",
        Reach::Anywhere | Reach::Nowhere => {
            "neither scope.also nor scope.prefixes nor scope.suffixes names it (scope.reach = \"nowhere\")"
        }
    }
}

/// A configuration that draws no scope.
#[derive(Debug, Clone, Error)]
pub enum Invalid {
    /// An entry of `prefixes` is no URL.
    #[error("prefixes: {0:?} is not a URL prefix such as https://example.org/docs/: {1}")]
    Prefix(String, #[source] url::ParseError),
    /// An entry of `domains` or `suffixes` is no name.
    #[error("suffixes or domains: {0:?} is not a domain name")]
    Domain(String),
    /// An entry of `places` is no country.
    #[error("places: {0:?} is not a country code of two letters such as PT")]
    Country(String),
    /// An entry of `addresses` is no range.
    #[error("addresses: {0:?} is not an address range such as 192.0.2.0/24")]
    Address(String),
    /// A regular expression cannot be read.
    #[error("{0}: {1:?} is not a regular expression: {2}")]
    Expression(&'static str, String, String),
}

/// What is wrong with a regular expression, without a picture of it.
pub fn in_a_line(error: &regex::Error) -> String {
    let said = error.to_string();
    let last = said.lines().last().unwrap_or_default();
    last.trim_start_matches("error: ").to_owned()
}
