//! How fast a page changes, from what its visits saw.
#![doc = include_str!("estimate/README.md")]

pub mod accuracy;
mod belief;
mod dated;
mod findings;
mod gamma;
mod grid;
mod irregular;
mod online;
mod pace;
mod population;
mod posterior;
mod prior;
mod regular;
mod replay;
mod scale;
pub(crate) mod weights;

pub use belief::Belief;
pub use findings::Findings;
pub use pace::Pace;
pub use population::Population;
pub use posterior::{Posterior, Rate};
pub use replay::{lasting, observation};
pub use scale::MeanRate;

pub use dated::{DatedVisit, full_history, last_modified};
pub use irregular::{Penalty, Visit, irregular, irregular_rate};
pub use online::{Evidence, Imputation, Learning, Observation};
pub use prior::{HostPrior, Prior};
pub use regular::{naive, regular};

/// The two-sided 95 % point of the normal distribution: every interval here has that level.
const Z95: f64 = 1.959_963_984_540_054;

/// A change rate and how sure one may be of it. Never NaN; `low ≤ rate ≤ high`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Changes per unit of time; always finite.
    pub rate: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end of the 95 % interval. Infinite when the data set no upper bound: one-bit visits
    /// that all saw a change, or no data at all.
    pub high: f64,
    /// Standard error of `rate`; infinite when there are no data.
    pub error: f64,
}

impl Estimate {
    /// What is known before any observation: nothing.
    pub const UNKNOWN: Self = Self {
        rate: 0.0,
        low: 0.0,
        high: f64::INFINITY,
        error: f64::INFINITY,
    };

    /// Keeps the promise of the type where `rate` and the interval come from different formulas.
    fn new(rate: f64, low: f64, high: f64, error: f64) -> Self {
        let rate = rate.min(f64::MAX);
        Self {
            rate,
            low: low.min(rate),
            high: high.max(rate),
            error,
        }
    }

    /// `events` changes seen in `exposure` units of watched time. The interval is that of the
    /// gamma distribution of shape `events + ½`, between those for a fixed time and for a fixed
    /// number of events. Without exposure nothing is known, whatever was counted.
    fn from_count(events: f64, exposure: f64) -> Self {
        if exposure <= 0.0 {
            return Self::UNKNOWN;
        }
        let shape = events + 0.5;
        let low = if events == 0.0 {
            0.0
        } else {
            gamma::quantile(shape, 0.025) / exposure
        };
        Self::new(
            events / exposure,
            low,
            gamma::quantile(shape, 0.975) / exposure,
            shape.sqrt() / exposure,
        )
    }
}

#[cfg(test)]
mod tests;
