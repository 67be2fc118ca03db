//! The engine of the index policies: a page is due when what a visit would gain reaches its price.

use super::market::{Appetite, Market, Prices};
use super::queue::{Due, DueQueues};
use super::{Change, Next, Outcome, Policy};
use crate::{PageId, ServerId};

/// What visits to a page are worth, as one of the index policies sees it.
pub(super) trait Worth: Appetite + Send {
    /// How long after its last visit the page is worth the next one at `price`; infinite when
    /// never.
    fn delay(&self, page: PageId, price: f64) -> f64;

    /// The page's last visit; none before the first.
    fn last_visit(&self, page: PageId) -> Option<f64>;

    /// The page's change rate, for the market.
    fn rate(&self, page: PageId) -> f64;

    /// The page's weight; zero when it was removed.
    fn weight(&self, page: PageId) -> f64;

    /// Takes in what came of a visit.
    fn learn(&mut self, page: PageId, server: ServerId, at: f64, outcome: Outcome<'_>);

    /// A signal says that the page changed: by how much it brings the next visit forward.
    fn signal(&mut self, page: PageId, server: ServerId) -> f64;

    /// Adds a page, or replaces a removed one.
    fn add(&mut self, page: PageId, server: ServerId, weight: f64, rate: Option<f64>);

    /// Forgets a page.
    fn remove(&mut self, page: PageId, server: ServerId);

    /// A server more.
    fn add_server(&mut self);

    /// Work that is to be done once in a while; true when delays have to be found anew.
    fn refresh(&mut self, _now: f64) -> bool {
        false
    }
}

/// Controller gains: proportional and integral, per round of visits to all pages; the pair is
/// critically damped for a demand that falls as the root of the price.
const PROPORTIONAL: f64 = 2.0;
const INTEGRAL: f64 = 0.5;
/// Prices that move by more than this share call for new due times for all pages.
const REQUEUE: f64 = 0.1;

/// A server at its cap is asked whenever it may be, so none of its pages has to starve: those not
/// worth a visit wait for this many rounds.
const CAPPED_CEILING: f64 = 50.0;
/// The share of a round that an idle budget may catch up.
const CREDIT: f64 = 0.05;
/// The same for few pages, in visits: due times come in clusters.
const LEAST_CREDIT: f64 = 8.0;

/// Where a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Queued,
    /// Chosen, its outcome not yet told.
    UnderWay,
    /// Not worth a visit at the price of its last one; looked at again once in a while.
    Starved,
}

/// A page's server and where the page is; together, since every visit asks for both.
#[derive(Clone, Copy, Debug)]
struct Place {
    server: u32,
    state: State,
}

impl Place {
    fn starved(server: u32) -> Self {
        Self {
            server,
            state: State::Starved,
        }
    }
}

/// Marks in the queue: how long first visits wait says nothing about prices.
const FIRST: f32 = 1.0;
const REVISIT: f32 = 0.0;

/// A price kept in step with supply: raised while pages wait, lowered while the budget does.
#[derive(Clone, Copy, Debug, Default)]
struct Trim {
    integral: f64,
    lag: f64,
}

impl Trim {
    /// `lag` as a share of a round of `pages` visits; negative when there was nothing to do.
    fn tell(&mut self, lag: f64, pages: f64) {
        self.lag = lag.clamp(-1.0, 1.0);
        self.integral = (self.integral + INTEGRAL * self.lag / pages).clamp(-3.0, 3.0);
    }

    fn factor(&self) -> f64 {
        (self.integral + PROPORTIONAL * self.lag).exp()
    }
}

pub(super) struct Priced<W> {
    worth: W,
    places: Vec<Place>,
    delay: Vec<f64>,
    pages_on: Vec<u32>,
    budget: f64,
    queues: DueQueues,
    market: Market,
    prices: Prices,
    trim: Trim,
    server_trim: Vec<Trim>,
    /// The instant up to which the budget is spent.
    spent: f64,
    pages: usize,
    visits_to_refresh: usize,
    /// The prices for which due times were last found for all pages.
    queued_at: Prices,
}

impl<W: Worth> Priced<W> {
    /// Pages `0..server.len()` of `worth`, none of them visited yet.
    pub fn new(worth: W, server: &[u32], delay: &[f64], budget: f64, start: f64) -> Self {
        let mut priced = Self {
            worth,
            places: server.iter().map(|&s| Place::starved(s)).collect(),
            delay: delay.to_vec(),
            pages_on: vec![0; delay.len()],
            budget,
            queues: DueQueues::new(delay),
            market: Market::new(delay.len()),
            prices: Prices::default(),
            trim: Trim::default(),
            server_trim: vec![Trim::default(); delay.len()],
            spent: start,
            pages: server.len(),
            visits_to_refresh: 0,
            queued_at: Prices::default(),
        };
        for (page, &s) in server.iter().enumerate() {
            let page = PageId(page as u32);
            priced.market.add(
                ServerId(s),
                priced.worth.rate(page),
                priced.worth.weight(page),
            );
            priced.pages_on[s as usize] += 1;
        }
        priced.find_prices();
        priced.requeue(start);
        priced
    }

    fn find_prices(&mut self) {
        self.prices = self.market.prices(&self.worth, &self.delay, self.budget);
        for s in 0..self.delay.len() {
            let server = ServerId(s as u32);
            self.queues.set_eager(server, self.capped(server));
        }
    }

    fn capped(&self, server: ServerId) -> bool {
        self.prices.server[server.index()] > self.prices.global
    }

    fn price(&self, server: ServerId) -> f64 {
        let global = self.prices.global * self.trim.factor();
        if self.capped(server) {
            let s = server.index();
            global.max(self.prices.server[s] * self.server_trim[s].factor())
        } else {
            global
        }
    }

    /// How long after a visit the page is worth the next one.
    fn delay(&self, page: PageId, server: ServerId) -> f64 {
        let delay = self.worth.delay(page, self.price(server));
        if self.capped(server) && self.worth.rate(page) > 0.0 {
            let s = server.index();
            let round = f64::from(self.pages_on[s]) * self.delay[s];
            delay.min(CAPPED_CEILING * round)
        } else {
            delay
        }
    }

    /// Finds the due times of all pages anew. Pages never visited come first, at the speed of the
    /// budget, those that stay fresh longest before the others.
    fn requeue(&mut self, now: f64) {
        let mut entries: Vec<Vec<Due>> = vec![Vec::new(); self.delay.len()];
        let mut unvisited = Vec::new();
        for index in 0..self.places.len() {
            let Place { server: s, state } = self.places[index];
            let page = PageId(index as u32);
            let weight = self.worth.weight(page);
            if weight == 0.0 || state == State::UnderWay {
                continue;
            }
            let delay = self.delay(page, ServerId(s));
            if delay.is_infinite() {
                self.places[index].state = State::Starved;
                continue;
            }
            self.places[index].state = State::Queued;
            match self.worth.last_visit(page) {
                Some(last) => {
                    entries[s as usize].push(Due {
                        at: last + delay,
                        page,
                        period: REVISIT,
                    });
                }
                None => unvisited.push((self.worth.rate(page) / weight, page, s)),
            }
        }
        unvisited.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (rank, &(_, page, s)) in unvisited.iter().enumerate() {
            let at = now + rank as f64 / self.budget.max(f64::MIN_POSITIVE);
            entries[s as usize].push(Due {
                at,
                page,
                period: FIRST,
            });
        }
        self.queues.fill(entries);
        self.queued_at = self.prices.clone();
    }

    /// Once in a round or so: prices for what has changed since, and due times if they moved.
    fn refresh(&mut self, now: f64) {
        self.visits_to_refresh = (self.pages / 4).max(64);
        let anew = self.worth.refresh(now);
        if anew || self.market.stirred() {
            self.find_prices();
            let far = |a: f64, b: f64| (a / b).ln().abs() > REQUEUE;
            let moved = self.queued_at.server.len() != self.prices.server.len()
                || self
                    .prices
                    .server
                    .iter()
                    .zip(&self.queued_at.server)
                    .any(|(&new, &old)| far(new, old));
            if anew || moved {
                self.requeue(now);
                return;
            }
        }
        self.feed_starved(now);
    }

    /// Tells the price's controller how long the page waited for the budget or its server, or
    /// these for the page.
    fn tell_trim(&mut self, server: ServerId, due: Due, ready: f64) {
        if self.capped(server) {
            let s = server.index();
            let pages = f64::from(self.pages_on[s]);
            let free = self.queues.free(server);
            if free.is_finite() {
                self.server_trim[s].tell((free - due.at) / (pages * self.delay[s]), pages);
            }
        } else {
            let pages = self.pages as f64;
            self.trim
                .tell((self.spent - ready) * self.budget / pages, pages);
        }
    }

    /// Queues the page a share of its delay after `from`, if it is worth a visit at all.
    fn put_back(&mut self, page: PageId, server: ServerId, from: f64, share: f64) {
        let delay = self.delay(page, server) * share;
        if delay.is_finite() {
            self.queue(
                server,
                Due {
                    at: from + delay,
                    page,
                    period: REVISIT,
                },
            );
        }
    }

    fn queue(&mut self, server: ServerId, due: Due) {
        self.places[due.page.index()].state = State::Queued;
        self.queues.push(server, due);
    }

    /// Looks whether pages that were not worth a visit have become so.
    fn feed_starved(&mut self, now: f64) {
        for index in 0..self.places.len() {
            let page = PageId(index as u32);
            if self.places[index].state != State::Starved || self.worth.weight(page) == 0.0 {
                continue;
            }
            let server = ServerId(self.places[index].server);
            match self.worth.last_visit(page) {
                Some(last) => self.put_back(page, server, last, 1.0),
                None if self.delay(page, server).is_finite() => {
                    self.queue(
                        server,
                        Due {
                            at: now,
                            page,
                            period: FIRST,
                        },
                    );
                }
                None => {}
            }
        }
    }
}

impl<W: Worth> Policy for Priced<W> {
    fn next(&mut self, now: f64) -> Next {
        if self.visits_to_refresh == 0 {
            self.refresh(now);
        }
        let Some((due, server, ready)) = self.queues.first() else {
            return Next::Idle;
        };
        if self.budget <= 0.0 {
            return Next::Idle;
        }
        // rather than lose budget, the page that is due first is visited before it is due
        let credit = (CREDIT * self.pages as f64).max(LEAST_CREDIT) / self.budget;
        let early = (self.spent + credit).max(self.queues.free(server));
        let at = ready.max(self.spent).min(early);
        if at > now {
            return Next::Wait(at);
        }
        self.visits_to_refresh -= 1;
        if due.period == REVISIT {
            self.tell_trim(server, due, ready);
        }
        // a short idle time may be caught up, a long one is gone
        self.spent = self.spent.max(now - credit) + 1.0 / self.budget;
        self.queues.visited(server, now, None);
        self.places[due.page.index()].state = State::UnderWay;
        Next::Visit(due.page)
    }

    fn observe(&mut self, page: PageId, at: f64, outcome: Outcome<'_>) {
        let server = ServerId(self.places[page.index()].server);
        let weight = self.worth.weight(page);
        if self.places[page.index()].state != State::UnderWay {
            return;
        }
        self.places[page.index()].state = State::Starved;
        if weight == 0.0 {
            return;
        }
        if outcome == Outcome::Failed {
            // nothing is known that was not known before; try again soon
            self.put_back(page, server, at, 0.25);
            return;
        }
        let before = self.worth.rate(page);
        self.worth.learn(page, server, at, outcome);
        let after = self.worth.rate(page);
        if after != before {
            self.market.remove(server, before, weight);
            self.market.add(server, after, weight);
        }
        self.put_back(page, server, at, 1.0);
    }

    fn change(&mut self, now: f64, change: Change) {
        match change {
            Change::AddPage {
                page,
                server,
                weight,
                rate,
            } => {
                if page.index() == self.places.len() {
                    self.places.push(Place::starved(server.0));
                } else {
                    self.places[page.index()].server = server.0;
                }
                self.worth.add(page, server, weight, rate);
                self.market.add(server, self.worth.rate(page), weight);
                self.pages += 1;
                self.pages_on[server.index()] += 1;
                if self.places[page.index()].state != State::UnderWay {
                    self.queue(
                        server,
                        Due {
                            at: now,
                            page,
                            period: FIRST,
                        },
                    );
                }
            }
            Change::RemovePage(page) => {
                let server = ServerId(self.places[page.index()].server);
                self.market
                    .remove(server, self.worth.rate(page), self.worth.weight(page));
                self.worth.remove(page, server);
                self.pages -= 1;
                self.pages_on[server.index()] -= 1;
                self.queues.remove(server, page);
            }
            Change::Budget(budget) => {
                self.budget = budget;
                self.spent = self.spent.max(now);
                self.find_prices();
                self.requeue(now);
            }
            Change::Delay { server, delay } => {
                if server.index() == self.delay.len() {
                    self.delay.push(delay);
                    self.market.add_server();
                    self.worth.add_server();
                    self.pages_on.push(0);
                    self.server_trim.push(Trim::default());
                    self.prices.server.push(self.prices.global);
                } else {
                    self.delay[server.index()] = delay;
                }
                self.queues.set_delay(server, delay);
                self.find_prices();
            }
            Change::Signal(page) => {
                let server = ServerId(self.places[page.index()].server);
                let forward = self.worth.signal(page, server);
                if let Some(due) = self.queues.remove(server, page) {
                    self.queues.push(
                        server,
                        Due {
                            at: due.at - forward,
                            ..due
                        },
                    );
                }
            }
        }
    }
}
