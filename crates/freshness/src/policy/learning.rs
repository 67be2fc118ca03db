//! Agents that learn when to visit from nothing but their own visits.
#![doc = include_str!("learning/README.md")]

mod learner;
mod qtable;

pub(super) use learner::Learner;
pub(super) use qtable::QTable;

use super::Outcome;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Decides how long a page is left alone. Times are in rounds, a round being the time in which the
/// budget pays for one visit to each page; weights are relative to the mean.
pub(super) trait Agent: Send {
    /// What an agent has to remember of a decision until it knows what came of it.
    type Decision: Copy + Default + Send;

    /// The interval to the page's next visit.
    fn decide(&self, view: View, rng: &mut Xoshiro256PlusPlus) -> (Self::Decision, f64);

    /// Learns from what came of a decision; `next` is the page as it is seen now.
    fn learn(&mut self, decision: Self::Decision, interval: Interval, next: View);
}

/// A page at a visit, as an agent sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    /// Estimated changes in a round.
    pub rate: f64,
    pub weight: f64,
    /// Time since the last change that is known.
    pub quiet: f64,
}

/// What came of leaving a page alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    pub length: f64,
    /// The part of it, from its beginning, in which the copy was fresh.
    pub fresh: f64,
    /// The mean gain of a visit, which is what one has to gain to be worth its place in the budget: the
    /// weighted fresh time before it if the copy had changed, else nothing. If all intervals of a page
    /// were longer by a share, so much of it would be lost for each of them; no model is needed to see
    /// it.
    pub price: f64,
}

/// How long the copy of the visit at `last` stayed fresh until `at`, and whether it then changed.
/// Where the first change is not known, its expectation at the estimated rate is taken.
fn fresh_time(outcome: Outcome<'_>, last: f64, at: f64, rate: f64) -> Option<(f64, bool)> {
    let elapsed = at - last;
    Some(match outcome {
        Outcome::Failed => return None,
        Outcome::Unchanged => (elapsed, false),
        Outcome::LastModified(modified) if modified <= last => (elapsed, false),
        // the first change came no later than the last
        Outcome::LastModified(modified) => {
            let known = modified.min(at) - last;
            let x = rate * known;
            let share = if x < 1e-6 { 1.0 } else { -(-x).exp_m1() / x };
            (known * share, true)
        }
        Outcome::History(changes) => changes.first().map_or((elapsed, false), |first| {
            ((first - last).clamp(0.0, elapsed), true)
        }),
        Outcome::Changed => {
            let x = rate * elapsed;
            let share = if x < 1e-3 {
                0.5 - x / 12.0
            } else {
                1.0 / x - 1.0 / x.exp_m1()
            };
            (elapsed * share, true)
        }
    })
}

#[cfg(test)]
mod tests;
