//! A crawl that ends: every page is visited once, or given up in the end.
//!
//! Whoever waits for the end does not want to wait for a dead host's back-off of hours: pages have
//! three tries, and so has the address and the robots.txt of a host. A host that brings nothing but
//! trouble many times in a row is given up with all its pages.

use super::pages::Stage;
use super::{Keeper, Until};
use crate::cause;
use storage::HostId;

/// Tries of a page, of an address, of a robots.txt.
pub(crate) const TRIES: u16 = 3;
/// Seconds before the second try; four times as many before the third.
const FIRST_RETRY: f64 = 5.0;
/// Requests in a row that were not answered, or answered with a complaint.
const MOST_TROUBLE: u16 = 8;

/// Seconds before the next try after so many failures; none when it is given up.
pub(super) fn retry_wait(failures: u16) -> Option<f64> {
    let factor = 4f64.powi(i32::from(failures.saturating_sub(1)));
    (failures < TRIES).then_some(FIRST_RETRY * factor)
}

/// Seconds before a name without an address is asked for again.
pub(super) fn ask_again(until: Until) -> f64 {
    match until {
        Until::Stopped => 300.0,
        Until::FetchedOnce => FIRST_RETRY,
    }
}

impl Keeper {
    /// Whether nothing more is asked of the host in this crawl.
    pub(super) fn is_given_up(&self, host: HostId) -> bool {
        self.hosts[host.index()].given_up
    }

    /// Counts a try that failed of a host's address or robots.txt; says in how many seconds the
    /// next one is due. After the last the host is given up.
    pub(super) fn host_failed(&mut self, host: HostId, usual: f64) -> f64 {
        if self.until == Until::Stopped {
            return usual;
        }
        let known = &mut self.hosts[host.index()];
        known.failures = known.failures.saturating_add(1);
        let wait = retry_wait(known.failures);
        if wait.is_none() {
            self.give_up(host);
        }
        wait.unwrap_or(usual)
    }

    /// No address was found, for this cause; some are final.
    pub(super) fn address_failed(&mut self, host: HostId, cause: u8) {
        if matches!(
            cause,
            cause::ADDRESS | cause::NAME | cause::PLACE | cause::NO_SUCH_NAME
        ) {
            self.hosts[host.index()].failures = TRIES;
        }
        self.host_failed(host, 0.0);
    }

    /// A request to the host had no answer, or a complaint for one.
    pub(super) fn host_in_trouble(&mut self, host: HostId) {
        let known = &mut self.hosts[host.index()];
        known.trouble = known.trouble.saturating_add(1);
        if self.until == Until::FetchedOnce && known.trouble >= MOST_TROUBLE {
            self.give_up(host);
        }
    }

    /// Asks nothing more of the host; its pages are found without a copy at the end.
    fn give_up(&mut self, host: HostId) {
        self.hosts[host.index()].given_up = true;
        for page in self.lines.take_pages(host) {
            self.pages.set(page, Stage::Idle);
        }
    }
}
