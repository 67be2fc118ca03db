//! Change processes: where the changes of a page fall in a period.
#![doc = include_str!("process/README.md")]

mod drift;
mod modulated;
mod week;

pub use drift::Drift;
pub use modulated::Modulated;
pub use week::Week;

use crate::gap::Gap;
use rand::{Rng, RngExt};
use rand_distr::{Distribution, Exp1};
use std::cmp::Ordering;
use std::sync::Arc;

/// How one page changes over time. The constructors check what the variants hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Process {
    /// Changes at a constant rate, independent of the past. A rate of zero never changes.
    #[non_exhaustive]
    Poisson {
        /// Changes per unit of time.
        rate: f64,
    },
    /// Independent gaps of one distribution.
    Renewal {
        /// The time between changes.
        gap: Gap,
        /// What lies before the period.
        start: Start,
    },
    /// A Poisson process whose rate is constant by pieces.
    Drift(Drift),
    /// A process that lives faster at some hours of the day and days of the week.
    Weekly {
        /// The process in a time without hours; its rate is kept on average over the week.
        base: Box<Process>,
        /// The shape of the week.
        week: Week,
    },
    /// Quiet spells and busy ones, a Poisson process within each.
    Modulated(Modulated),
    /// One change a period, like a page made anew every night.
    #[non_exhaustive]
    Periodic {
        /// The time from one change to the next.
        period: f64,
        /// An instant around which a change falls.
        offset: f64,
        /// The part of the period, in `[0, 1)`, over which each change is spread at random.
        jitter: f64,
    },
    /// A Poisson process that starts at an instant and fades: news.
    #[non_exhaustive]
    Dying {
        /// The rate at birth.
        rate: f64,
        /// When it begins; no change falls before.
        born: f64,
        /// The time in which the rate halves.
        half_life: f64,
    },
    /// The ascending instants of a recorded history.
    #[non_exhaustive]
    Trace(Arc<[f64]>),
}

/// What lies before the period over which a renewal process is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The period begins just after a change: the first gap is like any other.
    AtChange,
    /// The process has been running for ever: the period begins at an arbitrary instant.
    Stationary,
}

/// Why a change process cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProcessError {
    /// A number that is not finite, or negative, or zero where that makes no sense.
    #[error("{name} is {value}; it must be {wanted}")]
    BadNumber {
        /// Which one.
        name: &'static str,
        /// What was given.
        value: f64,
        /// What would do.
        wanted: &'static str,
    },
    /// Instants that do not ascend.
    #[error("instants must ascend, and number {0} does not")]
    NotAscending(usize),
    /// No pieces, or a week in which nothing can happen.
    #[error("{0} is empty")]
    Empty(&'static str),
}

fn not_negative(name: &'static str, value: f64) -> Result<f64, ProcessError> {
    check(
        name,
        value,
        value.is_finite() && value >= 0.0,
        "finite and not negative",
    )
}

fn positive(name: &'static str, value: f64) -> Result<f64, ProcessError> {
    check(
        name,
        value,
        value.is_finite() && value > 0.0,
        "finite and positive",
    )
}

fn check(
    name: &'static str,
    value: f64,
    holds: bool,
    wanted: &'static str,
) -> Result<f64, ProcessError> {
    if holds {
        Ok(value)
    } else {
        Err(ProcessError::BadNumber {
            name,
            value,
            wanted,
        })
    }
}

impl Process {
    /// Poisson changes at `rate`.
    pub fn poisson(rate: f64) -> Result<Self, ProcessError> {
        let rate = not_negative("rate", rate)?;
        Ok(Self::Poisson { rate })
    }

    /// Independent gaps, seen from an arbitrary instant.
    pub fn renewal(gap: Gap) -> Self {
        let start = Start::Stationary;
        Self::Renewal { gap, start }
    }

    /// `base`, faster and slower by the hour and the day.
    pub fn weekly(base: Self, week: Week) -> Self {
        let base = Box::new(base);
        Self::Weekly { base, week }
    }

    /// One change every `period`, around `offset`, spread over a part `jitter` of the period.
    pub fn periodic(period: f64, offset: f64, jitter: f64) -> Result<Self, ProcessError> {
        Ok(Self::Periodic {
            period: positive("period", period)?,
            offset: check("offset", offset, offset.is_finite(), "finite")?,
            jitter: check("jitter", jitter, (0.0..1.0).contains(&jitter), "in [0, 1)")?,
        })
    }

    /// A rate that halves every `half_life` from `born` on.
    pub fn dying(rate: f64, born: f64, half_life: f64) -> Result<Self, ProcessError> {
        Ok(Self::Dying {
            rate: not_negative("rate", rate)?,
            born: check("birth", born, born.is_finite(), "finite")?,
            half_life: positive("half-life", half_life)?,
        })
    }

    /// A recorded history; its instants must ascend, ties allowed.
    pub fn trace(instants: impl Into<Arc<[f64]>>) -> Result<Self, ProcessError> {
        let instants = instants.into();
        let wrong = |pair: &[f64]| pair[0].partial_cmp(&pair[1]).is_none_or(Ordering::is_gt);
        match instants.windows(2).position(wrong) {
            Some(before) => Err(ProcessError::NotAscending(before + 1)),
            None => Ok(Self::Trace(instants)),
        }
    }

    /// The instants of the changes in `[from, until)`, ascending. One draw of the process for all
    /// kinds but [`Process::Trace`], which is what it is.
    ///
    /// # Panics
    /// When the period is not finite.
    pub fn instants(&self, from: f64, until: f64, rng: &mut impl Rng) -> Vec<f64> {
        assert!(
            from.is_finite() && until.is_finite(),
            "changes are drawn over a finite period, not [{from}, {until})"
        );
        // one compiled copy serves every generator
        self.draw(from, until, rng)
    }

    fn draw(&self, from: f64, until: f64, mut rng: &mut dyn Rng) -> Vec<f64> {
        match self {
            Self::Poisson { rate } => poisson(*rate, from, until, rng),
            Self::Renewal { gap, start } => {
                let first = match start {
                    Start::AtChange => gap.sample(&mut rng),
                    Start::Stationary => gap.sample_residual(&mut rng),
                };
                instants_until(until, from + first, || gap.sample(&mut rng))
            }
            Self::Drift(drift) => drift.instants(from, until, rng),
            Self::Weekly { base, week } => {
                let (start, end) = (week.lived(from), week.lived(until));
                let lived = base.draw(start, end, rng);
                let back = lived.into_iter().map(|at| week.instant(at));
                back.map(|at| at.clamp(from, until))
                    .filter(|&at| at < until)
                    .collect()
            }
            Self::Modulated(modulated) => modulated.instants(from, until, rng),
            Self::Periodic {
                period,
                offset,
                jitter,
            } => {
                let first = ((from - offset) / period).floor() - 1.0;
                let last = ((until - offset) / period).ceil();
                (0..=(last - first).max(0.0) as u64)
                    .map(|k| {
                        let spread = jitter * (rng.random::<f64>() - 0.5);
                        offset + (first + k as f64 + spread) * period
                    })
                    .filter(|&at| from <= at && at < until)
                    .collect()
            }
            Self::Dying {
                rate,
                born,
                half_life,
            } => {
                let start = from.max(*born);
                if start >= until {
                    return Vec::new();
                }
                // a Poisson process of rate one in the time Λ(t) = ∫ rate·2^{−(u − born)/half-life}
                let decay = std::f64::consts::LN_2 / half_life;
                let rate_at_start = rate * (-decay * (start - born)).exp();
                let expected = -rate_at_start / decay * (-decay * (until - start)).exp_m1();
                let later = |lived: f64| -(-lived * decay / rate_at_start).ln_1p() / decay;
                let lived = poisson(1.0, 0.0, expected, rng).into_iter();
                lived
                    .map(|at| start + later(at))
                    .filter(|&at| at < until)
                    .collect()
            }
            Self::Trace(instants) => {
                let first = instants.partition_point(|&at| at < from);
                let last = instants.partition_point(|&at| at < until);
                instants[first..last.max(first)].to_vec()
            }
        }
    }

    /// The expected number of changes per unit of time over `[from, until)`. A renewal process
    /// started at a change is counted at its long-run rate.
    pub fn mean_rate(&self, from: f64, until: f64) -> f64 {
        let length = until - from;
        match self {
            Self::Poisson { rate } => *rate,
            Self::Renewal { gap, .. } => 1.0 / gap.mean(),
            Self::Drift(drift) => drift.expected(from, until) / length,
            Self::Weekly { base, week } => {
                let (start, end) = (week.lived(from), week.lived(until));
                if start < end {
                    base.mean_rate(start, end) * (end - start) / length
                } else {
                    0.0
                }
            }
            Self::Modulated(modulated) => modulated.mean_rate(),
            Self::Periodic { period, .. } => 1.0 / period,
            Self::Dying {
                rate,
                born,
                half_life,
            } => {
                let decay = std::f64::consts::LN_2 / half_life;
                let fading = |at: f64| (-decay * (at - born).max(0.0)).exp();
                rate / decay * (fading(from) - fading(until)) / length
            }
            Self::Trace(instants) => {
                let within = instants.iter().filter(|&&at| from <= at && at < until);
                within.count() as f64 / length
            }
        }
    }
}

/// The instants of a Poisson process.
fn poisson(rate: f64, from: f64, until: f64, rng: &mut dyn Rng) -> Vec<f64> {
    if rate == 0.0 {
        return Vec::new();
    }
    let mut gap = || {
        let unit: f64 = Exp1.sample(rng);
        unit / rate
    };
    instants_until(until, from + gap(), gap)
}

/// `first` and what follows it at the gaps drawn, so long as before `until`.
fn instants_until(until: f64, first: f64, mut gap: impl FnMut() -> f64) -> Vec<f64> {
    let mut at = first;
    let mut instants = Vec::new();
    while at < until {
        instants.push(at);
        at += gap();
    }
    instants
}

#[cfg(test)]
mod tests;
