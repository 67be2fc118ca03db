//! A generated Internet with routers: hosts in real cities, fibre between them, routes that
//! prefer some links for reasons of their own, as those of the Internet do.

use super::{Graph, Link};
use crate::place::cities;
use ground::Point;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Cities with backbone routers.
const BACKBONE: usize = 90;
/// Backbone routers a backbone router is joined to, nearest first.
const NEIGHBOURS: usize = 3;
/// Every so many backbone routers is a hub, joined to all other hubs.
const HUB_EVERY: usize = 6;
/// Light in fibre goes 200 km in a millisecond; there and back, and cables take detours.
const MS_PER_KM: f64 = 1.3 * 2.0 / 200.0;
/// What a router adds.
const ROUTER_MS: f64 = 0.2;
/// Share of routers that never answer.
const SILENT: f64 = 0.1;

/// Hosts and routers and what lies between them. Hosts are the vertices from 0 on.
pub struct World {
    hosts: usize,
    /// How long links really are.
    links: Graph,
    /// What routing takes them for.
    preferences: Graph,
    silent: Vec<bool>,
    seed: u64,
}

/// Generates a world with that many hosts.
pub fn generate(hosts: usize, seed: u64) -> World {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let backbone = spread(BACKBONE);
    let cities = cities();
    let mut links = Vec::new();
    let mut join = |a: usize, b: usize, ms: f64| {
        links.push(Link {
            a,
            b,
            weight_ms: ms + ROUTER_MS,
        });
    };
    let first = hosts;
    let between = |a: Point, b: Point| a.kilometres_to(b) * MS_PER_KM;
    for (k, &here) in backbone.iter().enumerate() {
        let mut others: Vec<usize> = (0..backbone.len()).filter(|&o| o != k).collect();
        others.sort_by(|&a, &b| between(here, backbone[a]).total_cmp(&between(here, backbone[b])));
        for &other in others.iter().take(NEIGHBOURS) {
            join(first + k, first + other, between(here, backbone[other]));
        }
        for other in (0..k).filter(|o| k % HUB_EVERY == 0 && o % HUB_EVERY == 0) {
            join(first + k, first + other, between(here, backbone[other]));
        }
    }
    // access routers, one a city that has hosts, at the two nearest backbone routers
    let mut access = std::collections::BTreeMap::new();
    let mut vertices = first + backbone.len();
    for host in 0..hosts {
        // more hosts in larger cities, which come first
        let share: f64 = random.random();
        let city = (share * share * cities.len() as f64) as usize;
        let here = cities[city].point;
        let router = *access.entry(city).or_insert_with(|| {
            let mut near: Vec<usize> = (0..backbone.len()).collect();
            near.sort_by(|&a, &b| {
                between(here, backbone[a]).total_cmp(&between(here, backbone[b]))
            });
            for &k in near.iter().take(2) {
                join(vertices, first + k, between(here, backbone[k]));
            }
            vertices += 1;
            vertices - 1
        });
        // access lines: mostly short, some long
        let line = 0.3 + 3.0 * -(1.0 - random.random::<f64>()).ln();
        join(host, router, line);
    }
    let preferences: Vec<Link> = links
        .iter()
        .map(|link| Link {
            weight_ms: link.weight_ms * random.random_range(0.6..1.6),
            ..*link
        })
        .collect();
    World {
        hosts,
        links: Graph::new(vertices, &links),
        preferences: Graph::new(vertices, &preferences),
        silent: (0..vertices)
            .map(|v| v >= hosts && random.random::<f64>() < SILENT)
            .collect(),
        seed,
    }
}

/// The largest cities that are not too near to each other.
fn spread(count: usize) -> Vec<Point> {
    const APART_KM: f64 = 350.0;
    let mut chosen: Vec<Point> = Vec::new();
    for city in cities() {
        if chosen.len() == count {
            break;
        }
        if chosen
            .iter()
            .all(|&other| other.kilometres_to(city.point) > APART_KM)
        {
            chosen.push(city.point);
        }
    }
    chosen
}

impl World {
    /// Hosts, without routers.
    pub fn hosts(&self) -> usize {
        self.hosts
    }

    /// Hosts and routers.
    pub fn vertices(&self) -> usize {
        self.links.vertices()
    }

    /// The routes from a host to all others, as sequences of vertices without the source.
    pub fn routes_from(&self, source: usize) -> Vec<Vec<usize>> {
        let distance = self.preferences.distances_from(source);
        // walk back along links that explain the distance
        let before = |vertex: usize| {
            let near = self.preferences.neighbours(vertex).iter();
            let via = |(n, w): &(usize, f64)| (distance[*n] + w - distance[vertex]).abs();
            near.min_by(|x, y| via(x).total_cmp(&via(y))).map(|n| n.0)
        };
        (0..self.hosts)
            .map(|target| {
                let mut route = Vec::new();
                let mut vertex = target;
                while vertex != source {
                    route.push(vertex);
                    let Some(previous) = before(vertex) else {
                        break;
                    };
                    vertex = previous;
                }
                route.reverse();
                route
            })
            .collect()
    }

    /// The RTT along a route.
    pub fn rtt_ms(&self, source: usize, route: &[usize]) -> f64 {
        self.along(source, route).last().copied().unwrap_or(0.0)
    }

    /// The RTT of each hop of a route, without what routers add when they answer.
    fn along(&self, source: usize, route: &[usize]) -> Vec<f64> {
        let mut last = source;
        let mut sum = 0.0;
        route
            .iter()
            .map(|&next| {
                let near = self.links.neighbours(last).iter();
                sum += near.filter(|n| n.0 == next).map(|n| n.1).sum::<f64>();
                last = next;
                sum
            })
            .collect()
    }

    /// What a traceroute along a route sees: the hops that answer, each a little late.
    pub fn traced(&self, source: usize, route: &[usize]) -> Vec<(usize, f64)> {
        let target = route.last().copied().unwrap_or(source);
        let mut random =
            Xoshiro256PlusPlus::seed_from_u64(self.seed ^ ((source as u64) << 32) ^ target as u64);
        route
            .iter()
            .zip(self.along(source, route))
            .map(|(&vertex, rtt)| (vertex, rtt - 0.3 * (1.0 - random.random::<f64>()).ln()))
            .filter(|&(vertex, _)| !self.silent[vertex])
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_world_is_connected_and_as_large_as_the_earth() {
        let world = generate(200, 3);
        let routes = world.routes_from(0);
        assert_eq!(routes[0], Vec::<usize>::new());
        let rtts: Vec<f64> = routes[1..].iter().map(|r| world.rtt_ms(0, r)).collect();
        assert!(rtts.iter().all(|&ms| ms > 0.5 && ms < 600.0));
        let median = crate::sampling::median(&rtts).unwrap();
        assert!((50.0..250.0).contains(&median), "{median}");
        for (target, route) in routes.iter().enumerate().skip(1) {
            assert_eq!(route.last(), Some(&target));
            // only routers in between
            assert!(route[..route.len() - 1].iter().all(|&v| v >= 200));
            let seen = world.traced(0, route);
            assert!(seen.len() <= route.len());
            assert!(seen.last().unwrap().1 >= world.rtt_ms(0, route));
        }
    }
}
