//! Eight places on a ring, a cluster of servers at each, robots at some of them.

use super::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const PLACES: u64 = 8;
const EACH: u64 = 12;
const STEP: u32 = 20_000;

/// Microseconds from a robot to the servers of a place.
fn way(robots: u64, robot: u64, place: u64) -> u32 {
    let steps = (robot * PLACES / robots).abs_diff(place);
    2_000 + STEP * steps.min(PLACES - steps) as u32
}

/// What is known after a few pages: probes are exact, answers are late by up to 3 ms.
fn known(server: u64, robots: u64, random: &mut Xoshiro256PlusPlus) -> Placed {
    let place = server / EACH;
    let name = |server: u64| -> Text { format!("h{server}.example").into() };
    let mut counts = Counts::default();
    counts.pages.insert(name(server), 4);
    for _ in 0..32 {
        let to = if random.random_bool(0.95) {
            place * EACH + random.random_range(0..EACH)
        } else {
            random.random_range(0..PLACES * EACH)
        };
        if to != server {
            *counts.links.entry(name(to)).or_default() += 1;
        }
    }
    let asked = random.random_range(0..robots);
    let answered = |robot, micros| Answered {
        robot: RobotId(robot),
        path: Vec::new(),
        micros,
    };
    for _ in 0..4 {
        let late = 3_000 + random.random_range(0..3_000);
        counts.time(&answered(asked, way(robots, asked, place) + late));
    }
    Placed {
        server: IpAddr::from([10, 1 + place as u8, 0, 1 + (server % EACH) as u8]),
        counts,
        before: None,
        blind: false,
        owner: None,
        probes: (0..robots)
            .map(|robot| answered(robot, way(robots, robot, place)))
            .collect(),
        place: None,
    }
}

/// The robots of each place's servers.
fn divided(robots: u64, seed: u64) -> Vec<Vec<u64>> {
    let random = &mut Xoshiro256PlusPlus::seed_from_u64(seed);
    let all = (0..PLACES * EACH).map(|server| known(server, robots, random));
    let all: Vec<Placed> = all.collect();
    let seats: Vec<u64> = (0..robots).collect();
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
    // two robots are as far from two of the places as each other
    for seed in 0..10 {
        let places = divided(2, seed);
        let is_whole = |place: &Vec<u64>| place.iter().all(|robot| *robot == place[0]);
        assert!(places.iter().all(is_whole), "seed {seed}: {places:?}");
        let own = |place: u64| places[place as usize][0];
        assert!((own(0), own(1), own(7)) == (0, 0, 0) && (own(3), own(4), own(5)) == (1, 1, 1));
    }
}

#[test]
fn clusters_that_fill_their_robots_go_to_the_nearest() {
    for seed in 0..10 {
        for (place, robots) in divided(8, seed).into_iter().enumerate() {
            assert_eq!(robots, [place as u64; EACH as usize], "seed {seed}");
        }
    }
}
