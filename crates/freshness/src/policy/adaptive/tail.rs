//! How far rates of the past can be trusted for the next interval, learnt from how well they
//! foretold.
//!
//! With a gamma distribution of shape `α` around the estimated rate, the chance of no change within
//! `x` is `(1 + λx/α)^{−α}`. The evidence alone gives an `α` that grows without end; where changes
//! come in bursts or rates drift, a smaller one foretells better. Every visit is a test: the cap on
//! `α` under which all that was seen is most likely is the one in force.

use crate::estimate::Prior;

/// Caps from half a change up, two to a doubling, the last of them no cap at all.
const CAPS: usize = 12;
/// What a visit foretold counts for so many visits.
const MEMORY_VISITS: f64 = 10_000.0;
/// The cap at the start, and by how much it has to be beaten: a mild distrust.
const FIRST_CAP: usize = 4;
const FIRST_LEAD: f64 = 3.0;

fn cap(index: usize) -> f64 {
    if index + 1 == CAPS {
        f64::INFINITY
    } else {
        0.5 * (index as f64 / 2.0).exp2()
    }
}

#[derive(Clone, Debug)]
pub(super) struct Tail {
    log_likelihood: [f64; CAPS],
    best: usize,
}

impl Default for Tail {
    fn default() -> Self {
        let mut log_likelihood = [0.0; CAPS];
        log_likelihood[FIRST_CAP] = FIRST_LEAD;
        Self {
            log_likelihood,
            best: FIRST_CAP,
        }
    }
}

impl Tail {
    /// The largest `α` that has proved trustworthy.
    pub fn heaviest(&self) -> f64 {
        cap(self.best)
    }

    /// A page believed to change at `believed` was found changed or not after `interval`.
    pub fn tell(&mut self, believed: Prior, interval: f64, changed: bool) {
        let expected = believed.mean() * interval;
        for (index, total) in self.log_likelihood.iter_mut().enumerate() {
            let alpha = believed.alpha.min(cap(index));
            let unchanged = -alpha * (expected / alpha).ln_1p();
            let likelihood = if changed {
                // certain beyond rounding is not certain
                (-unchanged.min(-1e-12).exp_m1()).ln()
            } else {
                unchanged
            };
            *total += likelihood - *total / MEMORY_VISITS;
        }
        let better =
            |&a: &usize, &b: &usize| self.log_likelihood[a].total_cmp(&self.log_likelihood[b]);
        self.best = (0..CAPS).max_by(better).unwrap_or(FIRST_CAP);
    }
}
