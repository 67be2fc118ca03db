//! Runs an agent: gathers what it sees of pages, and spends the budget on its decisions.

use super::{Agent, Interval, View, fresh_time};
use crate::policy::beliefs::Beliefs;
use crate::policy::queue::{Due, DueQueues};
use crate::policy::trim::Trim;
use crate::policy::{Change, Knowledge, Next, Outcome, Policy, Setup};
use crate::{PageId, ServerId};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The share of a round that an idle budget may catch up, and the same for few pages in visits.
const CREDIT: f64 = 0.05;
const LEAST_CREDIT: f64 = 8.0;
/// A page whose visit failed is tried again after this share of its interval.
const RETRY: f64 = 0.25;
/// The price is the mean gain of about this many of the latest visits: enough to average over
/// pages, few enough to follow what is being learnt.
const PRICE_MEMORY: f64 = 2000.0;
/// A single visit to an important page must not overturn what was learnt: once the price is the
/// mean of so many visits, a gain counts for no more than so many times the price.
const SETTLED: f64 = 100.0;
const LARGEST_GAIN: f64 = 100.0;

/// No page waits for longer, whatever was learnt: it may be wrong.
const LONGEST_ROUNDS: f64 = 50.0;

/// Marks in the queue: how long first visits wait says nothing about intervals.
const FIRST: f32 = 1.0;
const REVISIT: f32 = 0.0;

#[derive(Clone, Copy)]
struct Page<D> {
    server: u32,
    under_way: bool,
    /// The last change that is known; NaN before the first visit.
    changed: f64,
    decision: D,
    /// In rounds, as decided.
    interval: f32,
}

impl<D: Default> Page<D> {
    fn on(server: u32) -> Self {
        Self {
            server,
            under_way: false,
            changed: f64::NAN,
            decision: D::default(),
            interval: 1.0,
        }
    }
}

/// The mean gain of the latest visits.
#[derive(Clone, Copy, Debug, Default)]
struct Price {
    mean: f64,
    visits: f64,
}

impl Price {
    fn tell(&mut self, gain: f64) {
        let counted = if self.visits < SETTLED || self.mean == 0.0 {
            gain
        } else {
            gain.min(LARGEST_GAIN * self.mean)
        };
        self.visits = (self.visits + 1.0).min(PRICE_MEMORY);
        self.mean += (counted - self.mean) / self.visits;
    }
}

pub(in crate::policy) struct Learner<A: Agent> {
    agent: A,
    pages: Vec<Page<A::Decision>>,
    beliefs: Beliefs,
    /// Pages that count, and the sum of their weights.
    count: usize,
    weights: f64,
    servers: usize,
    queues: DueQueues,
    budget: f64,
    /// The instant up to which the budget is spent.
    spent: f64,
    /// Stretches all intervals so that they fit the budget.
    stretch: Trim,
    price: Price,
    rng: Xoshiro256PlusPlus,
}

impl<A: Agent> Learner<A> {
    pub fn new(agent: A, setup: &Setup) -> Self {
        let count = setup.server.len();
        let round = count as f64 / setup.budget;
        // rates that are given serve for a first guess only
        let guess = match setup.knowledge {
            Knowledge::Online { guess } => guess,
            Knowledge::Known { rate, .. } => rate.iter().sum::<f64>() / count as f64,
        };
        let guess = if guess > 0.0 && guess.is_finite() {
            guess
        } else {
            1.0 / round
        };
        let mut entries = vec![Vec::new(); setup.delay.len()];
        // first visits come at the speed of the budget
        for (page, &s) in setup.server.iter().enumerate() {
            entries[s as usize].push(Due {
                at: setup.start + page as f64 / setup.budget,
                page: PageId(page as u32),
                period: FIRST,
            });
        }
        let mut queues = DueQueues::new(setup.delay);
        queues.fill(entries);
        Self {
            agent,
            pages: setup.server.iter().map(|&s| Page::on(s)).collect(),
            beliefs: Beliefs::new(&Setup {
                knowledge: Knowledge::Online { guess },
                ..*setup
            }),
            count,
            weights: setup
                .weight
                .map_or(count as f64, |weight| weight.iter().sum()),
            servers: setup.delay.len(),
            queues,
            budget: setup.budget,
            spent: setup.start,
            stretch: Trim::default(),
            price: Price::default(),
            rng: Xoshiro256PlusPlus::seed_from_u64(setup.seed),
        }
    }

    /// The time in which the budget pays for one visit to each page.
    fn round(&self) -> f64 {
        self.count.max(1) as f64 / self.budget.max(f64::MIN_POSITIVE)
    }

    fn view(&self, page: PageId, at: f64) -> View {
        let round = self.round();
        View {
            rate: self.beliefs.rate(page) * round,
            weight: self.beliefs.weight(page) * self.count as f64 / self.weights,
            quiet: (at - self.pages[page.index()].changed) / round,
        }
    }

    /// Takes in an outcome: tells the beliefs, the price and the agent.
    fn learn(&mut self, page: PageId, at: f64, outcome: Outcome<'_>) {
        let index = page.index();
        let server = ServerId(self.pages[index].server);
        let last = self.beliefs.last_visit(page);
        let rate = self.beliefs.rate(page);
        self.beliefs.observe(page, server, at, outcome);
        let seen = last.and_then(|last| fresh_time(outcome, last, at, rate));
        let changed_at = match outcome {
            Outcome::LastModified(modified) => Some(modified.min(at)),
            Outcome::History(changes) => changes.last().copied(),
            Outcome::Changed => Some(at),
            Outcome::Unchanged | Outcome::Failed => None,
        };
        let known = self.pages[index].changed;
        self.pages[index].changed = changed_at.unwrap_or(if known.is_nan() { at } else { known });
        let (Some((fresh, changed)), Some(last)) = (seen, last) else {
            return;
        };
        let round = self.round();
        let next = self.view(page, at);
        let fresh = fresh / round;
        let gain = if changed { next.weight * fresh } else { 0.0 };
        self.price.tell(gain);
        let interval = Interval {
            length: (at - last) / round,
            fresh,
            price: self.price.mean,
        };
        self.agent.learn(self.pages[index].decision, interval, next);
    }

    /// Queues a share of the page's interval after `from`.
    fn put_back(&mut self, page: PageId, from: f64, share: f64) {
        let Page {
            server, interval, ..
        } = self.pages[page.index()];
        let rounds = f64::from(interval) * self.stretch.factor();
        let wait = rounds.min(LONGEST_ROUNDS) * self.round();
        let due = Due {
            at: from + share * wait,
            page,
            period: REVISIT,
        };
        self.queues.push(ServerId(server), due);
    }
}

impl<A: Agent> Policy for Learner<A> {
    fn next(&mut self, now: f64) -> Next {
        let Some((due, server, ready)) = self.queues.first() else {
            return Next::Idle;
        };
        if self.budget <= 0.0 {
            return Next::Idle;
        }
        // rather than lose budget, the page that is due first is visited before it is due
        let pages = self.count as f64;
        let credit = (CREDIT * pages).max(LEAST_CREDIT) / self.budget;
        let early = (self.spent + credit).max(self.queues.free(server));
        let at = ready.max(self.spent).min(early);
        if at > now {
            return Next::Wait(at);
        }
        if due.period == REVISIT {
            let lag = (self.spent - ready) * self.budget / pages;
            self.stretch.tell(lag, pages);
        }
        self.spent = self.spent.max(now - credit) + 1.0 / self.budget;
        self.queues.visited(server, now, None);
        self.pages[due.page.index()].under_way = true;
        Next::Visit(due.page)
    }

    fn observe(&mut self, page: PageId, at: f64, outcome: Outcome<'_>) {
        let index = page.index();
        if self.beliefs.weight(page) == 0.0 {
            return;
        }
        let asked = std::mem::take(&mut self.pages[index].under_way);
        if !asked {
            let server = ServerId(self.pages[index].server);
            self.queues.remove(server, page);
        }
        if outcome == Outcome::Failed {
            self.put_back(page, at, RETRY);
            return;
        }
        self.learn(page, at, outcome);
        let view = self.view(page, at);
        let (decision, interval) = self.agent.decide(view, &mut self.rng);
        self.pages[index].decision = decision;
        self.pages[index].interval = interval as f32;
        self.put_back(page, at, 1.0);
    }

    fn leave(&mut self, page: PageId) {
        let left = &mut self.pages[page.index()];
        let server = ServerId(left.server);
        if !std::mem::replace(&mut left.under_way, true) {
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
                let index = page.index();
                if index == self.pages.len() {
                    self.pages.push(Page::on(server.0));
                } else {
                    self.pages[index] = Page::on(server.0);
                }
                self.beliefs.add(page, server, weight, known);
                self.count += 1;
                self.weights += weight;
                self.beliefs.set_round(self.round());
                if let Some(at) = visited {
                    self.pages[index].under_way = true;
                    self.observe(page, at, Outcome::Changed);
                } else {
                    let due = Due {
                        at: now,
                        page,
                        period: FIRST,
                    };
                    self.queues.push(server, due);
                }
            }
            Change::RemovePage(page) => {
                let server = ServerId(self.pages[page.index()].server);
                self.count -= 1;
                self.weights -= self.beliefs.weight(page);
                self.beliefs.remove(page, server);
                self.queues.remove(server, page);
                self.pages[page.index()].under_way = false;
            }
            Change::Budget(budget) => {
                // a visit made ahead of its time is still one visit
                let ahead = (self.spent - now).max(0.0) * self.budget;
                self.spent = now + ahead / budget.max(f64::MIN_POSITIVE);
                self.budget = budget;
                self.beliefs.set_round(self.round());
            }
            Change::Delay { server, delay } => {
                if server.index() == self.servers {
                    self.servers += 1;
                    self.beliefs.add_server();
                }
                self.queues.set_delay(server, delay);
            }
            // only what visits show is learnt from
            Change::Signal(_) => {}
        }
    }
}
