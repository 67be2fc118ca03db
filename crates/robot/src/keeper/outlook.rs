//! What the first pass waits for, and what is being asked now: for those who watch.

use super::Keeper;
use crate::clock::Now;
use crate::view::HeldUp;
use storage::HostId;

/// Hosts shown.
const SHOWN: usize = 3;

impl Keeper {
    /// The hosts that will be the last to have all their new pages visited, and in how many seconds, as far
    /// as is known now.
    pub(super) fn held_up(&self, now: Now) -> (Vec<HeldUp>, Option<f64>) {
        let seconds = |host: HostId| {
            let (new, _) = self.lines.waiting_at(host);
            let courtesy = self.lines.courtesy(host);
            let each = self.lines.interval(host) + courtesy.response;
            let opens = self.opens(now, host).map_or(0.0, |(_, opens)| opens);
            // a Retry-After is waited for as closed hours are
            let begins = opens.max(courtesy.not_before) - now.at;
            let after_the_first = new.saturating_sub(1) as f64 * each;
            begins.max(each) + after_the_first / f64::from(self.lines.parallel(host))
        };
        let mut waiting: Vec<(f64, HostId)> = (self.lines.hosts())
            .filter(|&host| self.lines.waiting_at(host).0 > 0)
            .map(|host| (seconds(host), host))
            .collect();
        waiting.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let longest = waiting.first().map(|(seconds, _)| *seconds);
        let shown = waiting.into_iter().take(SHOWN);
        let held_up = shown.map(|(seconds, host)| HeldUp {
            host: self.hosts[host.index()].origin.clone(),
            new_waiting: self.lines.waiting_at(host).0 as u64,
            seconds,
            waits_for: self.host_waits_for(host, now),
        });
        (held_up.collect(), longest)
    }

    /// Some of the hosts that are being asked now.
    pub(super) fn asked_now(&self) -> Vec<String> {
        let mut hosts = self.tickets.hosts(SHOWN);
        hosts.sort_unstable();
        hosts.dedup();
        let named = |host: HostId| self.hosts[host.index()].origin.clone();
        hosts.into_iter().map(named).collect()
    }
}
