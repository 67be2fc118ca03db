//! The log-normal gap: the product of many causes.

use super::law::Law;
use super::special::{ln_normal_cdf, normal_cdf};
use super::{GapError, within};
use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};
use std::f64::consts::PI;

/// `ln X` is normal with mean `mu` and standard deviation `sigma`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogNormal {
    mu: f64,
    sigma: f64,
}

impl LogNormal {
    /// The locations accepted.
    pub const MUS: (f64, f64) = (-200.0, 200.0);
    /// The spreads accepted; a larger one squares to beyond `f64`.
    pub const SIGMAS: (f64, f64) = (1e-6, 10.0);

    /// A log-normal gap of median `e^mu`.
    pub fn new(mu: f64, sigma: f64) -> Result<Self, GapError> {
        Ok(Self {
            mu: within("mu", mu, Self::MUS)?,
            sigma: within("sigma", sigma, Self::SIGMAS)?,
        })
    }

    /// The mean of `ln X`.
    pub fn mu(&self) -> f64 {
        self.mu
    }

    /// The standard deviation of `ln X`.
    pub fn sigma(&self) -> f64 {
        self.sigma
    }

    /// How many standard deviations `ln x` lies above `mu`.
    fn deviation(&self, x: f64) -> f64 {
        (x.ln() - self.mu) / self.sigma
    }
}

impl Law for LogNormal {
    fn mean(&self) -> f64 {
        (self.mu + self.sigma * self.sigma / 2.0).exp()
    }

    fn second_moment(&self) -> f64 {
        (2.0 * (self.mu + self.sigma * self.sigma)).exp()
    }

    fn coefficient_of_variation(&self) -> f64 {
        (self.sigma * self.sigma).exp_m1().sqrt()
    }

    fn ln_survival(&self, x: f64) -> f64 {
        ln_normal_cdf(-self.deviation(x))
    }

    fn ln_density(&self, x: f64) -> Option<f64> {
        if x == 0.0 {
            return Some(f64::NEG_INFINITY);
        }
        let d = self.deviation(x);
        Some(-d * d / 2.0 - (x * self.sigma * (2.0 * PI).sqrt()).ln())
    }

    fn limited_mean(&self, x: f64) -> f64 {
        let d = self.deviation(x);
        (self.mean() * normal_cdf(d - self.sigma) + x * normal_cdf(-d)).min(x)
    }

    fn limited_square(&self, x: f64) -> f64 {
        let d = self.deviation(x);
        let below = self.second_moment() * normal_cdf(d - 2.0 * self.sigma);
        (below + x * x * normal_cdf(-d)).min(x * x)
    }

    fn excess(&self, x: f64) -> f64 {
        let d = self.deviation(x);
        (self.mean() * normal_cdf(self.sigma - d) - x * normal_cdf(-d)).max(0.0)
    }

    fn sample(&self, rng: &mut dyn Rng) -> f64 {
        let unit: f64 = StandardNormal.sample(rng);
        (self.mu + self.sigma * unit).exp()
    }

    fn sample_residual(&self, rng: &mut dyn Rng) -> f64 {
        // a gap met at an arbitrary instant is drawn in proportion to its length
        let unit: f64 = StandardNormal.sample(rng);
        let met = (self.mu + self.sigma * (self.sigma + unit)).exp();
        met * rng.random::<f64>()
    }
}
