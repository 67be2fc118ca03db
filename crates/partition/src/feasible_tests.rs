//! Instances that can be divided within the limits by construction, and must be.

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::graph::{Graph, GraphBuilder, Vertex};
use crate::hierarchy::{self, Division, Member, Tree};
use crate::limits::{Balance, balanced};
use crate::multilevel;
use crate::single_level;
use crate::task::Task;

const BALANCE: Balance = Balance {
    pages: Some(0.05),
    servers: Some(0.5),
    traffic: None,
};

/// Some slack beside what was drawn.
const DRAWN: Balance = Balance {
    pages: Some(0.02),
    servers: Some(0.3),
    traffic: None,
};

/// Every robot is given servers around its share, with skewed pages that add up to its share; links
/// are drawn afterwards. None if rounding led too far from the shares.
fn feasible(capacities: &[f64], per_capacity: usize, seed: u64) -> Option<Graph> {
    let rng = &mut Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut pages: Vec<u64> = Vec::new();
    let mut part = Vec::new();
    for (robot, capacity) in (0..).zip(capacities) {
        let share = 200.0 * capacity;
        let servers = (per_capacity as f64 * capacity * rng.random_range(0.8..1.2)) as usize;
        let drawn: Vec<f64> = (0..servers.max(2))
            .map(|_| (1.0 - rng.random::<f64>()).powf(-1.2).min(60.0))
            .collect();
        let sum: f64 = drawn.iter().sum();
        pages.extend(drawn.iter().map(|d| ((d / sum * share) as u64).max(1)));
        part.resize(pages.len(), robot);
    }
    let hosts = pages.len() as Vertex;
    let mut rows = GraphBuilder::new(pages.len());
    for (v, &pages) in (0..).zip(&pages) {
        rows.pages(v, pages).unwrap();
    }
    for _ in 0..4 * hosts {
        let popular = (f64::from(hosts) * rng.random::<f64>().powi(2)) as Vertex;
        let weight = f64::from(rng.random_range(1..10_u32));
        rows.link(rng.random_range(0..hosts), popular, weight)
            .unwrap();
    }
    let graph = rows.build().unwrap();
    let limits = DRAWN.limits(graph.total_load(), capacities);
    balanced(&graph, &part, &limits).then_some(graph)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn limits_that_can_be_met_are_met(
        capacities in proptest::collection::vec(1..=2_u32, 2..8),
        per_capacity in 5_usize..40,
        seed in any::<u64>(),
    ) {
        let capacities: Vec<f64> = capacities.into_iter().map(f64::from).collect();
        let graph = feasible(&capacities, per_capacity, seed);
        prop_assume!(graph.is_some());
        let graph = graph.unwrap();
        let mut task = Task::new(&graph, &capacities, BALANCE);
        task.seed = seed;
        let limits = BALANCE.limits(graph.total_load(), &capacities);
        for answer in [multilevel::partition(&task), single_level::partition(&task)] {
            let answer = answer.unwrap();
            let loads = &answer.loads;
            prop_assert!(balanced(&graph, &answer.part, &limits), "{loads:?} {limits:?}");
        }
        let robots = capacities.iter().map(|&c| Member::Robot(c));
        let robots: Vec<Member> = robots.collect();
        let (left, right) = robots.split_at(robots.len() / 2);
        let groups = [left, right].map(|group| Member::Group(group.to_vec()));
        let tree = Tree::new(&Member::Group(groups.to_vec())).unwrap();
        let division = Division {
            graph: &graph,
            balance: BALANCE,
            robots: &[],
            fixed: &[],
            previous: None,
            seed,
        };
        let part = hierarchy::partition(&tree, &division).unwrap();
        let loads = graph.part_loads(&part, capacities.len());
        prop_assert!(balanced(&graph, &part, &limits), "{loads:?} {limits:?}");
    }

    /// The limits of the others are those of the Web without it.
    #[test]
    fn a_host_larger_than_a_part_overfills_its_own_only(
        robots in 3_usize..7,
        per_capacity in 8_usize..30,
        seed in any::<u64>(),
    ) {
        let small = feasible(&vec![1.0; robots - 1], per_capacity, seed);
        prop_assume!(small.is_some());
        let small = small.unwrap();
        let giant = small.len() as Vertex;
        let mut rows = GraphBuilder::new(small.len() + 1);
        for v in small.vertices() {
            rows.pages(v, small.load(v).pages).unwrap();
            rows.link(v, giant, 1.0).unwrap();
        }
        rows.pages(giant, 1000).unwrap();
        let graph = rows.build().unwrap();
        let capacities = vec![1.0; robots];
        let answer = multilevel::partition(&Task::new(&graph, &capacities, BALANCE)).unwrap();
        let limit = BALANCE.limits(small.total_load(), &capacities[1..])[0];
        for (part, load) in (0..).zip(&answer.loads) {
            if part == answer.part[giant as usize] {
                prop_assert_eq!(load.servers, 1);
            } else {
                prop_assert!(load.fits(&limit), "{:?} {:?}", answer.loads, limit);
            }
        }
    }
}
