//! The engine of the index policies: a page is due when what a visit would gain reaches its price.
//!
//! The price is found over classes of pages such that due visits use up the budget. The budget
//! comes in slots; each takes the page that is due first, be it a little before or after its time,
//! so that no visit is lost and none is made beyond the budget, whatever error the price has.

use super::market::{Market, Prices};
use super::queue::{Due, DueQueues};
use super::shape::Stake;
use super::{Change, Next, Outcome, Policy, Setup};
use crate::estimate::Evidence;
use crate::{PageId, ServerId};

/// What an index policy believes of pages.
pub(super) trait Worth: Send {
    /// What is at stake with the page after its last visit; its weight is zero when it was removed.
    fn stake(&self, page: PageId) -> Stake;

    /// The page's last visit; none before the first.
    fn last_visit(&self, page: PageId) -> Option<f64>;

    /// Takes in what came of a visit.
    fn learn(&mut self, page: PageId, server: ServerId, at: f64, outcome: Outcome<'_>);

    /// A signal says that the page changed: by how much it brings the next visit forward.
    fn signal(&mut self, page: PageId, server: ServerId) -> f64;

    /// Adds a page, or replaces a removed one.
    fn add(&mut self, page: PageId, server: ServerId, weight: f64, known: Option<Evidence>);

    /// Forgets a page.
    fn remove(&mut self, page: PageId, server: ServerId);

    /// A server more.
    fn add_server(&mut self);

    /// The time in which the budget pays for one visit to each page.
    fn set_round(&mut self, round: f64);

    /// Brings what is believed of all pages up to date with what was learnt from the others; false
    /// when each page is judged by its own visits alone.
    fn review(&mut self, _server_of: &dyn Fn(PageId) -> ServerId) -> bool {
        false
    }

    /// What is at stake with the page once the news of its last visits has grown old, and when it
    /// has; none when no news is taken in.
    fn once_settled(&self, _page: PageId) -> Option<(Stake, f64)> {
        None
    }

    /// No page that changes waits for more than this many times the average interval: beliefs may
    /// be wrong, and only a visit can tell.
    fn ceiling_rounds(&self) -> f64;
}

/// Prices that move by more than this share call for new due times for all pages.
const REQUEUE: f64 = 0.2;
/// Larger repositories are reviewed once a round only: it takes a pass over all pages.
const LARGE: usize = 1 << 17;
/// Visits that an idle budget may catch up: as a share of a round, and at least.
const CREDIT: f64 = 0.05;
const LEAST_CREDIT: f64 = 8.0;
/// First visits come before all revisits: their due times are this far in the past.
const FIRST: f64 = 1e12;

/// Where a page is, and whether the outcome of a visit to it is awaited.
#[derive(Clone, Copy, Debug)]
struct Place {
    server: u32,
    under_way: bool,
}

impl Place {
    fn new(server: u32) -> Self {
        Self {
            server,
            under_way: false,
        }
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
    /// The instant up to which the budget is spent.
    spent: f64,
    pages: usize,
    visits_to_refresh: usize,
    delays_changed: bool,
    /// Prices were refreshed so often.
    refreshed: usize,
    /// The prices for which due times were last found for all pages.
    queued_at: Prices,
    seed: u64,
}

impl<W: Worth> Priced<W> {
    pub fn new(worth: W, setup: &Setup) -> Self {
        let mut priced = Self {
            worth,
            places: setup.server.iter().map(|&s| Place::new(s)).collect(),
            delay: setup.delay.to_vec(),
            pages_on: vec![0; setup.delay.len()],
            budget: setup.budget,
            queues: DueQueues::new(setup.delay),
            market: Market::new(setup.delay.len()),
            prices: Prices::default(),
            spent: setup.start,
            pages: setup.server.len(),
            visits_to_refresh: 0,
            delays_changed: false,
            refreshed: 0,
            queued_at: Prices::default(),
            seed: setup.seed,
        };
        for (page, &s) in setup.server.iter().enumerate() {
            let stake = priced.worth.stake(PageId(page as u32));
            priced.market.add(ServerId(s), stake);
            priced.pages_on[s as usize] += 1;
        }
        priced.find_prices();
        priced.requeue();
        priced
    }

    fn find_prices(&mut self) {
        self.prices = self.market.prices(&self.delay, self.budget);
        for s in 0..self.delay.len() {
            let server = ServerId(s as u32);
            // a server at its cap is asked whenever it may be
            self.queues.set_eager(server, self.capped(server));
        }
    }

    fn capped(&self, server: ServerId) -> bool {
        self.prices.server[server.index()] > self.prices.global
    }

    /// How long after a visit the page is worth the next one; infinite for one that never changes.
    fn delay(&self, page: PageId, server: ServerId) -> f64 {
        let stake = self.worth.stake(page);
        if stake.unit.is_infinite() {
            return f64::INFINITY;
        }
        let s = server.index();
        let round = if self.capped(server) {
            f64::from(self.pages_on[s]) * self.delay[s]
        } else {
            self.pages as f64 / self.budget
        };
        let worth_it = |stake: Stake| {
            let gain = self.prices.server[s] / (stake.weight * stake.unit);
            stake.unit * stake.shape.delay(gain)
        };
        // a page that is busy now is not busy for ever
        let settled = self.worth.once_settled(page);
        let settled = settled.map_or(f64::INFINITY, |(stake, after)| after + worth_it(stake));
        let ceiling = self.worth.ceiling_rounds() * round;
        worth_it(stake).min(settled).min(ceiling)
    }

    /// Finds the due times of all pages anew. Pages never visited come first, those that stay
    /// fresh longest before the others, and equals in random order.
    fn requeue(&mut self) {
        let mut entries: Vec<Vec<Due>> = vec![Vec::new(); self.delay.len()];
        let mut unvisited = Vec::new();
        for (index, place) in self.places.iter().enumerate() {
            let (page, s) = (PageId(index as u32), place.server);
            let stake = self.worth.stake(page);
            if stake.weight == 0.0 || place.under_way {
                continue;
            }
            let delay = self.delay(page, ServerId(s));
            match self.worth.last_visit(page) {
                _ if delay.is_infinite() => {}
                Some(last) => entries[s as usize].push(due(last + delay, page)),
                None => unvisited.push((stake.weight * stake.unit, page, s)),
            }
        }
        unvisited.sort_by_key(|&(worth, page, _)| {
            (
                std::cmp::Reverse((worth * 16.0) as u64),
                mix(self.seed, page),
            )
        });
        for (rank, &(_, page, s)) in unvisited.iter().enumerate() {
            entries[s as usize].push(due(rank as f64 - FIRST, page));
        }
        self.queues.fill(entries);
        self.queued_at = self.prices.clone();
    }

    /// Once in a while: prices for what has changed since, and due times if they moved.
    fn refresh(&mut self) {
        self.visits_to_refresh = (self.pages / 4).max(64);
        self.refreshed += 1;
        let due = self.pages <= LARGE || self.refreshed.is_multiple_of(4);
        let places = &self.places;
        let server_of = |page: PageId| ServerId(places[page.index()].server);
        if due && self.worth.review(&server_of) {
            self.count_all();
            self.find_prices();
            self.requeue();
        } else if std::mem::take(&mut self.delays_changed) || self.market.stirred() {
            self.find_prices();
            let far = |(&new, &old): (&f64, &f64)| (new - old).abs() > REQUEUE * old;
            let (new, old) = (&self.prices.server, &self.queued_at.server);
            if new.len() != old.len() || new.iter().zip(old).any(far) {
                self.requeue();
            }
        }
    }

    /// Counts what is at stake with all pages anew.
    fn count_all(&mut self) {
        self.market = Market::new(self.delay.len());
        for (index, place) in self.places.iter().enumerate() {
            let stake = self.worth.stake(PageId(index as u32));
            if stake.weight > 0.0 {
                self.market.add(ServerId(place.server), stake);
            }
        }
    }

    /// Queues the page a share of its delay after `from`.
    fn put_back(&mut self, page: PageId, server: ServerId, from: f64, share: f64) {
        let delay = self.delay(page, server) * share;
        if delay.is_finite() {
            self.queues.push(server, due(from + delay, page));
        }
    }
}

fn due(at: f64, page: PageId) -> Due {
    Due {
        at,
        page,
        period: 0.0,
    }
}

/// A number that looks random, different for each seed and page.
fn mix(seed: u64, page: PageId) -> u64 {
    let mut bits = seed ^ u64::from(page.0).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

impl<W: Worth> Policy for Priced<W> {
    fn next(&mut self, now: f64) -> Next {
        if self.visits_to_refresh == 0 {
            self.refresh();
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
        self.visits_to_refresh -= 1;
        let credit = (CREDIT * self.pages as f64).max(LEAST_CREDIT) / self.budget;
        self.spent = self.spent.max(now - credit) + 1.0 / self.budget;
        self.queues.visited(server, now, None);
        self.places[due.page.index()].under_way = true;
        Next::Visit(due.page)
    }

    fn observe(&mut self, page: PageId, at: f64, outcome: Outcome<'_>) {
        let server = ServerId(self.places[page.index()].server);
        let before = self.worth.stake(page);
        if before.weight == 0.0 {
            return;
        }
        let asked = std::mem::take(&mut self.places[page.index()].under_way);
        if !asked {
            self.queues.remove(server, page);
        }
        if outcome == Outcome::Failed {
            // nothing is known that was not known before; try again soon
            self.put_back(page, server, at, 0.25);
            return;
        }
        self.worth.learn(page, server, at, outcome);
        self.market.replace(server, before, self.worth.stake(page));
        self.put_back(page, server, at, 1.0);
    }

    fn leave(&mut self, page: PageId) {
        let place = &mut self.places[page.index()];
        let server = ServerId(place.server);
        if !std::mem::replace(&mut place.under_way, true) {
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
                if page.index() == self.places.len() {
                    self.places.push(Place::new(server.0));
                } else {
                    // what came of a visit to the page that had this number is not of this one
                    self.places[page.index()] = Place::new(server.0);
                }
                self.worth.add(page, server, weight, known);
                if let Some(at) = visited {
                    self.worth.learn(page, server, at, Outcome::Changed);
                }
                self.market.add(server, self.worth.stake(page));
                self.pages += 1;
                self.pages_on[server.index()] += 1;
                self.worth.set_round(self.pages as f64 / self.budget);
                match visited {
                    Some(at) => self.put_back(page, server, at, 1.0),
                    None => self.queues.push(server, due(now - FIRST, page)),
                }
            }
            Change::RemovePage(page) => {
                let server = ServerId(self.places[page.index()].server);
                self.market.remove(server, self.worth.stake(page));
                self.worth.remove(page, server);
                self.pages -= 1;
                self.pages_on[server.index()] -= 1;
                self.queues.remove(server, page);
                self.places[page.index()].under_way = false;
            }
            Change::Budget(budget) => {
                // a visit made ahead of its time is still one visit
                let ahead = (self.spent - now).max(0.0) * self.budget;
                self.spent = now + ahead / budget.max(f64::MIN_POSITIVE);
                self.budget = budget;
                self.worth.set_round(self.pages as f64 / budget);
                self.find_prices();
                self.requeue();
            }
            Change::Delay { server, delay } => {
                if server.index() == self.delay.len() {
                    self.delay.push(delay);
                    self.market.add_server();
                    self.worth.add_server();
                    self.pages_on.push(0);
                    self.prices.server.push(self.prices.global);
                } else {
                    self.delay[server.index()] = delay;
                }
                self.queues.set_delay(server, delay);
                self.delays_changed = true;
                self.visits_to_refresh = 0;
            }
            Change::Signal(page) => {
                let server = ServerId(self.places[page.index()].server);
                let forward = self.worth.signal(page, server);
                if let Some(queued) = self.queues.remove(server, page) {
                    self.queues.push(server, due(queued.at - forward, page));
                }
            }
        }
    }

    fn due(&self, page: PageId) -> Option<f64> {
        let server = ServerId(self.places[page.index()].server);
        let last = self.worth.last_visit(page)?;
        Some(last + self.delay(page, server))
    }
}
