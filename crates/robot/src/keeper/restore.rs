//! What the keeper knows again after a restart: one pass over the pages.

use super::{Keeper, Until, retry_wait};
use crate::cause;
use crate::clock::Now;
use crate::losses::Losses;
use storage::{HostId, PageBrief, PageId, PageState, Store};

impl Keeper {
    /// Takes over everything the store has; what it has no more is counted.
    pub fn restore(&mut self, now: Now, store: &Store, losses: &mut Losses) -> storage::Result<()> {
        for host in 0..store.host_count() {
            // a damaged host keeps its number; its pages are found to have no address
            let row = store.host_row(HostId(host));
            let (name, blob) = row.map_or_else(
                |_| ("http://invalid".into(), Vec::new()),
                |row| (row.name, row.blob),
            );
            self.add_host(now, &name, &blob);
        }
        store.reader().briefs(|page, brief| match brief {
            Ok(brief) => self.restore_page(now, &brief),
            Err(error) => self.restore_damaged(store, page, &error, losses),
        })
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
        if address.is_ok() {
            losses.note(error, "pages are not readable; they are fetched again");
            self.wait_in_line(page.0, true);
        }
    }

    /// Puts a page where it waits.
    fn restore_page(&mut self, now: Now, brief: &PageBrief) {
        let (page, host) = (brief.id.0, brief.host.0);
        self.add_page(brief.id, host);
        if !brief.tried {
            return self.wait_in_line(page, true);
        }
        let then = |time: storage::Time| now.from_wall(time as f64 / 1e3);
        let failed_at = brief.last_failure.map_or(0.0, |(at, _)| then(at));
        let once = self.until == Until::FetchedOnce;
        match brief.state {
            PageState::New if once => self.wait_in_line(page, true),
            PageState::New => {
                let wait = retry_wait(brief.failures_in_a_row);
                self.try_later(failed_at + wait, page, true);
            }
            PageState::Live | PageState::Redirect => {
                let visited = brief.last_visit.map_or(now.at, then);
                let memo = Some(brief.memo).filter(|memo| !memo.is_empty());
                self.revisits.keep(now.at, page, host, 1.0, visited, memo);
                self.status.pages_fetched += 1;
                if once {
                    self.wait_in_line(page, false);
                } else if brief.failures_in_a_row > 0 {
                    let wait = retry_wait(brief.failures_in_a_row);
                    self.try_later(failed_at + wait, page, false);
                    self.revisits.failed(page, now.at);
                }
            }
            PageState::Gone => {
                self.gone.insert(page);
                if !once {
                    self.try_later(failed_at + self.gone_seconds(), page, true);
                }
            }
            PageState::Excluded => {
                let cause = brief.last_failure.map_or(0, |(_, cause)| cause);
                if matches!(cause, cause::OUT_OF_SCOPE | cause::ROBOTS) {
                    // scope and rules may be others now; judging costs no request
                    self.wait_in_line(page, true);
                } else {
                    self.status.pages_excluded += 1;
                }
            }
        }
    }
}
