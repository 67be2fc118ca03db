//! The memory-aware policy: how long to wait depends on the age that the content had at the visit.
#![doc = include_str!("memory/README.md")]

mod habit;
mod solver;

use super::beliefs::Beliefs;
use super::lifetime::{Appeared, Lifetime};
use super::queue::{Due, DueQueues};
use super::{Change, Knowledge, Next, Outcome, Policy, Setup};
use crate::allocate::demand::{Curve, Demand, Freshness};
use crate::allocate::fill::fill;
use crate::allocate::grouping::Grouping;
use crate::measure::delay_for_gain;
use crate::{PageId, ServerId};
use habit::Habit;
use rayon::prelude::*;

/// Bins for the gaps of a page: with ten, bursts are seen too coarsely to time a visit by them.
const BINS: usize = 40;
/// Visits that an idle budget may catch up: as a share of a round, and at least.
const CREDIT: f64 = 0.05;
const LEAST_CREDIT: f64 = 8.0;
/// First visits come before all revisits: their due times are this far in the past.
const FIRST: f64 = 1e12;
/// No page that changes waits for more than this many average intervals: knowledge may be wrong,
/// and only a visit can tell; more so when it is learnt.
const CEILING_KNOWN: f64 = 50.0;
const CEILING_LEARNT: f64 = 10.0;

/// A page whose gaps are known, and when its content appeared.
struct Remembered {
    habit: Habit,
    appeared: Appeared,
}

pub(super) struct Memory {
    beliefs: Beliefs,
    /// None for pages taken as Poisson.
    remembered: Vec<Option<Box<Remembered>>>,
    server: Vec<u32>,
    delay: Vec<f64>,
    budget: f64,
    price: Vec<f64>,
    queues: DueQueues,
    /// The instant up to which the budget is spent.
    spent: f64,
    pages: usize,
    under_way: Vec<bool>,
    /// Pages that came or went since the last plan, and visits until the next.
    pending: usize,
    visits_to_plan: usize,
    stale: bool,
}

impl Memory {
    pub fn new(setup: &Setup) -> Self {
        let pages = setup.server.len();
        let remember = |gaps: &Vec<f64>| {
            let habit = Habit::new(Lifetime::of(gaps, BINS)?);
            let appeared = Appeared::EVER;
            Some(Box::new(Remembered { habit, appeared }))
        };
        let remembered = match setup.knowledge {
            Knowledge::Known {
                gaps: Some(gaps), ..
            } => gaps.par_iter().map(remember).collect(),
            _ => (0..pages).map(|_| None).collect(),
        };
        Self {
            beliefs: Beliefs::new(setup),
            remembered,
            server: setup.server.to_vec(),
            delay: setup.delay.to_vec(),
            budget: setup.budget,
            price: Vec::new(),
            queues: DueQueues::new(setup.delay),
            spent: setup.start,
            pages,
            under_way: vec![false; pages],
            pending: 0,
            visits_to_plan: 0,
            stale: true,
        }
    }

    /// Finds prices, delays and due times for all pages.
    fn plan(&mut self) {
        self.stale = false;
        self.pending = 0;
        self.visits_to_plan = (self.pages / 2).max(64);
        let cap = |&delay: &f64| {
            if delay > 0.0 {
                1.0 / delay
            } else {
                f64::INFINITY
            }
        };
        let caps: Vec<f64> = self.delay.iter().map(cap).collect();
        let grouping = Grouping::new(&self.server, self.delay.len());
        let demand = Habits {
            memory: self,
            grouping: &grouping,
        };
        let budget = self.budget.min(caps.iter().sum());
        let filling = fill(&demand, &grouping.offsets, &caps, budget);
        for (s, &price) in filling.server_price.iter().enumerate() {
            // a server at its cap is asked whenever it may be
            self.queues
                .set_eager(ServerId(s as u32), price > filling.price);
        }
        if self.price != filling.server_price {
            self.price = filling.server_price;
            let (price, server, beliefs) = (&self.price, &self.server, &self.beliefs);
            let pages = self.remembered.par_iter_mut().enumerate();
            pages.for_each(|(page, remembered)| {
                let weight = beliefs.weight(PageId(page as u32));
                if let Some(remembered) = remembered
                    && weight > 0.0
                {
                    let price = price[server[page] as usize];
                    remembered.habit.adopt(price / weight);
                }
            });
        }
        self.queue_all();
    }

    fn queue_all(&mut self) {
        let mut entries: Vec<Vec<Due>> = vec![Vec::new(); self.delay.len()];
        for (index, &s) in self.server.iter().enumerate() {
            let page = PageId(index as u32);
            if self.under_way[index] {
                continue;
            }
            let delay = self.wait(page);
            if delay.is_finite() {
                // pages never visited come first, those worth most fresh time before the others
                let worth = self.beliefs.weight(page) / self.beliefs.rate(page);
                let last = self.beliefs.last_visit(page);
                let at = last.map_or(-worth - FIRST, |last| last + delay);
                entries[s as usize].push(due(at, page));
            }
        }
        self.queues.fill(entries);
    }

    /// How long after its last visit the page is due; infinite for one that never changes or was
    /// removed.
    fn wait(&self, page: PageId) -> f64 {
        let (rate, weight) = (self.beliefs.rate(page), self.beliefs.weight(page));
        if rate <= 0.0 || weight <= 0.0 {
            return f64::INFINITY;
        }
        let s = self.server[page.index()] as usize;
        let delay = match &self.remembered[page.index()] {
            None => delay_for_gain(self.price[s] * rate / weight) / rate,
            Some(remembered) => remembered.wait(self.beliefs.last_visit(page)),
        };
        let ceiling = if self.beliefs.learns() {
            CEILING_LEARNT
        } else {
            CEILING_KNOWN
        };
        // a slow server's round is longer than the budget's
        let round = (self.pages as f64 / self.budget).max(self.delay[s]);
        delay.min(ceiling * round)
    }

    /// Queues the page a share of its delay after `from`.
    fn put_back(&mut self, page: PageId, from: f64, share: f64) {
        if self.stale {
            return; // a plan that is due queues all pages
        }
        let delay = self.wait(page) * share;
        if delay.is_finite() {
            let server = ServerId(self.server[page.index()]);
            self.queues.push(server, due(from + delay, page));
        }
    }
}

impl Remembered {
    /// The delay for the age that the content had at the last visit: known, or at the middle of
    /// what it may be, or that of a content met at an arbitrary instant.
    fn wait(&self, last: Option<f64>) -> f64 {
        let stationary = self.habit.life().gap().gain_supremum();
        let Some(last) = last else {
            return self.habit.delay(stationary);
        };
        let Appeared { after, before } = self.appeared;
        let within = ((before - after) / 2.0).min(stationary);
        self.habit.delay(last - before + within)
    }
}

fn due(at: f64, page: PageId) -> Due {
    Due {
        at,
        page,
        period: 0.0,
    }
}

/// What pages demand, by position.
struct Habits<'a> {
    memory: &'a Memory,
    grouping: &'a Grouping,
}

impl Habits<'_> {
    fn page(&self, position: usize) -> (Option<&Habit>, f64, f64) {
        let page = self.grouping.page(position);
        let id = PageId(page as u32);
        let beliefs = &self.memory.beliefs;
        let habit = self.memory.remembered[page].as_ref();
        (
            habit.map(|remembered| &remembered.habit),
            beliefs.rate(id),
            beliefs.weight(id),
        )
    }
}

impl Demand for Habits<'_> {
    fn visits(&self, position: usize, price: f64) -> (f64, f64) {
        match self.page(position) {
            (_, rate, weight) if rate <= 0.0 || weight <= 0.0 => (0.0, 0.0),
            (None, rate, weight) => Freshness::visits(rate, weight, price),
            (Some(habit), _, weight) => habit.visits(price / weight),
        }
    }

    fn reserve(&self, position: usize) -> f64 {
        match self.page(position) {
            (_, rate, weight) if rate <= 0.0 || weight <= 0.0 => 0.0,
            (None, rate, weight) => Freshness::reserve(rate, weight),
            (Some(habit), _, weight) => weight * habit.reserve(),
        }
    }
}

impl Policy for Memory {
    fn next(&mut self, now: f64) -> Next {
        let learnt = self.beliefs.learns() && self.visits_to_plan == 0;
        // a page among many waits for the next plan at the last one's prices
        if self.stale || learnt || self.pending > self.pages / 100 {
            self.plan();
        }
        let Some((due, server, ready)) = self.queues.first() else {
            return Next::Idle;
        };
        if self.budget <= 0.0 {
            return Next::Idle;
        }
        // the first page is visited before it is due rather than leave a slot empty
        let at = self
            .spent
            .max(self.queues.free(server))
            .min(ready.max(self.spent));
        if at > now {
            return Next::Wait(at);
        }
        self.visits_to_plan = self.visits_to_plan.saturating_sub(1);
        let credit = (CREDIT * self.pages as f64).max(LEAST_CREDIT) / self.budget;
        self.spent = self.spent.max(now - credit) + 1.0 / self.budget;
        self.queues.visited(server, now, None);
        self.under_way[due.page.index()] = true;
        Next::Visit(due.page)
    }

    fn observe(&mut self, page: PageId, at: f64, outcome: Outcome<'_>) {
        if self.beliefs.weight(page) == 0.0 {
            return;
        }
        let server = ServerId(self.server[page.index()]);
        let asked = std::mem::take(&mut self.under_way[page.index()]);
        if !asked {
            self.queues.remove(server, page);
        }
        if outcome == Outcome::Failed {
            // nothing is known that was not known before; try again soon
            self.put_back(page, at, 0.25);
            return;
        }
        if let Some(remembered) = &mut self.remembered[page.index()] {
            let previous = self.beliefs.last_visit(page);
            let previous = previous.unwrap_or(f64::NEG_INFINITY);
            remembered.appeared.observe(previous, at, outcome);
        }
        self.beliefs.observe(page, server, at, outcome);
        self.put_back(page, at, 1.0);
    }

    fn leave(&mut self, page: PageId) {
        if !std::mem::replace(&mut self.under_way[page.index()], true) {
            let server = ServerId(self.server[page.index()]);
            self.queues.remove(server, page);
        }
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
                    self.under_way.push(false);
                    self.remembered.push(None);
                } else {
                    self.server[page.index()] = server.0;
                    self.remembered[page.index()] = None;
                }
                self.beliefs.add(page, server, weight, known);
                if let Some(at) = visited {
                    self.beliefs.observe(page, server, at, Outcome::Changed);
                }
                self.pages += 1;
                self.beliefs.set_round(self.pages as f64 / self.budget);
                self.pending += 1;
                match visited {
                    Some(at) => self.put_back(page, at, 1.0),
                    None => self.queues.push(server, due(now - FIRST, page)),
                }
            }
            Change::RemovePage(page) => {
                let server = ServerId(self.server[page.index()]);
                self.beliefs.remove(page, server);
                self.remembered[page.index()] = None;
                self.under_way[page.index()] = false;
                self.pages -= 1;
                self.pending += 1;
                self.queues.remove(server, page);
            }
            Change::Budget(budget) => {
                // a visit made ahead of its time is still one visit
                let ahead = (self.spent - now).max(0.0) * self.budget;
                self.spent = now + ahead / budget.max(f64::MIN_POSITIVE);
                self.budget = budget;
                self.beliefs.set_round(self.pages as f64 / budget);
                self.stale = true;
            }
            Change::Delay { server, delay } => {
                if server.index() == self.delay.len() {
                    self.delay.push(delay);
                    self.beliefs.add_server();
                } else {
                    self.delay[server.index()] = delay;
                }
                self.queues.set_delay(server, delay);
                self.stale = true;
            }
            // gaps say nothing of how far signals can be trusted
            Change::Signal(_) => {}
        }
    }
}
