//! What is believed of a page before it is observed, learnt from the other pages of its host.

use super::Evidence;

/// A gamma distribution of rates: as if `alpha` changes had been seen in `beta` units of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    /// Shape: pseudo-changes. Positive.
    pub alpha: f64,
    /// Inverse scale: pseudo-exposure. Positive.
    pub beta: f64,
}

impl Prior {
    /// The mean rate.
    pub fn mean(self) -> f64 {
        self.alpha / self.beta
    }
}

/// How many pages of full evidence weigh as much as the global prior. A spread needs a few
/// pages before it means anything; beyond some dozens the host speaks for itself.
const GLOBAL_WEIGHT: f64 = 4.0;

/// The prior of one host, by moments of its pages' evidence, in constant time per visit; a page
/// can be taken out exactly as it was put in.
///
/// With `w = 1/(β + B)`, `Σ wA / Σ wB` is where EM for the mean of gamma-Poisson pages comes to
/// rest: the mean over pages when they are well known, the pooled rate when they are not. (The
/// plain `ΣA / ΣB` would be wrong: dated and one-bit visits give fast pages less exposure.) The
/// spread is what `w²(A − mB)²` has beyond the Poisson noise `w²A`. The `β` in the weights is the
/// global one until [`refit`](Self::refit).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostPrior {
    global: Prior,
    /// The `β` of the weights; fixed between refits, or pages could not be taken out.
    reference: f64,
    pages: u32,
    sums: Moments,
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
            reference: global.beta,
            pages: 0,
            sums: Moments::default(),
        }
    }

    /// The same host with the weights its own prior asks for, from the evidence of all its pages:
    /// a step of EM. Worth it where a host is far from the global prior, say whenever its pages
    /// have doubled.
    #[must_use]
    pub fn refit(&self, pages: impl IntoIterator<Item = Evidence>) -> Self {
        let mut refitted = Self {
            reference: self.prior().beta,
            ..Self::new(self.global)
        };
        for page in pages {
            refitted.add(page);
        }
        refitted
    }

    /// Counts a page in.
    pub fn add(&mut self, page: Evidence) {
        self.pages += 1;
        self.weigh(page, 1.0);
    }

    /// Takes out a page whose evidence was last counted as `page`.
    pub fn remove(&mut self, page: Evidence) {
        self.pages -= 1;
        if self.pages == 0 {
            // no rounding error outlives the last page
            self.sums = Moments::default();
        } else {
            self.weigh(page, -1.0);
        }
    }

    /// Replaces the evidence of one page, after a visit.
    pub fn replace(&mut self, before: Evidence, after: Evidence) {
        self.weigh(before, -1.0);
        self.weigh(after, 1.0);
    }

    /// How many pages are counted in.
    pub fn pages(&self) -> u32 {
        self.pages
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
        } = self.sums;
        let mean = blend(a, b, self.global.mean());
        let spread = (aa - 2.0 * mean * ab + mean * mean * bb - noise).max(0.0);
        // the global prior lends its relative spread, whatever the host's mean
        let lent = GLOBAL_WEIGHT * mean * mean / self.global.alpha;
        let variance = (spread + lent) / (bb.max(0.0) + GLOBAL_WEIGHT);
        Prior {
            alpha: mean * mean / variance,
            beta: mean / variance,
        }
    }

    /// The mean rate of this host's pages, blended with that of all others as if those were a few
    /// well known pages; `all` has the pages of every host, this one's too.
    pub fn mean_among(&self, all: &Self) -> f64 {
        let (own, sum) = (self.sums, all.sums);
        let others = blend(sum.a - own.a, sum.b - own.b, all.global.mean());
        blend(own.a, own.b, others)
    }

    fn weigh(&mut self, page: Evidence, sign: f64) {
        let weight = 1.0 / (self.reference + page.exposure());
        let (a, b) = (page.events() * weight, page.exposure() * weight);
        let sums = &mut self.sums;
        sums.a += sign * a;
        sums.b += sign * b;
        sums.aa += sign * a * a;
        sums.ab += sign * a * b;
        sums.bb += sign * b * b;
        sums.noise += sign * a * weight;
    }
}

/// The mean rate by sums over pages, `mean` counting as a few well known pages more.
fn blend(a: f64, b: f64, mean: f64) -> f64 {
    (a.max(0.0) + GLOBAL_WEIGHT * mean) / (b.max(0.0) + GLOBAL_WEIGHT)
}

#[cfg(test)]
mod tests;
