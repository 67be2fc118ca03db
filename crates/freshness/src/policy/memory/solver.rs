//! One page's semi-Markov decision problem, by policy iteration over a grid of ages and delays.

/// Ages of the content at a visit: zero, then in geometric progression.
const AGES: usize = 32;
/// Delays to the next visit, in geometric progression.
const DELAYS: usize = 40;
/// Policies improve strictly and a handful of rounds is usual; this only ends ties.
const MOST_ROUNDS: usize = 40;

/// The time scales that a page's ages and delays have to span.
#[derive(Clone, Copy, Debug)]
pub struct Scales {
    /// Half of the contents last no longer.
    pub median: f64,
    /// Hardly any lasts longer.
    pub longest: f64,
}

/// The ages at which delays are found.
#[derive(Clone, Copy, Debug)]
pub struct Ages {
    first: f64,
    ratio: f64,
}

/// The delay at each age.
pub type Delays = [f32; AGES];

/// Where on the grid an age lies: the node below, and the share of the node above.
#[derive(Clone, Copy)]
struct Position {
    below: u8,
    share: f32,
}

/// What a delay leads to from one age.
#[derive(Clone, Copy)]
struct Step {
    /// Expected fresh time.
    fresh: f64,
    /// The probability that nothing changes, and the age that the content then has.
    same: f64,
    older: Position,
}

/// The problem at any price.
pub struct Solver {
    delays: [f64; DELAYS],
    steps: Vec<[Step; DELAYS]>,
    /// By delay: the distribution of the content's age at the visit when it is new.
    newer: Vec<[f64; AGES]>,
}

/// The best policy at one price.
#[derive(Clone)]
pub struct Solution {
    /// Which delay at each age.
    choice: [usize; AGES],
    /// What each age is worth beside age zero.
    value: [f64; AGES],
    /// Fresh time less the price of visits, per unit of time.
    pub gain: f64,
    /// Visits per unit of time.
    pub visits: f64,
}

impl Ages {
    pub fn new(scales: Scales) -> Self {
        let (first, last) = (scales.median / 8.0, 4.0 * scales.longest);
        Self {
            first,
            ratio: (last / first).powf(1.0 / (AGES - 2) as f64),
        }
    }

    fn age(&self, node: usize) -> f64 {
        match node {
            0 => 0.0,
            _ => self.first * self.ratio.powf(node as f64 - 1.0),
        }
    }

    fn position(&self, age: f64) -> Position {
        let (below, share) = if age < self.first {
            (0, age.max(0.0) / self.first)
        } else {
            let below = 1 + ((age / self.first).ln() / self.ratio.ln()) as usize;
            if below + 1 >= AGES {
                (AGES - 2, 1.0)
            } else {
                let (low, high) = (self.age(below), self.age(below + 1));
                (below, ((age - low) / (high - low)).clamp(0.0, 1.0))
            }
        };
        Position {
            below: below as u8,
            share: share as f32,
        }
    }

    /// The delay at an age between the nodes.
    pub fn delay(&self, delays: &Delays, age: f64) -> f64 {
        let Position { below, share } = self.position(age);
        let (low, high) = (delays[below as usize], delays[below as usize + 1]);
        f64::from(low + share * (high - low))
    }
}

impl Position {
    fn weights(self) -> [(usize, f64); 2] {
        let (below, share) = (self.below as usize, f64::from(self.share));
        [(below, 1.0 - share), (below + 1, share)]
    }

    fn of(self, values: &[f64; AGES]) -> f64 {
        self.weights()
            .iter()
            .map(|&(k, share)| share * values[k])
            .sum()
    }
}

impl Solver {
    /// `survival` is `P(X > x)`, above zero; `limited_mean` its integral from zero.
    pub fn new(
        ages: Ages,
        scales: Scales,
        survival: impl Fn(f64) -> f64,
        limited_mean: impl Fn(f64) -> f64,
    ) -> Self {
        let (first, last) = (scales.median / 32.0, 16.0 * scales.longest);
        let ratio = (last / first).powf(1.0 / (DELAYS - 1) as f64);
        let delays: [f64; DELAYS] = std::array::from_fn(|d| first * ratio.powf(d as f64));
        let steps = (0..AGES).map(|node| {
            let age = ages.age(node);
            let (alive, lived) = (survival(age), limited_mean(age));
            delays.map(|delay| Step {
                fresh: ((limited_mean(age + delay) - lived) / alive).clamp(0.0, delay),
                same: (survival(age + delay) / alive).min(1.0),
                older: ages.position(age + delay),
            })
        });
        let newer = delays.iter().map(|&delay| {
            let mut mass = [0.0; AGES];
            let all = limited_mean(delay);
            for node in 0..AGES {
                let from = ages.age(node);
                if from >= delay {
                    break;
                }
                let to = if node + 1 < AGES {
                    ages.age(node + 1).min(delay)
                } else {
                    delay
                };
                let share = (limited_mean(to) - limited_mean(from)) / all;
                for (k, weight) in ages.position(f64::midpoint(from, to)).weights() {
                    mass[k] += share * weight;
                }
            }
            mass
        });
        Self {
            delays,
            newer: newer.collect(),
            steps: steps.collect(),
        }
    }

    /// No visit gains more than this.
    pub fn most_fresh(&self) -> f64 {
        let longest = self.steps.iter().map(|steps| steps[DELAYS - 1].fresh);
        longest.fold(0.0, f64::max)
    }

    /// The best policy when a visit costs `price`, starting from the one for a similar price.
    pub fn solve(&self, price: f64, similar: Option<&Solution>) -> Solution {
        let choice = similar.map_or([DELAYS - 1; AGES], |similar| similar.choice);
        let mut best = self.evaluate(price, choice);
        for _ in 0..MOST_ROUNDS {
            let after = self.after_change(&best.value);
            let mut choice = best.choice;
            for (node, chosen) in choice.iter_mut().enumerate() {
                let worth = |d: usize| self.worth(&best, &after, node, d);
                let mut most = worth(*chosen) + 1e-12 * self.delays[0];
                for d in 0..DELAYS {
                    let worth = worth(d);
                    if worth > most {
                        (most, *chosen) = (worth, d);
                    }
                }
            }
            if choice == best.choice {
                break;
            }
            best = self.evaluate(price, choice);
        }
        best
    }

    /// By delay: what a new content is worth at the visit.
    fn after_change(&self, value: &[f64; AGES]) -> [f64; DELAYS] {
        std::array::from_fn(|d| dot(&self.newer[d], value))
    }

    /// What it is worth to wait for the d-th delay, but for the price that every visit costs.
    fn worth(&self, of: &Solution, after: &[f64; DELAYS], node: usize, d: usize) -> f64 {
        let step = &self.steps[node][d];
        step.fresh - of.gain * self.delays[d]
            + step.same * step.older.of(&of.value)
            + (1.0 - step.same) * after[d]
    }

    /// Solves `value(s) = fresh − price − gain·delay + E[value at the next visit]` with
    /// `value(0) = 0` for the values and the gain. The visits are what the gain loses with the
    /// price: the same equations, with −1 in the place of `fresh − price`.
    fn evaluate(&self, price: f64, choice: [usize; AGES]) -> Solution {
        let mut rows = [[0.0; AGES + 2]; AGES];
        for (node, row) in rows.iter_mut().enumerate() {
            let d = choice[node];
            let step = &self.steps[node][d];
            for (cell, mass) in row.iter_mut().zip(&self.newer[d]) {
                *cell = -(1.0 - step.same) * mass;
            }
            for (k, share) in step.older.weights() {
                row[k] -= step.same * share;
            }
            row[node] += 1.0;
            // the gain stands in the place of value(0)
            row[0] = self.delays[d];
            row[AGES] = step.fresh - price;
            row[AGES + 1] = -1.0;
        }
        eliminate(&mut rows);
        let mut value: [f64; AGES] = std::array::from_fn(|node| rows[node][AGES]);
        let gain = std::mem::replace(&mut value[0], 0.0);
        Solution {
            choice,
            value,
            gain,
            visits: -rows[0][AGES + 1],
        }
    }

    /// The delays of a solution, between those of the grid: at the top of the parabola through the
    /// best and its neighbours.
    pub fn delays(&self, solution: &Solution) -> Delays {
        let after = self.after_change(&solution.value);
        let ratio = self.delays[1] / self.delays[0];
        std::array::from_fn(|node| {
            let d = solution.choice[node];
            let mut delay = self.delays[d];
            if d > 0 && d + 1 < DELAYS {
                let [low, top, high] =
                    [d - 1, d, d + 1].map(|d| self.worth(solution, &after, node, d));
                let bend = 2.0 * top - low - high;
                if bend > 0.0 {
                    delay *= ratio.powf(((high - low) / (2.0 * bend)).clamp(-0.5, 0.5));
                }
            }
            delay as f32
        })
    }
}

fn dot(a: &[f64; AGES], b: &[f64; AGES]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Gauss and Jordan with the largest pivot; the solutions stand in the last two columns.
fn eliminate(rows: &mut [[f64; AGES + 2]; AGES]) {
    for column in 0..AGES {
        let size = |row: &usize| rows[*row][column].abs();
        let pivot = (column..AGES)
            .max_by(|a, b| size(a).total_cmp(&size(b)))
            .unwrap_or(column);
        rows.swap(column, pivot);
        let scale = 1.0 / rows[column][column];
        for cell in &mut rows[column][column..] {
            *cell *= scale;
        }
        let fixed = rows[column];
        for (k, row) in rows.iter_mut().enumerate() {
            let factor = row[column];
            if k != column && factor != 0.0 {
                for (cell, fixed) in row[column..].iter_mut().zip(&fixed[column..]) {
                    *cell -= factor * fixed;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::delay_for_gain;

    #[test]
    fn without_memory_the_delay_is_that_of_the_index_at_every_age() {
        let rate = 0.7;
        let scales = Scales {
            median: 1.0,
            longest: 5.0,
        };
        let ages = Ages::new(scales);
        let solver = Solver::new(
            ages,
            scales,
            |x| (-rate * x).exp(),
            |x| -(-rate * x).exp_m1() / rate,
        );
        for price in [0.01, 0.1, 0.5, 1.0] {
            let solution = solver.solve(price, None);
            let expected = delay_for_gain(price * rate) / rate;
            assert!(
                (solution.visits * expected - 1.0).abs() < 0.1,
                "{} visits, not one every {expected}",
                solution.visits
            );
            for delay in solver.delays(&solution) {
                let off = f64::from(delay) / expected - 1.0;
                assert!(off.abs() < 0.02, "{delay} instead of {expected} at {price}");
            }
        }
        let reserve = 1.0 / rate;
        assert!(solver.solve(1.1 * reserve, None).gain <= 0.0);
    }
}
