//! The index policy under Poisson changes: a page is worth a visit when
//! `w·(1/λ − (τ + 1/λ)e^{−λτ})` reaches the price.
#![doc = include_str!("index/README.md")]

use super::beliefs::Beliefs;
use super::priced::Worth;
use super::shape::{Shape, Stake};
use super::signals::Signals;
use super::{Outcome, Seen, Setup};
use crate::estimate::Evidence;
use crate::record::{Reader, Writer};
use crate::{PageId, ServerId};

pub(super) struct Index {
    beliefs: Beliefs,
    signals: Signals,
}

impl Index {
    pub fn new(setup: &Setup) -> Self {
        Self {
            beliefs: Beliefs::new(setup),
            signals: Signals::new(setup.delay.len()),
        }
    }
}

impl Worth for Index {
    /// Rates are what they were found to be at a page's last visit.
    type Outlook = ();

    const TAG: u8 = b'i';

    fn stake(&self, page: PageId) -> Stake {
        Stake {
            shape: Shape::POISSON,
            unit: 1.0 / self.beliefs.rate(page),
            weight: self.beliefs.weight(page),
        }
    }

    fn last_visit(&self, page: PageId) -> Option<f64> {
        self.beliefs.last_visit(page)
    }

    fn learn(&mut self, page: PageId, server: ServerId, at: f64, outcome: Outcome<'_>) {
        self.signals
            .visited(page, server, self.beliefs.last_visit(page), at, outcome);
        self.beliefs.observe(page, server, at, outcome);
    }

    fn outlook(&self) {}

    fn judge(&mut self, _: PageId, _: ServerId, (): &()) {}

    fn learns_from_others(&self) -> bool {
        false
    }

    fn signal(&mut self, page: PageId, server: ServerId) {
        self.signals.signal(page, server, self.beliefs.rate(page));
    }

    fn forward(&self, page: PageId) -> f64 {
        self.signals.forward(page)
    }

    fn add(&mut self, page: PageId, server: ServerId, weight: f64, known: Option<Evidence>) {
        self.beliefs.add(page, server, weight, known);
        self.signals.forget(page);
    }

    fn weigh(&mut self, page: PageId, weight: f64) {
        self.beliefs.weigh(page, weight);
    }

    fn remove(&mut self, page: PageId, server: ServerId) {
        self.beliefs.remove(page, server);
        self.signals.forget(page);
    }

    fn add_server(&mut self) {
        self.beliefs.add_server();
        self.signals.add_server();
    }

    fn set_round(&mut self, round: f64) {
        self.beliefs.set_round(round);
    }

    fn ceiling_rounds(&self) -> f64 {
        if self.beliefs.learns() { 10.0 } else { 50.0 }
    }

    fn memo(&self, page: PageId, to: &mut Writer) {
        self.signals.memo(page, to);
        self.beliefs.memo(page, to);
    }

    fn restore(
        &mut self,
        page: PageId,
        server: ServerId,
        weight: f64,
        _: Seen,
        from: &mut Reader,
    ) -> Option<()> {
        self.signals.restore(page, from)?;
        self.beliefs.restore(page, server, weight, from)
    }

    fn learnt(&self, to: &mut Writer) {
        self.signals.learnt(to);
    }

    fn relearn(&mut self, from: &mut Reader) -> Option<()> {
        self.signals.relearn(from)
    }

    fn write_outlook((): &(), _: &mut Writer) {}

    fn read_outlook(_: &mut Reader) -> Option<()> {
        Some(())
    }
}
