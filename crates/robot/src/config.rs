//! The configuration as written in a file: every key optional, unknown ones refused.

mod check;
mod kept;

use frontier::key::Canonical;
use frontier::politeness::Interval;
use frontier::scope::ScopeConfig;
use frontier::trap::TrapConfig;
use ground::quantity::{Rate, not_negative};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// The sample: every key with its default and meaning.
pub const SAMPLE: &str = include_str!("config/sample.toml");

/// All that can be chosen about a crawl.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs)] // the sample explains every key
pub struct Config {
    pub seeds: Vec<String>,
    pub data: DataDirectory,
    pub identity: Identity,
    pub scope: ScopeConfig,
    pub directives: Directives,
    pub keys: Keys,
    pub traps: TrapConfig,
    pub politeness: Politeness,
    pub budget: Budget,
    pub revisit: Revisit,
    pub fetch: Fetch,
    pub archive: Archive,
    pub state: State,
    pub metrics: Metrics,
    pub watch: Vec<WatchRule>,
}

/// What counts as a change on some pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // the sample explains every key
pub struct WatchRule {
    pub pages: String,
    #[serde(default)]
    pub select: Vec<String>,
    #[serde(default)]
    pub ignore: Vec<String>,
    #[serde(default)]
    pub ignore_text: Vec<String>,
}

/// Where everything is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DataDirectory(pub PathBuf);

impl Default for DataDirectory {
    fn default() -> Self {
        Self("evercrawl-data".into())
    }
}

/// A section whose every field has the default that the sample states.
macro_rules! section {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty = $default:expr,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        #[allow(missing_docs)] // the sample explains every key
        pub struct $name {
            $(pub $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }
    };
}

section! {
    /// Who crawls.
    Identity {
        agent: String = "evercrawl".into(),
        contact: String = NO_CONTACT.into(),
    }
}

/// The contact until one is configured.
pub const NO_CONTACT: &str = "https://evercrawl.example/contact";

impl Identity {
    /// The `User-Agent` of every request.
    pub fn user_agent(&self) -> String {
        let version = env!("CARGO_PKG_VERSION");
        format!("{}/{version} (+{})", self.agent, self.contact)
    }
}

section! {
    /// How far pages' own directives go.
    Directives {
        follow_nofollow: bool = false,
        archive_noindex: bool = true,
    }
}

section! {
    /// What makes two URLs the same page.
    Keys {
        sort_query: bool = true,
        collapse_slashes: bool = true,
        path_sessions: bool = true,
        drop: Vec<String> = Vec::new(),
    }
}

impl Keys {
    /// As the frontier takes it: the configured parameters besides the well-known ones.
    pub fn canonical(&self) -> Canonical {
        let mut canonical = Canonical {
            sort_query: self.sort_query,
            collapse_slashes: self.collapse_slashes,
            path_sessions: self.path_sessions,
            ..Canonical::default()
        };
        canonical.drop.extend(self.drop.iter().cloned());
        canonical
    }
}

section! {
    /// How servers are spared.
    Politeness {
        interval: Interval = Interval::default(),
        at_once: u16 = 1,
        robots: bool = true,
    }
}

section! {
    /// What may be asked of the network in all.
    Budget {
        requests_per_second: f64 = 50.0,
        bytes_per_second: f64 = 0.0,
        connections: usize = 64,
        share_of_new: f64 = 0.5,
    }
}

section! {
    /// How pages are kept fresh.
    Revisit {
        policy: String = "default".into(),
        budget: String = "20%".into(),
        count: Count = Count::Text,
        first_guess_days: f64 = 7.0,
        audit_every: u32 = 20,
        gone_days: f64 = 30.0,
    }
}

/// What counts as a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Count {
    /// A change of the main text.
    Text,
    /// A change of any byte.
    Body,
}

section! {
    /// How pages are asked for.
    Fetch {
        connect_seconds: f64 = 10.0,
        first_byte_seconds: f64 = 30.0,
        body_seconds: f64 = 120.0,
        least_bytes_per_second: u64 = 256,
        max_bytes: u64 = 16 << 20,
        max_decoded_bytes: u64 = 32 << 20,
        http2: bool = true,
        allow_networks: Vec<String> = Vec::new(),
        hosts: BTreeMap<String, Vec<IpAddr>> = BTreeMap::new(),
        dns_server: Option<SocketAddr> = None,
        extra_roots: Option<PathBuf> = None,
    }
}

section! {
    /// The WARC archive.
    Archive {
        enabled: bool = true,
        rotate_bytes: u64 = 1 << 30,
    }
}

section! {
    /// The page table and the seen set.
    State {
        synced: bool = true,
    }
}

section! {
    /// For those who watch.
    Metrics {
        listen: Option<SocketAddr> = None,
    }
}

/// Revisits a second that no crawl reaches.
const MOST_REVISITS: f64 = 1e9;

/// How many revisits may be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RevisitBudget {
    /// A share of what politeness allows.
    Share(f64),
    /// So many per second.
    PerSecond(f64),
}

/// A value that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} = {value}: {expected}")]
pub struct Invalid {
    key: &'static str,
    value: String,
    expected: String,
}

impl Revisit {
    /// The budget, understood.
    pub fn budget(&self) -> Result<RevisitBudget, Invalid> {
        let text = self.budget.trim();
        let parsed = match text.strip_suffix('%') {
            Some(share) => not_negative(share)
                .filter(|&share| share <= 100.0)
                .map(|share| RevisitBudget::Share(share / 100.0)),
            None => (text.parse().ok())
                .map(|rate: Rate| rate.per_second())
                .filter(|&rate| rate < MOST_REVISITS)
                .map(RevisitBudget::PerSecond),
        };
        parsed.ok_or_else(|| Invalid {
            key: "revisit.budget",
            value: format!("{text:?}"),
            expected:
                "expected a share such as \"20%\", or visits such as \"2000/day\" or \"3/second\""
                    .into(),
        })
    }
}

impl Config {
    /// Reads a file's text; the error names line and key.
    pub fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_states_the_defaults() {
        let sample = Config::parse(SAMPLE).unwrap();
        assert_eq!(sample, Config::default());
        sample.check().unwrap();
    }

    #[test]
    fn unknown_keys_are_refused_with_their_line() {
        for text in [
            "colour = 1",
            "[scope]\nreech = \"site\"",
            "[politeness]\ninterval = { rule = \"fixed\", secs = 1 }",
            "[fetch]\nmax_byte = 1",
        ] {
            let error = Config::parse(text).unwrap_err().to_string();
            assert!(error.contains("unknown field"), "{error}");
        }
    }

    #[test]
    fn values_that_cannot_be_are_named() {
        for (text, key) in [
            ("[budget]\nshare_of_new = 1.5", "budget.share_of_new"),
            ("[revisit]\nbudget = \"many\"", "revisit.budget"),
            ("[revisit]\nbudget = \"120%\"", "revisit.budget"),
            ("[politeness]\nat_once = 0", "politeness.at_once"),
            (
                "[politeness]\ninterval = { rule = \"fixed\", seconds = -1 }",
                "politeness.interval.seconds",
            ),
            ("[identity]\nagent = \"a b\"", "identity.agent"),
        ] {
            let error = Config::parse(text).unwrap().check().unwrap_err();
            assert_eq!(error.key, key);
        }
        let budget = |text: &str| {
            Revisit {
                budget: text.into(),
                ..Revisit::default()
            }
            .budget()
        };
        assert_eq!(budget("20%"), Ok(RevisitBudget::Share(0.2)));
        assert_eq!(budget("86400/day"), Ok(RevisitBudget::PerSecond(1.0)));
    }
}
