//! Territories by name, so that a million of them cost a link no more than one.

use std::collections::{HashMap, HashSet};

use suffixes::registrable;
use url::{Position, Url};

use super::names::{Territory, is_under, page_of};

/// All that seeds, prefixes and suffixes bring into scope.
#[derive(Debug, Clone, Default)]
pub struct Index {
    /// Names, with all under them.
    under: HashSet<Box<str>>,
    /// Registrable domains.
    domains: HashSet<Box<str>>,
    /// By host: ports and beginnings of paths, sorted, none of which begins with another.
    places: HashMap<Box<str>, Vec<Place>>,
    /// Pages, without their scheme.
    pages: HashSet<Box<str>>,
}

/// A port, none for the scheme's own, and the beginning of a path.
type Place = (Option<u16>, Box<str>);

impl Index {
    pub fn new(territories: impl Iterator<Item = Territory>) -> Self {
        let mut index = Self::default();
        for territory in territories {
            let (host, port, path) = match territory {
                Territory::Under(name) => {
                    index.under.insert(name.into());
                    continue;
                }
                Territory::Registrable(domain) => {
                    index.domains.insert(domain.into());
                    continue;
                }
                Territory::Page(page) => {
                    index.pages.insert(page.into());
                    continue;
                }
                Territory::Host(host, port) => (host, port, String::new()),
                Territory::Prefix(host, port, path) => (host, port, path),
            };
            let places = index.places.entry(host.into()).or_default();
            places.push((port, path.into()));
        }
        for places in index.places.values_mut() {
            places.sort_unstable();
            places.dedup_by(|later, kept| later.0 == kept.0 && later.1.starts_with(&*kept.1));
            places.shrink_to_fit();
        }
        index
    }

    /// Whether the URL, whose host is `host`, lies in one of them.
    pub fn holds(&self, url: &Url, host: &str) -> bool {
        self.is_under(host)
            || self.is_in_domain(host)
            || self.is_at_place(url, host)
            || (!self.pages.is_empty() && self.pages.contains(page_of(url)))
    }

    fn is_under(&self, host: &str) -> bool {
        if self.under.is_empty() {
            return false;
        }
        let host = host.strip_suffix('.').unwrap_or(host);
        let below = host.match_indices('.').map(|(dot, _)| &host[dot + 1..]);
        std::iter::once(host)
            .chain(below)
            .any(|name| self.under.contains(name))
    }

    fn is_in_domain(&self, host: &str) -> bool {
        if self.domains.is_empty() {
            return false;
        }
        // a suffix of the list may stand below the domain, and then others own what is there
        let is_one = |domain| self.domains.contains(domain) && is_under(host, domain);
        self.domains.contains(host) || registrable(host).is_some_and(is_one)
    }

    fn is_at_place(&self, url: &Url, host: &str) -> bool {
        if self.places.is_empty() {
            return false;
        }
        let Some(places) = self.places.get(host) else {
            return false;
        };
        let port = url.port();
        let path = &url[Position::BeforePath..Position::AfterQuery];
        // all between a beginning of the path and the path have that beginning, and are not kept
        let after = places.partition_point(|(at, start)| (*at, &**start) <= (port, path));
        after.checked_sub(1).is_some_and(|last| {
            let (at, start) = &places[last];
            *at == port && path.starts_with(&**start)
        })
    }
}
