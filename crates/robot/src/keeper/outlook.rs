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
        let waiting = (self.lines.hosts())
            .filter(|&host| self.lines.waiting_at(host).0 > 0)
            .map(|host| (seconds(host), host));
        let longest = greatest(waiting.collect(), SHOWN);
        let held_up = longest.iter().map(|&(seconds, host)| HeldUp {
            host: self.hosts[host.index()].origin.clone(),
            new_waiting: self.lines.waiting_at(host).0 as u64,
            seconds,
            waits_for: self.host_waits_for(host, now),
        });
        let seconds = longest.first().map(|(seconds, _)| *seconds);
        (held_up.collect(), seconds)
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

/// The hosts with the greatest figures, in that order; there may be a million, so the others are not put in order.
pub(super) fn greatest(mut hosts: Vec<(f64, HostId)>, most: usize) -> Vec<(f64, HostId)> {
    let order = |a: &(f64, HostId), b: &(f64, HostId)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    if hosts.len() > most {
        hosts.select_nth_unstable_by(most, order);
        hosts.truncate(most);
    }
    hosts.sort_unstable_by(order);
    hosts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_come_first_and_those_found_first_before_their_equals() {
        let figures = [3.0, 9.0, 1.0, 9.0, 4.0];
        let hosts = (0..).map(HostId);
        let hosts: Vec<(f64, HostId)> = figures.into_iter().zip(hosts).collect();
        let wanted = [(9.0, HostId(1)), (9.0, HostId(3)), (4.0, HostId(4))];
        assert_eq!(greatest(hosts.clone(), 3), wanted);
        assert_eq!(greatest(hosts, 8).len(), 5);
    }
}
