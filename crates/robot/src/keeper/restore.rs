//! What the keeper knows again after a restart.

use super::{Keeper, NONE, retry_wait};
use crate::cause;
use crate::config::Count;
use crate::losses::Losses;
use crate::visit::now;
use storage::{Observation, Outcome, PageEntry, PageId, PageState, Store};

impl Keeper {
    /// Takes over everything the store has; what it has no more is counted.
    pub fn restore(&mut self, store: &Store, losses: &mut Losses) -> storage::Result<()> {
        for host in 0..store.host_count() {
            // a damaged host keeps its number; its pages are found to have no address
            let row = store.host_row(storage::HostId(host));
            let (name, blob) = row.map_or_else(
                |_| ("http://invalid".into(), Vec::new()),
                |row| (row.name, row.blob),
            );
            self.add_host(&name, &blob);
        }
        let mut live = Vec::new();
        for (id, entry) in (0..).zip(store.reader().pages()?) {
            match entry {
                Ok(entry) => live.push(self.restore_page(&entry)),
                Err(error) => {
                    self.restore_damaged(store, PageId(id), &error, losses);
                    live.push(None);
                }
            }
        }
        // numbers are given in the order of first visits, as they were
        let mut observations = store.reader().observations(storage::Position(0))?;
        for observation in observations.by_ref() {
            let observation = observation?;
            if live
                .get(observation.page.0 as usize)
                .is_some_and(Option::is_some)
            {
                self.restore_visit(&observation);
            }
        }
        let what = "visits of the log are not readable; what they taught is lost";
        losses.count(observations.directory(), what, observations.damaged());
        for number in 0..self.pages.len() as u32 {
            let visited = self.beliefs.last_visit(number);
            self.keep_fresh(self.pages[number as usize], visited, Some(number));
        }
        for (page, last_visit) in (0..).zip(live) {
            // its visits are older than the log
            if let Some(last_visit) = last_visit
                && self.numbers[page as usize] == NONE
            {
                self.keep_fresh(PageId(page), last_visit, None);
            }
        }
        Ok(())
    }

    /// A page whose row cannot be read is fetched again, as long as its URL can.
    fn restore_damaged(
        &mut self,
        store: &Store,
        page: PageId,
        error: &storage::Error,
        losses: &mut Losses,
    ) {
        let address = store.address(page);
        self.add_page(page, address.as_ref().map_or(0, |address| address.host.0));
        if let Ok(address) = address {
            losses.note(error, "pages are not readable; they are fetched again");
            self.lines.push_new(address.host.0, page.0);
        }
    }

    /// Puts a page where it waits; for one with a copy says when it was last visited.
    fn restore_page(&mut self, entry: &PageEntry) -> Option<f64> {
        let host = entry.host.0;
        self.add_page(entry.id, host);
        let seconds = |time: storage::Time| time as f64 / 1e3;
        let Some(row) = &entry.row else {
            self.lines.push_new(host, entry.id.0);
            return None;
        };
        let failed_at = row.last_failure.map_or(0.0, |(at, _)| seconds(at));
        self.lines.count_page(host);
        match row.state {
            PageState::New => {
                let then = failed_at + retry_wait(row.failures_in_a_row);
                self.later.push(then, entry.id.0, true);
                None
            }
            PageState::Live | PageState::Redirect => row.last_visit.map(seconds),
            PageState::Gone => {
                self.gone.insert(entry.id.0);
                self.later
                    .push(failed_at + self.gone_seconds(), entry.id.0, true);
                None
            }
            PageState::Excluded => {
                let cause = row.last_failure.map_or(0, |(_, cause)| cause);
                if matches!(cause, cause::OUT_OF_SCOPE | cause::ROBOTS) {
                    // scope and rules may be others now; judging costs no request
                    self.lines.push_again(host, entry.id.0);
                } else {
                    self.status.pages_excluded += 1;
                }
                None
            }
        }
    }

    fn restore_visit(&mut self, observation: &Observation) {
        let page = observation.page;
        let at = observation.at as f64 / 1e3;
        let changed = match observation.outcome {
            Outcome::FirstSeen | Outcome::Changed => true,
            Outcome::Minor => self.config.revisit.count == Count::Body,
            Outcome::Unchanged => false,
            Outcome::Failed(_) | Outcome::Gone => return,
        };
        let number = self.numbers[page.0 as usize];
        if number == NONE {
            let number = self.pages.len() as u32;
            self.numbers[page.0 as usize] = number;
            self.pages.push(page);
            self.beliefs.add(number, self.host_of[page.0 as usize], at);
        } else {
            let last = self.beliefs.last_visit(number);
            let modified = observation.modified.map(|time| time as f64 / 1e3);
            let modified = modified.filter(|&time| time > last && time <= at.min(now()));
            self.beliefs.observe(number, at, changed, modified);
        }
    }
}
