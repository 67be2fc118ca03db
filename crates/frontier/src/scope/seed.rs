//! Where a crawl begins.

use url::Url;

use super::Reach;

/// A URL at which the crawl begins, and how far it reaches.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Seed {
    /// The URL.
    pub url: Url,
    /// Its own reach; without one, that of the scope.
    pub reach: Option<Reach>,
}

impl From<Url> for Seed {
    fn from(url: Url) -> Self {
        Self { url, reach: None }
    }
}

/// What has a place on the Web and reaches from there.
pub trait Reaching {
    /// The place.
    fn url(&self) -> &Url;

    /// How far, if it says so itself.
    fn reach(&self) -> Option<Reach>;
}

impl Reaching for Url {
    fn url(&self) -> &Url {
        self
    }

    fn reach(&self) -> Option<Reach> {
        None
    }
}

impl Reaching for Seed {
    fn url(&self) -> &Url {
        &self.url
    }

    fn reach(&self) -> Option<Reach> {
        self.reach
    }
}
