//! At which rate a site's hosts are opened.
//!
//! Names cost their owner nothing (wildcard DNS), requests cost us. A site begins with credit for a
//! few hosts; every host that answers with a page earns more than it cost, and time earns a little,
//! so that every host has its day.

use super::share::GroupId;
use ground::HostId;
use std::collections::VecDeque;

/// Hosts that are opened on trust.
const FIRST_HOSTS: f64 = 8.0;
/// What the first page of a host earns.
const EARNED_BY_A_PAGE: f64 = 2.0;
/// What is earned by waiting, one in so many seconds.
const SECONDS_A_HOST: f64 = 5.0;

/// The number of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SiteId(pub u32);

impl SiteId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Debug)]
pub(super) struct Site {
    pub group: GroupId,
    credit: f64,
    as_of: f64,
    unopened: VecDeque<HostId>,
    /// Its place among the instants; others that it has there no longer count.
    pub timed: Option<i64>,
}

impl Site {
    pub fn new(group: GroupId) -> Self {
        Self {
            group,
            credit: FIRST_HOSTS,
            as_of: f64::INFINITY,
            unopened: VecDeque::new(),
            timed: None,
        }
    }

    /// A host that is to be opened.
    pub fn push(&mut self, host: HostId) {
        self.unopened.push_back(host);
    }

    /// Hosts that wait to be opened.
    pub fn unopened(&self) -> usize {
        self.unopened.len()
    }

    /// The next host, if it is earned.
    pub fn open(&mut self, now: f64) -> Option<HostId> {
        if self.credit < FIRST_HOSTS {
            let earned = (now - self.as_of).max(0.0) / SECONDS_A_HOST;
            self.credit = (self.credit + earned).min(FIRST_HOSTS);
        }
        self.as_of = now;
        // a sum of parts that should be one
        if self.credit < 1.0 - 1e-9 {
            return None;
        }
        let host = self.unopened.pop_front()?;
        self.credit -= 1.0;
        Some(host)
    }

    /// When the next host may be opened at the latest.
    pub fn next(&self) -> f64 {
        self.as_of + (1.0 - self.credit).max(0.0) * SECONDS_A_HOST
    }

    /// One of its hosts answered with its first page.
    pub fn earn(&mut self) {
        self.credit += EARNED_BY_A_PAGE;
    }

    /// The host turned out to have no address: nobody was asked.
    pub fn refund(&mut self) {
        self.credit += 1.0;
    }
}
