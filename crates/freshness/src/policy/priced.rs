//! The engine of the index policies: a page is due when what a visit would gain reaches its price.
//!
//! The price is found over classes of pages such that due visits use up the budget. The budget
//! comes in slots; each takes the page that is due first, be it a little before or after its time,
//! so that no visit is lost and none is made beyond the budget, whatever error the price has.
//!
//! Due times rest on what is known of all pages and on prices, which move with every visit. They
//! are taken from an *edition* of both, which holds for a part of a round; when it is renewed, pages
//! are judged anew a few at every visit, so that no single step is long. So a due time is a function
//! of what is known of the page and of one of the last two editions: a restart finds it again.

mod edition;
mod keep;

use super::market::Market;
use super::queue::{Due, DueQueues};
use super::shape::Stake;
use super::{Change, Classes, Limit, Limits, Next, Outcome, Policy, Seen, Setup};
use crate::estimate::{Evidence, Findings};
use crate::record::{Reader, Writer};
use crate::{PageId, ServerId};
use edition::{Edition, Terms};
use std::collections::BTreeMap;

/// What an index policy believes of pages.
pub(super) trait Worth: Send {
    /// What is known of all pages together, as it was at one time.
    type Outlook: Clone + Send;

    /// Tells whose bytes they are.
    const TAG: u8;

    /// What is at stake with the page after its last visit; its weight is zero when it was removed.
    fn stake(&self, page: PageId) -> Stake;

    /// The page's last visit; none before the first.
    fn last_visit(&self, page: PageId) -> Option<f64>;

    /// Takes in what came of a visit.
    fn learn(&mut self, page: PageId, server: ServerId, at: f64, outcome: Outcome<'_>);

    /// What is known of all pages together now.
    fn outlook(&self) -> Self::Outlook;

    /// Brings what is at stake with the page up to date with what is known of it and of all.
    fn judge(&mut self, page: PageId, server: ServerId, outlook: &Self::Outlook);

    /// Whether what is at stake with a page depends on what was learnt from the others.
    fn learns_from_others(&self) -> bool;

    /// A signal says that the page changed.
    fn signal(&mut self, page: PageId, server: ServerId);

    /// By how much signals since its last visit bring the page's next visit forward.
    fn forward(&self, page: PageId) -> f64;

    /// Adds a page, or replaces a removed one.
    fn add(&mut self, page: PageId, server: ServerId, weight: f64, known: Option<Evidence>);

    /// How important a page is from now on.
    fn weigh(&mut self, page: PageId, weight: f64);

    /// Forgets a page.
    fn remove(&mut self, page: PageId, server: ServerId);

    /// A server more.
    fn add_server(&mut self);

    /// The time in which the budget pays for one visit to each page.
    fn set_round(&mut self, round: f64);

    /// What is at stake with the page once the news of its last visits has grown old, which takes a
    /// round; none when no news is taken in.
    fn once_settled(&self, _page: PageId) -> Option<Stake> {
        None
    }

    /// No page that changes waits for more than this many times the average interval: beliefs may
    /// be wrong, and only a visit can tell.
    fn ceiling_rounds(&self) -> f64;

    /// What visits to the page have shown of its rate, where it is kept.
    fn findings(&self, _page: PageId) -> Option<Findings> {
        None
    }

    /// Writes down what is known of a page, so that [`restore`](Self::restore) knows it again.
    fn memo(&self, page: PageId, to: &mut Writer);

    /// Adds a page of which this was seen and written; nothing happens when it is not understood.
    fn restore(
        &mut self,
        page: PageId,
        server: ServerId,
        weight: f64,
        seen: Seen,
        from: &mut Reader,
    ) -> Option<()>;

    /// Writes down what is known of all pages together, and of each server.
    fn learnt(&self, to: &mut Writer);

    /// Takes it in again; what is not understood leaves things half done and is thrown away.
    fn relearn(&mut self, from: &mut Reader) -> Option<()>;

    /// The same of an outlook.
    fn write_outlook(outlook: &Self::Outlook, to: &mut Writer);

    /// And back.
    fn read_outlook(from: &mut Reader) -> Option<Self::Outlook>;
}

/// Prices that move by more than this share call for new due times where nothing else does.
const MOVED: f64 = 0.2;
/// An edition holds for this part of a round, and at least for so many visits; when pages or budget
/// are twice or half of what they were, for less.
const EDITIONS_IN_A_ROUND: usize = 4;
const LEAST_VISITS: usize = 64;
const HASTE: usize = 16;
/// With every visit so many pages are judged anew while there are any left; fewer in large
/// repositories, where it misses the caches.
const REVIEWS: usize = 8;
const REVIEWS_OF_MANY: usize = 2;
const MANY: usize = 1 << 17;
/// Visits that an idle budget may catch up: as a share of a round, and at least.
const CREDIT: f64 = 0.05;
const LEAST_CREDIT: f64 = 8.0;
/// First visits come before all revisits: their due times are this far in the past.
const FIRST: f64 = 1e12;
/// After a visit that came to nothing a page waits for this share of its time.
const RETRY: f64 = 0.25;
/// Nothing waits for longer, whatever the price.
const LONGEST: f64 = 1e15;

/// Where a page is, and whether the outcome of a visit to it is awaited.
#[derive(Clone, Copy, Debug)]
struct Place {
    server: u32,
    under_way: bool,
    /// Of the last two editions the one it was judged by: the even or the odd one.
    odd: bool,
}

impl Place {
    fn new(server: u32) -> Self {
        Self {
            server,
            under_way: false,
            odd: false,
        }
    }
}

pub(super) struct Priced<W: Worth> {
    worth: W,
    places: Vec<Place>,
    delay: Vec<f64>,
    pages_on: Vec<u32>,
    budget: f64,
    queues: DueQueues,
    market: Market,
    edition: Edition<W::Outlook>,
    /// The one before, by which pages from `reviewed` to `to_review` were judged.
    previous: Edition<W::Outlook>,
    reviewed: usize,
    to_review: usize,
    /// When visits since the last one with an outcome were given up, of the few pages with any.
    tried: BTreeMap<PageId, f64>,
    /// The instant up to which the budget is spent.
    spent: f64,
    pages: usize,
    visits_in_edition: usize,
    delays_changed: bool,
    /// One for each class of pages, and their classes.
    limits: Vec<Limits>,
    classes: Classes,
    /// Seconds after its last visit for which each page has hardly changed.
    held: Vec<f32>,
    seed: u64,
    /// What an earlier run knew of servers that were not added yet.
    kept: keep::Kept,
}

impl<W: Worth> Priced<W> {
    pub fn new(worth: W, setup: &Setup) -> Self {
        let edition = Edition::first(worth.outlook());
        let mut priced = Self {
            worth,
            places: setup.server.iter().map(|&s| Place::new(s)).collect(),
            delay: setup.delay.to_vec(),
            pages_on: vec![0; setup.delay.len()],
            budget: setup.budget,
            queues: DueQueues::new(setup.delay),
            market: Market::new(setup.delay.len()),
            previous: edition.clone(),
            edition,
            reviewed: 0,
            to_review: 0,
            tried: BTreeMap::new(),
            spent: setup.start,
            pages: setup.server.len(),
            visits_in_edition: 0,
            delays_changed: false,
            limits: vec![Limits::NONE],
            classes: Classes::default(),
            held: Vec::new(),
            seed: setup.seed,
            kept: keep::Kept::default(),
        };
        for (index, &s) in setup.server.iter().enumerate() {
            let (page, server) = (PageId(index as u32), ServerId(s));
            priced.worth.judge(page, server, &priced.edition.outlook);
            priced.market.add(server, priced.worth.stake(page));
            priced.pages_on[s as usize] += 1;
        }
        if priced.pages > 0 {
            priced.edition = priced.next_edition();
            let odd = priced.edition.is_odd();
            priced.places.iter_mut().for_each(|place| place.odd = odd);
            priced.queue_all();
        }
        priced
    }

    /// Queues all pages, judged as they are.
    fn queue_all(&mut self) {
        let mut entries: Vec<Vec<Due>> = vec![Vec::new(); self.delay.len()];
        for (index, place) in self.places.iter().enumerate() {
            let page = PageId(index as u32);
            if let Some(at) = self.due_at(page) {
                entries[place.server as usize].push(due(at, page));
            }
        }
        self.queues.fill(entries);
        self.set_eager();
    }

    /// How long after a visit the page is worth the next one; infinite for one that never changes.
    fn delay(&self, page: PageId, server: ServerId) -> f64 {
        let stake = self.worth.stake(page);
        if stake.unit.is_infinite() {
            return f64::INFINITY;
        }
        let edition = if self.places[page.index()].odd == self.edition.is_odd() {
            &self.edition
        } else {
            &self.previous
        };
        let Terms { price, round } = edition.terms(server);
        let worth_it = |stake: Stake| {
            let gain = price / (stake.weight * stake.unit);
            stake.unit * stake.shape.delay(gain)
        };
        // a page that is busy now is not busy for ever
        let settled = self.worth.once_settled(page);
        let settled = settled.map_or(f64::INFINITY, |stake| edition.round + worth_it(stake));
        let ceiling = edition.ceiling * round;
        let delay = worth_it(stake).min(settled).min(ceiling).min(LONGEST);
        delay.max(self.least_delay(page)).min(self.most_delay(page))
    }

    fn limits(&self, page: PageId) -> &Limits {
        self.classes.of(page, &self.limits)
    }

    /// How long a page is left alone, even if there is nothing else to do.
    fn least_delay(&self, page: PageId) -> f64 {
        self.held(page)
            .max(self.limits(page).least_interval)
            .min(self.most_delay(page))
    }

    fn held(&self, page: PageId) -> f64 {
        let told = self.held.get(page.index()).copied();
        told.map_or(0.0, f64::from)
    }

    fn most_delay(&self, page: PageId) -> f64 {
        let limits = self.limits(page);
        limits.most_interval.max(limits.least_interval)
    }

    /// The instant before which the page is left alone.
    fn earliest(&self, page: PageId) -> f64 {
        if *self.limits(page) == Limits::NONE {
            return f64::NEG_INFINITY;
        }
        let last = self.worth.last_visit(page);
        last.map_or(f64::NEG_INFINITY, |last| last + self.least_delay(page))
    }

    /// When the page is due; never if it does not change or does not count. Pages never visited
    /// come first, those that stay fresh longest before the others, and equals in random order.
    fn due_at(&self, page: PageId) -> Option<f64> {
        let stake = self.worth.stake(page);
        let delay = self.delay(page, ServerId(self.places[page.index()].server));
        if stake.weight == 0.0 || delay.is_infinite() {
            return None;
        }
        let Some(last) = self.worth.last_visit(page) else {
            let rank = (stake.weight * stake.unit * 16.0).floor().min(1e9);
            let order = (mix(self.seed, page) >> 11) as f64 / (1u64 << 53) as f64;
            return Some(order - rank - FIRST);
        };
        let least = self.limits(page).least_interval;
        let at = last + (delay - self.worth.forward(page)).max(least);
        let tried = self.tried.get(&page);
        Some(tried.map_or(at, |tried| at.max(tried + RETRY * delay)))
    }

    /// Puts the page where it belongs by what is known now.
    fn queue(&mut self, page: PageId) {
        let place = self.places[page.index()];
        if place.under_way {
            return;
        }
        let server = ServerId(place.server);
        match self.due_at(page) {
            Some(at) => self.queues.push(server, due(at, page)),
            None => {
                self.queues.remove(server, page);
            }
        }
    }

    /// Judges a page by the edition that holds.
    fn judge(&mut self, page: PageId) {
        let place = &mut self.places[page.index()];
        place.odd = self.edition.is_odd();
        let server = ServerId(place.server);
        let before = self.worth.stake(page);
        self.worth.judge(page, server, &self.edition.outlook);
        self.market.replace(server, before, self.worth.stake(page));
    }

    /// Judges the next few pages anew.
    fn review(&mut self) {
        let few = if self.pages > MANY {
            REVIEWS_OF_MANY
        } else {
            REVIEWS
        };
        let end = self.last_to_review().min(self.reviewed + few);
        for index in self.reviewed..end {
            let page = PageId(index as u32);
            if self.worth.stake(page).weight > 0.0 && self.is_behind(page) {
                self.judge(page);
                self.queue(page);
            }
        }
        self.reviewed = self.reviewed.max(end);
    }

    /// After a restart there may be fewer pages than there were.
    fn last_to_review(&self) -> usize {
        self.to_review.min(self.places.len())
    }

    /// Whether the page was last judged by the edition before.
    fn is_behind(&self, page: PageId) -> bool {
        self.places[page.index()].odd != self.edition.is_odd()
    }

    /// Begins a new edition when the last one is old, and all pages were judged by it.
    fn renew(&mut self) {
        if self.reviewed < self.last_to_review() || self.pages == 0 {
            return;
        }
        let twice = |now: f64, then: f64| now > 2.0 * then || then > 2.0 * now;
        let more_or_fewer = twice(self.pages as f64, self.edition.pages as f64);
        let richer_or_poorer = twice(self.budget, self.edition.budget);
        let enough = match (more_or_fewer, richer_or_poorer) {
            // as many have come or gone as there are prices to find
            (true, _) => 0,
            (_, true) => HASTE + self.pages / 64,
            _ => (self.pages / EDITIONS_IN_A_ROUND).max(LEAST_VISITS),
        };
        if self.visits_in_edition < enough {
            return;
        }
        let changed = more_or_fewer || richer_or_poorer;
        self.visits_in_edition = 0;
        let learns = self.worth.learns_from_others();
        if !(learns || changed || self.delays_changed || self.market.stirred()) {
            return;
        }
        self.delays_changed = false;
        let next = self.next_edition();
        if learns || next.is_far_from(&self.edition, MOVED) {
            self.previous = std::mem::replace(&mut self.edition, next);
            self.reviewed = 0;
            self.to_review = self.places.len();
            self.set_eager();
        }
    }

    /// What is known now.
    fn next_edition(&mut self) -> Edition<W::Outlook> {
        let prices = self.market.prices(&self.delay, self.budget);
        let round = self.pages as f64 / self.budget;
        let servers = prices.server.iter().enumerate().map(|(s, &price)| Terms {
            price,
            round: if price > prices.global {
                f64::from(self.pages_on[s]) * self.delay[s]
            } else {
                round
            },
        });
        Edition {
            number: self.edition.number + 1,
            outlook: self.worth.outlook(),
            ceiling: self.worth.ceiling_rounds(),
            budget: self.budget,
            pages: self.pages,
            round,
            price: prices.global,
            servers: servers.collect(),
        }
    }

    /// A server at its cap is asked whenever it may be, unless its pages may have to be left alone.
    fn is_eager(&self, server: ServerId) -> bool {
        let unlimited = self.limits.iter().all(|limits| *limits == Limits::NONE);
        unlimited && self.edition.terms(server).price > self.edition.price
    }

    fn set_eager(&mut self) {
        for s in 0..self.delay.len() {
            let server = ServerId(s as u32);
            self.queues.set_eager(server, self.is_eager(server));
        }
    }

    /// A server more, of which an earlier run may have known something.
    fn add_server(&mut self, delay: f64) {
        let server = ServerId(self.delay.len() as u32);
        self.delay.push(delay);
        self.market.add_server();
        self.worth.add_server();
        self.pages_on.push(0);
        self.queues.set_delay(server, delay);
        let (asked, known) = self.kept.server(server);
        self.delays_changed |= delay != known;
        if asked > f64::NEG_INFINITY {
            self.queues.set_asked(server, asked);
            self.queues.set_eager(server, self.is_eager(server));
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
        self.renew();
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
            .min(ready.max(self.spent))
            .max(self.earliest(due.page).min(ready));
        if at > now {
            return Next::Wait(at);
        }
        self.visits_in_edition = self.visits_in_edition.saturating_add(1);
        let credit = (CREDIT * self.pages as f64).max(LEAST_CREDIT) / self.budget;
        self.spent = self.spent.max(now - credit) + 1.0 / self.budget;
        self.queues.visited(server, now, None);
        self.places[due.page.index()].under_way = true;
        self.review();
        Next::Visit(due.page)
    }

    fn observe(&mut self, page: PageId, at: f64, outcome: Outcome<'_>) {
        let before = self.worth.stake(page);
        if before.weight == 0.0 {
            return;
        }
        let place = &mut self.places[page.index()];
        place.under_way = false;
        let server = ServerId(place.server);
        if outcome == Outcome::Failed {
            // nothing is known that was not known before; try again soon
            self.tried.insert(page, at);
        } else {
            self.tried.remove(&page);
            self.worth.learn(page, server, at, outcome);
            self.worth.judge(page, server, &self.edition.outlook);
            self.places[page.index()].odd = self.edition.is_odd();
            self.market.replace(server, before, self.worth.stake(page));
        }
        self.queue(page);
    }

    fn leave(&mut self, page: PageId) {
        let place = &mut self.places[page.index()];
        place.under_way = true;
        let server = ServerId(place.server);
        self.queues.remove(server, page);
    }

    fn set_limits(&mut self, class: u16, limits: Limits) -> bool {
        match self.limits.get_mut(usize::from(class)) {
            Some(known) => *known = limits,
            None => self.limits.push(limits),
        }
        true
    }

    fn set_class(&mut self, page: PageId, class: u16) {
        self.classes.set(page, class);
    }

    fn weigh(&mut self, page: PageId, weight: f64) {
        let before = self.worth.stake(page);
        if before.weight == 0.0 || before.weight == f64::from(weight as f32) {
            return;
        }
        self.worth.weigh(page, weight);
        let server = ServerId(self.places[page.index()].server);
        self.market.replace(server, before, self.worth.stake(page));
        self.queue(page);
    }

    fn weight(&self, page: PageId) -> Option<f64> {
        Some(self.worth.stake(page).weight)
    }

    fn hold(&mut self, page: PageId, seconds: f64) {
        self.set_held(page, seconds as f32);
        self.queue(page);
    }

    fn findings(&self, page: PageId) -> Option<Findings> {
        self.worth.findings(page)
    }

    fn limit(&self, page: PageId) -> Option<Limit> {
        self.worth.last_visit(page)?;
        let delay = self.delay(page, ServerId(self.places[page.index()].server));
        let least = self.limits(page).least_interval;
        if delay - self.worth.forward(page) <= least {
            Some(Limit::LeastInterval).filter(|_| least > 0.0)
        } else if delay >= self.most_delay(page) {
            Some(Limit::MostInterval).filter(|_| delay.is_finite())
        } else {
            (delay <= self.least_delay(page)).then_some(Limit::LeastChance)
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
                let mut place = Place::new(server.0);
                place.odd = self.edition.is_odd();
                // what came of a visit to the page that had this number is not of this one
                self.set_place(page, place);
                self.worth.add(page, server, weight, known);
                if let Some(at) = visited {
                    self.worth.learn(page, server, at, Outcome::Changed);
                }
                self.worth.judge(page, server, &self.edition.outlook);
                self.market.add(server, self.worth.stake(page));
                self.count_in(server);
                self.queue(page);
                self.review();
                self.renew();
            }
            Change::RemovePage(page) => {
                let place = &mut self.places[page.index()];
                place.under_way = false;
                let server = ServerId(place.server);
                self.market.remove(server, self.worth.stake(page));
                self.worth.remove(page, server);
                self.pages -= 1;
                self.pages_on[server.index()] -= 1;
                self.queues.remove(server, page);
                self.tried.remove(&page);
                if let Some(held) = self.held.get_mut(page.index()) {
                    *held = 0.0;
                }
                self.set_round();
            }
            Change::Budget(budget) if budget == self.budget => {}
            Change::Budget(budget) => {
                // a visit made ahead of its time is still one visit
                let ahead = (self.spent - now).max(0.0) * self.budget;
                self.spent = now + ahead / budget.max(f64::MIN_POSITIVE);
                self.budget = budget;
                self.set_round();
            }
            Change::Delay { server, delay } => {
                if server.index() == self.delay.len() {
                    self.add_server(delay);
                } else {
                    self.delays_changed |= delay != self.delay[server.index()];
                    self.delay[server.index()] = delay;
                    self.queues.set_delay(server, delay);
                }
            }
            Change::Signal(page) => {
                let server = ServerId(self.places[page.index()].server);
                self.worth.signal(page, server);
                self.queue(page);
            }
        }
    }

    fn due(&self, page: PageId) -> Option<f64> {
        self.due_at(page)
    }

    fn memo(&self, page: PageId, to: &mut Vec<u8>) {
        self.write_memo(page, &mut Writer(to));
    }

    fn restore(
        &mut self,
        page: PageId,
        server: ServerId,
        weight: f64,
        seen: Seen,
        memo: &[u8],
    ) -> bool {
        self.read_memo(page, server, weight, seen, Reader(memo))
            .is_some()
    }

    fn learnt(&self, to: &mut Vec<u8>) {
        self.write_learnt(&mut Writer(to));
    }

    fn relearn(&mut self, learnt: &[u8]) -> bool {
        self.read_learnt(Reader(learnt)).is_some()
    }
}

impl<W: Worth> Priced<W> {
    fn set_place(&mut self, page: PageId, place: Place) {
        if self.places.len() <= page.index() {
            self.places.resize(page.index() + 1, Place::new(0));
        }
        self.places[page.index()] = place;
    }

    fn set_held(&mut self, page: PageId, seconds: f32) {
        if self.held.len() <= page.index() {
            self.held.resize(page.index() + 1, 0.0);
        }
        self.held[page.index()] = seconds;
    }

    fn count_in(&mut self, server: ServerId) {
        self.pages += 1;
        self.pages_on[server.index()] += 1;
        self.set_round();
    }

    fn set_round(&mut self) {
        self.worth
            .set_round(self.pages.max(1) as f64 / self.budget.max(f64::MIN_POSITIVE));
    }
}
