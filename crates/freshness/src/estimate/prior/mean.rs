//! The mean rate of pages, whatever its order of magnitude.

use super::counted::{Counted, Sums, blend};
use crate::estimate::Evidence;

/// Orders of magnitude that are tried: in seconds from once in three centuries to a million times.
const ORDERS: [f64; 17] = [
    1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6,
];
/// Where pages do not decide, an order of magnitude nearer to the usual rate is better by so much.
const NEARER: f64 = 0.01;

/// For each order of magnitude `g`: with `w = 1/(1/g + B)`, `Σ wA / Σ wB` is where EM for the mean of
/// gamma-Poisson pages comes to rest, if `g` is near to it. The order of magnitude that comes out as it
/// went in is the right one, so that no guess is needed for what a host begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MeanRate(Counted<Rungs>);

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Rungs([(f64, f64); ORDERS.len()]);

impl Sums for Rungs {
    type By = ();

    fn weigh(&mut self, (): (), page: Evidence, sign: f64) {
        for ((a, b), order) in self.0.iter_mut().zip(ORDERS) {
            let weight = sign / (1.0 / order + page.exposure());
            *a += page.events() * weight;
            *b += page.exposure() * weight;
        }
    }
}

impl MeanRate {
    /// Counts a page in.
    pub fn add(&mut self, page: Evidence) {
        self.0.add((), page);
    }

    /// Takes out a page whose evidence was last counted as `page`.
    pub fn remove(&mut self, page: Evidence) {
        self.0.remove((), page);
    }

    /// Replaces the evidence of one page, after a visit.
    pub fn replace(&mut self, before: Evidence, after: Evidence) {
        self.0.replace((), before, after);
    }

    /// The mean rate of this host's pages, blended with that of all others as if those were a few
    /// well known pages; `all` has the pages of every host, this one's too. Before anything is known
    /// it is of the order of the `usual` rate.
    pub fn among(&self, all: &Self, usual: f64) -> f64 {
        let rung = all.order_of_magnitude(usual);
        let ((a, b), (all_a, all_b)) = (self.weighed(usual), all.weighed(usual));
        let others = blend(all_a - a, all_b - b, ORDERS[rung]);
        blend(a, b, others)
    }

    /// Weights by how long pages were watched against the usual time between changes, which is right whatever the
    /// true mean; between the two nearest orders of magnitude.
    fn weighed(&self, usual: f64) -> (f64, f64) {
        let last = (ORDERS.len() - 1) as f64;
        let at = (usual / ORDERS[0]).log10().clamp(0.0, last);
        let (low, part) = (at.floor() as usize, at.fract());
        let high = (low + 1).min(ORDERS.len() - 1);
        let ((a, b), (c, d)) = (self.sums(low), self.sums(high));
        (a + part * (c - a), b + part * (d - b))
    }

    fn sums(&self, rung: usize) -> (f64, f64) {
        self.0.sums.0[rung]
    }

    fn order_of_magnitude(&self, usual: f64) -> usize {
        let first = (usual / ORDERS[0]).log10().round();
        let error = |rung: usize| {
            let (a, b) = self.sums(rung);
            let ratio = blend(a, b, ORDERS[rung]) / ORDERS[rung];
            ratio.max(1.0 / ratio) * (1.0 + NEARER * (rung as f64 - first).abs())
        };
        let errors: [f64; ORDERS.len()] = std::array::from_fn(error);
        let better = |&a: &usize, &b: &usize| errors[a].total_cmp(&errors[b]);
        (0..ORDERS.len()).min_by(better).unwrap_or(0)
    }
}
