//! The configuration as written in a file: every key optional, unknown ones refused.

mod check;
mod expected;
mod kept;
mod meaning;
mod read;
mod rule;
mod sections;
mod seed;

pub(crate) use check::{check_agent, check_interval};
pub use meaning::RevisitBudget;
pub(crate) use meaning::seconds;
pub(crate) use rule::BY_HOST;
pub use rule::Rule;
pub use sections::{
    Archive, Budget, Count, Dashboard, Directives, Fetch, Identity, Keys, Level, Limits, LinksFrom,
    Log, Metrics, Places, Politeness, Revisit, State, Weights,
};
pub use seed::Seed;

use frontier::scope::ScopeConfig;
use frontier::trap::TrapConfig;
use serde::{Deserialize, Serialize};
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

#[cfg(test)]
mod tests;
