//! The map in memory: who is how far from whom, measured or estimated.

use crate::approximate::{
    Embedding, Experiment, Graph, Judgement, Link, Pair, Settings, judge, links_of,
};
use crate::store::{self, Measurement, Store, TracedRoute};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

/// Of so many measured pairs one is held back when estimates are judged.
const HOLD_BACK_EVERY: usize = 5;

/// All vertices, links and measured pairs of a map.
pub struct Atlas {
    vertex: HashMap<String, usize>,
    sources: Vec<usize>,
    measured: Vec<Pair>,
    /// Links of each route, with the ends of the route.
    routes: Vec<(usize, usize, Vec<Link>)>,
}

/// What is known about the RTT of a pair, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Distance {
    /// The median of probes.
    pub measured_ms: Option<f64>,
    /// Along the shortest path of links seen.
    pub shortest_path_ms: Option<f64>,
    /// By network coordinates.
    pub coordinates_ms: Option<f64>,
}

impl Atlas {
    /// Reads a map, with RTTs over a window of so many seconds.
    pub fn read(store: &Store, window: f64) -> Result<Self, store::Error> {
        let mut names = Vec::new();
        for located in store.located()? {
            names.extend(
                located
                    .names
                    .into_iter()
                    .map(|name| (name, located.address)),
            );
        }
        Ok(Self::new(
            &store.measurements(window)?,
            &store.routes()?,
            names,
        ))
    }

    /// A map of these facts. A source and a host of the same name are the same vertex.
    pub fn new(
        measurements: &[Measurement],
        routes: &[TracedRoute],
        names: impl IntoIterator<Item = (String, IpAddr)>,
    ) -> Self {
        let mut atlas = Self {
            vertex: HashMap::new(),
            sources: Vec::new(),
            measured: Vec::new(),
            routes: Vec::new(),
        };
        let mut count = 0;
        for (name, address) in names {
            let vertex = atlas.add(&address.to_string(), &mut count);
            atlas.vertex.entry(name).or_insert(vertex);
        }
        for m in measurements {
            let a = atlas.add_source(&m.source, &mut count);
            let b = atlas.add(&m.address.to_string(), &mut count);
            if a != b && m.rtt_ms > 0.0 {
                let rtt_ms = m.rtt_ms;
                atlas.measured.push(Pair { a, b, rtt_ms });
            }
        }
        for route in routes {
            let a = atlas.add_source(&route.source, &mut count);
            let b = atlas.add(&route.target.to_string(), &mut count);
            let mut hops = Vec::new();
            for (address, rtt_ms) in &route.hops {
                hops.push((atlas.add(&address.to_string(), &mut count), *rtt_ms));
            }
            atlas.routes.push((a, b, links_of(a, hops)));
        }
        atlas
    }

    fn add(&mut self, name: &str, count: &mut usize) -> usize {
        *self.vertex.entry(name.to_owned()).or_insert_with(|| {
            *count += 1;
            *count - 1
        })
    }

    fn add_source(&mut self, name: &str, count: &mut usize) -> usize {
        let vertex = self.add(name, count);
        if !self.sources.contains(&vertex) {
            self.sources.push(vertex);
        }
        vertex
    }

    /// The vertex of a robot, a host or an address.
    pub fn vertex(&self, name: &str) -> Option<usize> {
        self.vertex.get(name).copied()
    }

    /// Number of vertices: robots, hosts, routers.
    pub fn vertices(&self) -> usize {
        self.vertex.values().max().map_or(0, |last| last + 1)
    }

    /// The union of all routes; measured pairs are links too when no route of theirs is known.
    pub fn graph(&self) -> Graph {
        self.graph_without(&[])
    }

    fn graph_without(&self, held_back: &[Pair]) -> Graph {
        let secret: HashSet<(usize, usize)> = held_back.iter().map(|p| (p.a, p.b)).collect();
        let open = |a: usize, b: usize| !secret.contains(&(a, b));
        let traced: HashSet<(usize, usize)> = self.routes.iter().map(|r| (r.0, r.1)).collect();
        let routes = self.routes.iter().filter(|(a, b, _)| open(*a, *b));
        let mut links: Vec<Link> = routes.flat_map(|(_, _, links)| links).copied().collect();
        let pairs = self.measured.iter();
        links.extend(
            pairs
                .filter(|p| open(p.a, p.b) && !traced.contains(&(p.a, p.b)))
                .map(|p| Link {
                    a: p.a,
                    b: p.b,
                    weight_ms: p.rtt_ms,
                }),
        );
        Graph::new(self.vertices(), &links)
    }

    /// All that is known about a pair.
    pub fn distance(&self, a: usize, b: usize, settings: &Settings) -> Distance {
        let ends = |p: &&Pair| (p.a, p.b) == (a, b) || (p.b, p.a) == (a, b);
        let path = self.graph().distances_from(a)[b];
        let known = |v: usize| self.measured.iter().any(|p| p.a == v || p.b == v);
        let embedded = known(a) && known(b);
        Distance {
            measured_ms: self.measured.iter().find(ends).map(|p| p.rtt_ms),
            shortest_path_ms: path.is_finite().then_some(path),
            coordinates_ms: embedded.then(|| self.embedding(settings).rtt_ms(a, b)),
        }
    }

    /// Coordinates for all vertices; they mean something for those with measurements.
    pub fn embedding(&self, settings: &Settings) -> Embedding {
        Embedding::fit(self.vertices(), &self.measured, settings)
    }

    /// Draws the pairs to hold back; every host keeps a measurement.
    fn split(&self, seed: u64) -> (Vec<Pair>, Vec<Pair>) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut left = vec![0; self.vertices()];
        for pair in &self.measured {
            left[pair.b] += 1;
        }
        let (mut kept, mut back) = (self.measured.clone(), Vec::new());
        let mut tries = kept.len();
        while back.len() < self.measured.len() / HOLD_BACK_EVERY && tries > 0 {
            let k = random.random_range(0..tries);
            tries -= 1;
            // what was looked at goes to the end
            kept.swap(k, tries);
            if left[kept[tries].b] > 1 {
                left[kept[tries].b] -= 1;
                back.push(kept.swap_remove(tries));
            }
        }
        (kept, back)
    }

    /// Shortest paths and coordinates against measured pairs that are held back from them; none
    /// when there are too few pairs to hold any back.
    pub fn judgement(&self, settings: &Settings) -> Option<(Judgement, Judgement)> {
        let (measured, held_back) = self.split(settings.seed);
        let experiment = Experiment {
            hosts: self.vertices(),
            robots: self.sources.clone(),
            measured,
            held_back,
        };
        if experiment.held_back.is_empty() {
            return None;
        }
        let graph = self.graph_without(&experiment.held_back);
        let from: HashMap<usize, Vec<f64>> = self
            .sources
            .iter()
            .map(|&source| (source, graph.distances_from(source)))
            .collect();
        let space = Embedding::fit(self.vertices(), &experiment.measured, settings);
        let pairs = experiment.measured.iter();
        let known: HashSet<usize> = pairs.flat_map(|p| [p.a, p.b]).collect();
        let by_space = |a: usize, b: usize| {
            if known.contains(&a) && known.contains(&b) {
                space.rtt_ms(a, b)
            } else {
                f64::NAN
            }
        };
        Some((
            judge(&experiment, |a, b| from[&a][b]),
            judge(&experiment, by_space),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    fn measurement(source: &str, last: u8, rtt_ms: f64) -> Measurement {
        Measurement {
            source: source.to_owned(),
            address: address(last),
            rtt_ms,
            sent: 7,
            answered: 7,
            method: "icmp".to_owned(),
            at: 0.0,
        }
    }

    fn route(source: &str, target: u8, hops: &[(u8, f64)]) -> TracedRoute {
        TracedRoute {
            source: source.to_owned(),
            target: address(target),
            reached: true,
            hops: hops.iter().map(|&(last, ms)| (address(last), ms)).collect(),
        }
    }

    #[test]
    fn unmeasured_pairs_go_through_shared_routers() {
        // two robots behind one router, a host that only the first has traced
        let atlas = Atlas::new(
            &[measurement("one", 9, 40.0), measurement("two", 1, 3.0)],
            &[
                route("one", 9, &[(1, 10.0), (9, 40.0)]),
                route("two", 1, &[(1, 3.0)]),
            ],
            [("host.example".to_owned(), address(9))],
        );
        let vertex = |name: &str| atlas.vertex(name).unwrap();
        assert_eq!(vertex("host.example"), vertex("192.0.2.9"));
        let found = atlas.distance(vertex("two"), vertex("host.example"), &Settings::default());
        assert_eq!(found.measured_ms, None);
        assert_eq!(found.shortest_path_ms, Some(33.0));
        assert!(found.coordinates_ms.is_some());
        let measured = atlas.distance(vertex("192.0.2.9"), vertex("one"), &Settings::default());
        assert_eq!(measured.measured_ms, Some(40.0));
        assert_eq!(atlas.vertex("nobody"), None);
        assert_eq!(atlas.judgement(&Settings::default()), None);
    }

    #[test]
    fn held_back_pairs_are_not_seen_by_the_estimates() {
        // every host behind one router: shortest paths are exact without the pair's own route
        let robots = ["one", "two", "three"];
        let (mut measurements, mut routes) = (Vec::new(), Vec::new());
        for (k, robot) in robots.iter().enumerate() {
            for host in 10..20 {
                let near = 1.0 + k as f64;
                let rtt = near + f64::from(host);
                measurements.push(measurement(robot, host, rtt));
                routes.push(route(robot, host, &[(1, near), (host, rtt)]));
            }
        }
        let atlas = Atlas::new(&measurements, &routes, []);
        let (path, space) = atlas.judgement(&Settings::default()).unwrap();
        assert_eq!((path.pairs, path.missing), (6, 0));
        assert!(path.error_p95 < 1e-9);
        assert!(space.error_p50 < 0.2, "{}", space.error_p50);
    }
}
