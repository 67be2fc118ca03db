//! Graphs for tests.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::graph::{Graph, GraphBuilder};

/// Hosts in communities of a hundred: 80 % of the links stay inside, popularity and pages are
/// skewed.
pub fn communities(hosts: u32, links: usize, seed: u64) -> Graph {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut rows = GraphBuilder::new(hosts as usize);
    for host in 0..hosts {
        let pages = (1.0 - rng.random::<f64>()).powf(-0.8).min(200.0);
        rows.pages(host, pages as u64).unwrap();
    }
    for _ in 0..links {
        let source = rng.random_range(0..hosts);
        let popular = rng.random::<f64>().powi(2);
        let target = if rng.random::<f64>() < 0.8 {
            let first = source / 100 * 100;
            first + (popular * f64::from((hosts - first).min(100))) as u32
        } else {
            (popular * f64::from(hosts)) as u32 * 7919 % hosts
        };
        rows.link(source, target, f64::from(rng.random_range(1..10_u32)))
            .unwrap();
    }
    rows.build().unwrap()
}
