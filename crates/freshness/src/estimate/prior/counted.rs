//! Sums over pages, out of which a page can be taken exactly as it was put in.

use crate::estimate::Evidence;

/// As many pages of full evidence weigh as much as those of all other hosts. A mean needs a few pages
/// before it means anything; beyond some dozens the host speaks for itself.
pub(super) const OTHERS: f64 = 4.0;

/// What is summed up over pages.
pub(super) trait Sums: Default {
    /// What a page's weight goes by, the same for all pages.
    type By: Copy;

    /// Adds a page, or takes it out when `sign` is negative.
    fn weigh(&mut self, by: Self::By, page: Evidence, sign: f64);
}

/// The pages of one host, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Counted<S> {
    pages: u32,
    pub sums: S,
}

impl<S: Sums> Counted<S> {
    /// Counts a page in.
    pub fn add(&mut self, by: S::By, page: Evidence) {
        self.pages += 1;
        self.sums.weigh(by, page, 1.0);
    }

    /// Takes out a page whose evidence was last counted as `page`.
    pub fn remove(&mut self, by: S::By, page: Evidence) {
        self.pages -= 1;
        if self.pages == 0 {
            // no rounding error outlives the last page
            self.sums = S::default();
        } else {
            self.sums.weigh(by, page, -1.0);
        }
    }

    /// Replaces the evidence of one page, after a visit.
    pub fn replace(&mut self, by: S::By, before: Evidence, after: Evidence) {
        self.sums.weigh(by, before, -1.0);
        self.sums.weigh(by, after, 1.0);
    }
}

/// The mean rate by sums over pages, `mean` counting as a few well known pages more.
pub(super) fn blend(a: f64, b: f64, mean: f64) -> f64 {
    (a.max(0.0) + OTHERS * mean) / (b.max(0.0) + OTHERS)
}
