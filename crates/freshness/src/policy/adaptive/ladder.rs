//! A number of which nobody knows what it should be, learnt from how well it foretold.
//!
//! With a gamma distribution of rates of shape `α` around the expected one, the chance of no change
//! where `x` changes are expected is `(1 + x/α)^{−α}`. How large `α` may become with evidence (where
//! changes come in bursts or rates drift, a small one foretells better), and how much a prior
//! weighs, differs from web to web. Every visit is a test: of a few values, the one under which all
//! that was seen is most likely is in force.

use crate::record::{Reader, Writer};

/// What a visit foretold counts for so many visits.
const MEMORY_VISITS: f64 = 10_000.0;

/// The logarithm of the chance of what was found where `expected` changes were expected, their
/// number being spread as by a gamma distribution of shape `alpha`.
pub(super) fn log_likelihood(alpha: f64, expected: f64, changed: bool) -> f64 {
    let unchanged = -alpha * (expected / alpha).ln_1p();
    if changed {
        // certain beyond rounding is not certain
        (-unchanged.min(-1e-12).exp_m1()).ln()
    } else {
        unchanged
    }
}

#[derive(Clone, Debug)]
pub(super) struct Ladder<const RUNGS: usize> {
    values: [f64; RUNGS],
    log_likelihood: [f64; RUNGS],
    best: usize,
}

impl<const RUNGS: usize> Ladder<RUNGS> {
    /// Values to choose from, the one to begin with, and by how much that has to be beaten.
    pub fn new(values: [f64; RUNGS], first: usize, lead: f64) -> Self {
        let mut log_likelihood = [0.0; RUNGS];
        log_likelihood[first] = lead;
        Self {
            values,
            log_likelihood,
            best: first,
        }
    }

    /// This one of the values has to be beaten by so much more.
    pub fn favour(&mut self, which: usize, lead: f64) {
        self.log_likelihood[which] += lead;
    }

    /// The value that foretold best.
    pub fn best(&self) -> f64 {
        self.values[self.best]
    }

    pub fn write(&self, to: &mut Writer) {
        for &value in &self.log_likelihood {
            to.f64(value);
        }
        to.u8(self.best as u8);
    }

    pub fn read(&mut self, from: &mut Reader) -> Option<()> {
        for value in &mut self.log_likelihood {
            *value = from.f64()?;
        }
        self.best = usize::from(from.u8()?);
        (self.best < RUNGS).then_some(())
    }

    /// A visit, and how likely what it found was under each value.
    pub fn tell(&mut self, likelihood: impl Fn(f64) -> f64) {
        for (total, &value) in self.log_likelihood.iter_mut().zip(&self.values) {
            *total += likelihood(value) - *total / MEMORY_VISITS;
        }
        let better =
            |&a: &usize, &b: &usize| self.log_likelihood[a].total_cmp(&self.log_likelihood[b]);
        self.best = (0..RUNGS).max_by(better).unwrap_or(self.best);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// Visits to pages whose number of changes is spread by a gamma distribution of this shape.
    fn learn(alpha: f64) -> f64 {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut ladder = Ladder::new([0.5, 1.0, 2.0, 4.0, f64::INFINITY], 2, 3.0);
        for _ in 0..20_000 {
            let expected = rng.random_range(0.1..10.0);
            let unchanged = log_likelihood(alpha, expected, false).exp();
            let changed = rng.random::<f64>() > unchanged;
            ladder.tell(|value| log_likelihood(value.min(1e6), expected, changed));
        }
        ladder.best()
    }

    #[test]
    fn the_value_that_made_the_changes_wins() {
        assert_eq!(learn(0.5), 0.5);
        assert_eq!(learn(2.0), 2.0);
        assert_eq!(learn(1e6), f64::INFINITY);
    }

    #[test]
    fn chances_sum_to_one() {
        for alpha in [0.5, 1.0, 30.0] {
            for expected in [1e-6, 0.3, 20.0] {
                let chance = |changed| log_likelihood(alpha, expected, changed).exp();
                assert!((chance(true) + chance(false) - 1.0).abs() < 1e-9);
            }
        }
    }
}
