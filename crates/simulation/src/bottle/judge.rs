//! Whether what should have happened has happened.

use super::web::Web;
use super::{Bottle, BottleReport, START};
use freshness::policy::LONGEST_TRUST;
use robot::state_directory;
use robot::view::DUE_TIME;
use std::collections::HashSet;
use storage::{PageId, PageState, Reader};
use url::Url;

/// Stated freshness and the truth are as near as that, but for chance.
const TRUE_WITHIN: f64 = 0.03;
const SIGMAS: f64 = 5.0;
/// Hosts at one address, which have their turns one after the other.
const NEIGHBOURS: f64 = 2.0;

impl Bottle {
    /// What is said of when pages are due, and why, agrees with what is said of their last visits.
    fn agrees_with_itself(&mut self, reader: &Reader) -> Result<(), String> {
        let now = self.now();
        let limits = self.config.revisit.limits().map_err(|e| e.to_string())?;
        for (page, wait) in (0..).zip(self.prospects()) {
            let row = reader.page(PageId(page)).map_err(|e| e.to_string())?;
            let last = row.and_then(|row| row.last_visit);
            let (Some(due), Some(last)) = (wait.due, last) else {
                continue;
            };
            let changed = 1.0 - wait.chance_fresh.unwrap_or(1.0);
            let interval = due - last as f64 / 1e3;
            let is = |limit: f64| (interval - limit).abs() < 1.0;
            let by = |word: &str| wait.waits_for.contains(word);
            let fine = (!by(DUE_TIME) || due > now.wall)
                && (!by("least_interval") || is(limits.least_interval))
                && (!by("most_interval") || is(limits.most_interval))
                && (!by("least_chance") || changed < limits.least_chance + 0.05);
            if !fine {
                return Err(format!(
                    "page {page}, due {interval:.1} s after its last visit, changed with a chance of \
                     {changed:.3}: {wait:?}"
                ));
            }
        }
        Ok(())
    }

    /// What `status` counts is what the store has.
    fn counts_what_is_there(&mut self, reader: &Reader) -> Result<(), String> {
        let (mut copies, mut gone) = (0, 0);
        for page in 0..reader.page_count().map_err(|e| e.to_string())? {
            let row = reader.page(PageId(page)).map_err(|e| e.to_string())?;
            match row.map(|row| row.state) {
                Some(PageState::Live | PageState::Redirect) => copies += 1,
                Some(PageState::Gone) => gone += 1,
                _ => {}
            }
        }
        let now = self.now();
        let status = self.robot().keeper.status_at(now);
        let told = (status.pages_fetched, status.pages_gone);
        if told != (copies, gone) {
            return Err(format!(
                "the store has {copies} copies and {gone} pages that are gone, the robot tells of {told:?}"
            ));
        }
        Ok(())
    }

    /// The freshness that is stated of pages with five visits is true, as far as so few pages tell.
    fn states_the_truth(&mut self, reader: &Reader, end: f64) -> Result<(), String> {
        let (mut pages, mut stated, mut variance, mut fresh) = (0.0, 0.0, 0.0, 0.0);
        for (page, wait) in (0..).map(PageId).zip(self.prospects()) {
            let url = reader.address(page).map_err(|e| e.to_string())?.url;
            let url = Url::parse(&url).map_err(|e| e.to_string())?;
            let host = url.host_str().and_then(Web::host_of);
            let number = host.and_then(|host| self.web.find(host, url.path()));
            let (Some(chance), Some(number)) = (wait.chance_fresh, number) else {
                continue;
            };
            let visits = self.record.visits.get(&number);
            let is_plain = self.web.pages[number].redirect.is_none();
            if let Some(&last) = visits
                .filter(|v| v.len() >= 5 && is_plain)
                .and_then(|v| v.last())
            {
                let same = self.web.state(number, end) == self.web.state(number, last);
                pages += 1.0;
                stated += chance;
                variance += chance * (1.0 - chance);
                fresh += f64::from(u8::from(same));
            }
        }
        let allowed: f64 = TRUE_WITHIN * pages + SIGMAS * f64::sqrt(variance + 1.0);
        if (stated - fresh).abs() > allowed {
            return Err(format!(
                "{stated:.1} of {pages} pages are said to be fresh, {fresh} are"
            ));
        }
        Ok(())
    }

    /// The time in which each page of a host can be visited once, by the budget and by its host.
    fn round(&self, revisits_per_second: f64, copies: u64) -> f64 {
        let by_budget = copies as f64 / revisits_per_second;
        let takes = self.spec.interval + self.spec.web.slowest;
        by_budget.max(self.spec.web.pages as f64 * NEIGHBOURS * takes)
    }

    /// Whether what should happen has happened.
    pub(super) fn judge(mut self, end: f64) -> Result<BottleReport, String> {
        self.commit()?;
        let reader = Reader::open(&state_directory(&self.config.data.0));
        let reader = reader.map_err(|error| error.to_string())?;
        let mut keys = HashSet::new();
        for page in 0..reader.page_count().map_err(|e| e.to_string())? {
            let url = reader.address(PageId(page)).map_err(|e| e.to_string())?.url;
            if !keys.insert(url.clone()) {
                return Err(format!("W2: {url} is known twice"));
            }
        }
        self.counts_what_is_there(&reader)?;
        self.states_the_truth(&reader, end)?;
        if self.spec.clock_steps == 0 {
            self.agrees_with_itself(&reader)?;
        }
        let now = self.now();
        let waits = self.prospects();
        let status = self.robot().keeper.status_at(now).clone();
        let round = self.round(status.revisit_budget, status.pages_fetched);
        let mut fresh = 0;
        for (number, page) in self.web.pages.iter().enumerate() {
            let open = !page.forbidden || self.web.robots(page.host, end).0 == 404;
            let refused = self.web.patience(page.host, end).is_some();
            if !page.is_alive(end) || !open || refused || Web::is_crowd(page.host) {
                continue;
            }
            let visits = self
                .record
                .visits
                .get(&number)
                .map_or(&[][..], Vec::as_slice);
            let name = format!("http://{}{}", Web::name(page.host), page.path);
            let Some(&last) = visits.last() else {
                return Err(format!("{name} was never visited: {status:#?}"));
            };
            if visits.len() < 2 || last < START + self.spec.stormy {
                let is_it =
                    |page: &PageId| reader.address(*page).is_ok_and(|known| known.url == name);
                let known = (0..keys.len() as u32).map(PageId).find(is_it);
                let wait = known.map(|page| waits[page.index()].clone());
                let left = wait
                    .as_ref()
                    .and_then(|wait| wait.due)
                    .map(|due| due - now.wall);
                if !left.is_some_and(|left| is_in_time(end - last, left, round)) {
                    let row = known.and_then(|page| reader.page(page).ok().flatten());
                    let failed = row.map(|row| (row.failures_in_a_row, row.last_failure));
                    return Err(format!(
                        "{name} was visited {} times, last {:.0} s before the end; it is due in {left:?} s, where a \
                         round takes {round:.0}; failed {failed:?}: {wait:?} {status:#?}",
                        visits.len(),
                        end - last
                    ));
                }
                self.report.left += 1;
            }
            self.report.live += 1;
            fresh += usize::from(
                page.redirect.is_some()
                    || self.web.state(number, end) == self.web.state(number, last),
            );
        }
        self.report.fresh = fresh as f64 / self.report.live.max(1) as f64;
        self.report.stated = status.estimated_freshness.unwrap_or(0.0);
        self.report.requests = self.record.requests;
        self.report.robots = self.record.robots;
        self.report.by_page = std::mem::take(&mut self.record.visits);
        Ok(self.report)
    }
}

/// Whether a page that was left alone for so long is not late, but for a round that others before it may take, and is left for no
/// longer than the policy trusts what it believes.
fn is_in_time(since: f64, left: f64, round: f64) -> bool {
    left > -round && since + left.max(0.0) <= (LONGEST_TRUST + 1.0) * round
}
