//! The model web: names, servers, pages and links, DNS that gives everybody another answer, and
//! the true record of who asked which server when.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use super::graph::HostGraph;
use fleet::counts::Reading;
use fleet::identity::{Millis, RobotId, Text};
use fleet::parcel::Parcel;
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

/// A page: its host, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Page {
    /// The host.
    pub host: u16,
    /// Of the host's pages.
    pub number: u16,
}

/// What the web is like.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Names.
    pub hosts: u16,
    /// Addresses; names share them.
    pub servers: u16,
    /// Pages of a host, at most.
    pub pages: u16,
    /// Links of a page beyond those that make everything reachable.
    pub links: u16,
    /// Blocks of 256 addresses that the servers are in.
    pub blocks: u16,
}

/// A request as it truly was.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Whose.
    pub robot: RobotId,
    /// When its bytes were written.
    pub start: Millis,
    /// When the answer ended.
    pub end: Millis,
}

/// The web and its record.
#[derive(Debug)]
pub struct Web {
    names: Vec<Text>,
    paths: Vec<Text>,
    servers: Vec<Vec<IpAddr>>,
    links: BTreeMap<Page, Vec<Page>>,
    last: BTreeMap<(bool, u32), Request>,
    fetched: BTreeMap<Page, u32>,
    /// Servers that asked to be left alone, and until when.
    closed: BTreeMap<IpAddr, Millis>,
}

impl Web {
    /// A web in which everything can be reached from the first page.
    pub fn new(size: Size, rng: &mut Xoshiro256PlusPlus) -> Self {
        let names = (0..size.hosts).map(|h| format!("h{h}.example").into());
        let paths = (0..size.pages).map(|p| format!("/{p}").into());
        let address = |server: u16| {
            let (block, at) = (server % size.blocks, server / size.blocks);
            IpAddr::from(Ipv4Addr::from(
                0x0a00_0000 + (u32::from(block) << 8) + u32::from(at),
            ))
        };
        let servers = (0..size.hosts)
            .map(|_| {
                let answers = rng.random_range(1..=3);
                (0..answers)
                    .map(|_| address(rng.random_range(0..size.servers)))
                    .collect()
            })
            .collect();
        let mut order: Vec<Page> = Vec::new();
        for host in 0..size.hosts {
            let pages = rng.random_range(1..=size.pages);
            order.extend((0..pages).map(|number| Page { host, number }));
        }
        // a random order: each page is linked from one before it
        for i in (2..order.len()).rev() {
            order.swap(i, rng.random_range(1..=i));
        }
        let mut links: BTreeMap<Page, Vec<Page>> = order.iter().map(|p| (*p, vec![])).collect();
        for (i, &page) in order.iter().enumerate() {
            if i > 0 {
                let parent = order[rng.random_range(i.saturating_sub(12)..i)];
                links.entry(parent).or_default().push(page);
            }
            for _ in 0..size.links {
                let to = order[rng.random_range(0..order.len())];
                links.entry(page).or_default().push(to);
            }
        }
        Self {
            names: names.collect(),
            paths: paths.collect(),
            servers,
            links,
            last: BTreeMap::new(),
            fetched: BTreeMap::new(),
            closed: BTreeMap::new(),
        }
    }

    /// A web whose hosts link as those of a graph do: links between two hosts go from and to any of their
    /// pages, each page of a host is linked from the one before it.
    pub fn like(graph: &HostGraph, rng: &mut Xoshiro256PlusPlus) -> Self {
        let pages = &graph.pages;
        let mut links: BTreeMap<Page, Vec<Page>> = BTreeMap::new();
        let page = |host: u32, number: u32| Page {
            host: host as u16,
            number: number as u16,
        };
        for (host, &count) in (0..).zip(pages) {
            for number in 0..count {
                let next = (number + 1 < count).then(|| page(host, number + 1));
                links.insert(page(host, number), next.into_iter().collect());
            }
        }
        for &(from, to, count) in &graph.links {
            for link in 0..count {
                // the first one makes the host known
                let [i, j] = [from, to].map(|host| match link {
                    0 => 0,
                    _ => rng.random_range(0..pages[host as usize]),
                });
                links.entry(page(from, i)).or_default().push(page(to, j));
            }
        }
        let most = pages.iter().max().copied().unwrap_or(0);
        let hosts = 0..pages.len() as u32;
        Self {
            names: hosts.clone().map(super::graph::name).collect(),
            paths: (0..most).map(|p| format!("/{p}").into()).collect(),
            servers: hosts
                .map(|host| vec![super::graph::address(host)])
                .collect(),
            links,
            last: BTreeMap::new(),
            fetched: BTreeMap::new(),
            closed: BTreeMap::new(),
        }
    }

    /// Where every page links to.
    pub fn all_links(&self) -> &BTreeMap<Page, Vec<Page>> {
        &self.links
    }

    /// All pages.
    pub fn pages(&self) -> impl Iterator<Item = Page> + '_ {
        self.links.keys().copied()
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// A web without pages.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// All addresses that DNS ever answers.
    pub fn addresses(&self) -> Vec<IpAddr> {
        let mut all: Vec<IpAddr> = self.servers.iter().flatten().copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// What DNS tells a robot: answers differ by place and change with time.
    pub fn resolve(&self, host: u16, robot: RobotId, now: Millis) -> IpAddr {
        let answers = &self.servers[usize::from(host)];
        answers[((robot.0 + now / 40_000) % answers.len() as u64) as usize]
    }

    /// The links of a page, as its reader sees them.
    pub fn links(&self, page: Page) -> impl Iterator<Item = Parcel> + '_ {
        self.links[&page].iter().map(|&to| self.parcel(to))
    }

    /// Where a page links to, host by host.
    pub fn reading(&self, page: Page) -> Reading {
        let mut counts: BTreeMap<Text, u32> = BTreeMap::new();
        for to in &self.links[&page] {
            let name = &self.names[usize::from(to.host)];
            *counts.entry(name.clone()).or_default() += 1;
        }
        Reading {
            name: self.names[usize::from(page.host)].clone(),
            links: counts.into_iter().collect(),
        }
    }

    /// A page's URL.
    pub fn parcel(&self, page: Page) -> Parcel {
        Parcel::new(
            self.names[usize::from(page.host)].clone(),
            self.paths[usize::from(page.number)].clone(),
        )
    }

    /// The page that a URL names.
    pub fn page(parcel: &Parcel) -> Page {
        Page {
            host: Self::host(&parcel.name),
            number: parcel.url[1..].parse().expect("paths are numbers"),
        }
    }

    /// The number of a name.
    pub fn host(name: &str) -> u16 {
        let number = name
            .strip_prefix('h')
            .and_then(|n| n.strip_suffix(".example"));
        number.and_then(|n| n.parse().ok()).expect("a name of ours")
    }

    /// Enters a request into the record and says which earlier one it is too close to.
    pub fn request(
        &mut self,
        page: Page,
        server: IpAddr,
        request: Request,
        interval: Millis,
    ) -> Option<Request> {
        *self.fetched.entry(page).or_default() += 1;
        let IpAddr::V4(v4) = server else { return None };
        let closed = self.closed.get(&server).copied().unwrap_or(0);
        let keys = [(false, v4.to_bits()), (true, page.host.into())];
        let mut close = None;
        for key in keys {
            if let Some(last) = self.last.insert(key, request) {
                // clocks run one per cent fast or slow
                let due = last.start + interval * 98 / 100;
                if request.start < due.max(last.end).max(closed) {
                    close = Some(last);
                }
            }
        }
        close
    }

    /// A request that nobody could prevent: the page is had, and nobody is to blame.
    pub fn late(&mut self, page: Page) {
        *self.fetched.entry(page).or_default() += 1;
    }

    /// Whether the server's answer asks to be left alone: each fifth does, once.
    pub fn wants_peace(&mut self, server: IpAddr, until: Millis) -> bool {
        let IpAddr::V4(v4) = server else { return false };
        let asks = v4.to_bits() % 5 == 0 && !self.closed.contains_key(&server);
        if asks {
            self.closed.insert(server, until);
        }
        asks
    }

    /// How often pages were fetched.
    pub fn fetched(&self) -> &BTreeMap<Page, u32> {
        &self.fetched
    }
}
