//! Why a crawl cannot be started.

use crate::config::Invalid;
use crate::keeper;
use std::path::PathBuf;

/// Why a crawl cannot be started.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the messages say it
pub enum StartError {
    #[error(transparent)]
    Config(#[from] Invalid),
    #[error("seed {0:?}: {1}")]
    Seed(String, frontier::key::Refused),
    #[error(
        "seed {0}: a user or password in a URL is not sent; use [[rules]] with basic_file or basic_env"
    )]
    Login(String),
    #[error("webhooks: {0}")]
    Webhook(String),
    #[error("{path}: {why}")]
    SeedList { path: PathBuf, why: String },
    #[error(
        "no seeds, and nothing crawled before in {0}: set `seeds`, or give a URL on the command line"
    )]
    NoSeeds(PathBuf),
    #[error("{0}")]
    NothingToFetch(String),
    #[error("scope.{0}")]
    Scope(#[from] frontier::scope::Invalid),
    #[error(transparent)]
    Keeper(#[from] keeper::Refused),
    #[error("fetch.allow_networks: {0}")]
    Network(String),
    #[error("fetch.extra_roots: {path}: {error}")]
    Roots {
        path: PathBuf,
        error: std::io::Error,
    },
    #[error("places: {0}")]
    Places(#[from] places::SourcesError),
    #[error("identity: {0}")]
    Fetcher(#[from] fetch::BuildError),
    #[error(transparent)]
    Store(#[from] storage::Error),
    #[error("{what}: {error}")]
    System { what: String, error: std::io::Error },
}

impl StartError {
    /// Whether what was given is wrong, rather than the state of the machine.
    pub fn is_bad_input(&self) -> bool {
        !matches!(self, Self::Store(_) | Self::System { .. })
    }
}
