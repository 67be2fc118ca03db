//! A Q-learner: average-reward learning of intervals in a table.

use super::{Agent, Interval, View};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Intervals to choose from, in units of the page's estimated time between changes:
/// `SHORTEST·STEP^k`.
const ACTIONS: usize = 17;
const SHORTEST: f64 = 0.08;
const STEP: f64 = 2.0;
/// No page is left alone for more rounds: nothing would be learnt of it any more.
const LONGEST_ROUNDS: f64 = 30.0;
/// Kinds of pages: octaves of changes in a round over relative weight, around one.
const KINDS: usize = 21;
/// Whether the content has been quiet for longer than its mean time between changes.
const STATES: usize = 2;
/// Learning steps shrink as one over the number of visits down to these, to follow drift.
const LEAST_STEP: f32 = 0.003;
const LEAST_RATE_STEP: f64 = 0.01;
/// Exploration: all at first, half after this many visits to a kind, then down to a floor.
const HALF_EXPLORED: f64 = 100.0;
const LEAST_EXPLORATION: f64 = 0.05;

/// What an interval was seen to bring, part by part, so that its worth follows at once when the
/// price of a visit or the kind's reward rate moves. Times are in units of the page's own.
#[derive(Clone, Copy, Debug, Default)]
struct Value {
    fresh: f32,
    length: f32,
    /// What a visit takes from it for each unit of price.
    cost: f32,
    /// What the state after it is worth.
    after: f32,
    tried: f32,
}

/// All pages of a kind learn together; a page moves between the states of its kind.
#[derive(Clone, Debug, Default)]
struct Kind {
    values: [[Value; ACTIONS]; STATES],
    /// Mean reward and length of its greedy intervals.
    reward: f64,
    length: f64,
    visits: f64,
}

pub(in crate::policy) struct QTable {
    kinds: Vec<Kind>,
    price: f64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(in crate::policy) struct Decision {
    kind: u8,
    state: u8,
    action: u8,
    greedy: bool,
    /// The estimate by which times were taken.
    rate: f32,
}

impl Default for QTable {
    fn default() -> Self {
        Self {
            kinds: vec![Kind::default(); KINDS],
            price: 0.0,
        }
    }
}

fn kind(view: View) -> usize {
    let class = (view.rate / view.weight).log2().round() + (KINDS / 2) as f64;
    class.clamp(0.0, (KINDS - 1) as f64) as usize
}

fn state(view: View) -> usize {
    usize::from(view.quiet * view.rate > 1.0)
}

/// The action nearest to a round, with which all pages are visited alike.
fn one_round(view: View) -> usize {
    let action = (view.rate / SHORTEST).ln() / STEP.ln();
    action.round().clamp(0.0, (ACTIONS - 1) as f64) as usize
}

impl Kind {
    fn reward_rate(&self) -> f64 {
        self.reward / self.length.max(SHORTEST)
    }

    /// What an interval is worth beyond the kind's mean reward for its length.
    fn worth(&self, value: &Value, price: f64) -> f64 {
        f64::from(value.fresh + value.after)
            - price * f64::from(value.cost)
            - self.reward_rate() * f64::from(value.length)
    }

    /// The best interval among those tried, and its worth.
    fn best(&self, state: usize, price: f64) -> Option<(usize, f64)> {
        let values = self.values[state].iter().enumerate();
        let tried = values.filter(|(_, value)| value.tried > 0.0);
        tried
            .map(|(action, value)| (action, self.worth(value, price)))
            .max_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn exploration(&self) -> f64 {
        (HALF_EXPLORED / (HALF_EXPLORED + self.visits)).max(LEAST_EXPLORATION)
    }
}

impl Agent for QTable {
    type Decision = Decision;

    fn decide(&self, view: View, rng: &mut Xoshiro256PlusPlus) -> (Decision, f64) {
        let (k, state) = (kind(view), state(view));
        let best = self.kinds[k].best(state, self.price);
        let best = best.map_or_else(|| one_round(view), |(action, _)| action);
        let action = if rng.random::<f64>() < self.kinds[k].exploration() {
            // near the best: far from it a try costs more than it tells
            rng.random_range(best.saturating_sub(1)..=(best + 1).min(ACTIONS - 1))
        } else {
            best
        };
        let decision = Decision {
            kind: k as u8,
            state: state as u8,
            action: action as u8,
            greedy: action == best,
            rate: view.rate as f32,
        };
        let interval = SHORTEST * STEP.powf(action as f64) / view.rate;
        (decision, interval.min(LONGEST_ROUNDS))
    }

    fn learn(&mut self, decision: Decision, interval: Interval, next: View) {
        let rate = f64::from(decision.rate);
        if rate == 0.0 {
            // a first visit: nothing was decided before
            return;
        }
        self.price = interval.price;
        let kind = &mut self.kinds[usize::from(decision.kind)];
        let (from, to) = (usize::from(decision.state), state(next));
        let worth = |best: Option<(usize, f64)>| best.map_or(0.0, |(_, worth)| worth);
        let after = worth(kind.best(to, self.price));
        let before = worth(kind.best(from, self.price));
        let (fresh, length) = (interval.fresh * rate, interval.length * rate);
        let cost = rate / next.weight;
        kind.visits += 1.0;
        if decision.greedy {
            let step = (1.0 / kind.visits).max(LEAST_RATE_STEP);
            let reward = fresh - self.price * cost + after - before;
            kind.reward += step * (reward - kind.reward);
            kind.length += step * (length - kind.length);
        }
        let value = &mut kind.values[from][usize::from(decision.action)];
        value.tried += 1.0;
        let step = (1.0 / value.tried).max(LEAST_STEP);
        let learn = |known: &mut f32, seen: f64| *known += step * (seen as f32 - *known);
        learn(&mut value.fresh, fresh);
        learn(&mut value.length, length);
        learn(&mut value.cost, cost);
        learn(&mut value.after, after);
    }
}
