//! Whether what should have happened has happened.

use super::web::Web;
use super::{Bottle, BottleReport, START};
use robot::state_directory;
use std::collections::HashSet;
use storage::{PageId, Reader};

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
            let fine = (!by("its time") || due > now.wall)
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

    /// Whether what should happen has happened.
    pub(super) fn judge(mut self, end: f64) -> Result<BottleReport, String> {
        let reader = Reader::open(&state_directory(&self.config.data.0));
        let reader = reader.map_err(|error| error.to_string())?;
        let mut keys = HashSet::new();
        for page in 0..reader.page_count().map_err(|e| e.to_string())? {
            let url = reader.address(PageId(page)).map_err(|e| e.to_string())?.url;
            if !keys.insert(url.clone()) {
                return Err(format!("W2: {url} is known twice"));
            }
        }
        if self.spec.clock_steps == 0 {
            self.agrees_with_itself(&reader)?;
        }
        let now = self.now();
        let status = self.robot().keeper.status_at(now).clone();
        let mut fresh = 0;
        for (number, page) in self.web.pages.iter().enumerate() {
            let open = !page.forbidden || self.web.robots(page.host, end).0 == 404;
            let refused = self.web.patience(page.host, end).is_some();
            if !page.is_alive(end) || !open || refused {
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
                return Err(format!(
                    "{name} was visited {} times, last {:.0} s before the end: {status:#?}",
                    visits.len(),
                    end - last
                ));
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
