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

mod due;
mod edition;
mod keep;
mod policy;
mod worth;

pub(super) use worth::Worth;

use super::market::Market;
use super::queue::{Due, DueQueues};
use super::{Classes, Limits, Setup};
use crate::{PageId, ServerId};
use edition::{Edition, Terms};
use std::collections::BTreeMap;

/// Prices that move by more than this share call for new due times where nothing else does.
const MOVED: f64 = 0.2;
/// An edition holds for this part of a round, and at least for so many visits; when pages or budget
/// are twice or half of what they were, for less.
const EDITIONS_IN_A_ROUND: usize = 8;
const LEAST_VISITS: usize = 64;
const HASTE: usize = 16;
/// With every visit so many pages are judged anew while there are any left; fewer in large
/// repositories, where it misses the caches.
const REVIEWS: usize = 8;
const REVIEWS_OF_MANY: usize = 2;
const MANY: usize = 1 << 17;

/// Where a page is, and whether the outcome of a visit to it is awaited.
#[derive(Clone, Copy, Debug)]
struct Place {
    server: u32,
    under_way: bool,
    /// Of the last two editions the one it was judged by: the even or the odd one.
    odd: bool,
}

/// What was decided elsewhere by what was known there, and when we heard of it. It holds for a round: by then we have
/// come to know the page's peers, and circumstances may be others.
#[derive(Clone, Copy, Debug)]
struct Promise {
    due: f64,
    made: f64,
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
    /// When pages are due that came from elsewhere, as was decided there.
    promised: BTreeMap<PageId, Promise>,
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
            promised: BTreeMap::new(),
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
    fn review(&mut self, now: f64) {
        let few = if self.pages > MANY {
            REVIEWS_OF_MANY
        } else {
            REVIEWS
        };
        let end = self.last_to_review().min(self.reviewed + few);
        for index in self.reviewed..end {
            let page = PageId(index as u32);
            if self.worth.stake(page).weight > 0.0 && self.is_behind(page) {
                let round = self.edition.round;
                if (self.promised.get(&page)).is_some_and(|promise| now > promise.made + round) {
                    self.promised.remove(&page);
                }
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
