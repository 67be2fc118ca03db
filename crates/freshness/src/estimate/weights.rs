//! How far each of a few hints about a page's next change is to be followed, learnt from how well it
//! foretold.
//!
//! The number of changes expected is multiplied by `exp(Σ weight·hint)`. Every visit is a test: the
//! weights are those under which what all visits found is most likely, by Newton's method with one
//! step taken as the visits come (a generalised linear model). Where hints foretell nothing, their
//! weights come to nothing. All that is kept are sums over visits.

use crate::record::{Reader, Writer};

/// What a visit has shown counts for so many visits.
const MEMORY_VISITS: f64 = 30_000.0;
/// New weights are found after so many visits.
const VISITS_PER_STEP: u32 = 32;
/// The farthest that hints may carry the rate, as a logarithm.
const FARTHEST: f64 = 4.0;

/// Weights of so many hints.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Weights<const HINTS: usize> {
    first: [f64; HINTS],
    first_information: f64,
    now: [f64; HINTS],
    /// Fisher's information of the weights, and that times the weights it calls for.
    information: [[f64; HINTS]; HINTS],
    wanted: [f64; HINTS],
    visits: u32,
}

impl<const HINTS: usize> Weights<HINTS> {
    /// Weights before anything was seen, and what they count for: one for each two visits or so.
    pub fn new(first: [f64; HINTS], first_information: f64) -> Self {
        let mut information = [[0.0; HINTS]; HINTS];
        for (k, row) in information.iter_mut().enumerate() {
            row[k] = first_information;
        }
        Self {
            first,
            first_information,
            now: first,
            information,
            wanted: first.map(|weight| first_information * weight),
            visits: 0,
        }
    }

    /// The weights as they are now.
    pub fn now(&self) -> [f64; HINTS] {
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
    pub fn tell(&mut self, hints: &[f64; HINTS], expected: f64, alpha: f64, changed: bool) {
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
            let first = self.first_information / MEMORY_VISITS;
            self.information[i][i] += first;
            self.wanted[i] += first * self.first[i];
        }
        self.visits += 1;
        if self.visits == VISITS_PER_STEP {
            self.visits = 0;
            self.now = solve(self.information, self.wanted);
        }
    }
}

/// By how much hints of these weights raise or lower the rate.
pub(crate) fn factor<const N: usize>(weights: &[f64; N], hints: &[f64; N]) -> f64 {
    dot(weights, hints).clamp(-FARTHEST, FARTHEST).exp()
}

fn dot<const N: usize>(a: &[f64; N], b: &[f64; N]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Gauss's elimination; the matrix is positive definite.
fn solve<const N: usize>(mut matrix: [[f64; N]; N], mut right: [f64; N]) -> [f64; N] {
    for i in 0..N {
        let pivot = matrix[i];
        for j in i + 1..N {
            let share = matrix[j][i] / pivot[i];
            for (entry, above) in matrix[j].iter_mut().zip(pivot) {
                *entry -= share * above;
            }
            right[j] -= share * right[i];
        }
    }
    for i in (0..N).rev() {
        let known: f64 = (i + 1..N).map(|k| matrix[i][k] * right[k]).sum();
        right[i] = (right[i] - known) / matrix[i][i];
    }
    right
}

#[cfg(test)]
mod tests {
    use super::*;

    const HINTS: usize = 5;
    type Hints = [f64; HINTS];
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// Visits to pages whose true rate is `exp(truth·hints)` times what is known of them.
    fn learn(truth: Hints, visits: usize) -> Hints {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut weights = Weights::new([0.3, 0.0, 0.2, 0.0, 0.0], 30.0);
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
