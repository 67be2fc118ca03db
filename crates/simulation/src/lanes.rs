//! Plans for large repositories, cut into lanes of whole servers: servers do not know of each other.

use crate::{
    run::{Lane, derive},
    world::World,
};
use freshness::{
    PageId,
    policy::{
        Change, Next, Outcome, Policy,
        schedule::{Schedule, Selection},
    },
};
use rayon::prelude::*;
use std::ops::Range;

/// Pages of a lane, about: what fits the caches.
const LANE_PAGES: usize = 1 << 12;

/// Cuts pages that are sorted by server into lanes, none of which shares a server with another.
pub fn lanes(server: &[u32]) -> Vec<Range<usize>> {
    let mut lanes = Vec::new();
    let mut start = 0;
    while start < server.len() {
        let about = (start + LANE_PAGES).min(server.len());
        let last = server[about - 1];
        let end = about + server[about..].partition_point(|&server| server == last);
        lanes.push(start..end);
        start = end;
    }
    lanes
}

/// A schedule of given frequencies for each lane.
pub fn scheduled(
    world: &World,
    frequency: &[f64],
    selection: Selection,
    lanes: &[Range<usize>],
    seed: u64,
) -> Vec<Lane> {
    lanes
        .par_iter()
        .enumerate()
        .map(|(number, pages)| {
            let first = world.server[pages.start];
            let last = world.server[pages.end - 1];
            let server: Vec<u32> = world.server[pages.clone()]
                .iter()
                .map(|s| s - first)
                .collect();
            let delay = &world.delay[first as usize..=last as usize];
            let seed = derive(seed, number as u64);
            let mut schedule = selection.schedule(delay, world.from, seed);
            schedule.replan(world.from, &server, &frequency[pages.clone()]);
            Lane {
                pages: pages.clone(),
                policy: Box::new(Scheduled(schedule)),
            }
        })
        .collect()
}

/// A schedule alone is a policy that nothing can surprise.
struct Scheduled(Box<dyn Schedule>);

impl Policy for Scheduled {
    fn next(&mut self, now: f64) -> Next {
        self.0.next(now)
    }

    fn observe(&mut self, _: PageId, _: f64, _: Outcome<'_>) {}

    fn change(&mut self, _: f64, _: Change) {
        unreachable!("nothing but pages changes in a simulation")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_never_share_a_server() {
        let mut server: Vec<u32> = (0..300_000).map(|page| page / 70_000).collect();
        server.extend([9, 10, 11]);
        let lanes = lanes(&server);
        assert!(lanes.len() >= 4);
        assert_eq!(
            (lanes[0].start, lanes[lanes.len() - 1].end),
            (0, server.len())
        );
        for pair in lanes.windows(2) {
            assert_eq!(pair[0].end, pair[1].start);
            assert_ne!(server[pair[0].end - 1], server[pair[1].start]);
        }
    }
}
