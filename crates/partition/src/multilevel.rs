//! Multilevel.
mod cluster;
mod connections;
mod contract;
mod cycle;
mod initial;
mod instance;
mod rebalance;
mod search;
mod state;

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use crate::graph::{Graph, Load};

pub fn partition(graph: &Graph, limits: &[Load], seed: u64) -> Vec<u32> {
    let fixed = vec![instance::FREE; graph.len()];
    let instance = instance::Instance { graph, limits, fixed: &fixed };
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let f = |n: &str, d: f64| std::env::var(n).ok().and_then(|x| x.parse().ok()).unwrap_or(d);
    let plan = cycle::Plan { coarsest_per_part: f("CPP", 160.0) as usize, shrink: f("SHRINK", 2.5),
        reach: search::Reach { seeds: f("SEEDS", 25.0) as usize, patience: f("PAT", 200.0) as usize, rounds: f("ROUNDS", 10.0) as usize } };
    let mut part = cycle::cycle(instance, &plan, cycle::Start::Anew, &mut rng);
    for _ in 0..f("VC", 0.0) as usize {
        eprint!("{:.4} ", graph.cut(&part) as f64/551531.0);
        part = cycle::cycle(instance, &plan, cycle::Start::From(&part), &mut rng);
    }
    part
}
