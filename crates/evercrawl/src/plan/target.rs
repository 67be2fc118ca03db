//! The inverse question: the smallest budget that reaches a freshness.

use anyhow::Result;

/// Brackets end when the budget is known to this relative precision; a little below the promised
/// 1e-6.
const PRECISION: f64 = 5e-7;
/// Beyond this, budgets mean nothing and brackets stop growing.
const LIMITS: (f64, f64) = (1e-250, 1e250);

/// What can be said about a target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    /// The smallest budget per day that reaches it.
    Budget(f64),
    /// Politeness does not allow it: the most freshness there is, and the budget of that.
    Unreachable {
        /// Freshness when all servers are visited as often as they allow.
        most: f64,
    },
    /// Only an infinite budget would do.
    OnlyInTheLimit,
}

/// Finds the smallest budget at which `freshness` (never falling) reaches `target`, in a bracket
/// that starts at `guess`. ITP on logarithms: freshness in logits is nearly a straight line over
/// the logarithm of the budget.
pub fn smallest_budget(
    mut freshness: impl FnMut(f64) -> Result<f64>,
    target: f64,
    capacity: f64,
    guess: f64,
) -> Result<Answer> {
    let floor = freshness(0.0)?;
    if target <= floor {
        return Ok(Answer::Budget(0.0));
    }
    if capacity.is_finite() {
        let most = freshness(capacity)?;
        // one is never reached exactly, whatever rounding says
        if most < target || target == 1.0 {
            return Ok(Answer::Unreachable { most });
        }
    } else if target == 1.0 {
        return Ok(Answer::OnlyInTheLimit);
    }
    let logit = |value: f64| ((value - floor) / (1.0 - value)).ln().clamp(-600.0, 600.0);
    let wanted = logit(target);
    let mut miss = |log: f64| -> Result<f64> {
        let value = freshness(log.exp().min(capacity))?;
        Ok(if value >= target {
            (logit(value) - wanted).max(0.0)
        } else {
            (logit(value) - wanted).min(-f64::MIN_POSITIVE)
        })
    };

    let start = guess.clamp(LIMITS.0, LIMITS.1).min(capacity).ln();
    let mut low = (start, miss(start)?);
    let mut high = low;
    let mut reach = 1.0;
    while low.1 >= 0.0 {
        high = low;
        let log = low.0 - reach;
        if log < LIMITS.0.ln() {
            return Ok(Answer::Budget(high.0.exp()));
        }
        low = (log, miss(log)?);
        reach *= 2.0;
    }
    reach = 1.0;
    while high.1 < 0.0 {
        low = high;
        let log = (high.0 + reach).min(capacity.ln());
        if log > LIMITS.1.ln() {
            return Ok(Answer::OnlyInTheLimit);
        }
        high = (
            log,
            if log == capacity.ln() {
                0.0
            } else {
                miss(log)?
            },
        );
        reach *= 2.0;
    }
    itp(miss, low, high).map(|log| Answer::Budget(log.exp().min(capacity)))
}

/// The ITP method (interpolate, truncate, project): never slower than bisection by more than one
/// step. Returns the upper end of the last bracket.
fn itp(
    mut miss: impl FnMut(f64) -> Result<f64>,
    mut low: (f64, f64),
    mut high: (f64, f64),
) -> Result<f64> {
    let whole = high.0 - low.0;
    let mut slack = 2.0 * PRECISION * ((whole / PRECISION).log2().ceil().max(0.0)).exp2();
    while high.0 - low.0 > PRECISION {
        let middle = low.0 + (high.0 - low.0) / 2.0;
        let chord = (low.0 * high.1 - high.0 * low.1) / (high.1 - low.1);
        let towards = (middle - chord).signum();
        let truncation = (0.2 / whole * (high.0 - low.0).powi(2)).max(PRECISION / 4.0);
        let moved = if truncation <= (middle - chord).abs() {
            chord + towards * truncation
        } else {
            middle
        };
        let radius = slack / 2.0 - (high.0 - low.0) / 2.0;
        let probe = if (moved - middle).abs() <= radius {
            moved
        } else {
            middle - towards * radius
        };
        let value = miss(probe)?;
        if value >= 0.0 {
            high = (probe, value);
        } else {
            low = (probe, value);
        }
        slack /= 2.0;
    }
    Ok(high.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository whose freshness is `floor + (1 − floor)·b/(b + half)`.
    fn check(floor: f64, half: f64, capacity: f64, target: f64) -> (Answer, usize) {
        let mut solves = 0;
        let answer = smallest_budget(
            |budget| {
                solves += 1;
                Ok(floor + (1.0 - floor) * budget / (budget + half))
            },
            target,
            capacity,
            1.0,
        );
        (answer.unwrap(), solves)
    }

    #[test]
    fn finds_the_budget_to_one_in_a_million_with_few_solves() {
        for half in [1e-9, 1e-2, 1.0, 123.0, 1e9] {
            for target in [0.301, 0.5, 0.95, 0.999_99] {
                let (answer, solves) = check(0.3, half, f64::INFINITY, target);
                let share = (target - 0.3) / 0.7;
                let exact = half * share / (1.0 - share);
                let Answer::Budget(budget) = answer else {
                    panic!("{answer:?}")
                };
                let excess = budget / exact - 1.0;
                assert!(
                    (-1e-12..1e-6).contains(&excess),
                    "{half} {target}: {excess}"
                );
                assert!(solves < 25, "{solves} solves");
            }
        }
    }

    #[test]
    fn bends_and_steps_are_no_obstacle() {
        // nothing until 10, then all at once
        let answer = smallest_budget(|b| Ok(if b < 10.0 { 0.1 } else { 0.9 }), 0.5, 1e3, 1.0);
        let Answer::Budget(budget) = answer.unwrap() else {
            panic!()
        };
        assert!((budget / 10.0 - 1.0).abs() < 1e-6);
    }

    #[test]
    fn knows_what_cannot_be() {
        assert_eq!(
            check(0.0, 10.0, 30.0, 0.8).0,
            Answer::Unreachable { most: 0.75 }
        );
        assert_eq!(
            check(0.0, 10.0, f64::INFINITY, 1.0).0,
            Answer::OnlyInTheLimit
        );
        assert_eq!(check(0.4, 10.0, 30.0, 0.3).0, Answer::Budget(0.0));
        let (answer, _) = check(0.0, 10.0, 30.0, 0.75);
        assert!(matches!(answer, Answer::Budget(b) if (b / 30.0 - 1.0).abs() < 1e-6));
    }
}
