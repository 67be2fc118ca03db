//! What the keeper knows again after a restart: one pass over the pages.

use super::{Keeper, Until};
use crate::cause;
use crate::clock::Now;
use crate::losses::Losses;
use storage::{HostId, PageBrief, PageId, PageState, Store, Time};

/// What is taken over of a page.
struct Kept {
    host: u32,
    state: PageState,
    tried: bool,
    last_visit: Option<Time>,
    last_failure: Option<(Time, u8)>,
    failures: u16,
    memo: Vec<u8>,
}

impl Kept {
    fn of(brief: &PageBrief) -> Self {
        Self {
            host: brief.host.0,
            state: brief.state,
            tried: brief.tried,
            last_visit: brief.last_visit,
            last_failure: brief.last_failure,
            failures: brief.failures_in_a_row,
            memo: brief.memo.to_vec(),
        }
    }
}

impl Keeper {
    /// Takes over everything the store has; what it has no more is counted.
    pub fn restore(&mut self, now: Now, store: &Store, losses: &mut Losses) -> storage::Result<()> {
        for host in 0..store.host_count() {
            // a damaged host keeps its number; its pages are found to have no address
            let (name, blob) = match store.host_row(HostId(host)) {
                Ok(row) => (row.name, row.blob),
                Err(error) => {
                    let what = "hosts are not readable; what they asked for is forgotten";
                    losses.note(&error, what);
                    ("http://invalid".into(), Vec::new())
                }
            };
            self.add_host(now, &name, &blob);
        }
        let mut pages = (0..).map(PageId);
        store.reader().scan(
            |brief| brief.map(|brief| Kept::of(&brief)),
            |kept| {
                let page = pages.next().expect("pages are numbered by 32 bits");
                match kept {
                    Ok(kept) => self.restore_page(now, page, &kept),
                    Err(error) => self.restore_damaged(store, page, &error, losses),
                }
            },
        )
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
            self.wait_first(page.0);
        }
    }

    /// Puts a page where it waits.
    fn restore_page(&mut self, now: Now, id: PageId, kept: &Kept) {
        let page = id.0;
        self.add_page(id, kept.host);
        if !kept.tried {
            return self.wait_first(page);
        }
        self.lines.count_page(kept.host);
        let then = |time: Time| now.from_wall(time as f64 / 1e3).min(now.at);
        let failed_at = kept.last_failure.map_or(0.0, |(at, _)| then(at));
        let once = self.until == Until::FetchedOnce;
        match kept.state {
            PageState::New if once => self.wait_in_line(page),
            PageState::New => {
                let wait = self.wait_after_failure(true, kept.failures);
                self.try_later(failed_at + wait, page);
            }
            PageState::Live | PageState::Redirect => {
                let visited = kept.last_visit.map_or(now.at, then);
                let memo = Some(&kept.memo[..]).filter(|memo| !memo.is_empty());
                self.revisits
                    .keep(now.at, page, kept.host, 1.0, visited, memo);
                self.status.pages_fetched += 1;
                if let Some(pass) = self.pass {
                    if visited < pass {
                        self.wait_in_line(page);
                    }
                } else if kept.failures > 0 {
                    let wait = self.wait_after_failure(false, kept.failures);
                    self.revisits.failed(page, now.at);
                    self.try_later(failed_at + wait, page);
                }
            }
            PageState::Gone => {
                self.gone.insert(page);
                if !once {
                    self.try_later(failed_at + self.gone_seconds(), page);
                }
            }
            PageState::Excluded => {
                let cause = kept.last_failure.map_or(0, |(_, cause)| cause);
                if matches!(cause, cause::OUT_OF_SCOPE | cause::ROBOTS) {
                    // scope and rules may be others now; judging costs no request
                    self.wait_in_line(page);
                } else {
                    self.status.pages_excluded += 1;
                }
            }
        }
    }
}
