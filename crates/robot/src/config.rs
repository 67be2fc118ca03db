//! The configuration as written in a file: every key optional, unknown ones refused.

mod check;
mod expected;
mod kept;
mod read;
mod rule;
mod seed;

pub(crate) use check::{check_agent, check_interval};
pub(crate) use rule::BY_HOST;
pub use rule::Rule;
pub use seed::Seed;

use freshness::revisits;
use frontier::key::Canonical;
use frontier::order::Order;
use frontier::politeness::Interval;
use frontier::scope::ScopeConfig;
use frontier::trap::TrapConfig;
use ground::quantity::{Rate, Seconds, not_negative};
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
    pub seeds: Vec<Seed>,
    pub data: DataDirectory,
    pub identity: Identity,
    pub scope: ScopeConfig,
    pub directives: Directives,
    pub keys: Keys,
    pub traps: TrapConfig,
    pub politeness: Politeness,
    pub budget: Budget,
    pub limits: Limits,
    pub revisit: Revisit,
    pub weights: Weights,
    pub fetch: Fetch,
    pub places: Places,
    pub archive: Archive,
    pub state: State,
    pub metrics: Metrics,
    pub dashboard: Dashboard,
    pub log: Log,
    pub watch: Vec<WatchRule>,
    pub rules: Vec<Rule>,
    pub webhooks: Vec<Webhook>,
}

/// Who is told of changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // the sample explains every key
pub struct Webhook {
    pub url: String,
    #[serde(default = "Webhook::usual_kinds")]
    pub kinds: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_file: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_env: Option<String>,
}

impl Webhook {
    /// To this URL, with the defaults for all else.
    pub fn to(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            kinds: Self::usual_kinds(),
            pages: None,
            secret_file: None,
            secret_env: None,
        }
    }

    fn usual_kinds() -> Vec<String> {
        ["changed", "gone"].map(str::to_owned).into()
    }
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

/// The data directory.
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
        contact: String = String::new(),
        user_agent: String = String::new(),
    }
}

/// What stood there by default once; nobody is found at it.
const MADE_UP: &str = "https://evercrawl.example/contact";

impl Identity {
    /// Where webmasters find out who crawls, if that was said.
    pub fn contact(&self) -> Option<&str> {
        Some(self.contact.as_str()).filter(|contact| !contact.is_empty() && *contact != MADE_UP)
    }

    /// The `User-Agent` of every request.
    pub fn user_agent(&self) -> String {
        if !self.user_agent.is_empty() {
            return self.user_agent.clone();
        }
        let version = env!("CARGO_PKG_VERSION");
        match self.contact() {
            Some(contact) => format!("{}/{version} (+{contact})", self.agent),
            None => format!("{}/{version} ({})", self.agent, fetch::NO_CONTACT),
        }
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
        hours: String = String::new(),
    }
}

section! {
    /// What may be asked of the network in all.
    Budget {
        requests_per_second: f64 = 50.0,
        bytes_per_second: f64 = 0.0,
        connections: usize = 64,
        share_of_new: f64 = 0.9,
        order_of_new: Order = Order::BreadthFirst,
    }
}

section! {
    /// How pages are kept fresh.
    Revisit {
        policy: String = "default".into(),
        budget: String = "20%".into(),
        least_interval: String = "5m".into(),
        most_interval: String = "4w".into(),
        least_chance: f64 = 0.05,
        count: Count = Count::Text,
        first_guess_days: f64 = 7.0,
        audit_every: u32 = 20,
        gone_days: f64 = 30.0,
    }
}

section! {
    /// How much pages matter.
    Weights {
        links: f64 = 0.0,
        links_from: LinksFrom = LinksFrom::Pages,
    }
}

/// Which links to a page make it more important.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinksFrom {
    /// Those of all other pages.
    Pages,
    /// Those of pages of other hosts.
    Hosts,
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
        source: Option<IpAddr> = None,
        dns_server: Option<SocketAddr> = None,
        extra_roots: Option<PathBuf> = None,
        proxy: String = String::new(),
        proxy_login_file: Option<PathBuf> = None,
        proxy_login_env: Option<String> = None,
    }
}

section! {
    /// Who is asked where servers are.
    Places {
        city_db: Option<PathBuf> = None,
        registries: Vec<PathBuf> = Vec::new(),
    }
}

section! {
    /// The WARC archive.
    Archive {
        enabled: bool = true,
        rotate_bytes: u64 = 1 << 30,
        requisites: bool = true,
        others: Vec<PathBuf> = Vec::new(),
        keep_versions: u32 = 0,
        keep_days: u32 = 0,
        max_bytes: u64 = 0,
    }
}

impl Archive {
    /// What is kept of old versions.
    pub fn keep(&self) -> storage::archive::Keep {
        storage::archive::Keep {
            versions: Some(self.keep_versions).filter(|&most| most > 0),
            days: Some(self.keep_days).filter(|&days| days > 0),
            bytes: Some(self.max_bytes).filter(|&most| most > 0),
        }
    }
}

section! {
    /// When a crawl ends by itself.
    Limits {
        pages: u64 = 0,
        bytes: u64 = 0,
        time: String = String::new(),
    }
}

impl Limits {
    /// Seconds, if there is a limit of time.
    pub fn seconds(&self) -> Result<Option<f64>, Invalid> {
        if self.time.is_empty() {
            return Ok(None);
        }
        let read = self
            .time
            .parse()
            .map(|ground::Seconds(seconds)| Some(seconds));
        read.map_err(|_| Invalid {
            key: "limits.time",
            value: format!("{:?}", self.time),
            expected: "expected a time such as \"30m\" or \"2h\"".into(),
        })
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

section! {
    /// A window on the crawl, for browsers.
    Dashboard {
        listen: Option<SocketAddr> = None,
        token_file: Option<PathBuf> = None,
        token_env: Option<String> = None,
        actions: bool = false,
        names: Vec<String> = Vec::new(),
        replay: String = String::new(),
    }
}

section! {
    /// What is written down of the work itself.
    Log {
        file: Option<PathBuf> = None,
        level: Level = Level::Info,
        json: bool = false,
        rotate_bytes: u64 = 16 << 20,
        keep_files: u32 = 5,
    }
}

/// How much is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)] // the sample explains them
pub enum Level {
    Error,
    Warn,
    Info,
    Debug,
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

impl Invalid {
    pub(crate) fn new(key: &'static str, value: &str, expected: &str) -> Self {
        Self {
            key,
            value: format!("{value:?}"),
            expected: expected.to_owned(),
        }
    }
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

impl Revisit {
    /// How close and how far apart visits to a page may be, understood.
    pub fn limits(&self) -> Result<revisits::Limits, Invalid> {
        let limits = revisits::Limits {
            least_interval: seconds("revisit.least_interval", &self.least_interval)?,
            most_interval: seconds("revisit.most_interval", &self.most_interval)?,
            least_chance: self.least_chance,
        };
        if limits.most_interval <= 0.0 || limits.most_interval < limits.least_interval {
            return Err(Invalid {
                key: "revisit.most_interval",
                value: format!("{:?}", self.most_interval),
                expected: format!(
                    "expected more than revisit.least_interval = {:?}",
                    self.least_interval
                ),
            });
        }
        Ok(limits)
    }
}

/// A time between two visits, understood.
pub(crate) fn seconds(key: &'static str, text: &str) -> Result<f64, Invalid> {
    let read = text.parse().map(|Seconds(seconds)| seconds);
    read.map_err(|_| Invalid {
        key,
        value: format!("{text:?}"),
        expected: "expected a time such as \"5m\", \"2h\" or \"4w\"".into(),
    })
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
            assert!(error.contains("is not a key"), "{error}");
        }
    }

    #[test]
    fn no_contact_is_made_up() {
        let agent = |contact: &str| {
            let contact = contact.into();
            let identity = Identity {
                contact,
                ..Identity::default()
            };
            identity.user_agent()
        };
        assert!(agent("").ends_with(" (no contact given)"));
        assert!(agent(MADE_UP).ends_with(" (no contact given)"));
        assert!(agent("https://a.org/bot").ends_with(" (+https://a.org/bot)"));
        let free = Identity {
            user_agent: "Mozilla/5.0".into(),
            ..Identity::default()
        };
        assert_eq!(free.user_agent(), "Mozilla/5.0");
    }

    #[test]
    fn values_that_cannot_be_are_named() {
        for (text, key) in [
            ("[budget]\nshare_of_new = 1.5", "budget.share_of_new"),
            ("[revisit]\nbudget = \"many\"", "revisit.budget"),
            ("[revisit]\nbudget = \"120%\"", "revisit.budget"),
            ("[revisit]\nleast_chance = 1.0", "revisit.least_chance"),
            (
                "[revisit]\nleast_interval = \"5\"",
                "revisit.least_interval",
            ),
            (
                "[revisit]\nleast_interval = \"5w\"",
                "revisit.most_interval",
            ),
            ("[revisit]\nmost_interval = \"0\"", "revisit.most_interval"),
            ("[politeness]\nat_once = 0", "politeness.at_once"),
            (
                "[politeness]\ninterval = { rule = \"fixed\", seconds = -1 }",
                "politeness.interval",
            ),
            ("[identity]\nagent = \"a b\"", "identity.agent"),
            ("[archive]\nrotate_bytes = 0", "archive.rotate_bytes"),
            ("[log]\nrotate_bytes = 0", "log.rotate_bytes"),
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
