//! Generated national webs of the published shape.

use super::internet::Internet;
use super::web::{Host, Web};
use crate::run::derive;
use ground::Point;
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Hosts of one community, about: they link to each other and tend to stand in one city.
const COMMUNITY: usize = 60;
/// Where the country's cities lie, in degrees north and east: the size of Portugal.
const COUNTRY: [(f64, f64); 2] = [(37.0, 42.0), (-9.5, -6.5)];
/// Where the continent's cities lie.
const CONTINENT: [(f64, f64); 2] = [(36.0, 58.0), (-9.0, 25.0)];
const CITIES: usize = 20;
/// Of the hosts that share an address, the largest hundredth apart, those on one address of a
/// provider: 13 % of all. With it the largest address has about a fifth more pages than the largest
/// host, as published.
const AT_PROVIDER: f64 = 0.175;

/// What to generate. The numbers of pages, links, hosts and addresses and the size of the largest
/// host are the published ones; the others are ours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Pages in all; at least one a host.
    pub urls: usize,
    /// Links in all; at least one a page.
    pub links: usize,
    /// Hosts.
    pub hosts: usize,
    /// Addresses; at most the hosts.
    pub addresses: usize,
    /// Pages of the largest host; the others follow a bounded Pareto law from one page on.
    pub largest: usize,
    /// Share of links that stay on their host.
    pub inside_host: f64,
    /// Share of the links between hosts that stay in their community.
    pub inside_community: f64,
    /// Share of addresses in other countries.
    pub abroad: f64,
    /// Where all randomness comes from.
    pub seed: u64,
}

impl Shape {
    /// The published national web.
    pub fn published(seed: u64) -> Self {
        Self {
            urls: 1_246_129,
            links: 5_657_734,
            hosts: 10_039,
            addresses: 2_440,
            largest: 78_523,
            inside_host: 0.8,
            inside_community: 0.8,
            abroad: 0.15,
            seed,
        }
    }

    /// The same at a share of its size, all numbers in proportion.
    #[must_use]
    pub fn scaled(self, share: f64) -> Self {
        let part = |number: usize| ((number as f64 * share).round() as usize).max(1);
        let hosts = part(self.hosts);
        let urls = part(self.urls).max(hosts);
        Self {
            hosts,
            urls,
            links: part(self.links).max(urls),
            addresses: part(self.addresses).min(hosts),
            largest: part(self.largest).max(urls.div_ceil(hosts)),
            ..self
        }
    }

    /// Pages, hosts and links.
    pub fn web(&self) -> Web {
        let mut rng = self.stream(0);
        let pages = self.host_sizes();
        let address = self.addresses_of_hosts(&mut rng);
        let hosts: Vec<Host> = (0..self.hosts)
            .map(|h| Host {
                name: format!("www.host{h}.example"),
                pages: pages[h],
                address: address[h],
            })
            .collect();
        let rest = self.links.saturating_sub(self.urls - self.hosts);
        let within = (self.links as f64 * self.inside_host) as usize;
        let within = within.saturating_sub(self.urls - self.hosts).min(rest);
        let all_pages: u64 = pages.iter().map(|&p| u64::from(p)).sum();
        let mut inside: Vec<u32> = pages
            .iter()
            .map(|&p| (within as u64 * u64::from(p) / all_pages) as u32)
            .collect();
        let between = self.links_between(&pages, rest - within, &mut rng);
        // what rounding left out goes to the largest
        inside[0] += (within as u64 - inside.iter().map(|&l| u64::from(l)).sum::<u64>()) as u32;
        Web::new(hosts, &between, &inside, &mut rng)
    }

    /// Places of addresses and robots, and the times between them.
    pub fn internet(&self, web: &Web, robots: usize) -> Internet {
        let mut rng = self.stream(1);
        let cities: Vec<Point> = (0..CITIES).map(|_| somewhere(COUNTRY, &mut rng)).collect();
        let mut places = vec![None; web.addresses()];
        for host in 0..web.hosts() {
            let address = web.address_of(host as u32).0 as usize;
            // every second address stands where its community does
            let city = if rng.random::<f64>() < 0.5 {
                self.community(host) % CITIES
            } else {
                (rng.random::<f64>().powi(2) * CITIES as f64) as usize
            };
            let abroad = rng.random::<f64>() < self.abroad;
            let foreign = somewhere(CONTINENT, &mut rng);
            places[address].get_or_insert(if abroad { foreign } else { cities[city] });
        }
        let places: Vec<Point> = places
            .into_iter()
            .map(|place| place.unwrap_or(cities[0]))
            .collect();
        // a fixed list, of which the first ones are taken
        let mut rng = self.stream(2);
        let robots: Vec<Point> = (0..robots)
            .map(|j| {
                let area = if j % 2 == 0 { CONTINENT } else { COUNTRY };
                somewhere(area, &mut rng)
            })
            .collect();
        Internet::from_places(&robots, &places, derive(self.seed, 3))
    }

    /// Pages of each host, the largest first: a bounded Pareto law from one page to the largest, its quantiles taken evenly, with an
    /// exponent such that the sum is right: most hosts are small. (A law `largest·rank^{−a}` with
    /// that sum has no host below 20 pages.)
    pub fn host_sizes(&self) -> Vec<u32> {
        let size = |rank: usize, exponent: f64| {
            let most = (self.largest as f64).powf(-exponent);
            let above = (rank as f64 + 0.5) / self.hosts as f64;
            let size = (above * (1.0 - most) + most).powf(-1.0 / exponent);
            match rank {
                0 => self.largest as u32,
                _ => (size as u32).clamp(1, self.largest as u32),
            }
        };
        let sum = |exponent: f64| -> usize {
            (0..self.hosts)
                .map(|rank| size(rank, exponent) as usize)
                .sum()
        };
        let (mut low, mut high) = (1e-6, 20.0);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if sum(middle) > self.urls {
                low = middle;
            } else {
                high = middle;
            }
        }
        let mut sizes: Vec<u32> = (0..self.hosts).map(|rank| size(rank, high)).collect();
        // what rounding left out goes to all but the largest
        let missing = self.urls - sizes.iter().map(|&s| s as usize).sum::<usize>();
        let others = usize::from(self.hosts > 1)..self.hosts;
        let (each, more) = (missing / others.len(), missing % others.len());
        for (k, size) in sizes[others].iter_mut().enumerate() {
            *size += (each + usize::from(k < more)) as u32;
        }
        sizes
    }

    /// Address 0 is a provider's; the others belong to communities, whose hosts share them. Each
    /// has a host.
    fn addresses_of_hosts(&self, rng: &mut impl Rng) -> Vec<u32> {
        const NOWHERE: u32 = u32::MAX;
        let communities = self.hosts.div_ceil(COMMUNITY);
        let mut address = vec![NOWHERE; self.hosts];
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); communities];
        for host in 0..self.hosts {
            members[self.community(host)].push(host);
        }
        for own in &mut members {
            shuffle(own, rng);
        }
        let mut addresses: Vec<Vec<u32>> = vec![Vec::new(); communities];
        for k in 0..self.addresses {
            let community = k % communities;
            let first = members[community].pop();
            address[first.expect("no more addresses than hosts")] = k as u32;
            if k > 0 {
                addresses[community].push(k as u32);
            }
        }
        for (host, address) in address.iter_mut().enumerate() {
            if *address != NOWHERE {
                continue;
            }
            let own = &addresses[self.community(host)];
            let is_small = host >= self.hosts / 100;
            *address = if own.is_empty() || (is_small && rng.random::<f64>() < AT_PROVIDER) {
                0
            } else {
                own[(rng.random::<f64>().powi(2) * own.len() as f64) as usize]
            };
        }
        address
    }

    fn community(&self, host: usize) -> usize {
        // neighbours in rank are strangers
        host % self.hosts.div_ceil(COMMUNITY)
    }

    fn links_between(
        &self,
        pages: &[u32],
        links: usize,
        rng: &mut impl Rng,
    ) -> Vec<(u32, u32, u32)> {
        if self.hosts < 2 {
            return Vec::new();
        }
        let communities = self.hosts.div_ceil(COMMUNITY);
        // a host's part in links grows with its pages, less than in proportion
        let sums: Vec<f64> = pages
            .iter()
            .scan(0.0, |sum, &p| {
                *sum += f64::from(p).powf(0.7);
                Some(*sum)
            })
            .collect();
        let total = sums[sums.len() - 1];
        let mut rows: Vec<(u32, u32)> = Vec::with_capacity(links);
        while rows.len() < links {
            let mut draw = || {
                let at = rng.random::<f64>() * total;
                sums.partition_point(|&sum| sum <= at).min(self.hosts - 1)
            };
            let source = draw();
            let far = draw();
            let target = if rng.random::<f64>() < self.inside_community {
                let own = self.community(source);
                let members = (self.hosts - own).div_ceil(communities);
                own + (rng.random::<f64>().powi(2) * members as f64) as usize * communities
            } else {
                far
            };
            if target != source {
                rows.push((source as u32, target as u32));
            }
        }
        rows.sort_unstable();
        rows.chunk_by(|a, b| a == b)
            .map(|same| (same[0].0, same[0].1, same.len() as u32))
            .collect()
    }

    fn stream(&self, number: u64) -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(derive(self.seed, number))
    }
}

fn somewhere([north, east]: [(f64, f64); 2], rng: &mut impl Rng) -> Point {
    Point {
        latitude: rng.random_range(north.0..north.1),
        longitude: rng.random_range(east.0..east.1),
    }
}

fn shuffle<T>(items: &mut [T], rng: &mut impl Rng) {
    for i in (1..items.len()).rev() {
        items.swap(i, rng.random_range(0..=i));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::download::web::{Address, Unit};
    use partition::solve::Robot;

    #[test]
    fn has_the_published_numbers_at_any_size() {
        for share in [1.0, 0.02, 0.002] {
            let shape = Shape::published(1).scaled(share);
            let web = shape.web();
            assert_eq!(
                (web.pages(), web.hosts(), web.addresses(), web.links()),
                (shape.urls, shape.hosts, shape.addresses, shape.links)
            );
            let largest = web.server_pages(Unit::Hosts).into_iter().max();
            // of a very small web what does not fit elsewhere goes to the largest host
            if share >= 0.02 {
                assert_eq!(largest, Some(shape.largest as u64));
            }
        }
    }

    #[test]
    fn links_are_local_and_the_seed_decides() {
        let shape = Shape::published(1).scaled(0.05);
        let web = shape.web();
        let inside: usize = (0..web.pages() as u32)
            .map(|page| {
                let own = web.host_of(page);
                let is_own = |&&target: &&u32| web.host_of(target) == own;
                web.links_of(page).iter().filter(is_own).count()
            })
            .sum();
        let share = inside as f64 / web.links() as f64;
        assert!((share - 0.8).abs() < 0.01, "{share}");
        assert_eq!(web, shape.web());
        assert_ne!(web, Shape { seed: 2, ..shape }.web());
        let four = shape.internet(&web, 4);
        let five = shape.internet(&web, 5);
        assert_eq!(
            four.rtt(Robot(3), Address(7)),
            five.rtt(Robot(3), Address(7))
        );
    }
}
