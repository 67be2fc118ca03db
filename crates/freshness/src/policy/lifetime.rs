//! How long a content lasts, from the gaps seen between a page's changes, and what is known of when
//! it appeared.

use super::Outcome;
use crate::gap::{Gap, Histogram};

/// The gaps seen as a histogram, and one more gap that nobody saw: at least as long as the longest,
/// with `P(X > x) = (longest/x)²` beyond. A histogram alone holds a content older than all gaps to
/// be about to change, for ever: a page that falls silent would take all visits.
#[derive(Clone, Debug)]
pub(super) struct Lifetime {
    gap: Gap,
    /// Where the bins of the histogram end, the first after zero: between two of them the survival
    /// function is a straight line.
    ends: Box<[End]>,
    seen: f64,
    longest: f64,
}

#[derive(Clone, Copy, Debug)]
struct End {
    at: f64,
    survival: f64,
    /// The integral of the survival function up to here.
    lived: f64,
}

impl Lifetime {
    /// From gaps in so many bins; none where no gap was seen.
    pub fn of(gaps: &[f64], bins: usize) -> Option<Self> {
        let histogram = Histogram::from_gaps(gaps, bins).ok()?;
        let mut last = End {
            at: 0.0,
            survival: 1.0,
            lived: 0.0,
        };
        let mut ends = vec![last];
        for (_, at, mass) in histogram.bins() {
            let survival = (last.survival - mass).max(0.0);
            let lived = last.lived + (at - last.at) * f64::midpoint(last.survival, survival);
            last = End {
                at,
                survival,
                lived,
            };
            ends.push(last);
        }
        Some(Self {
            gap: Gap::Histogram(histogram),
            ends: ends.into(),
            seen: gaps.len() as f64,
            longest: last.at,
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
        (self.seen * self.seen_until(x).survival + unseen) / (self.seen + 1.0)
    }

    /// `E[min(X, x)]`, which is `E[X]` for an infinite `x`.
    pub fn limited_mean(&self, x: f64) -> f64 {
        let unseen = if x < self.longest {
            x.max(0.0)
        } else {
            self.longest * (2.0 - self.longest / x)
        };
        (self.seen * self.seen_until(x).lived + unseen) / (self.seen + 1.0)
    }

    /// The histogram at `x`.
    fn seen_until(&self, x: f64) -> End {
        let above = self.ends.partition_point(|end| end.at <= x).max(1);
        let low = self.ends[above - 1];
        let Some(high) = self.ends.get(above).filter(|_| x > 0.0) else {
            return low;
        };
        let share = (x - low.at) / (high.at - low.at);
        let survival = low.survival + share * (high.survival - low.survival);
        End {
            at: x,
            survival,
            lived: low.lived + (x - low.at) * f64::midpoint(low.survival, survival),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_the_histogram_and_one_gap_more() {
        let gaps: Vec<f64> = (1..=50).map(|k| f64::from(k * k)).collect();
        let life = Lifetime::of(&gaps, 10).unwrap();
        for x in [0.0, 0.5, 3.0, 100.0, 2499.0] {
            let survival = (50.0 * life.gap().survival(x) + 1.0) / 51.0;
            assert!((life.survival(x) - survival).abs() < 1e-12, "at {x}");
            let changed = life.gap().mean() * (1.0 - life.gap().stationary_survival(x));
            let limited = (50.0 * changed + x) / 51.0;
            assert!((life.limited_mean(x) - limited).abs() < 1e-9, "at {x}");
        }
        assert!((life.survival(5000.0) - 0.25 / 51.0).abs() < 1e-12);
        let mean = (50.0 * life.gap().mean() + 5000.0) / 51.0;
        assert!((life.limited_mean(f64::INFINITY) - mean).abs() < 1e-9);
    }
}
