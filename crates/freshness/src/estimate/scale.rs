//! The mean rate of pages, whatever its order of magnitude.

use super::Evidence;

/// Orders of magnitude that are tried, a hundredfold apart, from the first on: in seconds from once in
/// three centuries to a million times.
const RUNGS: usize = 17;
const LOWEST: f64 = 1e-10;
const APART: f64 = 10.0;
/// As many pages of full evidence weigh as much as those of all other hosts. A mean needs a few pages
/// before it means anything; beyond some dozens the host speaks for itself.
const OTHERS: f64 = 4.0;
/// Where pages do not decide, an order of magnitude nearer to the usual rate is better by so much.
const NEARER: f64 = 0.01;

/// Sums over the pages of one host, or of all, for each order of magnitude `g`: with
/// `w = 1/(1/g + B)`, `Σ wA / Σ wB` is where EM for the mean of gamma-Poisson pages comes to rest, if
/// `g` is near to it. The order of magnitude that comes out as it went in is the right one, so that no
/// guess is needed. A page can be taken out exactly as it was put in.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MeanRate {
    pages: u32,
    sums: [(f64, f64); RUNGS],
}

fn order(rung: usize) -> f64 {
    LOWEST * APART.powf(rung as f64)
}

impl MeanRate {
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
            self.sums = Default::default();
        } else {
            self.weigh(page, -1.0);
        }
    }

    /// Replaces the evidence of one page, after a visit.
    pub fn replace(&mut self, before: Evidence, after: Evidence) {
        self.weigh(before, -1.0);
        self.weigh(after, 1.0);
    }

    /// The mean rate of this host's pages, blended with that of all others as if those were a few
    /// well known pages; `all` has the pages of every host, this one's too. Before anything is known
    /// it is of the order of the `usual` rate.
    pub fn among(&self, all: &Self, usual: f64) -> f64 {
        let rung = all.order_of_magnitude(usual);
        let ((a, b), (all_a, all_b)) = (self.sums[rung], all.sums[rung]);
        let others = blend(all_a - a, all_b - b, order(rung));
        blend(a, b, others)
    }

    fn order_of_magnitude(&self, usual: f64) -> usize {
        let first = ((usual / LOWEST).log10() / APART.log10()).round();
        let error = |rung: usize| {
            let (a, b) = self.sums[rung];
            let ratio = blend(a, b, order(rung)) / order(rung);
            ratio.max(1.0 / ratio) * (1.0 + NEARER * (rung as f64 - first).abs())
        };
        let better = |&a: &usize, &b: &usize| error(a).total_cmp(&error(b));
        (0..RUNGS).min_by(better).unwrap_or(0)
    }

    fn weigh(&mut self, page: Evidence, sign: f64) {
        for (rung, (a, b)) in self.sums.iter_mut().enumerate() {
            let weight = sign / (1.0 / order(rung) + page.exposure());
            *a += page.events() * weight;
            *b += page.exposure() * weight;
        }
    }
}

/// The mean rate by sums over pages, `mean` counting as a few well known pages more.
fn blend(a: f64, b: f64, mean: f64) -> f64 {
    (a.max(0.0) + OTHERS * mean) / (b.max(0.0) + OTHERS)
}
