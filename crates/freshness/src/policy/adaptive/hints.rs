//! What a page's recent past hints at beyond its long-run rate, and how far each hint is to be
//! followed, learnt from how well it foretold.
//!
//! Hints are relative differences, twice `(p − q)/(p + q)`: like logarithms of ratios where these
//! are near one, but bounded. The rate expected over the next interval is the long-run rate times
//! `exp(Σ weight·hint)`. Every visit is a test: the weights are those under which what all visits
//! found is most likely, by Newton's method with one step taken as the visits come (a generalised
//! linear model with the survival function of the policy). Where hints foretell nothing, as under
//! Poisson changes, their weights come to nothing.

use crate::record::{Reader, Writer};

/// The last hint is always one: its weight makes the mean right, so that the others need not.
pub(super) const HINTS: usize = 5;
pub(super) type Hints = [f64; HINTS];

/// Weights before anything was seen: recent changes and young content speak of more to come, in
/// moderation. They count as much as some sixty visits.
const FIRST: Hints = [0.3, 0.0, 0.2, 0.0, 0.0];
const FIRST_INFORMATION: f64 = 30.0;
/// What a visit has shown counts for so many visits.
const MEMORY_VISITS: f64 = 30_000.0;
/// New weights are found after so many visits.
const VISITS_PER_STEP: u32 = 32;
/// The farthest that hints may carry the rate, as a logarithm.
const FARTHEST: f64 = 4.0;

/// Twice the relative difference of two numbers, of which one is positive.
pub(super) fn difference(p: f64, q: f64) -> f64 {
    2.0 * (p - q) / (p + q)
}

/// By how much hints of these weights raise or lower the rate.
pub(super) fn factor(weights: &Hints, hints: &Hints) -> f64 {
    dot(weights, hints).clamp(-FARTHEST, FARTHEST).exp()
}

#[derive(Clone, Debug)]
pub(super) struct Weights {
    now: Hints,
    /// Fisher's information of the weights, and that times the weights it calls for.
    information: [Hints; HINTS],
    wanted: Hints,
    visits: u32,
}

impl Default for Weights {
    fn default() -> Self {
        let mut information = [[0.0; HINTS]; HINTS];
        for (k, row) in information.iter_mut().enumerate() {
            row[k] = FIRST_INFORMATION;
        }
        Self {
            now: FIRST,
            information,
            wanted: FIRST.map(|weight| FIRST_INFORMATION * weight),
            visits: 0,
        }
    }
}

impl Weights {
    /// The weights as they are now.
    pub fn now(&self) -> Hints {
        self.now
    }

    pub fn write(&self, to: &mut Writer) {
        let numbers = self.information.iter().chain([&self.now, &self.wanted]);
        numbers.flatten().for_each(|&number| to.f64(number));
        to.u32(self.visits);
    }

    pub fn read(&mut self, from: &mut Reader) -> Option<()> {
        let rows = self.information.iter_mut();
        for number in rows.chain([&mut self.now, &mut self.wanted]).flatten() {
            *number = from.f64()?;
        }
        self.visits = from.u32()?;
        (self.visits < VISITS_PER_STEP).then_some(())
    }

    /// A page of which `expected` changes were expected under these hints, their number being
    /// spread as under a gamma distribution of shape `alpha`, was found changed or not.
    pub fn tell(&mut self, hints: &Hints, expected: f64, alpha: f64, changed: bool) {
        // certain beyond rounding is not certain
        let ratio = expected / alpha.min(1e6);
        let unchanged = (-alpha.min(1e6) * ratio.ln_1p()).exp();
        let unchanged = unchanged.clamp(1e-9, 1.0 - 1e-9);
        // by the logarithm of the rate
        let slope = -expected * unchanged / (1.0 + ratio);
        let information = slope * slope / (unchanged * (1.0 - unchanged));
        let score = if changed {
            -slope / (1.0 - unchanged)
        } else {
            slope / unchanged
        };
        let pull = information * dot(&self.now, hints) + score;
        let kept = 1.0 - 1.0 / MEMORY_VISITS;
        for i in 0..HINTS {
            let lean = information * hints[i];
            for (entry, hint) in self.information[i].iter_mut().zip(hints) {
                *entry = kept * *entry + lean * hint;
            }
            self.wanted[i] = kept * self.wanted[i] + pull * hints[i];
            // what was believed at first is not forgotten
            self.information[i][i] += FIRST_INFORMATION / MEMORY_VISITS;
            self.wanted[i] += FIRST_INFORMATION / MEMORY_VISITS * FIRST[i];
        }
        self.visits += 1;
        if self.visits == VISITS_PER_STEP {
            self.visits = 0;
            self.now = solve(self.information, self.wanted);
        }
    }
}

fn dot(a: &Hints, b: &Hints) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Gauss's elimination; the matrix is positive definite.
fn solve(mut matrix: [Hints; HINTS], mut right: Hints) -> Hints {
    for i in 0..HINTS {
        let pivot = matrix[i];
        for j in i + 1..HINTS {
            let share = matrix[j][i] / pivot[i];
            for (entry, above) in matrix[j].iter_mut().zip(pivot) {
                *entry -= share * above;
            }
            right[j] -= share * right[i];
        }
    }
    for i in (0..HINTS).rev() {
        let known: f64 = (i + 1..HINTS).map(|k| matrix[i][k] * right[k]).sum();
        right[i] = (right[i] - known) / matrix[i][i];
    }
    right
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// Visits to pages whose true rate is `exp(truth·hints)` times what is known of them.
    fn learn(truth: Hints, visits: usize) -> Hints {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut weights = Weights::default();
        for _ in 0..visits {
            let mut hints: Hints = std::array::from_fn(|_| rng.random_range(-2.0..2.0));
            hints[HINTS - 1] = 1.0;
            let known = rng.random_range(0.2..2.0);
            let changed = rng.random::<f64>() > (-known * dot(&truth, &hints).exp()).exp();
            let expected = known * factor(&weights.now, &hints);
            weights.tell(&hints, expected, f64::INFINITY, changed);
        }
        weights.now
    }

    #[test]
    fn weights_come_to_what_foretells() {
        let truth = [0.5, 0.0, -0.3, 0.1, 0.2];
        for (found, truth) in learn(truth, 50_000).iter().zip(truth) {
            assert!((found - truth).abs() < 0.05, "{found} for {truth}");
        }
    }

    #[test]
    fn hints_that_foretell_nothing_lose_their_weight() {
        for weight in learn([0.0; HINTS], 20_000) {
            assert!(weight.abs() < 0.04, "{weight}");
        }
    }

    #[test]
    fn systems_are_solved() {
        let matrix: [Hints; HINTS] = std::array::from_fn(|i| {
            std::array::from_fn(|j| {
                if i == j {
                    4.0
                } else {
                    1.0 / (1 + i + j) as f64
                }
            })
        });
        let x = [1.0, -2.0, 3.0, 0.5, -0.25];
        let right = matrix.map(|row| dot(&row, &x));
        for (found, x) in solve(matrix, right).iter().zip(x) {
            assert!((found - x).abs() < 1e-12);
        }
    }
}
