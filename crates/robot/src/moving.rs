//! Hosts that go from one crawl to another, with all that is known of them.
//!
//! Instants become ages: how long a host wants to be left alone from now on, for how long its robots.txt still
//! holds. What comes from others is checked before any of it is used.
//!
//! What was learnt of a page goes with it, and in a fleet when it is due: the next owner keeps to that until its next
//! visit. What is known of all pages together goes with all hosts: an empty crawl
//! that takes all of them over decides as the one that they came from would. A crawl that has pages of its own
//! decides by what it knows of all.

use crate::archivist::MOST_HALVED;
use crate::clock::{Clock, Now};
use crate::config::Config;
use crate::keeper::{self, FIRST_TESTS, KeptHost};
use crate::seam::name_of;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use frontier::key::parse_link;
use frontier::politeness::Courtesy;
use frontier::robots::{LONGEST_LIFE, Standing, Verdict};
use frontier::trap::Halved;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::IpAddr;
use storage::{
    ArchiveId, HostId, HostRow, Package, PackedPage, PageAddress, PageId, PageRow, PageState,
    Reader, Store, Unpacked,
};
use url::{Position, Url};

/// Clocks that differ by no more show the same: requests take as long.
const SAME_TIME: i64 = 2;
/// Seconds that no host is left alone for longer, whatever others say that it asked for.
const LONGEST_WAIT: f64 = 30.0 * 86_400.0;
const LONGEST_DELAY: f64 = 86_400.0;
const LONGEST_EXTRA: f64 = 3600.0;
/// With more hosts what is known of all pages together would not fit.
const MOST_HOSTS: usize = 4096;

/// Why hosts cannot be taken over.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the messages say it
pub enum Refused {
    #[error(transparent)]
    Store(#[from] storage::Error),
    #[error("host {0:?}: expected scheme, name and port, as in https://www.example.org")]
    Name(String),
    #[error("host {0:?}: what is kept of it is not readable: {1}")]
    Host(String, serde_json::Error),
    #[error("what is said of the whole is not readable: {0}")]
    About(serde_json::Error),
    #[error("{0:?} is not a URL of {1}")]
    Url(String, String),
}

/// What is said of the whole.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct About {
    /// Seconds by which the crawl's clock is ahead of the wall's.
    clock_ahead: i64,
    /// Where all hosts go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of_all: Option<OfAll>,
}

/// What is known of all pages together.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OfAll {
    /// The places of the hosts in the package, in the order that it numbers them.
    hosts: Vec<u32>,
    /// In base 64.
    learnt: String,
}

impl OfAll {
    /// Nothing unless these are all hosts of the crawl.
    fn of(reader: &Reader, package: &Package) -> storage::Result<Option<Self>> {
        let count = reader.host_count()?;
        if count as usize != package.hosts.len() || count as usize > MOST_HOSTS {
            return Ok(None);
        }
        let record = reader.learnt()?;
        let Some(learnt) = keeper::policy_learnt(&record) else {
            return Ok(None);
        };
        let mut hosts = Vec::with_capacity(count as usize);
        for id in (0..count).map(HostId) {
            let Some(row) = reader.host(id)? else {
                return Ok(None);
            };
            let place = package
                .hosts
                .binary_search_by(|host| host.name.cmp(&row.name));
            let Ok(place) = place else { return Ok(None) };
            hosts.push(place as u32);
        }
        Ok(Some(Self {
            hosts,
            learnt: BASE64_STANDARD.encode(learnt),
        }))
    }

    /// The record, and the hosts in its order; nothing if it cannot be that of these.
    fn read<'a>(&self, package: &'a Package) -> Option<(Vec<u8>, Vec<&'a str>)> {
        let mut places = self.hosts.clone();
        places.sort_unstable();
        let is_whole = places.into_iter().eq(0..package.hosts.len() as u32);
        let learnt = BASE64_STANDARD.decode(&self.learnt).ok()?;
        // memory is taken for as many pages as it speaks of
        let most = 16 * package.pages.len() as u32 + 4096;
        if !is_whole || freshness::revisits::numbers_in(&learnt)? > most {
            return None;
        }
        let names = self.hosts.iter();
        let names = names.map(|&place| &*package.hosts[place as usize].name);
        Some((learnt, names.collect()))
    }
}

/// What is kept of a host, on its way.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MovedHost {
    /// Not to be asked for so long; in milliseconds, as all others but those in microseconds.
    wait_ms: u64,
    crawl_delay_us: u64,
    extra_us: u64,
    response_us: u64,
    robots: Option<MovedStanding>,
    lies: bool,
    halved: Vec<Halved>,
    no_address: Option<u8>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MovedStanding {
    verdict: Verdict,
    holds_ms: u64,
    unreachable_ms: Option<u64>,
}

fn whole(seconds: f64, unit: f64) -> u64 {
    (seconds.max(0.0) * unit).round() as u64
}

fn seconds(number: u64, unit: f64, most: f64) -> f64 {
    (number as f64 / unit).min(most)
}

impl MovedStanding {
    fn of(standing: Standing, at: f64) -> Self {
        Self {
            verdict: standing.verdict,
            holds_ms: whole(standing.expires - at, 1e3),
            unreachable_ms: (standing.unreachable_since).map(|since| whole(at - since, 1e3)),
        }
    }

    fn standing(self, at: f64) -> Standing {
        Standing {
            verdict: self.verdict,
            expires: at + seconds(self.holds_ms, 1e3, LONGEST_LIFE),
            unreachable_since: (self.unreachable_ms)
                .map(|since| at - seconds(since, 1e3, f64::MAX)),
        }
    }
}

/// What a robots.txt comes to, for the robot that asked for it.
pub(crate) fn pack_standing(standing: &Standing, at: f64) -> Vec<u8> {
    serde_json::to_vec(&MovedStanding::of(standing.clone(), at)).expect("plain values")
}

/// What [`pack_standing`] wrote; nothing for other bytes.
pub(crate) fn unpack_standing(bytes: &[u8], at: f64) -> Option<Standing> {
    let moved: MovedStanding = serde_json::from_slice(bytes).ok()?;
    Some(moved.standing(at))
}

impl MovedHost {
    fn of(kept: KeptHost, at: f64) -> Self {
        let courtesy = kept.courtesy;
        Self {
            wait_ms: whole(courtesy.not_before - at, 1e3),
            crawl_delay_us: whole(courtesy.crawl_delay, 1e6),
            extra_us: whole(courtesy.extra, 1e6),
            response_us: whole(courtesy.response, 1e6),
            robots: kept
                .standing
                .map(|standing| MovedStanding::of(standing, at)),
            lies: kept.lies,
            halved: kept.halved,
            no_address: kept.no_address,
        }
    }

    fn kept(mut self, at: f64) -> KeptHost {
        self.halved.truncate(MOST_HALVED);
        KeptHost {
            courtesy: Courtesy {
                not_before: at + seconds(self.wait_ms, 1e3, LONGEST_WAIT),
                crawl_delay: seconds(self.crawl_delay_us, 1e6, LONGEST_DELAY),
                extra: seconds(self.extra_us, 1e6, LONGEST_EXTRA),
                response: seconds(self.response_us, 1e6, LONGEST_EXTRA),
            },
            standing: self.robots.map(|robots| robots.standing(at)),
            lies: self.lies,
            // whoever had it made the first tests
            proven: false,
            unproven: FIRST_TESTS,
            halved: self.halved,
            no_address: self.no_address,
            // whoever takes it over asks anew
            no_robots: None,
        }
    }
}

/// What two crawls know of a host: it is spared as the more careful one would.
fn together(own: KeptHost, other: KeptHost) -> KeptHost {
    let until = |kept: &KeptHost| {
        kept.standing
            .as_ref()
            .map_or(0.0, |standing| standing.expires)
    };
    let (mut last, first) = if until(&other) > until(&own) {
        (other, own)
    } else {
        (own, other)
    };
    let courtesy = &mut last.courtesy;
    courtesy.not_before = courtesy.not_before.max(first.courtesy.not_before);
    courtesy.crawl_delay = courtesy.crawl_delay.max(first.courtesy.crawl_delay);
    courtesy.extra = courtesy.extra.max(first.courtesy.extra);
    courtesy.response = courtesy.response.max(first.courtesy.response);
    last.lies |= first.lies;
    for halved in first.halved {
        let mut known = last.halved.iter_mut();
        if let Some(known) = known.find(|known| known.prefix == halved.prefix) {
            known.times = known.times.max(halved.times);
        } else if last.halved.len() < MOST_HALVED {
            last.halved.push(halved);
        }
    }
    last
}

fn clock_ahead(now: Now) -> i64 {
    (now.at - now.wall).round() as i64
}

/// The time of a crawl that nobody is working on.
pub fn time_of(record: &[u8]) -> Now {
    Clock::start(keeper::clock_stood(record).as_ref()).now()
}

/// All that is known of these hosts, as bytes for another crawl. Copies stay in the archive `own`. Pages that
/// are said to be due are due at the same time there, whatever that crawl knows of others.
pub fn export(
    reader: &Reader,
    hosts: &[HostId],
    own: Option<ArchiveId>,
    now: Now,
    dues: &BTreeMap<PageId, f64>,
) -> storage::Result<Vec<u8>> {
    let moved = |row: &HostRow| {
        let kept: KeptHost = serde_json::from_slice(&row.blob).unwrap_or_default();
        serde_json::to_vec(&MovedHost::of(kept, now.at)).expect("plain values")
    };
    let promised = |page: PageId, row: &mut PageRow| {
        if let Some(&due) = dues.get(&page) {
            freshness::revisits::promise(&mut row.memo, due);
        }
    };
    let mut package = reader.pack(hosts, own, moved, promised)?;
    let about = About {
        clock_ahead: clock_ahead(now),
        of_all: OfAll::of(reader, &package)?,
    };
    package.about = serde_json::to_vec(&about).expect("plain values");
    package.encode()
}

/// What is known of a page, for whoever takes over if this robot's disk dies: no copy, which would die with it; so
/// the next visit is not conditional.
fn without_copy(row: &PageRow) -> PageRow {
    let mut row = row.clone();
    row.redirect_to = None;
    if row.place.take().is_some() | row.away.take().is_some() {
        (row.etag, row.modified, row.copied) = (None, None, None);
    }
    row.as_it_travels()
}

/// Pages as they are logged: nothing is said of their hosts.
fn logged(
    mut pages: Vec<(String, PageAddress, Option<PageRow>)>,
    now: Now,
) -> storage::Result<Vec<u8>> {
    let about = About {
        clock_ahead: clock_ahead(now),
        of_all: None,
    };
    let origins = pages.iter().map(|(origin, ..)| origin.clone());
    let mut origins: Vec<String> = origins.collect();
    origins.sort_unstable();
    origins.dedup();
    pages.sort_by(|a, b| a.1.url.cmp(&b.1.url));
    let pages = pages.into_iter().map(|(origin, address, row)| PackedPage {
        host: origins.partition_point(|other| *other < origin) as u32,
        url: address.url,
        depth: address.depth,
        from: None,
        added: address.added,
        row: row.as_ref().map(without_copy),
    });
    let package = Package {
        about: serde_json::to_vec(&about).expect("plain values"),
        pages: pages.collect(),
        hosts: (origins.into_iter())
            .map(|name| HostRow {
                name,
                blob: Vec::new(),
            })
            .collect(),
        ..Package::default()
    };
    package.encode()
}

/// What is known of one page after a visit, for the log.
pub(crate) fn log_entry(
    origin: &str,
    address: &PageAddress,
    row: &PageRow,
    now: Now,
) -> storage::Result<Vec<u8>> {
    let page = (origin.to_owned(), address.clone(), Some(row.clone()));
    logged(vec![page], now)
}

/// What would be logged of up to `most` pages from number `from` on, by server: those that are elsewhere are another's,
/// and those that cannot be read would be lost with the disk.
pub(crate) fn survey(
    reader: &Reader,
    from: PageId,
    most: u32,
    server: impl Fn(&str) -> Option<IpAddr>,
    now: Now,
) -> storage::Result<Vec<(IpAddr, Vec<u8>)>> {
    let end = reader.page_count()?.min(from.0.saturating_add(most));
    let mut hosts: BTreeMap<HostId, Option<(String, IpAddr)>> = BTreeMap::new();
    let mut servers: BTreeMap<IpAddr, Vec<_>> = BTreeMap::new();
    for page in (from.0..end).map(PageId) {
        let (Ok(address), Ok(row)) = (reader.address(page), reader.page(page)) else {
            continue;
        };
        if row
            .as_ref()
            .is_some_and(|row| row.state == PageState::Elsewhere)
        {
            continue;
        }
        let host = match hosts.entry(address.host) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(vacant) => {
                let origin = reader.host(address.host)?.map(|row| row.name);
                vacant.insert(origin.and_then(|origin| {
                    let at = server(name_of(&Url::parse(&origin).ok()?))?;
                    Some((origin, at))
                }))
            }
        };
        if let Some((origin, server)) = host {
            // a row that says nothing is that of a page that came back untried
            let row = row.filter(|row| *row != PageRow::default());
            let pages = servers.entry(*server).or_default();
            pages.push((origin.clone(), address, row));
        }
    }
    let servers = servers.into_iter();
    servers
        .map(|(server, pages)| Ok((server, logged(pages, now)?)))
        .collect()
}

/// What came of taking hosts over.
#[derive(Debug, Default)]
pub struct Imported {
    /// To be committed.
    pub unpacked: Unpacked,
    /// What it was unpacked from.
    pub package: Package,
    /// Pages of which what was learnt is left behind: the clocks of the two crawls differ by so many seconds.
    pub unlearnt: u64,
    /// By how many.
    pub clocks_differ: i64,
}

/// Takes hosts over that another crawl exported. Nothing is on disk before the batch is committed, and
/// then all of it is.
pub fn import(
    store: &mut Store,
    config: &Config,
    bytes: &[u8],
    own: Option<ArchiveId>,
    now: Now,
) -> Result<Imported, Refused> {
    let mut package = Package::decode(bytes)?;
    let about: About = serde_json::from_slice(&package.about).map_err(Refused::About)?;
    let mut imported = Imported {
        clocks_differ: clock_ahead(now).saturating_sub(about.clock_ahead),
        ..Imported::default()
    };
    let mut hosts: Vec<Option<KeptHost>> = Vec::with_capacity(package.hosts.len());
    for row in &package.hosts {
        let url = Url::parse(&row.name).ok();
        let is_origin = url.is_some_and(|url| {
            matches!(url.scheme(), "http" | "https") && url[..Position::BeforePath] == *row.name
        });
        if !is_origin {
            return Err(Refused::Name(row.name.clone()));
        }
        if row.blob.is_empty() {
            // nothing is said of it
            hosts.push(None);
            continue;
        }
        let moved: MovedHost = serde_json::from_slice(&row.blob)
            .map_err(|error| Refused::Host(row.name.clone(), error))?;
        hosts.push(Some(moved.kept(now.at)));
    }
    let canonical = config.keys.canonical();
    let nowhere = Url::parse("http://invalid/").expect("a URL");
    let mut keys = Vec::with_capacity(package.pages.len());
    for page in &mut package.pages {
        let host = &package.hosts[page.host as usize].name;
        let url = parse_link(&nowhere, &page.url).ok();
        let url =
            url.filter(|url| url.as_str() == page.url && url[..Position::BeforePath] == **host);
        let url = url.ok_or_else(|| Refused::Url(page.url.clone(), host.clone()))?;
        keys.push(canonical.key(&url));
        if let Some(row) = &mut page.row
            && imported.clocks_differ.abs() > SAME_TIME
        {
            imported.unlearnt += u64::from(!row.memo.is_empty());
            row.memo.clear();
        }
    }
    let mut hosts = hosts.into_iter();
    let is_empty = store.page_count() == 0 && store.host_count() == 0 && store.learnt().is_empty();
    let is_same_time = imported.clocks_differ.abs() <= SAME_TIME;
    let of_all = about.of_all.filter(|_| is_empty && is_same_time);
    let of_all = of_all.and_then(|of_all| of_all.read(&package));
    // hosts are numbered as they are named
    for name in of_all.iter().flat_map(|(_, names)| names) {
        store.host(name)?;
    }
    imported.unpacked = store.unpack(&package, &keys, own, |_, known| {
        let other = hosts.next().expect("one for each")?;
        let own = known.filter(|known| !known.blob.is_empty());
        let own: Option<KeptHost> = own.and_then(|row| serde_json::from_slice(&row.blob).ok());
        let kept = match own {
            Some(own) => together(own, other),
            None => other,
        };
        Some(serde_json::to_vec(&kept).expect("plain values"))
    })?;
    imported.unpacked.batch.learnt = of_all.map(|(learnt, _)| {
        let stands = Clock::start(None).stands(now);
        keeper::taken_over(stands, &learnt)
    });
    imported.package = package;
    Ok(imported)
}

#[cfg(test)]
mod tests;
