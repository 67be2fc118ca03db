//! The sections of the configuration, with the defaults that the sample states.

use frontier::key::Canonical;
use frontier::order::Order;
use frontier::politeness::Interval;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

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
pub(super) const MADE_UP: &str = "https://evercrawl.example/contact";

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
        map: Option<PathBuf> = None,
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
