//! The scope as written in the configuration.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How far a seed reaches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// The seed's host and all hosts under it, as search engines read `site:`; a `www.` in front
    /// does not count. `docs.example.org` does not reach `example.org`. Under a public suffix
    /// (`github.io`) other people's sites stand: a seed there reaches its own host alone.
    #[default]
    Site,
    /// All hosts of the seed's registrable domain, by the public suffix list: `docs.example.org`
    /// reaches `example.org` and `www.example.org`.
    Domain,
    /// The seed's host and port alone.
    Host,
    /// What stands below the seed: its host and port, and its path up to the last slash.
    Prefix,
    /// The seed alone.
    Page,
    /// The whole Web.
    Anywhere,
    /// Nothing: only `also`, `prefixes` and `suffixes` bring anything in.
    Nowhere,
}

impl Reach {
    /// All of them, with the word for it and what it means.
    pub const ALL: [(Self, &str, &str); 7] = [
        (
            Self::Site,
            "site",
            "its host and all hosts under it; a leading www. is ignored",
        ),
        (
            Self::Domain,
            "domain",
            "all hosts of its domain: docs.example.org reaches example.org too",
        ),
        (Self::Host, "host", "its host and port"),
        (
            Self::Prefix,
            "prefix",
            "everything below it: its host, and its path up to the last slash",
        ),
        (Self::Page, "page", "only the seed"),
        (Self::Anywhere, "anywhere", "the whole Web"),
        (Self::Nowhere, "nowhere", "nothing; only `also` adds pages"),
    ];

    /// The word for it.
    pub fn word(self) -> &'static str {
        let of_this = Self::ALL.iter().find(|(reach, ..)| *reach == self);
        of_this.expect("all of them").1
    }
}

impl FromStr for Reach {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::ALL.iter().find(|(_, word, _)| *word == text);
        named.map(|(reach, ..)| *reach).ok_or_else(|| {
            let words = Self::ALL.map(|(_, word, _)| word).join(", ");
            format!("{text:?} is not a reach: expected one of {words}")
        })
    }
}

/// Entries that let pass and entries that hold back. `deny` wins; an empty `allow` lets all pass.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Filter {
    /// If there is any, one of these must match.
    pub allow: Vec<String>,
    /// None of these may match.
    pub deny: Vec<String>,
}

/// Which URLs belong to the crawl.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScopeConfig {
    /// How far each seed reaches. Default: `site`.
    pub reach: Reach,
    /// Regular expressions on the whole URL: of what seeds reach, only what matches one is in. Default: all of it.
    pub include: Vec<String>,
    /// Regular expressions on the whole URL; what matches one is out. Default: none.
    pub exclude: Vec<String>,
    /// Regular expressions on the whole URL; what matches one is in as well, wherever it is. Default: none.
    pub also: Vec<String>,
    /// URL prefixes that are in as well (`https://example.org/docs/`); http and https are the same here. Default: none.
    pub prefixes: Vec<String>,
    /// Suffixes of names, public ones (`no`, `co.uk`) or not, under which all hosts are in as well. Default: none.
    pub suffixes: Vec<String>,
    /// The most links between a seed and a page; a seed has depth 0. Default: no limit.
    pub max_depth: Option<u16>,
    /// Domains, each with all below it. Default: all.
    pub domains: Filter,
    /// Paths with queries, in the notation of robots.txt: a beginning, `*`, `$`. Default: all.
    pub paths: Filter,
    /// Content types: `text/html`, `image/*`. Default: all.
    pub types: Filter,
    /// Address ranges of servers: `192.0.2.0/24`, `2001:db8::/32`, `192.0.2.7`. Default: all.
    pub addresses: Filter,
    /// Countries of servers, by their two letters: `PT`. Default: all.
    pub places: Filter,
}
