//! A Web of the usual shape: power-law popularity and sizes, and communities.

use partition::graph::{Graph, GraphBuilder, GraphError};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Hosts of one community lie next to each other.
const COMMUNITY: f64 = 500.0;
/// The share of links that stay within their community.
const LOCAL: f64 = 0.7;

/// `hosts` vertices and about `edges` edges. A link leaves a uniformly drawn host and goes to one
/// of its community, or of the whole Web, whose popularity falls as a power of its rank.
pub fn power_law(hosts: u32, edges: usize, seed: u64) -> Result<Graph, GraphError> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut rows = GraphBuilder::new(hosts as usize);
    for host in 0..hosts {
        // Pareto with exponent 1.2, at most 10,000 pages
        let pages = (1.0 - rng.random::<f64>()).powf(-1.0 / 1.2);
        rows.pages(host, pages.min(10_000.0) as u64)?;
    }
    for _ in 0..edges {
        let source = rng.random_range(0..hosts);
        // cubing a uniform number makes the low ranks popular: density ~ rank^(-2/3)
        let popular = rng.random::<f64>().powi(3);
        let target = if rng.random::<f64>() < LOCAL {
            let first = (f64::from(source) / COMMUNITY).floor() * COMMUNITY;
            let size = COMMUNITY.min(f64::from(hosts) - first);
            (first + popular * size) as u32
        } else {
            // spread by a multiplication so that popular hosts fall into all communities
            let rank = (popular * f64::from(hosts)) as u64;
            (rank * 2_654_435_761 % u64::from(hosts)) as u32
        };
        rows.link(
            source,
            target,
            f64::from(1 + rng.random_range(0..5_u32).pow(2)),
        )?;
    }
    rows.build()
}
