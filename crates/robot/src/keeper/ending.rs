//! How a crawl ends: by its limits, when all is quiet, or when it is told to.

use super::work::Tickets;
use super::{Keeper, Until};
use crate::clock::Now;
use crate::message::{Event, Write};
use crate::view::Status;

impl Keeper {
    /// Whether there is nothing left to do.
    pub fn is_done(&self) -> bool {
        let over = self.status.limit.is_some() && self.tickets.is_empty() && self.unstored == 0;
        let quiet = self.until == Until::FetchedOnce && self.is_quiet() && self.fleet_is_quiet();
        self.broken.is_some() || over || quiet
    }

    /// Whether another page may be asked for: those under way count as if they brought one.
    pub(super) fn is_within_limits(&mut self, at: f64) -> bool {
        let limits = &self.config.limits;
        let pages = self.status.first_visits + self.status.revisits;
        let limit = if limits.pages > 0 && pages >= limits.pages {
            format!("limits.pages = {}", limits.pages)
        } else if limits.bytes > 0 && self.status.bytes >= limits.bytes {
            format!("limits.bytes = {}", limits.bytes)
        } else if at >= self.ends {
            format!("limits.time = {:?}", limits.time)
        } else {
            return limits.pages == 0 || pages + (self.tickets.visits() as u64) < limits.pages;
        };
        self.status.limit = Some(limit);
        false
    }

    /// Whether nothing waits, nothing is under way, and everything is on disk.
    pub fn is_quiet(&self) -> bool {
        self.tickets.is_empty()
            && self.unstored == 0
            && self.later.is_empty()
            && self.lines.new_waiting() + self.lines.due_waiting() + self.errands.len() == 0
    }

    /// Whether a job is under way.
    pub fn is_waiting(&self) -> bool {
        !self.tickets.is_empty() && self.broken.is_none()
    }

    /// What must be on disk before the end.
    pub fn close(&mut self, now: Now) -> Vec<Write> {
        self.save_hosts(now.at);
        self.record(now);
        std::mem::take(&mut self.writes)
    }

    /// The last figures, when all others have ended; or what broke. Of what they said last only
    /// that counts which is on disk.
    pub fn settle(
        mut self,
        now: Now,
        heard: impl IntoIterator<Item = Event>,
    ) -> Result<Status, String> {
        let is_on_disk = |event: &Event| matches!(event, Event::Stored(_) | Event::Broken(_));
        self.hear(now, heard.into_iter().filter(is_on_disk));
        self.tickets = Tickets::default();
        self.status.running = false;
        self.look(now);
        self.broken.map_or(Ok(self.status), Err)
    }
}
