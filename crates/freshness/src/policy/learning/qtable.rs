//! A Q-learner: average-reward learning of intervals in a table.

use super::{Agent, Interval, View};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Intervals to choose from: `STEP^k` rounds, one round in the middle.
const ACTIONS: usize = 14;
const ONE_ROUND: usize = 6;
const STEP: f64 = 1.6;
/// Kinds of pages: octaves of changes in a round around one, and factors of four of weight.
const RATES: usize = 13;
const WEIGHTS: usize = 7;
/// Whether the content has been quiet for longer than its mean time between changes.
const STATES: usize = 2;
/// Before anything is learnt, all pages are visited alike: other intervals look a little worse.
const PREJUDICE: f64 = 0.02;
/// Learning steps shrink as one over the number of visits down to this, to follow drift.
const LEAST_STEP: f64 = 0.01;
/// Steps of a kind's reward rate: slower than those of its values.
const LEAST_RATE_STEP: f64 = 0.002;
/// Exploration: all at first, half after this many visits to a kind, then down to a floor.
const HALF_EXPLORED: f64 = 100.0;
const LEAST_EXPLORATION: f64 = 0.05;

#[derive(Clone, Copy, Debug)]
struct Value {
    /// What the interval is worth beyond the kind's mean reward for its length.
    worth: f32,
    tried: f32,
}

/// All pages of a kind learn together; a page moves between the states of its kind.
#[derive(Clone, Debug)]
struct Kind {
    values: [[Value; ACTIONS]; STATES],
    /// Reward for a round.
    reward_rate: f64,
    visits: f64,
}

pub(in crate::policy) struct QTable {
    kinds: Vec<Kind>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(in crate::policy) struct Decision {
    kind: u8,
    state: u8,
    action: u8,
    greedy: bool,
}

impl Default for QTable {
    fn default() -> Self {
        let value = |action: usize| Value {
            worth: (-PREJUDICE * action.abs_diff(ONE_ROUND) as f64) as f32,
            tried: 0.0,
        };
        let kind = Kind {
            values: [std::array::from_fn(value); STATES],
            reward_rate: 0.0,
            visits: 0.0,
        };
        Self {
            kinds: vec![kind; RATES * WEIGHTS],
        }
    }
}

/// The class of `value` among `classes` of the given width in octaves, one in the middle.
fn class(value: f64, octaves: f64, classes: usize) -> usize {
    let middle = (classes / 2) as f64;
    let class = (value.log2() / octaves).round() + middle;
    class.clamp(0.0, (classes - 1) as f64) as usize
}

fn kind(view: View) -> usize {
    class(view.rate, 1.0, RATES) * WEIGHTS + class(view.weight, 2.0, WEIGHTS)
}

fn state(view: View) -> usize {
    usize::from(view.quiet * view.rate > 1.0)
}

impl Kind {
    fn best(&self, state: usize) -> (usize, f64) {
        let mut best = (0, f32::NEG_INFINITY);
        for (action, value) in self.values[state].iter().enumerate() {
            if value.worth > best.1 {
                best = (action, value.worth);
            }
        }
        (best.0, f64::from(best.1))
    }

    fn exploration(&self) -> f64 {
        (HALF_EXPLORED / (HALF_EXPLORED + self.visits)).max(LEAST_EXPLORATION)
    }
}

impl Agent for QTable {
    type Decision = Decision;

    fn decide(&self, view: View, rng: &mut Xoshiro256PlusPlus) -> (Decision, f64) {
        let (k, state) = (kind(view), state(view));
        let (best, _) = self.kinds[k].best(state);
        let action = if rng.random::<f64>() < self.kinds[k].exploration() {
            // near the best: far from it a try costs more than it tells
            rng.random_range(best.saturating_sub(2)..=(best + 2).min(ACTIONS - 1))
        } else {
            best
        };
        let decision = Decision {
            kind: k as u8,
            state: state as u8,
            action: action as u8,
            greedy: action == best,
        };
        (decision, STEP.powi(action as i32 - ONE_ROUND as i32))
    }

    fn learn(&mut self, decision: Decision, interval: Interval, next: View) {
        let kind = &mut self.kinds[usize::from(decision.kind)];
        let (from, to) = (usize::from(decision.state), state(next));
        let reward = next.weight * interval.fresh - interval.price;
        let surplus = reward - kind.reward_rate * interval.length + kind.best(to).1;
        kind.visits += 1.0;
        if decision.greedy {
            let step = (1.0 / kind.visits).max(LEAST_RATE_STEP);
            kind.reward_rate += step * (surplus - kind.best(from).1) / interval.length.max(1.0);
        }
        let value = &mut kind.values[from][usize::from(decision.action)];
        value.tried += 1.0;
        let step = (1.0 / f64::from(value.tried)).max(LEAST_STEP);
        value.worth += (step * (surplus - f64::from(value.worth))) as f32;
    }
}
