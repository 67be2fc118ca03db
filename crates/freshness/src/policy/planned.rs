//! Policies that plan: frequencies from an allocation, visits from a schedule. Where rates are not
//! known they are learnt, and the plan is made anew in epochs.

use super::beliefs::Beliefs;
use super::schedule::Schedule;
use super::{Change, Knowledge, Next, Outcome, Policy, Setup};
use crate::allocate::{self, Allocation, Curve, Freshness, Pages, Plan, Problem};
use crate::gap::Gap;
use crate::{PageId, ServerId};

/// The share of the budget that learners spend evenly on all pages: an allocation may starve a
/// page because of a wrong belief, which only a visit can mend.
const EXPLORATION: f64 = 0.05;
/// Learners plan anew when this share of an average round is over.
const EPOCH_ROUNDS: f64 = 0.5;
/// The least number of visits in an epoch: fewer teach too little to be worth a plan.
const EPOCH_VISITS: f64 = 64.0;

/// How frequencies are found.
pub(super) enum Method {
    Rates(Allocation),
    /// WOLF over the times between changes of each page.
    Gaps(Vec<Option<Gap>>),
}

impl Method {
    /// WOLF, where gaps are known; what it comes to under Poisson changes, where they are not.
    pub fn wolf(setup: &Setup) -> Self {
        match setup.knowledge {
            Knowledge::Known {
                rate,
                gaps: Some(gaps),
            } => Self::Gaps(allocate::wolf::gaps_or_rates(gaps, rate)),
            _ => Self::Rates(Allocation::OptPolite),
        }
    }
}

pub(super) struct Planned {
    schedule: Box<dyn Schedule>,
    method: Method,
    beliefs: Beliefs,
    server: Vec<u32>,
    delay: Vec<f64>,
    budget: f64,
    server_price: Vec<f64>,
    /// Pages that came or went since the last plan.
    pending: usize,
    /// The budget or a delay changed, or an epoch is over: plan before the next visit.
    due: bool,
    visits_in_epoch: usize,
}

impl Planned {
    pub fn new(schedule: Box<dyn Schedule>, method: Method, setup: &Setup) -> Self {
        let mut planned = Self {
            schedule,
            method,
            beliefs: Beliefs::new(setup),
            server: setup.server.to_vec(),
            delay: setup.delay.to_vec(),
            budget: setup.budget,
            server_price: Vec::new(),
            pending: 0,
            due: false,
            visits_in_epoch: 0,
        };
        planned.plan(setup.start);
        planned
    }

    fn plan(&mut self, now: f64) {
        self.pending = 0;
        self.due = false;
        self.visits_in_epoch = 0;
        let plan = self.allocate();
        self.server_price = plan.server_price;
        let mut frequency = plan.frequency;
        if self.beliefs.learns() {
            self.explore(&mut frequency);
        }
        self.schedule.replan(now, &self.server, &frequency);
    }

    fn allocate(&self) -> Plan {
        let (rate, weight) = self.beliefs.arrays();
        let cap = |&delay: &f64| {
            if delay > 0.0 {
                1.0 / delay
            } else {
                f64::INFINITY
            }
        };
        let caps: Vec<f64> = self.delay.iter().map(cap).collect();
        let problem = Problem {
            pages: Pages {
                rate: &rate,
                weight: Some(&weight),
            },
            server: &self.server,
            caps: &caps,
            budget: self.budget.min(caps.iter().sum()),
        };
        match &self.method {
            Method::Rates(allocation) => allocate::allocate(&problem, *allocation),
            Method::Gaps(gaps) => allocate::wolf::wolf(&problem, gaps),
        }
        .expect("beliefs are finite and the budget is within the caps")
    }

    /// Gives every page that counts its part of the share for exploration.
    fn explore(&self, frequency: &mut [f64]) {
        let counts = |page: usize| self.beliefs.weight(PageId(page as u32)) > 0.0;
        let pages = (0..frequency.len())
            .filter(|&page| counts(page))
            .count()
            .max(1);
        let floor = EXPLORATION * self.budget / pages as f64;
        for (page, f) in frequency.iter_mut().enumerate() {
            *f *= 1.0 - EXPLORATION;
            if counts(page) {
                *f += floor;
            }
        }
    }

    /// What one page would get at the prices of the last plan.
    fn frequency_of(&self, page: PageId, server: ServerId) -> f64 {
        let even = self.budget / self.beliefs.len() as f64;
        let price = self
            .server_price
            .get(server.index())
            .copied()
            .unwrap_or(0.0);
        let (rate, weight) = (self.beliefs.rate(page), self.beliefs.weight(page));
        if price > 0.0 && rate > 0.0 && weight > 0.0 {
            Freshness::visits(rate, weight, price).0
        } else {
            even
        }
    }
}

impl Policy for Planned {
    fn next(&mut self, now: f64) -> Next {
        // a page among many waits for the next plan at the last one's prices
        if self.due || self.pending > self.server.len() / 100 {
            self.plan(now);
        }
        self.schedule.next(now)
    }

    fn observe(&mut self, page: PageId, at: f64, outcome: Outcome<'_>) {
        if !self.beliefs.learns() {
            return;
        }
        if self.beliefs.weight(page) > 0.0 {
            let server = ServerId(self.server[page.index()]);
            self.beliefs.observe(page, server, at, outcome);
        }
        self.visits_in_epoch += 1;
        let epoch = (EPOCH_ROUNDS * self.server.len() as f64).max(EPOCH_VISITS);
        self.due |= self.visits_in_epoch as f64 >= epoch;
    }

    fn change(&mut self, now: f64, change: Change) {
        match change {
            Change::AddPage {
                page,
                server,
                weight,
                known,
                visited,
            } => {
                if page.index() == self.server.len() {
                    self.server.push(server.0);
                } else {
                    self.server[page.index()] = server.0;
                }
                self.beliefs.add(page, server, weight, known);
                if let Some(at) = visited {
                    self.beliefs.observe(page, server, at, Outcome::Changed);
                }
                self.beliefs
                    .set_round(self.server.len() as f64 / self.budget);
                if let Method::Gaps(gaps) = &mut self.method {
                    let gap = allocate::wolf::gap_of_rate(self.beliefs.rate(page));
                    if page.index() == gaps.len() {
                        gaps.push(gap);
                    } else {
                        gaps[page.index()] = gap;
                    }
                }
                let frequency = self.frequency_of(page, server);
                self.schedule.insert(now, page, server, frequency);
                self.pending += 1;
            }
            Change::RemovePage(page) => {
                let server = ServerId(self.server[page.index()]);
                self.beliefs.remove(page, server);
                self.schedule.remove(now, page, server);
                self.pending += 1;
            }
            Change::Budget(budget) => {
                self.budget = budget;
                self.beliefs.set_round(self.server.len() as f64 / budget);
                self.due = true;
            }
            Change::Delay { server, delay } => {
                if server.index() == self.delay.len() {
                    self.delay.push(delay);
                    self.beliefs.add_server();
                } else {
                    self.delay[server.index()] = delay;
                    self.due = true;
                }
                self.schedule.set_delay(now, server, delay);
            }
            // plans know rates only
            Change::Signal(_) => {}
        }
    }
}
