//! A gamma distribution of rates: what index policies take a page to be.

use crate::gap::special::{digamma, trigamma};
use std::sync::LazyLock;

/// As if `alpha` changes had been seen in `beta` units of time, and nothing else were known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Shape: how sure one is, in changes.
    pub alpha: f64,
    /// Inverse scale, in units of time.
    pub beta: f64,
}

/// Variances of the logarithm from `e^LEAST` on, so many to a factor of e.
const LEAST: f64 = -8.0;
const PER_UNIT: f64 = 16.0;
const CELLS: usize = 240;

/// `ln α` and `ψ(α)` by the variance of the logarithm, `ψ′(α)`.
static SHAPES: LazyLock<Vec<(f64, f64)>> = LazyLock::new(|| {
    let shape = |k: usize| {
        let variance = (LEAST + k as f64 / PER_UNIT).exp();
        // ψ′ falls; between 1/α and 1/α + 1/α²
        let (mut low, mut high) = (-20.0_f64, 20.0_f64);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if trigamma(middle.exp()) > variance {
                low = middle;
            } else {
                high = middle;
            }
        }
        (low, digamma(low.exp()))
    };
    (0..=CELLS).map(shape).collect()
});

impl Pace {
    /// The distribution whose logarithm has this mean and variance.
    pub(super) fn of_logarithm(mean: f64, variance: f64) -> Self {
        let place = (variance.ln() - LEAST) * PER_UNIT;
        let place = place.max(0.0).min(CELLS as f64 - 1e-9);
        let (cell, beyond) = (place as usize, place.fract());
        let ((a, psi_a), (b, psi_b)) = (SHAPES[cell], SHAPES[cell + 1]);
        let between = |low: f64, high: f64| low + (high - low) * beyond;
        Self {
            alpha: between(a, b).exp(),
            beta: (between(psi_a, psi_b) - mean).exp(),
        }
    }

    /// The mean rate.
    pub fn mean(self) -> f64 {
        self.alpha / self.beta
    }

    /// The chance of no change for so long: the mean of `e^{−λt}`.
    pub fn chance_unchanged(self, time: f64) -> f64 {
        (-self.alpha * (time.max(0.0) / self.beta).ln_1p()).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gamma_distribution_is_found_by_the_moments_of_its_logarithm() {
        for alpha in [0.1, 0.5, 1.0, 3.3, 50.0, 900.0] {
            for beta in [1e-6, 1.0, 3e8] {
                let (mean, variance) = (digamma(alpha) - f64::ln(beta), trigamma(alpha));
                let found = Pace::of_logarithm(mean, variance);
                assert!(
                    (found.alpha / alpha - 1.0).abs() < 2e-3,
                    "{found:?} {alpha}"
                );
                assert!(
                    (found.mean() * beta / alpha - 1.0).abs() < 2e-3,
                    "{found:?}"
                );
            }
        }
    }

    #[test]
    fn no_variance_is_too_small_or_too_large() {
        for variance in [0.0, 1e-300, 1e9, f64::INFINITY] {
            let found = Pace::of_logarithm(0.0, variance);
            assert!(found.alpha > 0.0 && found.beta > 0.0 && found.mean().is_finite());
        }
    }
}
