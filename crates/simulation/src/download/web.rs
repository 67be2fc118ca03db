//! Pages on hosts on addresses, and the links between the pages.

use rand::{Rng, RngExt};
use std::net::{IpAddr, Ipv4Addr};
use std::ops::Range;

/// What is one server: who must be asked politely, and what a partition gives away whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A host name.
    Hosts,
    /// An address, with all its hosts.
    Addresses,
}

/// An address, as a number without gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub u32);

/// A Web to download: pages numbered by host, so that a host's pages are a range. Its first page
/// is its home page, from which all its others are reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Web {
    names: Vec<String>,
    first_page: Vec<u32>,
    address: Vec<u32>,
    addresses: usize,
    host: Vec<u32>,
    offsets: Vec<u32>,
    targets: Vec<u32>,
}

/// A host to be put into a Web.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Its pages, the home page included; at least one.
    pub pages: u32,
    /// The number of its address; addresses are numbered without gaps.
    pub address: u32,
}

impl Web {
    /// A Web of `hosts` with links between pages of the hosts in `between` (from, to, how many),
    /// and `inside` links of each host to itself beyond those that make its pages reachable.
    /// Which pages the links join is drawn; few are linked often and most seldom.
    pub fn new(
        hosts: Vec<Host>,
        between: &[(u32, u32, u32)],
        inside: &[u32],
        rng: &mut impl Rng,
    ) -> Self {
        let mut first_page = vec![0_u32];
        for host in &hosts {
            first_page.push(first_page[first_page.len() - 1] + host.pages.max(1));
        }
        let pages = first_page[hosts.len()] as usize;
        let mut host_of = Vec::with_capacity(pages);
        let mut rows: Vec<(u32, u32)> = Vec::new();
        for (h, range) in (0..).zip(first_page.windows(2)) {
            let (first, count) = (range[0], range[1] - range[0]);
            host_of.extend(std::iter::repeat_n(h, count as usize));
            for page in 1..count {
                rows.push((first + rng.random_range(0..page), first + page));
            }
            for _ in 0..inside.get(h as usize).copied().unwrap_or(0) {
                rows.push((
                    first + rng.random_range(0..count),
                    first + popular(count, rng),
                ));
            }
        }
        for &(from, to, links) in between {
            let size = |h: u32| first_page[h as usize + 1] - first_page[h as usize];
            for _ in 0..links {
                let source = first_page[from as usize] + rng.random_range(0..size(from));
                rows.push((source, first_page[to as usize] + popular(size(to), rng)));
            }
        }
        let (offsets, targets) = by_source(pages, &rows);
        let addresses = hosts.iter().map(|host| host.address).max();
        Self {
            addresses: addresses.map_or(0, |last| last as usize + 1),
            address: hosts.iter().map(|host| host.address).collect(),
            names: hosts.into_iter().map(|host| host.name).collect(),
            first_page,
            host: host_of,
            offsets,
            targets,
        }
    }

    /// Number of pages.
    pub fn pages(&self) -> usize {
        self.host.len()
    }

    /// Number of hosts.
    pub fn hosts(&self) -> usize {
        self.names.len()
    }

    /// All hosts.
    pub fn all_hosts(&self) -> Range<u32> {
        0..self.hosts() as u32
    }

    /// Number of addresses.
    pub fn addresses(&self) -> usize {
        self.addresses
    }

    /// Number of links.
    pub fn links(&self) -> usize {
        self.targets.len()
    }

    /// The name of a host.
    pub fn name(&self, host: u32) -> &str {
        &self.names[host as usize]
    }

    /// The pages of a host, its home page first.
    pub fn pages_of(&self, host: u32) -> Range<u32> {
        self.first_page[host as usize]..self.first_page[host as usize + 1]
    }

    /// The host of a page.
    pub fn host_of(&self, page: u32) -> u32 {
        self.host[page as usize]
    }

    /// The address of a host.
    pub fn address_of(&self, host: u32) -> Address {
        Address(self.address[host as usize])
    }

    /// An address as hashes see it.
    pub fn ip(&self, Address(address): Address) -> IpAddr {
        Ipv4Addr::from_bits((10 << 24) + address).into()
    }

    /// The pages that a page links to, repeated where it does so more than once.
    pub fn links_of(&self, page: u32) -> &[u32] {
        let (from, until) = (self.offsets[page as usize], self.offsets[page as usize + 1]);
        &self.targets[from as usize..until as usize]
    }

    /// How many servers there are.
    pub fn servers(&self, unit: Unit) -> usize {
        match unit {
            Unit::Hosts => self.hosts(),
            Unit::Addresses => self.addresses,
        }
    }

    /// The server of a host.
    pub fn server_of(&self, host: u32, unit: Unit) -> u32 {
        match unit {
            Unit::Hosts => host,
            Unit::Addresses => self.address_of(host).0,
        }
    }

    /// The pages of each server.
    pub fn server_pages(&self, unit: Unit) -> Vec<u64> {
        let mut pages = vec![0; self.servers(unit)];
        for host in 0..self.hosts() as u32 {
            pages[self.server_of(host, unit) as usize] += self.pages_of(host).len() as u64;
        }
        pages
    }
}

/// One of `count`, the first ones more often: density falls as the root of the rank.
fn popular(count: u32, rng: &mut impl Rng) -> u32 {
    (rng.random::<f64>().powi(2) * f64::from(count)) as u32
}

fn by_source(pages: usize, rows: &[(u32, u32)]) -> (Vec<u32>, Vec<u32>) {
    let mut ends = vec![0_u32; pages + 1];
    for &(source, _) in rows {
        ends[source as usize + 1] += 1;
    }
    for page in 0..pages {
        ends[page + 1] += ends[page];
    }
    let offsets = ends.clone();
    let mut targets = vec![0; rows.len()];
    for &(source, target) in rows {
        let at = &mut ends[source as usize];
        targets[*at as usize] = target;
        *at += 1;
    }
    (offsets, targets)
}
