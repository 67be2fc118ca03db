//! One run: a policy under a virtual clock, and exact account of what it was worth.
//!
//! The test period is cut into windows. Within a window each lane (a range of pages with a policy
//! of its own) runs on its own; at the end of a window every page is accounted for, so that the
//! windows' means are exact, and a run can end there.

use crate::{
    statistics::{half_width_of_draws_95, quantile},
    world::{Changes, Copies, Observe, Start, World},
};
use freshness::policy::{Next, Policy};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;
use std::{
    ops::Range,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

/// Windows of a run unless asked otherwise: a smooth curve over time.
pub const WINDOWS: usize = 200;

/// A run has converged when the mean freshness of the last [`SPAN`] windows differs from that of
/// the as many before by less than this part of it, [`STEADY`] times in a row, and as many visits
/// were made as there are pages.
pub const TOLERANCE: f64 = 1e-4;
/// See [`TOLERANCE`].
pub const SPAN: usize = 8;
/// See [`TOLERANCE`].
pub const STEADY: usize = 3;

/// One of so many selections is timed.
const TIMED: u64 = 64;

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The copies at the start.
    pub start: Start,
    /// What visits reveal; `None` when no policy looks at it.
    pub observe: Option<Observe>,
    /// Decides what observations are drawn.
    pub seed: u64,
    /// Whether to stop once converged; only Poisson worlds are stationary for sure.
    pub early_stop: bool,
    /// Into how many windows the period is cut.
    pub windows: usize,
    /// Whether lanes run in parallel.
    pub parallel: bool,
}

/// Stops runs from outside, and hears how far they are.
pub struct Control<'a> {
    /// Set it to stop.
    pub stop: &'a AtomicBool,
    /// Called with the number of windows done since the last call.
    pub progress: &'a (dyn Fn(usize) + Sync),
}

/// A policy and the pages it is in charge of; to it they are numbered from zero.
pub struct Lane {
    /// The pages.
    pub pages: Range<usize>,
    /// The policy.
    pub policy: Box<dyn Policy>,
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    /// Weighted mean freshness over the test period. What lies beyond an early stop is taken to be
    /// like the windows that converged; what lies beyond an interruption is left out.
    pub freshness: f64,
    /// Weighted mean age in days, likewise.
    pub age: f64,
    /// The share of time out of date that 95 % of the pages do not exceed, over the time run; not
    /// a number when interrupted.
    pub p95_staleness: f64,
    /// Half the width of the 95 % confidence interval of the mean freshness if the pages are taken
    /// for a sample of others like them; likewise.
    pub pages_ci95: f64,
    /// Visits made.
    pub visits: u64,
    /// Visits that came too soon after the one before to the same server.
    pub impolite: u64,
    /// Mean freshness of each window that was run.
    pub series: Vec<f64>,
    /// Time run, in days.
    pub days: f64,
    /// Whether the run ended early because the freshness had converged.
    pub converged: bool,
    /// Whether the run was stopped from outside.
    pub interrupted: bool,
    /// Mean time of one selection, observation included; zero without visits.
    pub ns_per_selection: f64,
}

/// Runs the lanes, which together are in charge of all pages of the world, over its test period.
pub fn run(world: &World, lanes: Vec<Lane>, options: &Options, control: &Control) -> Account {
    let mut run = Run::new(world, lanes, options);
    while !run.is_over() && run.step(control.stop) {
        (control.progress)(1);
    }
    // progress counts the windows that need not be run as done
    (control.progress)(options.windows - run.series().len());
    run.account()
}

/// A run that is taken window by window.
pub struct Run<'w> {
    world: &'w World,
    lanes: Vec<Runner<'w>>,
    options: Options,
    weight: f64,
    series: Vec<f64>,
    ages: Vec<f64>,
    /// How often in a row the freshness looked converged.
    steady: usize,
    interrupted: bool,
}

impl<'w> Run<'w> {
    /// The lanes, which together are in charge of all pages of the world, before the first window.
    pub fn new(world: &'w World, lanes: Vec<Lane>, options: &Options) -> Self {
        let runner = |(number, lane)| Runner::new(world, lane, number, options);
        Self {
            world,
            lanes: lanes.into_iter().enumerate().map(runner).collect(),
            options: *options,
            weight: match &world.weight {
                Some(weight) => weight.iter().sum(),
                None => world.pages() as f64,
            },
            series: Vec::with_capacity(options.windows),
            ages: Vec::with_capacity(options.windows),
            steady: 0,
            interrupted: false,
        }
    }

    /// Whether all windows were run, or the freshness converged so that no more are needed.
    pub fn is_over(&self) -> bool {
        self.series.len() == self.options.windows || self.has_converged()
    }

    fn has_converged(&self) -> bool {
        self.options.early_stop
            && matches!(self.world.changes, Changes::Poisson(_))
            && self.series.len() < self.options.windows
            && self.steady >= STEADY
            // what has hardly begun stands still too
            && self.visits() >= self.world.pages() as u64
    }

    /// Mean freshness of each window that was run.
    pub fn series(&self) -> &[f64] {
        &self.series
    }

    /// Visits made so far.
    pub fn visits(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.visits).sum()
    }

    fn window_length(&self) -> f64 {
        self.world.days() / self.options.windows as f64
    }

    /// Runs the next window; false when `stop` cut it short, after which the run cannot go on.
    pub fn step(&mut self, stop: &AtomicBool) -> bool {
        let window = self.series.len();
        let from = self.world.from + window as f64 * self.window_length();
        let until = if window + 1 == self.options.windows {
            self.world.until
        } else {
            self.world.from + (window + 1) as f64 * self.window_length()
        };
        let advance = |lane: &mut Runner| lane.advance(from, until, stop);
        if self.options.parallel {
            self.lanes.par_iter_mut().for_each(advance);
        } else {
            self.lanes.iter_mut().for_each(advance);
        }
        if stop.load(Ordering::Relaxed) {
            self.interrupted = true;
            return false;
        }
        let (fresh, age) = self.lanes.iter().fold((0.0, 0.0), |sum, lane| {
            (sum.0 + lane.fresh_now, sum.1 + lane.age_now)
        });
        // no page of any weight is as fresh as can be
        let share = |sum: f64, none: f64| {
            if self.weight > 0.0 {
                sum / (self.weight * (until - from))
            } else {
                none
            }
        };
        self.series.push(share(fresh, 1.0));
        self.ages.push(share(age, 0.0));
        self.steady = if is_steady(&self.series) {
            self.steady + 1
        } else {
            0
        };
        true
    }

    /// What came of the windows that were run.
    pub fn account(self) -> Account {
        let windows = self.options.windows;
        let converged = !self.interrupted && self.has_converged();
        let overall = |values: &[f64]| {
            let run = values.iter().sum::<f64>();
            if converged {
                let tail = values[values.len() - SPAN..].iter().sum::<f64>() / SPAN as f64;
                (run + tail * (windows - values.len()) as f64) / windows as f64
            } else {
                run / values.len().max(1) as f64
            }
        };
        let days = self.window_length() * self.series.len() as f64;
        let lanes = &self.lanes;
        let (p95_staleness, pages_ci95) = if self.interrupted {
            (f64::NAN, f64::NAN)
        } else {
            let mut staleness: Vec<f64> = lanes
                .iter()
                .flat_map(|lane| lane.fresh.iter())
                .map(|fresh| (1.0 - fresh / days).clamp(0.0, 1.0))
                .collect();
            let over_pages = half_width_of_draws_95(&staleness, self.world.weight.as_deref());
            (quantile(&mut staleness, 0.95), over_pages)
        };
        let timed: u64 = lanes.iter().map(|lane| lane.timed).sum();
        let time: Duration = lanes.iter().map(|lane| lane.time).sum();
        Account {
            freshness: overall(&self.series),
            age: overall(&self.ages),
            p95_staleness,
            pages_ci95,
            visits: self.visits(),
            impolite: lanes.iter().map(|lane| lane.impolite).sum(),
            days,
            converged,
            interrupted: self.interrupted,
            ns_per_selection: if timed > 0 {
                (time.as_nanos() as f64 / timed as f64 - clock_cost()).max(0.0)
            } else {
                0.0
            },
            series: self.series,
        }
    }
}

fn is_steady(series: &[f64]) -> bool {
    let Some(start) = series.len().checked_sub(2 * SPAN) else {
        return false;
    };
    let (before, after) = series[start..].split_at(SPAN);
    let (before, after) = (before.iter().sum::<f64>(), after.iter().sum::<f64>());
    (after - before).abs() < TOLERANCE * after
}

/// What reading the clock twice adds to what it measures, in nanoseconds.
fn clock_cost() -> f64 {
    let cost = |_| Instant::now().elapsed().as_nanos() as f64;
    let mut costs: Vec<f64> = (0..101).map(cost).collect();
    quantile(&mut costs, 0.5)
}

/// A lane at work.
struct Runner<'w> {
    world: &'w World,
    first: usize,
    copies: Copies<'w>,
    policy: Box<dyn Policy>,
    observe: Option<Observe>,
    rng: Xoshiro256PlusPlus,
    /// When to ask the policy next.
    ask: f64,
    /// Fresh time of each page so far.
    fresh: Vec<f64>,
    /// When each server was last visited; counted from the least server of the lane.
    served: Vec<f64>,
    least_server: u32,
    /// Weighted fresh time and age of the window.
    fresh_now: f64,
    age_now: f64,
    visits: u64,
    impolite: u64,
    timed: u64,
    time: Duration,
}

impl<'w> Runner<'w> {
    fn new(world: &'w World, lane: Lane, number: usize, options: &Options) -> Self {
        let servers = &world.server[lane.pages.clone()];
        let least_server = servers.iter().copied().min().unwrap_or(0);
        let most_server = servers.iter().copied().max().unwrap_or(0);
        Self {
            world,
            first: lane.pages.start,
            copies: Copies::new(world, lane.pages.clone(), options.start),
            policy: lane.policy,
            observe: options.observe,
            rng: Xoshiro256PlusPlus::seed_from_u64(derive(options.seed, number as u64)),
            ask: world.from,
            fresh: vec![0.0; lane.pages.len()],
            served: vec![f64::NEG_INFINITY; (most_server - least_server) as usize + 1],
            least_server,
            fresh_now: 0.0,
            age_now: 0.0,
            visits: 0,
            impolite: 0,
            timed: 0,
            time: Duration::ZERO,
        }
    }

    fn advance(&mut self, from: f64, until: f64, stop: &AtomicBool) {
        self.fresh_now = 0.0;
        self.age_now = 0.0;
        while self.ask < until {
            if self.visits.is_multiple_of(1024) && stop.load(Ordering::Relaxed) {
                return;
            }
            let timer = self.visits.is_multiple_of(TIMED).then(Instant::now);
            match self.policy.next(self.ask) {
                Next::Visit(page) => self.visit(page, from, timer),
                // a wait that rounding made empty must not hang the clock
                Next::Wait(at) => self.ask = at.max(self.ask.next_up()),
                Next::Idle => self.ask = f64::INFINITY,
            }
        }
        for page in 0..self.copies.len() {
            self.account(page, from, until);
        }
    }

    #[inline]
    fn visit(&mut self, page: freshness::PageId, from: f64, timer: Option<Instant>) {
        let now = self.ask;
        let mut spent = timer.map(|timer| timer.elapsed());
        let position = page.index();
        self.account(position, from, now);
        match self.observe {
            Some(observe) => {
                let outcome = self.copies.visit(position, now, observe, &mut self.rng);
                let timer = timer.map(|_| Instant::now());
                self.policy.observe(page, now, outcome);
                if let (Some(timer), Some(spent)) = (timer, &mut spent) {
                    *spent += timer.elapsed();
                }
            }
            None => self.copies.refresh(position, now),
        }
        if let Some(spent) = spent {
            self.time += spent;
            self.timed += 1;
        }
        self.visits += 1;
        let server = self.world.server[self.first + position];
        let last = &mut self.served[(server - self.least_server) as usize];
        // rounding of instants is no impoliteness
        if now - *last < self.world.delay[server as usize] * (1.0 - 1e-6) {
            self.impolite += 1;
        }
        *last = now;
    }

    #[inline]
    fn account(&mut self, page: usize, from: f64, until: f64) {
        let score = self.copies.score(page, from, until);
        let weight = self.world.weight(self.first + page);
        self.fresh[page] += score.fresh;
        self.fresh_now += weight * score.fresh;
        self.age_now += weight * score.age;
    }
}

/// A seed for part `part` of what `seed` decides.
pub fn derive(seed: u64, part: u64) -> u64 {
    // the constants of SplitMix64, which scatters neighbouring numbers
    let mut z = seed.wrapping_add((part + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests;
