//! Territories by name, so that a million of them cost a link no more than one.

use suffixes::registrable;
use url::{Position, Url};

use super::names::{Territory, is_under, page_of};
use super::table::Table;

/// All that seeds, prefixes and suffixes bring into scope.
#[derive(Debug, Clone, Default)]
pub struct Index {
    /// Names, with all under them.
    under: Table,
    /// Registrable domains.
    domains: Table,
    /// Hosts, each with its [`Places`].
    hosts: Table,
    /// Pages, without their scheme.
    pages: Table,
}

/// A port, none for the scheme's own, and the beginning of a path.
type Place<'a> = (Option<u16>, &'a [u8]);

impl Index {
    pub fn new(territories: impl Iterator<Item = Territory>) -> Self {
        let [mut under, mut domains, mut pages] = [const { Vec::new() }; 3];
        let mut places = Vec::new();
        for territory in territories {
            match territory {
                Territory::Under(name) => under.push(name),
                Territory::Registrable(domain) => domains.push(domain),
                Territory::Page(page) => pages.push(page),
                Territory::Host(host, port) => places.push((host, port, String::new())),
                Territory::Prefix(host, port, path) => places.push((host, port, path)),
            }
        }
        places.sort_unstable();
        let hosts = places.chunk_by(|a, b| a.0 == b.0);
        let hosts: Vec<_> = hosts
            .map(|places| (places[0].0.as_str(), Places::pack(places)))
            .collect();
        Self {
            under: names(under),
            domains: names(domains),
            pages: names(pages),
            hosts: Table::new(hosts.iter().map(|(host, places)| (*host, &places[..]))),
        }
    }

    /// Whether the URL, whose host is `host`, lies in one of them.
    pub fn holds(&self, url: &Url, host: &str) -> bool {
        self.is_under(host)
            || self.is_in_domain(host)
            || self.is_at_place(url, host)
            || (!self.pages.is_empty() && self.pages.has(page_of(url)))
    }

    fn is_under(&self, host: &str) -> bool {
        if self.under.is_empty() {
            return false;
        }
        let host = host.strip_suffix('.').unwrap_or(host);
        let below = host.match_indices('.').map(|(dot, _)| &host[dot + 1..]);
        std::iter::once(host)
            .chain(below)
            .any(|name| self.under.has(name))
    }

    fn is_in_domain(&self, host: &str) -> bool {
        if self.domains.is_empty() {
            return false;
        }
        // a suffix of the list may stand below the domain, and then others own what is there
        let is_one = |domain| self.domains.has(domain) && is_under(host, domain);
        self.domains.has(host) || registrable(host).is_some_and(is_one)
    }

    fn is_at_place(&self, url: &Url, host: &str) -> bool {
        self.hosts.get(host).is_some_and(|places| {
            let path = &url[Position::BeforePath..Position::AfterQuery];
            Places(places).hold((url.port(), path.as_bytes()))
        })
    }
}

/// A table of names to which nothing belongs.
fn names(mut names: Vec<String>) -> Table {
    names.sort_unstable();
    names.dedup();
    Table::new(names.iter().map(|name| (name.as_str(), &[][..])))
}

/// Ports and beginnings of paths, sorted, none of which begins with another: where each ends, then each after
/// the other.
struct Places<'a>(&'a [u8]);

/// Bytes of a number.
const NUMBER: usize = 4;
/// Stands for the scheme's own port.
const OWN: u32 = u32::MAX;

impl<'a> Places<'a> {
    /// Of one host; sorted.
    fn pack(places: &[(String, Option<u16>, String)]) -> Vec<u8> {
        let mut kept: Vec<Place> = Vec::new();
        for (_, port, path) in places {
            let is_held = |last: &Place| last.0 == *port && path.as_bytes().starts_with(last.1);
            if !kept.last().is_some_and(is_held) {
                kept.push((*port, path.as_bytes()));
            }
        }
        let mut packed = (kept.len() as u32).to_le_bytes().to_vec();
        let mut end = NUMBER * (1 + kept.len());
        for (_, path) in &kept {
            end += NUMBER + path.len();
            packed.extend((end as u32).to_le_bytes());
        }
        for (port, path) in kept {
            packed.extend(port.map_or(OWN, u32::from).to_le_bytes());
            packed.extend(path);
        }
        packed
    }

    fn number(&self, at: usize) -> u32 {
        let bytes = self.0[at..].first_chunk().copied();
        u32::from_le_bytes(bytes.unwrap_or_default())
    }

    fn get(&self, number: usize) -> Place<'a> {
        // the place before it ends where it begins, and the first after all the ends
        let count = self.number(0) as usize;
        let begin = match number {
            0 => NUMBER * (1 + count),
            _ => self.number(NUMBER * number) as usize,
        };
        let end = self.number(NUMBER * (number + 1)) as usize;
        let port = u16::try_from(self.number(begin)).ok();
        (port, &self.0[begin + NUMBER..end])
    }

    fn hold(&self, (port, path): Place<'_>) -> bool {
        // all between a beginning of the path and the path have that beginning, and are not kept
        let (mut after, mut end) = (0, self.number(0) as usize);
        while after < end {
            let middle = usize::midpoint(after, end);
            if self.get(middle) <= (port, path) {
                after = middle + 1;
            } else {
                end = middle;
            }
        }
        after.checked_sub(1).is_some_and(|last| {
            let (at, start) = self.get(last);
            at == port && path.starts_with(start)
        })
    }
}
