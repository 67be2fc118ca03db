//! Poisson changes: the memoryless gap.

use super::law::Law;
use super::{GapError, SCALES, within};
use crate::measure;
use rand::Rng;
use rand_distr::{Distribution, Exp1};

/// `P(X > x) = e^{−rate·x}`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exponential {
    rate: f64,
}

impl Exponential {
    /// Changes at `rate` per unit of time.
    pub fn new(rate: f64) -> Result<Self, GapError> {
        let rate = within("rate", rate, SCALES)?;
        Ok(Self { rate })
    }

    /// Changes per unit of time.
    pub fn rate(&self) -> f64 {
        self.rate
    }
}

impl Law for Exponential {
    fn mean(&self) -> f64 {
        1.0 / self.rate
    }

    fn second_moment(&self) -> f64 {
        2.0 / (self.rate * self.rate)
    }

    fn coefficient_of_variation(&self) -> f64 {
        1.0
    }

    fn ln_survival(&self, x: f64) -> f64 {
        -self.rate * x
    }

    fn ln_density(&self, x: f64) -> Option<f64> {
        Some(self.rate.ln() - self.rate * x)
    }

    fn limited_mean(&self, x: f64) -> f64 {
        measure::fresh_time(self.rate, x)
    }

    fn limited_square(&self, x: f64) -> f64 {
        self.second_moment() * measure::visit_gain(self.rate * x)
    }

    fn excess(&self, x: f64) -> f64 {
        (-self.rate * x).exp() / self.rate
    }

    fn sample(&self, rng: &mut dyn Rng) -> f64 {
        let unit: f64 = Exp1.sample(rng);
        unit / self.rate
    }

    fn sample_residual(&self, rng: &mut dyn Rng) -> f64 {
        self.sample(rng)
    }

    fn residual_fresh_time(&self, _age: f64, x: f64) -> f64 {
        self.limited_mean(x)
    }
}
