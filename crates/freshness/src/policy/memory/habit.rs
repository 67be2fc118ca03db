//! What is worked out for a page whose gaps are known: its demand for visits at any price, and its
//! delays at one.

use super::solver::{Ages, Delays, Scales, Solver};
use crate::policy::lifetime::Lifetime;

/// Prices at which the demand is found, in geometric progression.
const PRICES: usize = 24;
/// The factor by which the highest of them is sought.
const DESCENT: f64 = 1.5;

/// A page's best habits. Prices are those of a page of weight one.
#[derive(Clone, Debug)]
pub struct Habit {
    life: Lifetime,
    scales: Scales,
    ages: Ages,
    lowest: f64,
    /// The logarithm of the ratio of two prices.
    step: f64,
    visits: [f32; PRICES],
    delays: Delays,
}

impl Habit {
    pub fn new(life: Lifetime) -> Self {
        let scales = Scales {
            median: median(&life),
            longest: life.longest(),
        };
        let ages = Ages::new(scales);
        let solver = solver(&life, scales, ages);
        // at the lowest price the delay is about the shortest on the grid
        let lowest = scales.median / 1024.0;
        let mut highest = solver.most_fresh();
        let mut last = solver.solve(highest, None);
        while last.gain <= 0.0 && highest > 2.0 * lowest {
            highest /= DESCENT;
            last = solver.solve(highest, Some(&last));
        }
        highest *= DESCENT;
        let step = (highest / lowest).ln() / (PRICES - 1) as f64;
        let mut visits = [0.0; PRICES];
        for (k, visits) in visits.iter_mut().enumerate().rev() {
            last = solver.solve(lowest * (step * k as f64).exp(), Some(&last));
            if last.gain > 0.0 {
                *visits = last.visits as f32;
            }
        }
        Self {
            life,
            scales,
            ages,
            lowest,
            step,
            visits,
            delays: [f32::INFINITY; _],
        }
    }

    pub fn life(&self) -> &Lifetime {
        &self.life
    }

    /// Visits per unit of time at a price, and the derivative by its logarithm.
    pub fn visits(&self, price: f64) -> (f64, f64) {
        let position = (price / self.lowest).ln() / self.step;
        if position < 0.0 {
            // visits so frequent that changes between them are rare: delays go with the root
            let visits = f64::from(self.visits[0]) * (self.lowest / price).sqrt();
            return (visits, -visits / 2.0);
        }
        let below = position as usize;
        if below + 1 >= PRICES {
            return (0.0, 0.0);
        }
        let (low, high) = (self.visits[below], self.visits[below + 1]);
        let fall = f64::from((low - high).max(0.0));
        let visits = f64::from(low) - (position - below as f64) * fall;
        (visits, -fall / self.step)
    }

    /// The price from which on no visit is worth it.
    pub fn reserve(&self) -> f64 {
        let taken = self.visits.iter().take_while(|&&visits| visits > 0.0);
        self.lowest * (self.step * taken.count() as f64).exp()
    }

    /// Finds the delays for a price.
    pub fn adopt(&mut self, price: f64) {
        let solver = solver(&self.life, self.scales, self.ages);
        let solution = solver.solve(price.max(self.lowest), None);
        self.delays = if solution.gain > 0.0 {
            let shorter = (price / self.lowest).min(1.0).sqrt() as f32;
            solver.delays(&solution).map(|delay| delay * shorter)
        } else {
            [f32::INFINITY; _]
        };
    }

    /// How long after a visit that met a content of `age` the next one is due.
    pub fn delay(&self, age: f64) -> f64 {
        if self.delays[0] == f32::INFINITY {
            f64::INFINITY
        } else {
            self.ages.delay(&self.delays, age)
        }
    }
}

fn solver(life: &Lifetime, scales: Scales, ages: Ages) -> Solver {
    Solver::new(ages, scales, |x| life.survival(x), |x| life.limited_mean(x))
}

fn median(life: &Lifetime) -> f64 {
    // gaps of length zero must not shrink the grid to nothing
    let (mut low, mut high) = (life.longest() * 1e-6, life.longest());
    for _ in 0..30 {
        let middle = (low * high).sqrt();
        if life.gap().survival(middle) > 0.5 {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}
