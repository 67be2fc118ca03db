//! How far estimators are off: exactly where that can be computed, else by simulation.

use super::{DatedVisit, Visit};
use rand::{Rng, RngExt};

/// Bias and root of the mean squared error of an estimator, against the true rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    /// Mean of the estimate less the true rate.
    pub bias: f64,
    /// Root of the mean squared difference.
    pub rmse: f64,
}

/// The exact accuracy of an estimator that knows how many of `visits` regular visits, `interval`
/// apart, saw a change: expectations over the binomial of `visits` and `1 − e^{−λI}`.
pub fn exact(visits: u32, rate: f64, interval: f64, estimator: impl Fn(u32) -> f64) -> Accuracy {
    // in logarithms: with many visits the first terms underflow
    let ln_odds = (rate * interval).exp_m1().ln();
    let mut ln_probability = -rate * interval * f64::from(visits);
    let (mut bias, mut square) = (0.0, 0.0);
    for changes in 0..=visits {
        let off = estimator(changes) - rate;
        let probability = ln_probability.exp();
        bias += probability * off;
        square += probability * off * off;
        ln_probability += ln_odds + (f64::from(visits - changes) / f64::from(changes + 1)).ln();
    }
    Accuracy {
        bias,
        rmse: square.sqrt(),
    }
}

/// How visits are spaced; the mean interval is one for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// Always one.
    Regular,
    /// Uniform between zero and two.
    Uniform,
    /// Exponential: visits come as a Poisson process.
    Exponential,
    /// Log-uniform over two decades.
    LogUniform,
}

impl Spacing {
    fn draw(self, rng: &mut impl Rng) -> f64 {
        let u = rng.random::<f64>();
        match self {
            Self::Regular => 1.0,
            Self::Uniform => 2.0 * (1.0 - u),
            Self::Exponential => -(1.0 - u).ln(),
            // 10^U(−1, 1) over its mean, (10 − 1/10)/(2 ln 10)
            Self::LogUniform => {
                10f64.powf(2.0 * u - 1.0) * 2.0 * std::f64::consts::LN_10 / (10.0 - 0.1)
            }
        }
    }
}

/// A visit of a simulated page, with all that any estimator may want to know.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DrawnVisit {
    /// Interval, and age of the last change (beyond the interval if there was none in it).
    pub dated: DatedVisit,
    /// How often the page changed in the interval.
    pub changes: u32,
}

impl DrawnVisit {
    /// What a crawler sees that can only compare contents.
    pub fn seen(&self) -> Visit {
        Visit {
            interval: self.dated.interval,
            changed: self.changes > 0,
        }
    }
}

/// Draws `visits` to a page that changes as a Poisson process.
pub fn draw_visits(
    rng: &mut impl Rng,
    spacing: Spacing,
    rate: f64,
    visits: u32,
) -> Vec<DrawnVisit> {
    (0..visits)
        .map(|_| {
            let interval = spacing.draw(rng);
            let mut gap = || -(1.0 - rng.random::<f64>()).ln() / rate;
            let age = gap();
            let (mut back, mut changes) = (age, 0);
            while back <= interval {
                changes += 1;
                back += gap();
            }
            DrawnVisit {
                dated: DatedVisit { interval, age },
                changes,
            }
        })
        .collect()
}

/// Accuracy measured over simulated runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    runs: f64,
    sum: f64,
    square: f64,
    fourth: f64,
}

impl Measured {
    /// Counts one run in: `off` is the estimate less the true rate.
    pub fn record(&mut self, off: f64) {
        self.runs += 1.0;
        self.sum += off;
        self.square += off * off;
        self.fourth += off.powi(4);
    }

    /// The accuracy over the runs so far.
    pub fn accuracy(&self) -> Accuracy {
        Accuracy {
            bias: self.sum / self.runs,
            rmse: (self.square / self.runs).sqrt(),
        }
    }

    /// Standard errors of the bias and of the RMSE.
    pub fn errors(&self) -> Accuracy {
        let Accuracy { bias, rmse } = self.accuracy();
        let mean_square = rmse * rmse;
        let spread = (self.fourth / self.runs - mean_square * mean_square).max(0.0);
        Accuracy {
            bias: ((mean_square - bias * bias).max(0.0) / self.runs).sqrt(),
            rmse: (spread / self.runs).sqrt() / (2.0 * rmse),
        }
    }
}
