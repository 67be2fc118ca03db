//! Mean and spread of the rates of a host's pages, around a first guess of both.

use super::Prior;
use super::counted::{Counted, OTHERS, Sums, blend};
use crate::estimate::Evidence;

/// The prior of one host, by moments of its pages' evidence, in constant time per visit.
///
/// With `w = 1/(β + B)`, `Σ wA / Σ wB` is where EM for the mean of gamma-Poisson pages comes to
/// rest: the mean over pages when they are well known, the pooled rate when they are not. (The
/// plain `ΣA / ΣB` would be wrong: dated and one-bit visits give fast pages less exposure.) The
/// spread is what `w²(A − mB)²` has beyond the Poisson noise `w²A`. The `β` is the global one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostPrior {
    global: Prior,
    pages: Counted<Moments>,
}

/// Sums over pages, with `a = A/(β + B)` and `b = B/(β + B)`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Moments {
    a: f64,
    b: f64,
    aa: f64,
    ab: f64,
    bb: f64,
    noise: f64,
}

impl Sums for Moments {
    type By = Prior;

    fn weigh(&mut self, global: Prior, page: Evidence, sign: f64) {
        let weight = 1.0 / (global.beta + page.exposure());
        let (a, b) = (page.events() * weight, page.exposure() * weight);
        self.a += sign * a;
        self.b += sign * b;
        self.aa += sign * a * a;
        self.ab += sign * a * b;
        self.bb += sign * b * b;
        self.noise += sign * a * weight;
    }
}

impl HostPrior {
    /// A host without pages, which believes what is believed of all hosts.
    ///
    /// # Panics
    /// When `global` is not positive and finite.
    pub fn new(global: Prior) -> Self {
        let proper = |value: f64| value > 0.0 && value.is_finite();
        assert!(
            proper(global.alpha) && proper(global.beta),
            "a prior needs positive shape and exposure, not {global:?}"
        );
        Self {
            global,
            pages: Counted::default(),
        }
    }

    /// Counts a page in.
    pub fn add(&mut self, page: Evidence) {
        self.pages.add(self.global, page);
    }

    /// Takes out a page whose evidence was last counted as `page`.
    pub fn remove(&mut self, page: Evidence) {
        self.pages.remove(self.global, page);
    }

    /// Replaces the evidence of one page, after a visit.
    pub fn replace(&mut self, before: Evidence, after: Evidence) {
        self.pages.replace(self.global, before, after);
    }

    /// The prior for a page of this host: the host's own moments, blended with the global prior
    /// as if that were a few well known pages.
    pub fn prior(&self) -> Prior {
        let Moments {
            a,
            b,
            aa,
            ab,
            bb,
            noise,
        } = self.pages.sums;
        let mean = blend(a, b, self.global.mean());
        let spread = (aa - 2.0 * mean * ab + mean * mean * bb - noise).max(0.0);
        // the global prior lends its relative spread, whatever the host's mean
        let lent = OTHERS * mean * mean / self.global.alpha;
        let variance = (spread + lent) / (bb.max(0.0) + OTHERS);
        Prior {
            alpha: mean * mean / variance,
            beta: mean / variance,
        }
    }
}
