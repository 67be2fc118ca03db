//! What comes of visits: for the policy, for the page, for its row.

use super::pages::Stage;
use super::{Keeper, Until};
use crate::cause;
use crate::clock::Now;
use crate::message::{VisitResult, Visited, Write};
use crate::overrides::PageTerms;
use freshness::policy::Outcome;
use storage::PageId;

/// After so many failures in a row a page that was never fetched is looked at as one that is gone.
const FAILURES_TO_GIVE_UP: u16 = 8;
/// Seconds before a failed page is tried again; doubled each time.
const FIRST_RETRY: f64 = 30.0;
const LONGEST_RETRY: f64 = 86_400.0;

/// Seconds to wait after so many failures in a row.
fn retry_wait(failures: u16) -> f64 {
    let doublings = i32::from(failures.saturating_sub(1).min(20));
    (FIRST_RETRY * 2f64.powi(doublings)).min(LONGEST_RETRY)
}

/// Seconds before the next try after so many failures in a row, for a page that is looked at every so many
/// seconds when it is gone.
pub(crate) fn wait_after_failure(new: bool, failures: u16, gone: f64) -> f64 {
    if new && failures >= FAILURES_TO_GIVE_UP {
        gone
    } else {
        retry_wait(failures)
    }
}

impl Keeper {
    /// Learns from a visit and passes it on to be stored, with what was learnt.
    pub(super) fn visited(&mut self, mut visited: Visited) {
        let done = &visited.done;
        let (page, at) = (done.page, done.at.at);
        self.status.cut_links += u64::from(done.cut.links);
        self.status.cut_bodies += u64::from(done.cut.body);
        // whatever asked for the visit has its answer
        self.pages.set(page, Stage::Away);
        if done.requisite {
            if self.requisite_visited(&visited) {
                self.unstored += 1;
                self.writes.push(Write::Visited(Box::new(visited)));
            }
            return;
        }
        match done.result {
            VisitResult::Copy { outcome, modified } => {
                self.gone.remove(&page);
                self.excluded.remove(&page);
                let modified = modified.map(|modified| done.at.from_wall(modified));
                self.copied(page, done.terms, at, outcome, modified);
                if let Some(liar) = done.liar {
                    self.validators_judged(done.host, liar);
                }
            }
            VisitResult::Failed(cause) => {
                self.count_failure(cause::word(cause));
                self.revisits.failed(page, at);
                let (new, failures) = (done.new, done.failures);
                self.try_again(at, page, new, failures, done.terms.gone_seconds);
            }
            VisitResult::Gone => {
                self.gone.insert(page);
                self.excluded.remove(&page);
                self.forget(page, at);
                if self.until == Until::Stopped {
                    self.try_later(at + done.terms.gone_seconds, page);
                }
            }
            VisitResult::Excluded(cause) => {
                self.gone.remove(&page);
                self.count_failure(cause::word(cause));
                self.excluded.insert(page);
                self.forget(page, at);
            }
            VisitResult::NotNow => {
                // robots.txt could not be had meanwhile, and its host waits for that
                self.wait_in_line(page);
                return; // nothing happened that is to be stored
            }
        }
        if let Some(row) = &mut visited.row {
            row.memo = self.revisits.memo(page);
        }
        self.learnt = true;
        self.unstored += 1;
        self.writes.push(Write::Visited(Box::new(visited)));
    }

    /// A copy, or the word that ours is current. What counts as a change is decided here.
    fn copied(
        &mut self,
        page: PageId,
        terms: PageTerms,
        at: f64,
        outcome: storage::Outcome,
        modified: Option<f64>,
    ) {
        let counts = match outcome {
            storage::Outcome::Changed => true,
            storage::Outcome::Minor => terms.minor_counts,
            _ => false,
        };
        self.status.changes += u64::from(outcome == storage::Outcome::Changed);
        self.status.minor_changes += u64::from(outcome == storage::Outcome::Minor);
        if !self.revisits.keeps(page) {
            self.status.first_visits += 1;
            self.status.pages_fetched += 1;
            let host = self.pages.host(page);
            if let Some(modified) = modified {
                self.lines.found_aged(page, at - modified);
            }
            self.revisits.keep(at, page, host, terms.rank, at, None);
            return;
        }
        self.status.revisits += 1;
        let outcome = match modified {
            Some(modified) if counts => Outcome::LastModified(modified),
            _ if counts => Outcome::Changed,
            _ => Outcome::Unchanged,
        };
        self.revisits.visited(page, at, outcome);
    }

    /// No copy this time: later, and later each time.
    fn try_again(&mut self, at: f64, page: PageId, new: bool, failures: u16, gone: f64) {
        let wait = match self.until {
            Until::FetchedOnce => super::once::retry_wait(failures),
            Until::Stopped => Some(wait_after_failure(new, failures, gone)),
        };
        if let Some(wait) = wait {
            self.try_later(at + wait, page);
        }
    }

    /// The worker that had the page fell over it; it would again.
    pub(super) fn page_lost(&mut self, now: Now, page: PageId) {
        self.pages.set(page, Stage::Idle);
        if self.requisites.has(page) {
            return self.requisite_failed(page);
        }
        self.revisits.failed(page, now.at);
        if self.until == Until::Stopped {
            let gone = self.rules.overrides.usual_terms().gone_seconds;
            self.try_later(now.at + gone, page);
        }
    }

    fn forget(&mut self, page: PageId, at: f64) {
        if self.revisits.keeps(page) {
            self.revisits.drop_page(page, at);
            self.status.pages_fetched -= 1;
        }
    }
}
