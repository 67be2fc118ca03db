//! The estimator that a crawler keeps per page: constant time per visit, eight bytes, forgets.

use super::Prior;

/// What one successful visit told about the time since the visit before. A failed fetch is no
/// observation at all: nothing is learnt from it and the interval goes on to the next success.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Observation {
    /// The content is the one seen before (a 304 says so too).
    Unchanged,
    /// The content differs; how often it changed is unknown.
    Changed,
    /// The page told how long ago its content last changed; beyond the interval, it did not
    /// change. An age that is negative or NaN is a lie, of which only "changed" is kept: compare
    /// contents and say [`Unchanged`](Self::Unchanged) where they are equal.
    LastModified {
        /// Time from the last change to this visit.
        age: f64,
    },
    /// Every change since the visit before is known; their number says all about a Poisson rate.
    History {
        /// How many there were, none included.
        changes: u32,
    },
}

impl Observation {
    /// Whether the page changed in the interval.
    pub fn changed(self, interval: f64) -> bool {
        match self {
            Self::Unchanged => false,
            Self::Changed => true,
            Self::LastModified { age } => age.is_nan() || age <= interval,
            Self::History { changes } => changes > 0,
        }
    }
}

/// What is known of one page: events (possibly fractional) in so much exposure, both discounted
/// by age. With the prior it makes a gamma posterior. The caller keeps the time of the last
/// successful visit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Evidence {
    events: f32,
    exposure: f32,
}

/// `evidence` after one more successful visit, `interval` after the one before, where it loses half of its
/// weight in `half_life`. `prior` is needed because what an uncounted change is worth depends on the rate
/// believed so far.
pub fn forgetting(
    half_life: f64,
    evidence: Evidence,
    prior: Prior,
    interval: f64,
    observation: Observation,
) -> Evidence {
    if !(interval > 0.0 && interval.is_finite()) {
        return evidence;
    }
    let (events, exposure) = match observation {
        Observation::Unchanged => (0.0, interval),
        Observation::LastModified { age } if age > interval => (0.0, interval),
        // quiet for `age`, one change before that, the rest of the interval hidden
        Observation::LastModified { age } if age >= 0.0 => (1.0, age),
        Observation::Changed | Observation::LastModified { .. } => {
            uncounted(evidence.rate(prior), interval)
        }
        Observation::History { changes } => (f64::from(changes), interval),
    };
    let kept = (-interval / half_life).exp2();
    Evidence::new(
        kept * evidence.events() + events,
        kept * evidence.exposure() + exposure,
    )
}

/// What a visit is worth that saw a change but not how many: the events and exposure whose gamma
/// likelihood has the slope and the curvature of the visit's own, `1 − e^{−λI}`, at this rate. One change
/// in half the interval for small `x = λI`, nothing for large `x`, where a change was certain.
pub(super) fn uncounted(rate: f64, interval: f64) -> (f64, f64) {
    let x = rate * interval;
    if x < 1e-3 {
        return (1.0 - x * x / 12.0, interval * (0.5 - x / 6.0));
    }
    // e^x/(e^x − 1)² below is then less than 1e-300
    if x > 700.0 {
        return (0.0, 0.0);
    }
    let odds = 1.0 / x.exp_m1();
    let curvature = odds * (1.0 + odds);
    (x * x * curvature, interval * (x * curvature - odds))
}

impl Evidence {
    /// Evidence of `events` in `exposure` units of time, as when read back from storage.
    pub fn new(events: f64, exposure: f64) -> Self {
        Self {
            events: (events as f32).clamp(0.0, f32::MAX),
            exposure: (exposure as f32).clamp(0.0, f32::MAX),
        }
    }

    /// Discounted number of changes.
    pub fn events(self) -> f64 {
        f64::from(self.events)
    }

    /// Discounted time in which they were seen.
    pub fn exposure(self) -> f64 {
        f64::from(self.exposure)
    }

    /// The posterior mean `(α₀ + A)/(β₀ + B)`.
    pub fn rate(self, prior: Prior) -> f64 {
        (prior.alpha + self.events()) / (prior.beta + self.exposure())
    }
}

#[cfg(test)]
mod tests;
