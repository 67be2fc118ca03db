//! What the keeper knows again after a restart: one pass over the pages.

use super::outcomes::wait_after_failure;
use super::pages::Stage;
use super::{Keeper, Until};
use crate::cause;
use crate::clock::Now;
use crate::link_weights::LinkWeights;
use crate::losses::Losses;
use crate::message::Arrived;
use crate::overrides::PageTerms;
use crate::ranks::Ranks;
use frontier::order::{Order, Traits};
use storage::{HostId, PageAddress, PageBrief, PageId, PageRow, PageState, Store, Time};
use url::Url;

/// What is taken over of a page.
struct Kept {
    host: HostId,
    state: PageState,
    tried: bool,
    last_visit: Option<Time>,
    last_failure: Option<(Time, u8)>,
    failures: u16,
    memo: Vec<u8>,
    requisite: bool,
    /// Not to be visited once more in a pass over all pages.
    done: bool,
}

impl Kept {
    fn of(brief: &PageBrief) -> Self {
        Self {
            host: brief.host,
            state: brief.state,
            tried: brief.tried,
            last_visit: brief.last_visit,
            last_failure: brief.last_failure,
            failures: brief.failures_in_a_row,
            memo: brief.memo.to_vec(),
            requisite: brief.is_requisite(),
            done: false,
        }
    }
}

impl Keeper {
    /// Takes over everything the store has; what it has no more is counted.
    pub fn restore(&mut self, now: Now, store: &Store, losses: &mut Losses) -> storage::Result<()> {
        self.link_weights = LinkWeights::read(&self.config, store.reader());
        let ranks = Ranks::read(&self.config, store.reader());
        if ranks.matter() {
            let pages = (0..store.page_count()).map(PageId);
            self.ranks = pages.map(|page| ranks.of(page)).collect();
        }
        for host in 0..store.host_count() {
            // a damaged host keeps its number; its pages are found to have no address
            let (name, blob) = match store.host_row(HostId(host)) {
                Ok(row) => (row.name, row.blob),
                Err(error) => {
                    let what = "hosts are not readable; the delays they asked for are forgotten";
                    losses.note(&error, what);
                    ("http://invalid".into(), Vec::new())
                }
            };
            self.add_host(now, &name, &blob);
        }
        // scope and robots.txt are judged again, and counted then
        let totals = store.reader().totals()?;
        let judged_again = [cause::OUT_OF_SCOPE, cause::ROBOTS, cause::RULE_LIMIT];
        let excluded = (totals.excluded.iter()).filter(|(cause, _)| !judged_again.contains(cause));
        let of_hosts = self.of_hosts.clone();
        for (cause, count) in totals.failed.iter().chain(excluded).chain(&of_hosts) {
            let known = self.status.failures.entry(cause::word(*cause).to_owned());
            *known.or_default() += count;
        }
        let mut pages = (0..).map(PageId);
        store.reader().scan(
            |brief| brief.map(|brief| Kept::of(&brief)),
            |kept| {
                let page = pages.next().expect("pages are numbered by 32 bits");
                match kept {
                    Ok(kept) => {
                        let terms = self.terms(store, page, &kept);
                        self.describe(now, store, page, &kept);
                        self.restore_page(now, page, &kept, terms);
                    }
                    Err(error) => self.restore_damaged(store, page, &error, losses),
                }
            },
        )?;
        self.link_weights = LinkWeights::default();
        self.recall_ages(now, store);
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
        let host = address.as_ref().map_or(HostId(0), |address| address.host);
        let is_requisite = address.as_ref().is_ok_and(PageAddress::is_requisite);
        self.add_page(page, host, is_requisite);
        if address.is_ok() {
            losses.note(error, "pages are not readable; they are fetched again");
            self.wait_first(page);
        }
    }

    /// How a page is treated: URLs are read only where that depends on them.
    fn terms(&self, store: &Store, page: PageId, kept: &Kept) -> PageTerms {
        let overrides = &self.rules.overrides;
        let mut terms = overrides.usual_terms();
        if !overrides.treats_pages_alike() {
            let address = store.address(page).ok();
            if let Some(url) = address.and_then(|address| Url::parse(&address.url).ok()) {
                terms = overrides.page(&url);
                if matches!(kept.state, PageState::Live | PageState::Redirect) && !kept.requisite {
                    overrides.quotas.count_copy(&url);
                }
            }
        }
        terms.rank.weight *= self.link_weights.of(page);
        terms
    }

    /// Reads the URL of a page that waits for its first visit, or may do so, where that decides when it is made.
    fn describe(&mut self, now: Now, store: &Store, page: PageId, kept: &Kept) {
        let matters = self.config.budget.order_of_new == Order::Lasting;
        let is_without_copy = matches!(
            kept.state,
            PageState::New | PageState::Gone | PageState::Excluded
        );
        if matters
            && is_without_copy
            && !kept.requisite
            && let Ok(address) = store.address(page)
        {
            let since = now.from_wall(address.added as f64 / 1e3).min(now.at);
            self.lines.describe(page, Traits::of(&address.url), since);
        }
    }

    /// Puts a page where it waits.
    fn restore_page(&mut self, now: Now, id: PageId, kept: &Kept, terms: PageTerms) {
        self.add_page(id, kept.host, kept.requisite);
        self.resume_page(now, id, kept, terms);
    }

    /// Puts a page that came from another robot where it waits.
    pub(super) fn resume(&mut self, now: Now, arrived: &Arrived) {
        let row = &arrived.row;
        let kept = Kept {
            host: arrived.host,
            state: row.state,
            tried: *row != PageRow::default(),
            last_visit: row.last_visit,
            last_failure: row.last_failure,
            failures: row.failures_in_a_row,
            memo: row.memo.clone(),
            requisite: arrived.requisite,
            // whoever had it fetched it for the fleet, before this robot's own pass or since
            done: true,
        };
        self.resume_page(now, arrived.page, &kept, arrived.terms);
    }

    fn resume_page(&mut self, now: Now, page: PageId, kept: &Kept, terms: PageTerms) {
        if !kept.tried {
            return self.wait_first(page);
        }
        if kept.state != PageState::Elsewhere {
            self.lines.count_page(kept.host);
        }
        let then = |time: Time| now.from_wall(time as f64 / 1e3).min(now.at);
        let failed_at = kept.last_failure.map_or(0.0, |(at, _)| then(at));
        let once = self.until == Until::FetchedOnce;
        if kept.requisite {
            let visited = kept
                .last_visit
                .filter(|_| !(once && kept.done))
                .map_or(now.at, then);
            return self.restore_requisite(page, kept.state, kept.failures, visited);
        }
        match kept.state {
            PageState::New if once => self.wait_in_line(page),
            PageState::New => {
                let wait = wait_after_failure(true, kept.failures, terms.gone_seconds);
                self.try_later(failed_at + wait, page);
            }
            PageState::Live | PageState::Redirect => {
                let visited = kept.last_visit.map_or(now.at, then);
                let memo = Some(&kept.memo[..]).filter(|memo| !memo.is_empty());
                self.revisits
                    .keep(now.at, page, kept.host, terms.rank, visited, memo);
                self.status.pages_fetched += 1;
                if let Some(pass) = self.pass {
                    if visited < pass && !kept.done {
                        self.wait_in_line(page);
                    }
                } else if kept.failures > 0 {
                    let wait = wait_after_failure(false, kept.failures, terms.gone_seconds);
                    self.revisits.failed(page, now.at);
                    self.try_later(failed_at + wait, page);
                }
            }
            PageState::Gone => {
                self.gone.insert(page);
                match self.pass {
                    // it may be back
                    Some(pass) if failed_at < pass && !kept.done => self.wait_in_line(page),
                    Some(_) => {}
                    None => self.try_later(failed_at + terms.gone_seconds, page),
                }
            }
            PageState::Elsewhere => {
                self.pages.set(page, Stage::Elsewhere);
                self.status.pages_elsewhere += 1;
            }
            PageState::Excluded => {
                let cause = kept.last_failure.map_or(0, |(_, cause)| cause);
                if matches!(
                    cause,
                    cause::OUT_OF_SCOPE | cause::ROBOTS | cause::RULE_LIMIT
                ) {
                    // scope and rules may be others now; judging costs no request
                    self.wait_in_line(page);
                } else {
                    self.excluded.insert(page);
                }
            }
        }
    }
}
