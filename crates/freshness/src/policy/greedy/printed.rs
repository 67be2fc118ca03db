//! GREEDY's index as it was printed: a probability that is not conditioned on what is known, and an
//! expectation from three simulated renewals.

use crate::gap::Histogram;
use crate::policy::Outcome;
use rand::{Rng, RngExt};

/// Renewals simulated for each expectation.
const RENEWALS: usize = 3;
/// Gaps drawn for one renewal; shorter ones than a thousandth of the time to fill would never end.
const MOST_GAPS: usize = 1000;

/// A page's times between changes, and when its content appeared.
#[derive(Clone, Debug)]
pub(super) struct Printed {
    /// Where the bins of the histogram begin and end, and the share of gaps below each edge; uniform
    /// between two of them.
    edges: Box<[f64]>,
    below: Box<[f64]>,
    /// The last change before the last visit, `b`.
    appeared: f64,
}

impl Printed {
    /// Nothing where no gap was seen.
    pub fn of(gaps: &[f64]) -> Option<Self> {
        let histogram = Histogram::from_gaps(gaps, Histogram::BINS).ok()?;
        let (mut edges, mut below) = (vec![0.0], vec![0.0]);
        for (_, end, mass) in histogram.bins() {
            edges.push(end);
            below.push(below[below.len() - 1] + mass);
        }
        Some(Self {
            edges: edges.into(),
            below: below.into(),
            appeared: f64::NEG_INFINITY,
        })
    }

    /// `E[A(t) − t | ε]·Pr[ε]` with `Pr[ε] = Pr[u−b < X ≤ t−b]`. What was never visited comes first.
    pub fn index(&self, last: f64, now: f64, rng: &mut impl Rng) -> f64 {
        if last == f64::NEG_INFINITY || self.appeared == f64::NEG_INFINITY {
            return f64::INFINITY;
        }
        let (age, until) = (last - self.appeared, now - self.appeared);
        let changed = self.between(age, until);
        if changed <= 0.0 {
            return 0.0;
        }
        let left = (0..RENEWALS).map(|_| self.renewed(age, until, changed, rng));
        changed * left.sum::<f64>() / RENEWALS as f64
    }

    /// `Pr[from < X ≤ to]`.
    fn between(&self, from: f64, to: f64) -> f64 {
        self.until(to) - self.until(from)
    }

    /// `Pr[X ≤ x]`.
    fn until(&self, x: f64) -> f64 {
        interpolate(&self.edges, &self.below, x)
    }

    /// The first gap is drawn between `age` and `until`, further ones from the whole distribution
    /// until they reach beyond `until`; by how much they do.
    fn renewed(&self, age: f64, until: f64, changed: f64, rng: &mut impl Rng) -> f64 {
        let mut at = self.draw(self.until(age), changed, rng);
        for _ in 0..MOST_GAPS {
            if at > until {
                break;
            }
            at += self.draw(0.0, 1.0, rng);
        }
        (at - until).max(0.0)
    }

    /// A gap, of the share `mass` of all gaps that follows the share `before`.
    fn draw(&self, before: f64, mass: f64, rng: &mut impl Rng) -> f64 {
        let share = before + rng.random::<f64>() * mass;
        interpolate(&self.below, &self.edges, share)
    }

    pub fn observe(&mut self, at: f64, outcome: Outcome<'_>) {
        match outcome {
            Outcome::LastModified(then) => self.appeared = then.min(at),
            Outcome::Changed => self.appeared = at,
            Outcome::History(changes) => {
                if let Some(&last) = changes.last() {
                    self.appeared = last.min(at);
                }
            }
            Outcome::Unchanged | Outcome::Failed => {}
        }
        // a first visit that says nothing finds a content as old as itself
        if self.appeared == f64::NEG_INFINITY && !matches!(outcome, Outcome::Failed) {
            self.appeared = at;
        }
    }
}

/// The value at `x` of the line through ascending points, level beyond its ends.
fn interpolate(xs: &[f64], ys: &[f64], x: f64) -> f64 {
    let above = xs.partition_point(|&edge| edge < x);
    if above == 0 || above == xs.len() {
        return ys[above.min(ys.len() - 1)];
    }
    let (low, high) = (xs[above - 1], xs[above]);
    let share = if high > low {
        (x - low) / (high - low)
    } else {
        1.0
    };
    ys[above - 1] + (ys[above] - ys[above - 1]) * share
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn renewals_are_those_of_the_histogram() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let gaps: Vec<f64> = (0..4000).map(|_| -rng.random::<f64>().ln()).collect();
        let mut printed = Printed::of(&gaps).unwrap();
        // the whole distribution keeps the mean of the gaps
        let draws = 40_000;
        let mean = |values: &mut dyn FnMut() -> f64| {
            (0..draws).map(|_| values()).sum::<f64>() / f64::from(draws)
        };
        let drawn = mean(&mut || printed.draw(0.0, 1.0, &mut rng));
        let exact = gaps.iter().sum::<f64>() / gaps.len() as f64;
        assert!((drawn / exact - 1.0).abs() < 0.12, "{drawn} {exact}");
        // without memory the time left is the mean, however long ago the change was
        let left = mean(&mut || {
            let changed = printed.between(0.5, 2.0);
            printed.renewed(0.5, 2.0, changed, &mut rng)
        });
        assert!((left / exact - 1.0).abs() < 0.25, "{left} {exact}");
        // the probability is not conditioned: e^−0.5 − e^−2, not 1 − e^−1.5
        let changed = printed.between(0.5, 2.0);
        assert!((changed - 0.471).abs() < 0.04, "{changed}");
        printed.observe(10.0, Outcome::LastModified(9.5));
        let index = mean(&mut || printed.index(10.0, 11.5, &mut rng));
        assert!((index / (changed * left) - 1.0).abs() < 0.05, "{index}");
    }

    #[test]
    fn what_was_never_visited_comes_first() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut printed = Printed::of(&[1.0, 2.0, 3.0]).unwrap();
        let never = printed.index(f64::NEG_INFINITY, 5.0, &mut rng);
        assert_eq!(never, f64::INFINITY);
        printed.observe(5.0, Outcome::LastModified(4.0));
        assert_eq!(printed.index(5.0, 5.0, &mut rng), 0.0);
        assert!(printed.index(5.0, 6.5, &mut rng) > 0.0);
        assert!(Printed::of(&[]).is_none());
    }
}
