//! Distributions of the time between changes, and what they make of evenly spaced visits.
#![doc = include_str!("gap/README.md")]

mod empirical;
mod exponential;
mod gamma;
mod histogram;
mod law;
mod log_normal;
mod pareto;
pub(crate) mod special;
mod weibull;

pub use empirical::Empirical;
pub use exponential::Exponential;
pub use gamma::Gamma;
pub use histogram::Histogram;
pub use log_normal::LogNormal;
pub use pareto::Pareto;
pub use weibull::Weibull;

use law::Law;
use rand::Rng;
use std::fmt;

/// A distribution of the time `X` between two changes of a page.
///
/// Functions of a time `x` read a negative one as zero and accept an infinite one.
#[derive(Clone, Debug, PartialEq)]
pub enum Gap {
    /// Poisson changes.
    Exponential(Exponential),
    /// Gamma gaps.
    Gamma(Gamma),
    /// Weibull gaps.
    Weibull(Weibull),
    /// Pareto gaps of the second type (Lomax).
    Pareto(Pareto),
    /// Log-normal gaps.
    LogNormal(LogNormal),
    /// A few bins of exponentially growing width.
    Histogram(Histogram),
    /// The gaps that were seen, each with the same weight.
    Empirical(Empirical),
}

/// Why a distribution of gaps cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum GapError {
    /// A parameter that is not a number, or out of the range that can be computed with.
    #[error("{parameter} is {value}; it must lie between {low:e} and {high:e}")]
    OutOfRange {
        /// Which one.
        parameter: &'static str,
        /// What was given.
        value: f64,
        /// The least value accepted.
        low: f64,
        /// The greatest value accepted.
        high: f64,
    },
    /// No gaps at all, or only gaps of length zero.
    #[error("a distribution needs at least one gap longer than zero")]
    NoGaps,
    /// A gap that is negative, infinite, not a number, or too long to be squared.
    #[error("{0} is not the time between two changes")]
    NotAGap(f64),
    /// A histogram of no bins.
    #[error("a histogram needs at least one bin")]
    NoBins,
}

/// Scales and rates whose squares neither overflow nor vanish.
const SCALES: (f64, f64) = (1e-100, 1e100);

fn within(parameter: &'static str, value: f64, (low, high): (f64, f64)) -> Result<f64, GapError> {
    if (low..=high).contains(&value) {
        Ok(value)
    } else {
        Err(GapError::OutOfRange {
            parameter,
            value,
            low,
            high,
        })
    }
}

/// Checks raw gaps.
fn checked(gaps: Vec<f64>) -> Result<Vec<f64>, GapError> {
    let is_gap = |gap: f64| gap == 0.0 || (SCALES.0..=SCALES.1).contains(&gap);
    if let Some(&wrong) = gaps.iter().find(|&&gap| !is_gap(gap)) {
        Err(GapError::NotAGap(wrong))
    } else if gaps.iter().all(|&gap| gap == 0.0) {
        Err(GapError::NoGaps)
    } else {
        Ok(gaps)
    }
}

/// `a·b` where nothing times infinity is nothing.
fn times(a: f64, b: f64) -> f64 {
    if a == 0.0 { 0.0 } else { a * b }
}

impl Gap {
    /// Poisson changes at `rate` per unit of time.
    pub fn exponential(rate: f64) -> Result<Self, GapError> {
        Exponential::new(rate).map(Self::Exponential)
    }

    /// Gamma gaps of mean `shape·scale`.
    pub fn gamma(shape: f64, scale: f64) -> Result<Self, GapError> {
        Gamma::new(shape, scale).map(Self::Gamma)
    }

    /// Weibull gaps, `P(X > x) = e^{−(x/scale)^shape}`.
    pub fn weibull(shape: f64, scale: f64) -> Result<Self, GapError> {
        Weibull::new(shape, scale).map(Self::Weibull)
    }

    /// Pareto gaps, `P(X > x) = (1 + x/scale)^{−shape}`.
    pub fn pareto(shape: f64, scale: f64) -> Result<Self, GapError> {
        Pareto::new(shape, scale).map(Self::Pareto)
    }

    /// Log-normal gaps of median `e^mu`.
    pub fn log_normal(mu: f64, sigma: f64) -> Result<Self, GapError> {
        LogNormal::new(mu, sigma).map(Self::LogNormal)
    }

    /// A histogram of raw gaps in ten bins whose widths grow exponentially.
    pub fn histogram(gaps: &[f64]) -> Result<Self, GapError> {
        Histogram::from_gaps(gaps, Histogram::BINS).map(Self::Histogram)
    }

    /// The raw gaps themselves, in any order.
    pub fn empirical(gaps: Vec<f64>) -> Result<Self, GapError> {
        Empirical::new(gaps).map(Self::Empirical)
    }

    fn law(&self) -> &dyn Law {
        match self {
            Self::Exponential(law) => law,
            Self::Gamma(law) => law,
            Self::Weibull(law) => law,
            Self::Pareto(law) => law,
            Self::LogNormal(law) => law,
            Self::Histogram(law) => law,
            Self::Empirical(law) => law,
        }
    }

    /// `E[X]`; infinite for Pareto gaps of shape one or less. The stationary process of such gaps
    /// is the limit, one that never changes: staleness and gain are zero at every interval.
    pub fn mean(&self) -> f64 {
        self.law().mean()
    }

    /// `E[X²]`; infinite for Pareto gaps of shape two or less.
    pub fn second_moment(&self) -> f64 {
        self.law().second_moment()
    }

    /// Standard deviation over mean; infinite where either is.
    pub fn coefficient_of_variation(&self) -> f64 {
        self.law().coefficient_of_variation()
    }

    /// `P(X > x)`.
    pub fn survival(&self, x: f64) -> f64 {
        self.ln_survival(x).exp()
    }

    /// `P(X ≤ x)`.
    pub fn cdf(&self, x: f64) -> f64 {
        -self.ln_survival(x).exp_m1()
    }

    fn ln_survival(&self, x: f64) -> f64 {
        if x <= 0.0 && !matches!(self, Self::Empirical(_)) {
            0.0
        } else if x == f64::INFINITY {
            f64::NEG_INFINITY
        } else {
            let ln_survival = self.law().ln_survival(x.max(0.0));
            if ln_survival < law::IMPOSSIBLE {
                f64::NEG_INFINITY
            } else {
                ln_survival
            }
        }
    }

    /// The density at `x`; none for [`Gap::Empirical`].
    pub fn density(&self, x: f64) -> Option<f64> {
        self.log_density(x).map(f64::exp)
    }

    /// The logarithm of the density at `x`; none for [`Gap::Empirical`].
    pub fn log_density(&self, x: f64) -> Option<f64> {
        if x.is_finite() && x >= 0.0 {
            self.law().ln_density(x)
        } else {
            self.law().ln_density(1.0).map(|_| f64::NEG_INFINITY)
        }
    }

    /// The rate of change of a content of age `x`: density over survival, infinite where nothing
    /// survives; none for [`Gap::Empirical`].
    pub fn hazard(&self, x: f64) -> Option<f64> {
        let survival = self.ln_survival(x);
        let density = self.log_density(x)?;
        Some(if survival == f64::NEG_INFINITY {
            f64::INFINITY
        } else {
            (density - survival).exp()
        })
    }

    /// Draws a gap.
    pub fn sample(&self, rng: &mut impl Rng) -> f64 {
        self.law().sample(rng)
    }

    /// Draws the time from an arbitrary instant of the stationary process to its next change.
    /// Infinite where the mean is.
    pub fn sample_residual(&self, rng: &mut impl Rng) -> f64 {
        self.law().sample_residual(rng)
    }

    /// The probability that the stationary process makes no change within `x` of an arbitrary
    /// instant: `S_e(x) = (1/E[X])·∫ₓ^∞ P(X > u) du`.
    pub fn stationary_survival(&self, x: f64) -> f64 {
        let mean = self.mean();
        if x <= 0.0 || mean == f64::INFINITY {
            1.0
        } else if x == f64::INFINITY {
            0.0
        } else {
            (self.law().excess(x) / mean).clamp(0.0, 1.0)
        }
    }

    /// The expected fraction of time that the copy is up to date, with visits every `x`.
    pub fn freshness(&self, x: f64) -> f64 {
        if x <= 0.0 || self.mean() == f64::INFINITY {
            1.0
        } else if x == f64::INFINITY {
            0.0
        } else {
            (self.stationary_survival(x) + self.visit_gain(x) / x).clamp(0.0, 1.0)
        }
    }

    /// The expected fraction of time that the copy is out of date, with visits every `x`: precise
    /// also where it is small.
    pub fn staleness(&self, x: f64) -> f64 {
        let mean = self.mean();
        if x <= 0.0 || mean == f64::INFINITY {
            0.0
        } else if x == f64::INFINITY {
            1.0
        } else {
            let changed = self.law().limited_mean(x) / mean;
            (changed - self.visit_gain(x) / x).clamp(0.0, 1.0)
        }
    }

    /// What one more visit per unit of time is worth at interval `x`, in fresh time:
    /// `H(x) − x·S_e(x) = E[min(X, x)²]/(2·E[X])`. Grows with `x`, from zero to
    /// [`gain_supremum`](Self::gain_supremum).
    pub fn visit_gain(&self, x: f64) -> f64 {
        let mean = self.mean();
        if x <= 0.0 || mean == f64::INFINITY {
            0.0
        } else if x > 1e150 {
            self.gain_supremum()
        } else {
            self.law().limited_square(x) / (2.0 * mean)
        }
    }

    /// What the gain of a visit tends to as visits become rare: `E[X²]/(2·E[X])`. At this price or
    /// above, no visit is worth it.
    pub fn gain_supremum(&self) -> f64 {
        let mean = self.mean();
        if mean == f64::INFINITY {
            0.0
        } else {
            self.second_moment() / (2.0 * mean)
        }
    }

    /// The interval at which a visit is worth `price`: the inverse of
    /// [`visit_gain`](Self::visit_gain). None when the price is at or above the supremum, or so
    /// near that no time below `1e150` reaches it: never visit.
    pub fn interval_for_gain(&self, price: f64) -> Option<f64> {
        if price <= 0.0 {
            Some(0.0)
        } else if price < self.gain_supremum() {
            self.law().interval_for_square(2.0 * self.mean() * price)
        } else {
            None
        }
    }

    /// The probability that a content of `age` lasts another `x`. Zero for `x > 0` once the age
    /// leaves nothing possible: a content older than any gap is about to change.
    pub fn residual_survival(&self, age: f64, x: f64) -> f64 {
        if x <= 0.0 {
            return 1.0;
        }
        let at_age = self.ln_survival(age);
        if at_age == f64::NEG_INFINITY {
            0.0
        } else {
            (self.ln_survival(age.max(0.0) + x) - at_age).exp().min(1.0)
        }
    }

    /// The expected time, within the next `x`, that a copy taken now of a content of `age` stays
    /// fresh: the integral of [`residual_survival`](Self::residual_survival). With an infinite `x`,
    /// the expected time to the next change.
    pub fn residual_fresh_time(&self, age: f64, x: f64) -> f64 {
        if x <= 0.0 || age == f64::INFINITY {
            0.0
        } else {
            let fresh = self.law().residual_fresh_time(age.max(0.0), x);
            fresh.clamp(0.0, x)
        }
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exponential(law) => write!(f, "rate {:.4}", law.rate()),
            Self::Gamma(law) => write!(f, "shape {:.4}, scale {:.4}", law.shape(), law.scale()),
            Self::Weibull(law) => write!(f, "shape {:.4}, scale {:.4}", law.shape(), law.scale()),
            Self::Pareto(law) => write!(f, "shape {:.4}, scale {:.4}", law.shape(), law.scale()),
            Self::LogNormal(law) => write!(f, "mu {:.4}, sigma {:.4}", law.mu(), law.sigma()),
            Self::Histogram(law) => write!(f, "{} bins", law.bins().count()),
            Self::Empirical(law) => write!(f, "{} gaps", law.gaps().len()),
        }
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
