//! The engine as a policy: what comes in, and what it says to do.

use super::{Place, Priced, Promise, Worth};
use crate::estimate::Findings;
use crate::policy::{Change, Limit, Limits, Next, Outcome, Policy, Seen};
use crate::record::{Reader, Writer};
use crate::{PageId, ServerId};

/// Visits that an idle budget may catch up: as a share of a round, and at least.
const CREDIT: f64 = 0.05;
const LEAST_CREDIT: f64 = 8.0;

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
        self.review(now);
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
            self.promised.remove(&page);
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
                self.review(now);
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
                self.promised.remove(&page);
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
                // whoever made the promise had not heard of it
                if let Some(mut promise) = self.promised.remove(&page) {
                    let own = self.due_at(page).unwrap_or(f64::INFINITY);
                    promise.due = promise.due.min(own);
                    self.promised.insert(page, promise);
                }
                self.queue(page);
            }
        }
    }

    fn due(&self, page: PageId) -> Option<f64> {
        self.due_at(page)
    }

    fn promise(&mut self, page: PageId, now: f64, due: f64) {
        self.promised.insert(page, Promise { due, made: now });
        // whoever made it knew of that
        self.tried.remove(&page);
        self.queue(page);
    }

    fn promised(&self, page: PageId) -> Option<f64> {
        self.promised.get(&page).map(|promise| promise.due)
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
