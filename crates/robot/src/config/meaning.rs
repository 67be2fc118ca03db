//! What texts in the configuration mean: budgets, and times between visits.

use super::{Invalid, Limits, Revisit};
use freshness::revisits;
use ground::quantity::{Rate, Seconds, not_negative};

/// Revisits a second that no crawl reaches.
const MOST_REVISITS: f64 = 1e9;

/// How many revisits may be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RevisitBudget {
    /// A share of what politeness allows.
    Share(f64),
    /// So many per second.
    PerSecond(f64),
}

impl RevisitBudget {
    /// A part of it, for one of several robots. What politeness allows is each robot's own already.
    #[must_use]
    pub fn part(self, share: f64) -> Self {
        match self {
            Self::Share(_) => self,
            Self::PerSecond(visits) => Self::PerSecond(visits * share),
        }
    }
}

impl Limits {
    /// Seconds, if there is a limit of time.
    pub fn seconds(&self) -> Result<Option<f64>, Invalid> {
        if self.time.is_empty() {
            return Ok(None);
        }
        let read = self
            .time
            .parse()
            .map(|ground::Seconds(seconds)| Some(seconds).filter(|&seconds| seconds > 0.0));
        read.map_err(|_| Invalid {
            key: "limits.time",
            value: format!("{:?}", self.time),
            expected: "expected a time such as \"30m\" or \"2h\"".into(),
        })
    }
}

impl Revisit {
    /// The budget, understood.
    pub fn budget(&self) -> Result<RevisitBudget, Invalid> {
        let text = self.budget.trim();
        let parsed = match text.strip_suffix('%') {
            Some(share) => not_negative(share)
                .filter(|&share| share <= 100.0)
                .map(|share| RevisitBudget::Share(share / 100.0)),
            None => (text.parse().ok())
                .map(|rate: Rate| rate.per_second())
                .filter(|&rate| rate < MOST_REVISITS)
                .map(RevisitBudget::PerSecond),
        };
        parsed.ok_or_else(|| Invalid {
            key: "revisit.budget",
            value: format!("{text:?}"),
            expected:
                "expected a share such as \"20%\", or visits such as \"2000/day\" or \"3/second\""
                    .into(),
        })
    }

    /// How close and how far apart visits to a page may be, understood.
    pub fn limits(&self) -> Result<revisits::Limits, Invalid> {
        let limits = revisits::Limits {
            least_interval: seconds("revisit.least_interval", &self.least_interval)?,
            most_interval: seconds("revisit.most_interval", &self.most_interval)?,
            least_chance: self.least_chance,
        };
        if limits.most_interval <= 0.0 || limits.most_interval < limits.least_interval {
            return Err(Invalid {
                key: "revisit.most_interval",
                value: format!("{:?}", self.most_interval),
                expected: format!(
                    "expected more than revisit.least_interval = {:?}",
                    self.least_interval
                ),
            });
        }
        Ok(limits)
    }
}

/// A time between two visits, understood.
pub(crate) fn seconds(key: &'static str, text: &str) -> Result<f64, Invalid> {
    let read = text.parse().map(|Seconds(seconds)| seconds);
    read.map_err(|_| Invalid {
        key,
        value: format!("{text:?}"),
        expected: "expected a time such as \"5m\", \"2h\" or \"4w\"".into(),
    })
}
