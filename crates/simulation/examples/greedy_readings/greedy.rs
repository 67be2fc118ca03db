//! GREEDY by a reading, for one server.

use crate::reading::{Appeared, Page, Reading};
use freshness::PageId;
use freshness::policy::{Change, Next, Outcome, Policy};
use std::sync::Arc;

/// Each slot of the only server to the page with the largest index; pages never visited first.
pub struct Greedy {
    reading: &'static Reading,
    pages: Arc<[Option<Page>]>,
    last: Vec<f64>,
    appeared: Vec<f64>,
    slot: f64,
    interval: f64,
}

impl Greedy {
    /// From a start and an offset in slots.
    pub fn new(
        reading: &'static Reading,
        pages: Arc<[Option<Page>]>,
        (start, offset): (f64, f64),
        budget: f64,
    ) -> Self {
        Self {
            reading,
            last: vec![f64::NEG_INFINITY; pages.len()],
            appeared: vec![f64::NEG_INFINITY; pages.len()],
            slot: start + offset / budget,
            interval: 1.0 / budget,
            pages,
        }
    }

    fn index(&self, page: usize, now: f64) -> f64 {
        let last = self.last[page];
        match &self.pages[page] {
            None => f64::NEG_INFINITY,
            Some(_) if last == f64::NEG_INFINITY => f64::INFINITY,
            Some(known) => {
                let (age, elapsed) = (last - self.appeared[page], now - last);
                let changed = (self.reading.changed)(known, age, elapsed);
                if changed > 0.0 {
                    changed * (self.reading.left)(known, age, elapsed)
                } else {
                    0.0
                }
            }
        }
    }
}

impl Policy for Greedy {
    fn next(&mut self, now: f64) -> Next {
        if now < self.slot {
            return Next::Wait(self.slot);
        }
        self.slot += self.interval;
        let indexed = (0..self.pages.len()).map(|page| (self.index(page, now), page));
        let best = indexed.max_by(|a, b| a.0.total_cmp(&b.0));
        best.map_or(Next::Idle, |(_, page)| Next::Visit(PageId(page as u32)))
    }

    fn observe(&mut self, page: PageId, at: f64, outcome: Outcome<'_>) {
        self.last[page.index()] = at;
        let appeared = &mut self.appeared[page.index()];
        match (self.reading.appeared, outcome) {
            (Appeared::Then, Outcome::LastModified(then)) => *appeared = then.min(at),
            (Appeared::WhenFound, Outcome::LastModified(_)) | (Appeared::AtLastVisit, _) => {
                *appeared = at;
            }
            _ => {}
        }
    }

    fn change(&mut self, _: f64, _: Change) {}
}
