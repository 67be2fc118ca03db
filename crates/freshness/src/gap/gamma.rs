//! The gamma gap: bursty below shape one, regular above it.

use super::law::Law;
use super::special::{incomplete_gamma, ln_gamma, ln_gamma_weight, ln_upper_gamma};
use super::{GapError, SCALES, times, within};
use rand::{Rng, RngExt};
use rand_distr::Distribution;

/// Density `x^{shape−1}·e^{−x/scale}/(Γ(shape)·scale^shape)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gamma {
    shape: f64,
    scale: f64,
}

impl Gamma {
    /// The shapes accepted: coefficients of variation from 0.001 to 32.
    pub const SHAPES: (f64, f64) = (1e-3, 1e6);

    /// A gamma gap of mean `shape·scale`.
    pub fn new(shape: f64, scale: f64) -> Result<Self, GapError> {
        Ok(Self {
            shape: within("shape", shape, Self::SHAPES)?,
            scale: within("scale", scale, SCALES)?,
        })
    }

    /// The inverse square of the coefficient of variation.
    pub fn shape(&self) -> f64 {
        self.shape
    }

    /// Mean over shape.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Draws from the gamma distribution of scale one.
    fn draw(shape: f64, rng: &mut dyn Rng) -> f64 {
        rand_distr::Gamma::new(shape, 1.0)
            .expect("the constructor checked the shape")
            .sample(rng)
    }
}

impl Law for Gamma {
    fn mean(&self) -> f64 {
        self.shape * self.scale
    }

    fn second_moment(&self) -> f64 {
        self.shape * (self.shape + 1.0) * self.scale * self.scale
    }

    fn coefficient_of_variation(&self) -> f64 {
        1.0 / self.shape.sqrt()
    }

    fn ln_survival(&self, x: f64) -> f64 {
        ln_upper_gamma(self.shape, x / self.scale)
    }

    fn ln_density(&self, x: f64) -> Option<f64> {
        let z = x / self.scale;
        Some(times(self.shape - 1.0, z.ln()) - z - ln_gamma(self.shape) - self.scale.ln())
    }

    fn limited_mean(&self, x: f64) -> f64 {
        let z = x / self.scale;
        let below = self.mean() * incomplete_gamma(self.shape + 1.0, z).0;
        (below + x * incomplete_gamma(self.shape, z).1).min(x)
    }

    fn limited_square(&self, x: f64) -> f64 {
        let z = x / self.scale;
        let below = self.second_moment() * incomplete_gamma(self.shape + 2.0, z).0;
        (below + x * x * incomplete_gamma(self.shape, z).1).min(x * x)
    }

    fn excess(&self, x: f64) -> f64 {
        if x == 0.0 {
            return self.mean();
        }
        let (k, z) = (self.shape, x / self.scale);
        // k·Q(k + 1, z) − z·Q(k, z), the first by recurrence
        let weight = k * ln_gamma_weight(k, z).exp();
        let excess = (k - z) * incomplete_gamma(k, z).1 + weight;
        self.scale * excess.max(0.0)
    }

    fn sample(&self, rng: &mut dyn Rng) -> f64 {
        self.scale * Self::draw(self.shape, rng)
    }

    fn sample_residual(&self, rng: &mut dyn Rng) -> f64 {
        // a gap met at an arbitrary instant is drawn in proportion to its length
        let met = self.scale * Self::draw(self.shape + 1.0, rng);
        met * rng.random::<f64>()
    }
}
