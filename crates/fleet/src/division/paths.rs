//! How far robots are from servers that answer no probes: shortest paths over the routers that they found on their ways.
//!
//! Robots and routers are the vertices; a block of addresses hangs on the last routers before it, and no way leads through it: the
//! same address may be in many places at once.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ground::paths::{Graph, links_of};

use crate::counts::{Answered, block};
use crate::identity::RobotId;
use crate::trace::Traced;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Vertex {
    Robot(RobotId),
    Router(IpAddr),
}

/// The union of all routes.
pub(super) struct Paths<'a> {
    /// To each block.
    traces: BTreeMap<IpAddr, Vec<&'a Traced>>,
    /// Milliseconds from each robot that found a route to every vertex.
    from: BTreeMap<RobotId, Vec<f64>>,
    /// Of a block, the last routers before it, and milliseconds from there.
    ends: BTreeMap<IpAddr, Vec<(usize, f64)>>,
}

impl<'a> Paths<'a> {
    /// `end` says how many microseconds a way takes as a whole; nothing if nobody knows.
    pub(super) fn new(traces: &'a [Traced], end: impl Fn(&Traced) -> Option<u32>) -> Self {
        let mut vertices = BTreeMap::new();
        let mut links = Vec::new();
        let mut ends: BTreeMap<IpAddr, Vec<(usize, f64)>> = BTreeMap::new();
        let mut robots = BTreeMap::new();
        let mut to: BTreeMap<IpAddr, Vec<&Traced>> = BTreeMap::new();
        for traced in traces {
            to.entry(block(traced.server)).or_default().push(traced);
            let mut vertex = |of: Vertex| {
                let next = vertices.len();
                *vertices.entry(of).or_insert(next)
            };
            let robot = vertex(Vertex::Robot(traced.robot));
            robots.insert(traced.robot, robot);
            let hops = traced.trace.hops.iter();
            let hops: Vec<(usize, f64)> = hops
                .map(|(router, micros)| (vertex(Vertex::Router(*router)), millis(*micros)))
                .collect();
            let (last, so_far) = hops.last().copied().unwrap_or((robot, 0.0));
            links.extend(links_of(robot, hops));
            if let Some(end) = end(traced) {
                let rest = (millis(end) - so_far).max(0.0);
                let known = ends.entry(block(traced.server)).or_default();
                known.push((last, rest));
            }
        }
        let graph = Graph::new(vertices.len(), &links);
        let from = (robots.into_iter())
            .map(|(robot, vertex)| (robot, graph.distances_from(vertex)))
            .collect();
        Self {
            traces: to,
            from,
            ends,
        }
    }

    /// How far those are from a server who looked for the way to its block: no more than would have probed it.
    pub(super) fn to(&self, server: IpAddr) -> Vec<Answered> {
        let to = self.traces.get(&block(server)).into_iter().flatten();
        let known = to.filter_map(|traced| {
            Some(Answered {
                robot: traced.robot,
                path: traced.path.clone(),
                micros: self.between(traced.robot, server)?,
            })
        });
        known.collect()
    }

    /// Microseconds from a robot to a server; nothing if no way is known.
    fn between(&self, robot: RobotId, server: IpAddr) -> Option<u32> {
        let from = self.from.get(&robot)?;
        let ends = self.ends.get(&block(server))?.iter();
        let shortest = ends.map(|(last, rest)| from[*last] + rest);
        let shortest = shortest.fold(f64::INFINITY, f64::min);
        shortest.is_finite().then_some((1e3 * shortest) as u32)
    }
}

fn millis(micros: u32) -> f64 {
    f64::from(micros) / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Trace;
    use proptest::prelude::*;

    fn router(number: u8) -> IpAddr {
        [8, 8, 8, number].into()
    }

    fn server(number: u8) -> IpAddr {
        [9, 9, number, 1].into()
    }

    fn measured(traced: &Traced) -> Option<u32> {
        traced.trace.end
    }

    fn traced(robot: u64, to: u8, hops: &[(u8, u32)], end: Option<u32>) -> Traced {
        let hops = hops
            .iter()
            .map(|(number, micros)| (router(*number), *micros));
        let hops = hops.collect();
        Traced {
            robot: RobotId(robot),
            path: Vec::new(),
            server: server(to),
            trace: Trace { hops, end },
        }
    }

    #[test]
    fn ways_are_shared_and_none_leads_through_a_server() {
        let all = [
            traced(1, 1, &[(1, 2_000), (2, 40_000)], Some(41_000)),
            traced(2, 2, &[(2, 1_000)], Some(5_000)),
            // the same address near both
            traced(1, 3, &[(1, 2_000)], Some(3_000)),
            traced(2, 3, &[(2, 1_000)], Some(2_000)),
        ];
        let paths = Paths::new(&all, measured);
        let from = |robot: u64, to: u8| paths.between(RobotId(robot), server(to));
        assert_eq!(from(2, 1), Some(2_000));
        assert_eq!(from(1, 2), Some(44_000), "not by way of the third server");
        assert_eq!((from(1, 3), from(2, 3)), (Some(3_000), Some(2_000)));
        assert_eq!((from(3, 1), from(1, 9)), (None, None));
    }

    #[test]
    fn what_does_not_end_leads_nowhere_unless_the_end_is_known_otherwise() {
        // the second robot sees its own router only, and would seem to be next to the server
        let all = [
            traced(1, 1, &[(1, 2_000), (2, 40_000)], None),
            traced(2, 1, &[(3, 1_000)], None),
            traced(2, 2, &[(3, 1_000), (1, 30_000)], Some(90_000)),
        ];
        let nothing = Paths::new(&all, measured);
        assert_eq!(nothing.between(RobotId(2), server(1)), None);
        let owner = |traced: &Traced| {
            let answer = (traced.robot == RobotId(1)).then_some(70_000);
            measured(traced).or(answer)
        };
        let paths = Paths::new(&all, owner);
        assert_eq!(paths.between(RobotId(1), server(1)), Some(70_000));
        assert_eq!(paths.between(RobotId(2), server(1)), Some(98_000));
    }

    proptest! {
        /// On a tree of routers, each at a time of its own from the root, paths are exact whoever found them.
        #[test]
        fn on_a_tree_they_are_what_the_tree_says(
            parents in prop::collection::vec((any::<prop::sample::Index>(), 1_u32..50_000), 2..40),
            robots in prop::collection::vec(any::<prop::sample::Index>(), 2..5),
            servers in prop::collection::vec(any::<prop::sample::Index>(), 1..20),
        ) {
            // the way from a router up to the root, with the time of each step
            let mut tree = vec![(0, 0)];
            for (parent, micros) in &parents {
                tree.push((parent.index(tree.len()), *micros));
            }
            let up = |mut at: usize| {
                let mut way = vec![(at, 0)];
                while at != 0 {
                    let (parent, micros) = tree[at];
                    way.push((parent, way[way.len() - 1].1 + micros));
                    at = parent;
                }
                way
            };
            let between = |a: usize, b: usize| {
                let (a, b) = (up(a), up(b));
                let meet = a.iter().find_map(|(v, there)| {
                    let other = b.iter().find(|(w, _)| w == v)?;
                    Some(there + other.1)
                });
                meet.expect("the root at least")
            };
            let route = |from: usize, to: usize| {
                let (a, b) = (up(from), up(to));
                let meet = a.iter().find(|(v, _)| b.iter().any(|(w, _)| w == v)).expect("the root").0;
                let mut way: Vec<usize> = a.iter().map(|(v, _)| *v).take_while(|v| *v != meet).collect();
                way.push(meet);
                let mut down: Vec<usize> = b.iter().map(|(v, _)| *v).take_while(|v| *v != meet).collect();
                down.reverse();
                way.extend(down);
                way
            };
            let at: Vec<usize> = robots.iter().map(|robot| robot.index(tree.len())).collect();
            let mut all = Vec::new();
            for (number, server) in (0_u8..).zip(&servers) {
                // each server is traced by one robot only, which knows it is 7 ms behind its router
                let (robot, to) = (number as usize % at.len(), server.index(tree.len()));
                let hops: Vec<(u8, u32)> = (route(at[robot], to).iter())
                    .map(|&v| (v as u8, 1_000 + between(at[robot], v)))
                    .collect();
                let end = hops.last().expect("its own router").1 + 7_000;
                all.push(traced(robot as u64, number, &hops, Some(end)));
            }
            let paths = Paths::new(&all, measured);
            for (number, server) in (0_u8..).zip(&servers) {
                for (robot, &here) in at.iter().enumerate() {
                    let truth = 8_000 + between(here, server.index(tree.len()));
                    if let Some(found) = paths.between(RobotId(robot as u64), super::tests::server(number)) {
                        // never too short; rounding takes a microsecond
                        prop_assert!(found + 1 >= truth, "{found} {truth}");
                        let own = number as usize % at.len() == robot;
                        prop_assert!(!own || found <= truth + 1);
                    }
                }
            }
        }
    }
}
