//! The web itself: hosts and pages, drawn once, and when each page changes.

use super::spec::{Charset, Corner, Mix, Noise, Robots, Sitemap, Validators, WebSpec};
use super::words;
use crate::{run::derive, small_web::Kind};
use freshness::process::ProcessError;
use rand::{RngExt, SeedableRng, seq::SliceRandom};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::{
    collections::{BTreeSet, HashMap},
    net::Ipv4Addr,
    ops::Range,
    time::Duration,
};

/// Children of a page in the tree of its host.
const BRANCHES: usize = 8;

/// A demo web. Everything it answers is a function of the request and of web time.
#[derive(Clone, Debug)]
pub struct Web {
    pub(super) spec: WebSpec,
    pub(super) hosts: Vec<Host>,
    pub(super) pages: Vec<Page>,
    by_name: HashMap<String, usize>,
}

/// A host and its ways.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "traits that have nothing to do with each other"
)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Its address; other hosts may have the same.
    pub address: Ipv4Addr,
    /// Its pages, as indices into [`Web::pages`]. The first is the front page.
    pub pages: Range<usize>,
    /// What differs between requests.
    pub noise: Noise,
    /// What it says about versions.
    pub validators: Validators,
    /// Its character set.
    pub charset: Charset,
    /// Its robots.txt.
    pub robots: Robots,
    /// Its sitemap.
    pub sitemap: Sitemap,
    /// Whether it has a feed.
    pub feed: bool,
    /// Whether it compresses.
    pub compressed: bool,
    /// Whether it sends pages in chunks.
    pub chunked: bool,
    /// Whether its pages fail at times.
    pub flaky: bool,
    /// In which time it answers.
    pub latency: Duration,
    /// Its odd corners.
    pub corners: BTreeSet<Corner>,
}

/// An ordinary page: one that counts for freshness if it is allowed.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// Its host, as an index into [`Web::hosts`].
    pub host: usize,
    /// Its path.
    pub path: String,
    /// How it changes.
    pub kind: Kind,
    /// Changes per day of web time, on average.
    pub rate: f64,
    /// Whether robots.txt lets it be fetched.
    pub allowed: bool,
    /// From when on it may be fetched: later than zero where robots.txt fails at first.
    pub open_from: f64,
    /// From when on it is gone; infinite if never.
    pub gone_at: f64,
    /// When it changes, ascending.
    pub changes: Vec<f64>,
    /// When its first version was made, before time zero.
    pub(super) created: f64,
    pub(super) seed: u64,
}

impl Page {
    /// The number of changes up to an instant.
    pub fn version(&self, at: f64) -> usize {
        self.changes.partition_point(|&change| change <= at)
    }

    /// When the version of an instant was made.
    pub fn changed(&self, at: f64) -> f64 {
        match self.version(at) {
            0 => self.created,
            version => self.changes[version - 1],
        }
    }
}

/// Why a web cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// No hosts, more than there are addresses for, or an empty host.
    #[error("{0} hosts, the largest with {1} pages: expected 1 to 60,000, with at least one page")]
    Hosts(u32, u32),
    /// A mix from which nothing can be drawn.
    #[error("the mix of {0} is empty or has a share below zero")]
    Mix(&'static str),
    /// Rates or days that no change process has.
    #[error(transparent)]
    Process(#[from] ProcessError),
}

impl Web {
    /// Draws a web.
    pub fn new(spec: &WebSpec) -> Result<Self, SpecError> {
        if !(1..=60_000).contains(&spec.hosts) || spec.largest == 0 {
            return Err(SpecError::Hosts(spec.hosts, spec.largest));
        }
        let hosts = draw_hosts(spec)?;
        let mut pages = Vec::new();
        for (number, host) in hosts.iter().enumerate() {
            for page in host.pages.clone() {
                pages.push(draw_page(spec, number, host, page)?);
            }
        }
        let names = hosts.iter().enumerate();
        let by_name = names.map(|(k, host)| (host.name.clone(), k)).collect();
        Ok(Self {
            spec: spec.clone(),
            hosts,
            pages,
            by_name,
        })
    }

    /// What it was made from.
    pub fn spec(&self) -> &WebSpec {
        &self.spec
    }

    /// All hosts.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// All ordinary pages, host by host.
    pub fn pages(&self) -> &[Page] {
        &self.pages
    }

    /// A host by name.
    pub fn host(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// An ordinary page by host and path; a query is ignored.
    pub fn find(&self, host: &str, target: &str) -> Option<usize> {
        let host = &self.hosts[self.host(host)?];
        let path = target.split('?').next()?;
        let page = if path == "/" {
            host.pages.start
        } else {
            let (_, tail) = path.strip_suffix(".html")?.rsplit_once('-')?;
            host.pages.start + tail.parse::<usize>().ok()?
        };
        (host.pages.contains(&page) && self.pages[page].path == path).then_some(page)
    }

    /// The URL of a page.
    pub fn url(&self, page: usize, port: u16) -> String {
        let page = &self.pages[page];
        format!("http://{}:{port}{}", self.hosts[page.host].name, page.path)
    }

    /// The front page from which all of the web can be reached.
    pub fn seed_url(&self, port: u16) -> String {
        self.url(0, port)
    }

    /// Seconds of wall time between requests that each host with a Crawl-delay asks for.
    pub fn crawl_delays(&self) -> HashMap<String, f64> {
        let slow = |host: &&Host| host.robots == Robots::Delay;
        let slow = self.hosts.iter().filter(slow);
        slow.map(|host| (host.name.clone(), self.spec.crawl_delay))
            .collect()
    }

    /// The pages of other hosts that a page links to; by chance also one of its own.
    pub(super) fn far(&self, page: usize) -> impl Iterator<Item = usize> + '_ {
        let (seed, own) = (self.pages[page].seed, self.pages[page].host);
        (0..u64::from(self.spec.far_links)).map(move |k| {
            let drawn = derive(seed, 20 + 1_000 * k) as usize % self.pages.len();
            let luck = (derive(seed, 50 + 1_000 * k) >> 11) as f64 / (1_u64 << 53) as f64;
            if luck >= self.spec.near {
                return drawn;
            }
            let block = |host: usize| self.hosts[host].address.octets()[1];
            let from = self.pages[drawn].host;
            let all = (from..self.hosts.len()).chain(0..from);
            let mut near = all.filter(|&host| block(host) == block(own) && host != own);
            let pages = self.hosts[near.next().unwrap_or(own)].pages.clone();
            pages.start + drawn % pages.len()
        })
    }

    /// The pages that a page links to on its own host: its parent and its children in the tree.
    pub(super) fn family(&self, page: usize) -> impl Iterator<Item = usize> + use<> {
        let range = self.hosts[self.pages[page].host].pages.clone();
        let number = page - range.start;
        let parent = number
            .checked_sub(1)
            .map(|rest| range.start + rest / BRANCHES);
        let first = range.start + number * BRANCHES + 1;
        let children = first.min(range.end)..(first + BRANCHES).min(range.end);
        parent.into_iter().chain(children)
    }
}

fn draw_hosts(spec: &WebSpec) -> Result<Vec<Host>, SpecError> {
    let n = spec.hosts as usize;
    let mut stream = 0;
    // shares are met exactly, not on average: each possibility has its hosts
    let mut evenly = || {
        stream += 1;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(derive(spec.seed, stream));
        let mut values: Vec<f64> = (0..n).map(|k| (k as f64 + 0.5) / n as f64).collect();
        values.shuffle(&mut rng);
        values
    };
    let noise = pick("noise", &spec.noise, &evenly())?;
    let validators = pick("validators", &spec.validators, &evenly())?;
    let charset = pick("charsets", &spec.charsets, &evenly())?;
    let robots = pick("robots", &spec.robots, &evenly())?;
    let sitemap = pick("sitemaps", &spec.sitemaps, &evenly())?;
    let (feed, compressed, chunked) = (evenly(), evenly(), evenly());
    let (latency, shared, flaky) = (evenly(), evenly(), evenly());
    let corners: Vec<(Corner, Vec<f64>)> = Corner::ALL
        .map(|corner| (corner, evenly()))
        .into_iter()
        .collect();
    let mut hosts: Vec<Host> = Vec::with_capacity(n);
    let (mut first, mut address) = (0, 0);
    for k in 0..n {
        let size = f64::from(spec.largest) / ((k + 1) as f64).powf(spec.size_exponent);
        let pages = first..first + size.max(1.0) as usize;
        first = pages.end;
        // a host with a Crawl-delay is alone, so that each address has one least gap
        let alone = |k: usize| robots[k] == Robots::Delay;
        let shares = k > 0 && shared[k] < spec.shared_addresses && !alone(k) && !alone(k - 1);
        address += usize::from(k > 0 && !shares);
        let (least, most) = spec.latency_ms;
        let blocks = usize::from(spec.blocks.max(1));
        let (block, at) = ((address % blocks) as u8, address / blocks);
        let (third, last) = match at {
            0..250 if spec.apart => (at, 0),
            _ => (at / 250, at % 250),
        };
        hosts.push(Host {
            name: format!("h{:03}.demo.test", k + 1),
            address: Ipv4Addr::new(spec.network, 1 + block, third as u8, last as u8 + 1),
            pages,
            noise: noise[k],
            validators: validators[k],
            charset: charset[k],
            robots: robots[k],
            sitemap: sitemap[k],
            feed: feed[k] < spec.feeds,
            compressed: compressed[k] < spec.compressed,
            chunked: chunked[k] < spec.chunked,
            flaky: flaky[k] < spec.flaky,
            latency: Duration::from_secs_f64((least + (most - least) * latency[k].powi(2)) / 1e3),
            corners: corners
                .iter()
                .filter(|(corner, u)| u[k] < spec.corners.get(corner).copied().unwrap_or(0.0))
                .map(|&(corner, _)| corner)
                .collect(),
        });
    }
    Ok(hosts)
}

fn draw_page(
    spec: &WebSpec,
    host_number: usize,
    host: &Host,
    page: usize,
) -> Result<Page, SpecError> {
    // a page is the same however long it is watched
    let seed = derive(derive(spec.seed, 1000), page as u64);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let kind = pick("kinds", &spec.kinds, &[rng.random()])?[0];
    let process = kind.process(spec.rates, &mut rng)?;
    let number = page - host.pages.start;
    let is_leaf = number > 0 && number * BRANCHES + 1 >= host.pages.len();
    // leaves only, so that nothing is out of reach behind them
    let fate: f64 = rng.random();
    let (forbidden, gone) = if is_leaf {
        let gone = spec.disallowed + spec.gone;
        (
            fate < spec.disallowed,
            fate >= spec.disallowed && fate < gone,
        )
    } else {
        (false, false)
    };
    let gone_at = if gone {
        rng.random::<f64>() * spec.days / 2.0
    } else {
        f64::INFINITY
    };
    let created = -1.0 - 100.0 * rng.random::<f64>();
    Ok(Page {
        host: host_number,
        path: words::path(seed, number, forbidden),
        kind,
        rate: process.mean_rate(0.0, spec.days),
        allowed: !forbidden || host.robots == Robots::Absent,
        open_from: if host.robots == Robots::Failing {
            spec.trouble_days
        } else {
            0.0
        },
        gone_at,
        changes: process.instants(0.0, spec.days, &mut rng),
        created,
        seed,
    })
}

/// What each value, evenly distributed in `[0, 1)`, means in a mix.
fn pick<T: Copy>(what: &'static str, mix: &Mix<T>, values: &[f64]) -> Result<Vec<T>, SpecError> {
    let total: f64 = mix.values().sum();
    if mix.values().any(|&share| share < 0.0) || total.is_nan() || total <= 0.0 {
        return Err(SpecError::Mix(what));
    }
    let one = |value: &f64| {
        let mut rest = value * total;
        let mut possible = mix.iter().filter(|&(_, &share)| share > 0.0);
        let found = possible.find(|&(_, &share)| {
            rest -= share;
            rest < 0.0
        });
        // rounding may leave a remainder behind the last
        found
            .or_else(|| mix.iter().rfind(|&(_, &share)| share > 0.0))
            .map(|(&choice, _)| choice)
            .ok_or(SpecError::Mix(what))
    };
    values.iter().map(one).collect()
}
