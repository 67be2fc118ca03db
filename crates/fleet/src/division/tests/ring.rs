//! Places on a ring, a cluster of servers at each, robots at some of them or at all.

use super::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const EACH: u64 = 12;
const STEP: u32 = 20_000;

#[derive(Clone, Copy)]
struct Ring {
    places: u64,
    robots: u64,
    /// Of links, the share that goes anywhere.
    far: f64,
}

impl Ring {
    /// Microseconds from a robot to the servers of a place.
    fn way(self, robot: u64, place: u64) -> u32 {
        let steps = (robot * self.places / self.robots).abs_diff(place);
        2_000 + STEP * steps.min(self.places - steps) as u32
    }
}

/// What is known after a few pages: probes are exact, answers are late by up to 3 ms.
fn known(server: u64, ring: Ring, random: &mut Xoshiro256PlusPlus) -> Placed {
    let place = server / EACH;
    let name = |server: u64| -> Text { format!("h{server}.example").into() };
    let mut counts = Counts::default();
    let pages = random.random_range(4..16);
    counts.pages.insert(name(server), pages);
    for _ in 0..8 * pages {
        let to = if random.random_bool(ring.far) {
            random.random_range(0..ring.places * EACH)
        } else {
            place * EACH + random.random_range(0..EACH)
        };
        if to != server {
            *counts.links.entry(name(to)).or_default() += 1;
        }
    }
    let asked = random.random_range(0..ring.robots);
    let answered = |robot, micros| Answered {
        robot: RobotId(robot),
        path: Vec::new(),
        micros,
    };
    for _ in 0..4 {
        let late = 3_000 + random.random_range(0..3_000);
        counts.time(&answered(asked, ring.way(asked, place) + late));
    }
    Placed {
        server: IpAddr::from([10, 1 + place as u8, 0, 1 + (server % EACH) as u8]),
        counts,
        before: None,
        blind: false,
        owner: None,
        probes: (0..ring.robots)
            .map(|robot| answered(robot, ring.way(robot, place)))
            .collect(),
        place: None,
    }
}

/// The robots of each place's servers.
fn divided(ring: Ring, seed: u64) -> Vec<Vec<u64>> {
    let random = &mut Xoshiro256PlusPlus::seed_from_u64(seed);
    let all = (0..ring.places * EACH).map(|server| known(server, ring, random));
    let all: Vec<Placed> = all.collect();
    let seats: Vec<u64> = (0..ring.robots).collect();
    let (plan, _) = plan(&division(&seats, all.clone()));
    let robot = |placed: &Placed| match owner(&plan, placed) {
        Member::Robot(RobotId(robot)) => robot,
        Member::Group(_) => unreachable!("there are robots only"),
    };
    all.chunks(EACH as usize)
        .map(|place| place.iter().map(robot).collect())
        .collect()
}

#[test]
fn a_few_milliseconds_divide_no_cluster() {
    let ring = Ring {
        places: 8,
        robots: 2,
        far: 0.05,
    };
    // both robots are as far from two of the places
    for seed in 0..10 {
        let places = divided(ring, seed);
        let kept = places.iter().map(|place| {
            let first = place.iter().filter(|&&robot| robot == 0).count();
            first.max(place.len() - first)
        });
        // of 96; pages are to be equal to a tenth
        assert!(kept.sum::<usize>() >= 93, "seed {seed}: {places:?}");
    }
}

#[test]
fn clusters_that_fill_their_robots_go_to_the_nearest() {
    let ring = Ring {
        places: 16,
        robots: 16,
        far: 0.2,
    };
    let mut beyond = 0;
    for seed in 0..10 {
        for (place, robots) in (0..).zip(divided(ring, seed)) {
            let way = |robot: &u64| u64::from(ring.way(*robot, place) - 2_000);
            beyond += robots.iter().map(way).sum::<u64>();
        }
    }
    let beyond = beyond / (10 * ring.places * EACH);
    assert!(beyond < 3_000, "{beyond} microseconds beyond the nearest");
}
