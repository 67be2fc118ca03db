//! The Pareto gap of the second type (Lomax): a power-law tail that starts at zero.
//!
//! The first type has no gap below its minimum, which no page respects; the second is what an
//! exponential becomes when its rate is itself drawn from a gamma distribution.

use super::law::Law;
use super::{GapError, SCALES, within};
use rand::Rng;
use rand_distr::{Distribution, Exp1};

/// `P(X > x) = (1 + x/scale)^{−shape}`. The mean is infinite for shapes up to one, the variance
/// for shapes up to two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pareto {
    shape: f64,
    scale: f64,
}

impl Pareto {
    /// The shapes accepted; the largest is an exponential to six digits.
    pub const SHAPES: (f64, f64) = (1e-3, 1e6);

    /// A Pareto gap whose tail falls as `x^{−shape}`.
    pub fn new(shape: f64, scale: f64) -> Result<Self, GapError> {
        Ok(Self {
            shape: within("shape", shape, Self::SHAPES)?,
            scale: within("scale", scale, SCALES)?,
        })
    }

    /// The exponent of the tail.
    pub fn shape(&self) -> f64 {
        self.shape
    }

    /// Where the tail starts to look like a power.
    pub fn scale(&self) -> f64 {
        self.scale
    }
}

/// `∫₀^y e^{−bt} dt` for any sign of `b`.
fn decay_integral(b: f64, y: f64) -> f64 {
    if b == 0.0 { y } else { -(-b * y).exp_m1() / b }
}

impl Law for Pareto {
    fn mean(&self) -> f64 {
        if self.shape > 1.0 {
            self.scale / (self.shape - 1.0)
        } else {
            f64::INFINITY
        }
    }

    fn second_moment(&self) -> f64 {
        if self.shape > 2.0 {
            2.0 * self.scale * self.scale / ((self.shape - 1.0) * (self.shape - 2.0))
        } else {
            f64::INFINITY
        }
    }

    fn coefficient_of_variation(&self) -> f64 {
        if self.shape > 2.0 {
            (self.shape / (self.shape - 2.0)).sqrt()
        } else {
            f64::INFINITY
        }
    }

    fn ln_survival(&self, x: f64) -> f64 {
        -self.shape * (x / self.scale).ln_1p()
    }

    fn ln_density(&self, x: f64) -> Option<f64> {
        Some((self.shape / self.scale).ln() - (self.shape + 1.0) * (x / self.scale).ln_1p())
    }

    fn limited_mean(&self, x: f64) -> f64 {
        (self.scale * decay_integral(self.shape - 1.0, (x / self.scale).ln_1p())).min(x)
    }

    fn limited_square(&self, x: f64) -> f64 {
        let (a, z) = (self.shape, x / self.scale);
        let square = if z.max(a * z) < 0.25 {
            // the binomial series of (1 + z)^{−a}, integrated: the closed form cancels
            let mut power: f64 = 1.0;
            let mut sum = 0.5;
            let mut n = 0.0;
            while power.abs() > 1e-17 {
                power *= -(a + n) / (n + 1.0) * z;
                n += 1.0;
                sum += power / (n + 2.0);
            }
            2.0 * x * x * sum
        } else {
            let y = z.ln_1p();
            let difference = decay_integral(a - 2.0, y) - decay_integral(a - 1.0, y);
            2.0 * self.scale * self.scale * difference
        };
        square.min(x * x)
    }

    fn excess(&self, x: f64) -> f64 {
        let b = self.shape - 1.0;
        if b > 0.0 {
            self.mean() * (-b * (x / self.scale).ln_1p()).exp()
        } else {
            f64::INFINITY
        }
    }

    fn sample(&self, rng: &mut dyn Rng) -> f64 {
        let unit: f64 = Exp1.sample(rng);
        self.scale * (unit / self.shape).exp_m1()
    }

    fn sample_residual(&self, rng: &mut dyn Rng) -> f64 {
        if self.shape > 1.0 {
            let unit: f64 = Exp1.sample(rng);
            self.scale * (unit / (self.shape - 1.0)).exp_m1()
        } else {
            f64::INFINITY
        }
    }

    fn residual_fresh_time(&self, age: f64, x: f64) -> f64 {
        // what remains of a Pareto gap is one of the same shape and a scale that grows with age
        let remaining = Self {
            shape: self.shape,
            scale: self.scale + age,
        };
        if x == f64::INFINITY {
            remaining.mean()
        } else {
            remaining.limited_mean(x)
        }
    }
}
