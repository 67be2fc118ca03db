//! What the dates of first visits taught before a restart: told again from the log of visits.

use super::Keeper;
use crate::clock::Now;
use frontier::order::{Lasting, Order, Traits};
use std::collections::VecDeque;
use storage::{Observation, Outcome, Position, Reader, Store, Time};

/// Visits read at a time, from the newest on.
const SLICE: u64 = 1 << 16;
/// Visits read in all: what was found before is forgotten.
const MOST_VISITS: u64 = 1 << 20;

impl Keeper {
    /// Learns again from as many dated first visits as are remembered.
    pub(super) fn recall_ages(&mut self, now: Now, store: &Store) {
        if self.config.budget.order_of_new != Order::Lasting {
            return;
        }
        let found = dated_first_visits(store.reader(), SLICE).unwrap_or_else(|error| {
            tracing::warn!(%error, "how long pages last must be learnt again");
            VecDeque::new()
        });
        let then = |time: Time| now.from_wall(time as f64 / 1e3);
        for (visit, modified) in found {
            if let Ok(address) = store.address(visit.page) {
                let age = (visit.at - modified) as f64 / 1e3;
                let times = (then(address.added), then(visit.at));
                self.lines.recall_aged(Traits::of(&address.url), times, age);
            }
        }
    }
}

/// The newest of them with the dates that they found, in their order.
fn dated_first_visits(
    reader: &Reader,
    at_a_time: u64,
) -> storage::Result<VecDeque<(Observation, Time)>> {
    let mut found = VecDeque::new();
    let end = storage::log_end(reader.directory())?.0;
    let oldest = end.saturating_sub(MOST_VISITS);
    let mut until = end;
    while until > oldest && found.len() < Lasting::MOST_AGES {
        let from = until.saturating_sub(at_a_time).max(oldest);
        let mut slice = Vec::new();
        let mut log = reader.observations(Position(from))?;
        // a reader passes over what was dropped meanwhile, and may come out behind the end
        while let Some(visit) = log.read()?
            && log.position().0 <= until
        {
            if visit.outcome == Outcome::FirstSeen {
                slice.extend(visit.modified.map(|modified| (visit, modified)));
            }
        }
        for visit in slice.into_iter().rev() {
            found.push_front(visit);
        }
        until = from;
    }
    found.drain(..found.len().saturating_sub(Lasting::MOST_AGES));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use storage::{Batch, Candidate, PageId, StoreOptions};

    /// Three visits to each page: a failure, the first copy, which has a date in every other page, and a change.
    fn log(store: &mut Store, pages: u32) {
        let host = store.host("http://a.example").unwrap();
        let mut batch = Batch::default();
        for number in 0..pages {
            let url = format!("http://a.example/{number}");
            let candidate = Candidate {
                key: &url,
                url: &url,
                host,
                depth: 0,
                from: None,
                at: 0,
            };
            let page = store.admit(&[candidate]).unwrap()[0].page();
            let outcomes = [Outcome::Failed(1), Outcome::FirstSeen, Outcome::Changed];
            for (visit, outcome) in (0..).zip(outcomes) {
                batch.observations.push(Observation {
                    page,
                    at: Time::from(3 * number) + visit,
                    outcome,
                    modified: (number % 2 == 0).then_some(0),
                    status: 200,
                    millis: 1,
                    bytes: 1,
                    digest: [0; 20],
                    reason: 0,
                });
            }
        }
        store.commit(&batch).unwrap();
    }

    #[test]
    fn the_newest_dated_first_visits_are_read_in_their_order() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open(directory.path(), StoreOptions::default()).unwrap();
        let read = |store: &Store, at_a_time| -> Vec<PageId> {
            let found = dated_first_visits(store.reader(), at_a_time).unwrap();
            found.iter().map(|(visit, _)| visit.page).collect()
        };
        assert_eq!(read(&store, SLICE), []);
        let pages = 3 * Lasting::MOST_AGES as u32;
        log(&mut store, pages);
        let newest: Vec<PageId> = (pages - 2 * Lasting::MOST_AGES as u32..pages)
            .filter(|number| number % 2 == 0)
            .map(PageId)
            .collect();
        for at_a_time in [7, 1000, SLICE] {
            assert_eq!(read(&store, at_a_time), newest, "{at_a_time}");
        }
    }
}
