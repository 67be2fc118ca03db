//! The index policy under Poisson changes: a page is worth a visit when
//! `w·(1/λ − (τ + 1/λ)e^{−λτ})` reaches the price.

use super::beliefs::Beliefs;
use super::market::Appetite;
use super::priced::Worth;
use super::signals::Signals;
use super::{Outcome, Setup};
use crate::measure::{delay_for_gain, delay_slope};
use crate::{PageId, ServerId};

/// Under learnt rates no page is left alone for longer than this many times the average interval:
/// what is believed of a page that is never visited would never be found wrong.
const CEILING_ROUNDS: f64 = 10.0;

pub(super) struct Index {
    beliefs: Beliefs,
    signals: Signals,
    ceiling: f64,
}

impl Index {
    pub fn new(setup: &Setup) -> Self {
        let beliefs = Beliefs::new(setup);
        let round = setup.server.len() as f64 / setup.budget;
        let ceiling = if beliefs.learns() {
            CEILING_ROUNDS * round
        } else {
            f64::INFINITY
        };
        Self {
            beliefs,
            signals: Signals::new(setup.server.len(), setup.delay.len()),
            ceiling,
        }
    }
}

/// Visits per change of an evenly visited Poisson page.
pub(super) struct PoissonAppetite;

impl Appetite for PoissonAppetite {
    fn visits_per_change(&self, normal_price: f64) -> (f64, f64) {
        if normal_price >= 1.0 {
            return (0.0, 0.0);
        }
        let r = delay_for_gain(normal_price);
        (
            1.0 / r,
            -delay_slope(normal_price, r) * normal_price / (r * r),
        )
    }

    fn reserve(&self) -> f64 {
        1.0
    }
}

impl Appetite for Index {
    fn visits_per_change(&self, normal_price: f64) -> (f64, f64) {
        PoissonAppetite.visits_per_change(normal_price)
    }

    fn reserve(&self) -> f64 {
        PoissonAppetite.reserve()
    }
}

impl Worth for Index {
    fn delay(&self, page: PageId, price: f64) -> f64 {
        let rate = self.beliefs.rate(page);
        if rate == 0.0 {
            return self.ceiling;
        }
        let delay = delay_for_gain(price * rate / self.beliefs.weight(page)) / rate;
        delay.min(self.ceiling)
    }

    fn last_visit(&self, page: PageId) -> Option<f64> {
        self.beliefs.last_visit(page)
    }

    fn rate(&self, page: PageId) -> f64 {
        self.beliefs.rate(page)
    }

    fn weight(&self, page: PageId) -> f64 {
        self.beliefs.weight(page)
    }

    fn learn(&mut self, page: PageId, server: ServerId, at: f64, outcome: Outcome<'_>) {
        self.signals
            .visited(page, server, self.beliefs.last_visit(page), at, outcome);
        self.beliefs.observe(page, server, at, outcome);
    }

    fn signal(&mut self, page: PageId, server: ServerId) -> f64 {
        self.signals.signal(page);
        self.signals.worth(server, self.beliefs.rate(page))
    }

    fn add(&mut self, page: PageId, server: ServerId, weight: f64, rate: Option<f64>) {
        self.beliefs.add(page, server, weight, rate);
        self.signals.add(page);
    }

    fn remove(&mut self, page: PageId, server: ServerId) {
        self.beliefs.remove(page, server);
    }

    fn add_server(&mut self) {
        self.beliefs.add_server();
        self.signals.add_server();
    }
}
