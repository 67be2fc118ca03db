//! A repository whose pages change, and the crawler's copies of them.

use freshness::{
    measure::{Score, fresh_time, score_poisson},
    policy::Outcome,
};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::ops::Range;

/// Pages on servers that change during a test period. Times are days, rates per day.
#[derive(Clone, Debug, PartialEq)]
pub struct World {
    /// The server of each page, as an index into `delay`.
    pub server: Vec<u32>,
    /// The least time between two requests to each server.
    pub delay: Vec<f64>,
    /// The importance of each page; `None` means that all weigh one.
    pub weight: Option<Vec<f64>>,
    /// How the pages change.
    pub changes: Changes,
    /// The test period starts here; earlier changes may serve to train.
    pub from: f64,
    /// The test period ends here.
    pub until: f64,
}

/// How the pages of a world change.
#[derive(Clone, Debug, PartialEq)]
pub enum Changes {
    /// As Poisson processes at these rates. Copies are scored in exact expectation; only what
    /// visits reveal is drawn.
    Poisson(Vec<f64>),
    /// At known instants: a trace, or one draw of any other process.
    Instants {
        /// Where each page's instants start in `at`; one more entry than pages.
        offsets: Vec<usize>,
        /// All instants, ascending within each page.
        at: Vec<f64>,
    },
}

/// What a visit reveals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observe {
    /// Whether the page changed since the last visit.
    Bit,
    /// Also when it last changed.
    LastModified,
    /// Also all the changes since the last visit.
    History,
}

/// How good the copies are when the test period starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Those of all pages that change are out of date.
    Stale,
    /// All are up to date.
    Fresh,
}

impl World {
    /// The number of pages.
    pub fn pages(&self) -> usize {
        self.server.len()
    }

    /// The length of the test period.
    pub fn days(&self) -> f64 {
        self.until - self.from
    }

    /// Visits per day that politeness allows in all; infinite without politeness.
    pub fn capacity(&self) -> f64 {
        self.delay.iter().map(|delay| 1.0 / delay).sum()
    }

    /// Changes in the test period: counted, or expected where they are not drawn.
    pub fn changes_in_test(&self) -> f64 {
        match &self.changes {
            Changes::Poisson(rate) => rate.iter().sum::<f64>() * self.days(),
            Changes::Instants { at, .. } => at
                .iter()
                .filter(|&&at| self.from < at && at <= self.until)
                .count() as f64,
        }
    }

    /// The importance of a page.
    pub fn weight(&self, page: usize) -> f64 {
        self.weight.as_ref().map_or(1.0, |weight| weight[page])
    }

    /// The same world, its pages numbered anew at random. Numbers follow an alphabet or the age of
    /// pages, which may be good or bad luck for a policy that goes by them; nobody knows how pages
    /// will be numbered elsewhere.
    #[must_use]
    pub fn renumbered(&self, seed: u64) -> Self {
        let mut order: Vec<usize> = (0..self.pages()).collect();
        order.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
        let changes = match &self.changes {
            Changes::Poisson(rate) => {
                Changes::Poisson(order.iter().map(|&page| rate[page]).collect())
            }
            Changes::Instants { at, .. } => {
                let mut renumbered = Vec::with_capacity(at.len());
                let mut offsets = vec![0];
                for &page in &order {
                    renumbered.extend_from_slice(self.instants(page));
                    offsets.push(renumbered.len());
                }
                Changes::Instants {
                    offsets,
                    at: renumbered,
                }
            }
        };
        let weight = self.weight.as_ref();
        Self {
            server: order.iter().map(|&page| self.server[page]).collect(),
            delay: self.delay.clone(),
            weight: weight.map(|weight| order.iter().map(|&page| weight[page]).collect()),
            changes,
            ..*self
        }
    }

    /// The instants at which a page changes, all of them.
    ///
    /// # Panics
    /// When the world has no instants.
    pub fn instants(&self, page: usize) -> &[f64] {
        match &self.changes {
            Changes::Instants { offsets, at } => &at[offsets[page]..offsets[page + 1]],
            Changes::Poisson(_) => panic!("Poisson changes are not drawn"),
        }
    }
}

/// Never visited: out of date since the start, unless the page does not change in the test period.
const NEVER: f64 = f64::NEG_INFINITY;

/// The copies of a range of a world's pages. Pages are counted from the start of the range.
pub struct Copies<'w> {
    world: &'w World,
    first: usize,
    /// When each page was last visited.
    visited: Vec<f64>,
    /// The first instant after that visit, for worlds with instants.
    upcoming: Vec<usize>,
    drawn: Vec<f64>,
}

impl<'w> Copies<'w> {
    /// The copies as they are when the test period starts.
    pub fn new(world: &'w World, range: Range<usize>, start: Start) -> Self {
        let visited = match start {
            Start::Stale => NEVER,
            Start::Fresh => world.from,
        };
        let upcoming = match &world.changes {
            Changes::Poisson(_) => Vec::new(),
            Changes::Instants { offsets, .. } => range
                .clone()
                .map(|page| {
                    offsets[page] + world.instants(page).partition_point(|&at| at <= world.from)
                })
                .collect(),
        };
        Self {
            world,
            first: range.start,
            visited: vec![visited; range.len()],
            upcoming,
            drawn: Vec::new(),
        }
    }

    /// The number of pages.
    pub fn len(&self) -> usize {
        self.visited.len()
    }

    /// Whether there are no pages.
    pub fn is_empty(&self) -> bool {
        self.visited.is_empty()
    }

    /// Fresh time and integral of the age of a copy over `[a, b)`, since the last visit: what lies
    /// before it counts for nothing.
    #[inline]
    pub fn score(&self, page: usize, a: f64, b: f64) -> Score {
        let visited = self.visited[page];
        let a = a.max(visited);
        match &self.world.changes {
            Changes::Poisson(rate) => {
                let rate = rate[self.first + page];
                if rate == 0.0 {
                    Score {
                        fresh: b - a,
                        age: 0.0,
                    }
                } else if visited == NEVER {
                    stale_since(self.world.from, a, b)
                } else if a == visited {
                    score_poisson(rate, &[], a, b, true)
                } else {
                    let until = |end: f64| score_poisson(rate, &[], visited, end, true).age;
                    Score {
                        fresh: (-rate * (a - visited)).exp() * fresh_time(rate, b - a),
                        age: until(b) - until(a),
                    }
                }
            }
            Changes::Instants { offsets, at } => {
                let next = self.upcoming[page];
                let end = offsets[self.first + page + 1];
                let change = if next < end { at[next] } else { f64::INFINITY };
                if visited == NEVER && change <= self.world.until {
                    stale_since(self.world.from, a, b)
                } else {
                    stale_since(change, a, b)
                }
            }
        }
    }

    /// Visits a page: the copy is as the page is now. Says what the visit reveals.
    pub fn visit(
        &mut self,
        page: usize,
        now: f64,
        observe: Observe,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Outcome<'_> {
        let visited = std::mem::replace(&mut self.visited[page], now);
        let since = if visited == NEVER {
            self.world.from
        } else {
            visited
        };
        match &self.world.changes {
            Changes::Poisson(rate) => {
                let rate = rate[self.first + page];
                if observe == Observe::History {
                    draw_history(&mut self.drawn, rate, since, now, rng);
                    return Outcome::History(&self.drawn);
                }
                if visited == NEVER {
                    // a page that changes has been changing for ever
                    let age: f64 = Exp1.sample(rng);
                    return first_sight(observe, (rate > 0.0).then(|| now - age / rate));
                }
                let changed = -(-rate * (now - visited)).exp_m1();
                let draw: f64 = rng.random();
                if draw >= changed {
                    Outcome::Unchanged
                } else if observe == Observe::LastModified {
                    // given that it changed, `draw` is uniform below `changed`
                    Outcome::LastModified(now + (-draw).ln_1p() / rate)
                } else {
                    Outcome::Changed
                }
            }
            Changes::Instants { offsets, at } => {
                let before = self.upcoming[page];
                let end = offsets[self.first + page + 1];
                let mut next = before;
                while next < end && at[next] <= now {
                    next += 1;
                }
                self.upcoming[page] = next;
                let last = (next > offsets[self.first + page]).then(|| at[next - 1]);
                match observe {
                    Observe::History => Outcome::History(&at[before..next]),
                    _ if visited == NEVER => first_sight(observe, last),
                    _ if before == next => Outcome::Unchanged,
                    Observe::Bit => Outcome::Changed,
                    Observe::LastModified => Outcome::LastModified(at[next - 1]),
                }
            }
        }
    }

    /// Visits a page without looking at what the visit reveals.
    #[inline]
    pub fn refresh(&mut self, page: usize, now: f64) {
        self.visited[page] = now;
        if let Changes::Instants { offsets, at } = &self.world.changes {
            let end = offsets[self.first + page + 1];
            let next = &mut self.upcoming[page];
            while *next < end && at[*next] <= now {
                *next += 1;
            }
        }
    }
}

/// A first visit finds a page that no copy can be compared with.
fn first_sight(observe: Observe, last: Option<f64>) -> Outcome<'static> {
    match last {
        Some(last) if observe == Observe::LastModified => Outcome::LastModified(last),
        _ => Outcome::Changed,
    }
}

/// The score of `[a, b)` when the copy is out of date from `stale` on.
#[inline]
fn stale_since(stale: f64, a: f64, b: f64) -> Score {
    if stale >= b {
        return Score {
            fresh: b - a,
            age: 0.0,
        };
    }
    let turn = stale.max(a);
    Score {
        fresh: turn - a,
        age: (b - turn) * ((b - stale) + (turn - stale)) / 2.0,
    }
}

fn draw_history(
    drawn: &mut Vec<f64>,
    rate: f64,
    since: f64,
    now: f64,
    rng: &mut Xoshiro256PlusPlus,
) {
    drawn.clear();
    if rate == 0.0 {
        return;
    }
    let mut at = since;
    loop {
        let gap: f64 = Exp1.sample(rng);
        at += gap / rate;
        if at > now {
            return;
        }
        drawn.push(at);
    }
}

#[cfg(test)]
mod tests;
