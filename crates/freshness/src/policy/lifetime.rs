//! How long a content lasts, from the gaps seen between a page's changes, and what is known of when
//! it appeared.

use super::Outcome;
use crate::gap::Gap;

/// The gaps seen as a histogram, and one more gap that nobody saw: at least as long as the longest,
/// with `P(X > x) = (longest/x)²` beyond. A histogram alone holds a content older than all gaps to
/// be about to change, for ever: a page that falls silent would take all visits.
#[derive(Clone, Debug)]
pub(super) struct Lifetime {
    gap: Gap,
    seen: f64,
    longest: f64,
}

impl Lifetime {
    /// None where no gap was seen.
    pub fn of(gaps: &[f64]) -> Option<Self> {
        let gap = Gap::histogram(gaps).ok()?;
        Some(Self {
            gap,
            seen: gaps.len() as f64,
            longest: gaps.iter().copied().fold(0.0, f64::max),
        })
    }

    pub fn longest(&self) -> f64 {
        self.longest
    }

    /// The gaps seen, without the one that was not.
    pub fn gap(&self) -> &Gap {
        &self.gap
    }

    /// `P(X > x)`, never zero.
    pub fn survival(&self, x: f64) -> f64 {
        let unseen = (self.longest / x.max(self.longest)).powi(2);
        (self.seen * self.gap.survival(x) + unseen) / (self.seen + 1.0)
    }

    /// `E[min(X, x)]`, which is `E[X]` for an infinite `x`.
    pub fn limited_mean(&self, x: f64) -> f64 {
        let seen = self.gap.mean() * (1.0 - self.gap.stationary_survival(x));
        let unseen = if x < self.longest {
            x
        } else {
            self.longest * (2.0 - self.longest / x)
        };
        (self.seen * seen + unseen) / (self.seen + 1.0)
    }
}

/// The content met at the last visit appeared within these bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Appeared {
    pub after: f64,
    pub before: f64,
}

impl Appeared {
    pub const EVER: Self = Self {
        after: f64::NEG_INFINITY,
        before: f64::INFINITY,
    };

    /// What a visit at `at`, the last one at `previous`, says.
    pub fn observe(&mut self, previous: f64, at: f64, outcome: Outcome<'_>) {
        *self = match outcome {
            Outcome::LastModified(instant) | Outcome::History(&[.., instant]) => Self {
                after: instant.min(at),
                before: instant.min(at),
            },
            Outcome::Changed => Self {
                after: previous,
                before: at,
            },
            Outcome::Failed | Outcome::Unchanged | Outcome::History(_) => Self {
                before: self.before.min(at),
                ..*self
            },
        };
    }

    /// The probability that the content met at `seen` is still there at `now`.
    pub fn unchanged(&self, life: &Lifetime, seen: f64, now: f64) -> f64 {
        let (least, most) = (seen - self.before, seen - self.after);
        let elapsed = now - seen;
        // the survival function does not vary within so short a time, but differences would cancel
        let certain = most - least <= 1e-6 * life.longest();
        let survive = |from: f64| {
            if certain {
                life.survival(least + from)
            } else {
                life.limited_mean(most + from) - life.limited_mean(least + from)
            }
        };
        (survive(elapsed) / survive(0.0)).clamp(0.0, 1.0)
    }
}
