//! When a page is due: as its stake and the prices say, within the limits of its class.

use super::edition::Terms;
use super::{Priced, Worth};
use crate::policy::Limits;
use crate::policy::shape::Stake;
use crate::{PageId, ServerId};

/// First visits come before all revisits: their due times are this far in the past.
const FIRST: f64 = 1e12;
/// After a visit that came to nothing a page waits for this share of its time.
const RETRY: f64 = 0.25;
/// Nothing waits for longer, whatever the price.
const LONGEST: f64 = 1e15;

impl<W: Worth> Priced<W> {
    /// How long after a visit the page is worth the next one; infinite for one that never changes.
    pub(super) fn delay(&self, page: PageId, server: ServerId) -> f64 {
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
        // rounds are counted over all pages, and a server at its cap has made fewer of its own
        let watched = if round > edition.round {
            round + self.worth.watched(page)
        } else {
            f64::INFINITY
        };
        let ceiling = (edition.ceiling * round).min(watched);
        let delay = worth_it(stake).min(settled).min(ceiling).min(LONGEST);
        delay.max(self.least_delay(page)).min(self.most_delay(page))
    }

    pub(super) fn limits(&self, page: PageId) -> &Limits {
        self.classes.of(page, &self.limits)
    }

    /// How long a page is left alone, even if there is nothing else to do.
    pub(super) fn least_delay(&self, page: PageId) -> f64 {
        self.held(page)
            .max(self.limits(page).least_interval)
            .min(self.most_delay(page))
    }

    pub(super) fn held(&self, page: PageId) -> f64 {
        let told = self.held.get(page.index()).copied();
        told.map_or(0.0, f64::from)
    }

    pub(super) fn most_delay(&self, page: PageId) -> f64 {
        let limits = self.limits(page);
        limits.most_interval.max(limits.least_interval)
    }

    /// The instant before which the page is left alone.
    pub(super) fn earliest(&self, page: PageId) -> f64 {
        if *self.limits(page) == Limits::NONE {
            return f64::NEG_INFINITY;
        }
        let last = self.worth.last_visit(page);
        last.map_or(f64::NEG_INFINITY, |last| last + self.least_delay(page))
    }

    /// When the page is due; never if it does not change or does not count. Pages never visited
    /// come first, those that stay fresh longest before the others, and equals in random order.
    pub(super) fn due_at(&self, page: PageId) -> Option<f64> {
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
        let at = match self.promised.get(&page) {
            Some(promise) => promise
                .due
                .clamp(last + least, last + self.most_delay(page)),
            None => last + (delay - self.worth.forward(page)).max(least),
        };
        let tried = self.tried.get(&page);
        Some(tried.map_or(at, |tried| at.max(tried + RETRY * delay)))
    }
}

/// A number that looks random, different for each seed and page.
fn mix(seed: u64, page: PageId) -> u64 {
    let mut bits = seed ^ u64::from(page.0).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}
