//! The Weibull gap: the hazard of a change falls (shape below one) or grows with the content's age.

use super::law::Law;
use super::special::{gamma, incomplete_gamma, ln_gamma, lower_gamma_sum};
use super::{GapError, SCALES, times, within};
use rand::{Rng, RngExt};
use rand_distr::{Distribution, Exp1};

/// `P(X > x) = e^{−(x/scale)^shape}`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weibull {
    shape: f64,
    scale: f64,
}

impl Weibull {
    /// The shapes accepted; the second moment of a smaller one leaves the range of `f64`.
    pub const SHAPES: (f64, f64) = (0.02, 1e6);

    /// A Weibull gap of mean `scale·Γ(1 + 1/shape)`.
    pub fn new(shape: f64, scale: f64) -> Result<Self, GapError> {
        Ok(Self {
            shape: within("shape", shape, Self::SHAPES)?,
            scale: within("scale", scale, SCALES)?,
        })
    }

    /// The power of the age in the cumulative hazard.
    pub fn shape(&self) -> f64 {
        self.shape
    }

    /// The age that a share 1/e of the gaps exceeds.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    fn cumulative_hazard(&self, x: f64) -> f64 {
        (x / self.scale).powf(self.shape)
    }

    fn moment(&self, power: i32) -> f64 {
        self.scale.powi(power) * gamma(1.0 + f64::from(power) / self.shape)
    }

    /// `E[min(X, x)^power]`.
    fn limited_moment(&self, x: f64, power: i32) -> f64 {
        let a = f64::from(power) / self.shape;
        let z = self.cumulative_hazard(x);
        if z < a + 1.0 {
            // the powers of z in P(a, z) are taken as powers of x: z may underflow
            x.powi(power) * ((-z).exp() * lower_gamma_sum(a, z)).min(1.0)
        } else {
            self.moment(power) * incomplete_gamma(a, z).0
        }
    }
}

impl Law for Weibull {
    fn mean(&self) -> f64 {
        self.moment(1)
    }

    fn second_moment(&self) -> f64 {
        self.moment(2)
    }

    fn coefficient_of_variation(&self) -> f64 {
        let relative = ln_gamma(1.0 + 2.0 / self.shape) - 2.0 * ln_gamma(1.0 + 1.0 / self.shape);
        relative.exp_m1().max(0.0).sqrt()
    }

    fn ln_survival(&self, x: f64) -> f64 {
        -self.cumulative_hazard(x)
    }

    fn ln_density(&self, x: f64) -> Option<f64> {
        let power = times(self.shape - 1.0, (x / self.scale).ln());
        let hazard = self.cumulative_hazard(x);
        Some(if hazard == f64::INFINITY {
            f64::NEG_INFINITY
        } else {
            (self.shape / self.scale).ln() + power - hazard
        })
    }

    fn limited_mean(&self, x: f64) -> f64 {
        self.limited_moment(x, 1)
    }

    fn limited_square(&self, x: f64) -> f64 {
        self.limited_moment(x, 2)
    }

    fn excess(&self, x: f64) -> f64 {
        let a = 1.0 / self.shape;
        let z = self.cumulative_hazard(x);
        if z < a + 1.0 {
            (self.mean() - self.limited_mean(x)).max(0.0)
        } else {
            self.mean() * incomplete_gamma(a, z).1
        }
    }

    fn sample(&self, rng: &mut dyn Rng) -> f64 {
        let unit: f64 = Exp1.sample(rng);
        self.scale * unit.powf(1.0 / self.shape)
    }

    fn sample_residual(&self, rng: &mut dyn Rng) -> f64 {
        // in proportion to its length, (X/scale)^shape is a gamma variate of shape 1 + 1/shape
        let hazard: f64 = rand_distr::Gamma::new(1.0 + 1.0 / self.shape, 1.0)
            .expect("the constructor checked the shape")
            .sample(rng);
        self.scale * hazard.powf(1.0 / self.shape) * rng.random::<f64>()
    }
}
