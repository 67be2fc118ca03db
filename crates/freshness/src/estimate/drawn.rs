//! Visits to simulated Poisson pages, for tests.

use super::Observation;
use rand::{Rng, RngExt};

/// How visits are spaced; the mean interval is one for all of them.
#[derive(Clone, Copy, Debug)]
pub(super) enum Spacing {
    /// Always one.
    Regular,
    /// Uniform between zero and two.
    Uniform,
    /// Exponential: visits come as a Poisson process.
    Exponential,
}

/// A visit, with all that it may tell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawn {
    pub interval: f64,
    /// How long ago the page last changed; beyond the interval if not in it.
    pub age: f64,
    pub changes: u32,
}

impl Drawn {
    /// What a crawler sees that can only compare contents.
    pub fn bit(&self) -> Observation {
        if self.changes > 0 {
            Observation::Changed
        } else {
            Observation::Unchanged
        }
    }

    pub fn dated(&self) -> Observation {
        Observation::LastModified { age: self.age }
    }

    pub fn counted(&self) -> Observation {
        Observation::History {
            changes: self.changes,
        }
    }
}

/// Draws visits to a page.
pub(super) fn draw(rng: &mut impl Rng, spacing: Spacing, rate: f64, visits: u32) -> Vec<Drawn> {
    let one = |_| {
        let u = rng.random::<f64>();
        let interval = match spacing {
            Spacing::Regular => 1.0,
            Spacing::Uniform => 2.0 * (1.0 - u),
            Spacing::Exponential => -(1.0 - u).ln(),
        };
        let mut gap = || -(1.0 - rng.random::<f64>()).ln() / rate;
        let age = gap();
        let (mut back, mut changes) = (age, 0);
        while back <= interval {
            changes += 1;
            back += gap();
        }
        Drawn {
            interval,
            age,
            changes,
        }
    };
    (0..visits).map(one).collect()
}
