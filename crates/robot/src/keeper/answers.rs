//! What the keeper tells those who ask.

use super::Keeper;
use super::outlook::greatest;
use super::pages::Stage;
use crate::clock::Now;
use crate::view::{DUE_TIME, HostView, PageWait, Status};
use freshness::revisits::Limit;
use frontier::lines::Waiting;
use frontier::robots::{Standing, Verdict};
use storage::{HostId, PageId};

/// Hosts shown as the slowest.
const SLOWEST: usize = 5;
/// Pages looked at for the estimate of freshness.
const SAMPLE: usize = 20_000;

impl Keeper {
    /// Brings the figures up to date.
    pub(super) fn look(&mut self, now: Now) {
        let at = now.at;
        let estimated = self.revisits.estimated(at, SAMPLE);
        let (held_up, first_pass_seconds) = self.held_up(now);
        let asked_now = self.asked_now();
        let status = &mut self.status;
        (status.held_up, status.first_pass_seconds) = (held_up, first_pass_seconds);
        status.asked_now = asked_now;
        status.rule_limits = self.rules.overrides.quotas.views();
        status.seconds = at - self.started;
        status.unopened_hosts = self.lines.unopened() as u64;
        status.due_waiting = self.lines.due_waiting() as u64;
        status.pages_gone = self.gone.len() as u64;
        status.pages_excluded = self.excluded.len() as u64;
        // in line, under way, or to be tried again
        let seen = status.pages_fetched
            + status.pages_gone
            + status.pages_excluded
            + status.pages_elsewhere;
        status.new_waiting = status.pages_known.saturating_sub(seen);
        status.under_way = self.tickets.requests() as u64;
        status.requests_per_second = self.rate.per_second(at);
        status.estimated_freshness = (estimated.copies > 0).then_some(estimated.freshness);
        status.freshness_interval = (estimated.copies > 0).then_some(estimated.interval);
        status.never_revisited = estimated.never_revisited as u64;
        let next = if self.lines.new_waiting() + self.lines.due_waiting() > 0 {
            at
        } else {
            self.next_due
        };
        status.next_due_in = next.is_finite().then_some((next - at).max(0.0));
        let answering = (self.lines.hosts())
            .map(|host| (self.lines.courtesy(host).response, host))
            .filter(|&(response, _)| response > 0.0);
        let slowest = greatest(answering.collect(), SLOWEST);
        let named =
            |(response, host): (f64, HostId)| (self.hosts[host.index()].origin.clone(), response);
        status.slowest_hosts = slowest.into_iter().map(named).collect();
    }

    /// Requests under way, and names being looked up.
    pub fn requests(&self) -> usize {
        self.tickets.requests()
    }

    /// How it goes now.
    pub fn status_at(&mut self, now: Now) -> &Status {
        self.look(now);
        &self.status
    }

    /// All hosts, as they are scheduled.
    pub fn hosts(&self, now: Now) -> Vec<HostView> {
        let hosts = self.lines.hosts();
        hosts.map(|host| self.host_view(now, host)).collect()
    }

    fn host_view(&self, now: Now, host: HostId) -> HostView {
        let known = &self.hosts[host.index()];
        let courtesy = self.lines.courtesy(host);
        let (new_waiting, due_waiting) = self.lines.waiting_at(host);
        HostView {
            host: known.origin.clone(),
            address: (self.lines.address(host))
                .filter(|&address| !fetch::proxy::is_stand_in(address)),
            new_waiting: new_waiting as u64,
            due_waiting: due_waiting as u64,
            interval: self.lines.interval(host),
            response: courtesy.response,
            crawl_delay: courtesy.crawl_delay,
            robots: robots_word(known.standing.as_deref()).to_owned(),
            waits_for: self.host_waits_for(host, now),
        }
    }

    pub(super) fn host_waits_for(&self, host: HostId, now: Now) -> String {
        let at = now.at;
        if self.is_given_up(host) {
            return "nothing: it was given up".into();
        }
        let waiting = self.lines.waiting(host, at);
        if let (Waiting::ForHours(_), Some((hours, opens))) = (waiting, self.opens(now, host)) {
            let left = crate::view::span(opens - at);
            return format!("its hours ({hours}), {left} more");
        }
        let known = &self.hosts[host.index()];
        let verdict = known.standing.as_deref().map(|standing| &standing.verdict);
        let words = match (waiting, verdict) {
            (Waiting::Until(then), Some(Verdict::DisallowForNow)) if known.obeyed => {
                let left = crate::view::span(then - at);
                format!("its robots.txt, which cannot be had; it is asked for again in {left}")
            }
            _ => waiting_words(waiting, at),
        };
        match known.no_address {
            Some(cause) => format!("{words} (no address: {})", crate::cause::word(cause)),
            None => words,
        }
    }

    /// How a page is scheduled.
    pub fn page(&self, now: Now, page: PageId) -> PageWait {
        if page.index() >= self.pages.len() {
            return PageWait::default();
        }
        let host = self.pages.host(page);
        let line = self.host_waits_for(host, now);
        let opens = self.opens(now, host).map_or(0.0, |(_, opens)| opens);
        let opening = self.lines.courtesy(host).not_before.max(opens);
        let host_opens = (opening > now.at).then(|| now.to_wall(opening));
        let waits_for = match self.pages.stage(page) {
            Stage::Away | Stage::AwayAndDue => "the answer that is under way".to_owned(),
            Stage::Later | Stage::AwayThenLater => "its next try; the last one failed".to_owned(),
            Stage::InLine => format!("its turn; its host waits for {line}"),
            Stage::Elsewhere => "nothing: another robot has it".to_owned(),
            Stage::Idle => "nothing".to_owned(),
        };
        let Some(belief) = self.revisits.belief(page) else {
            let of_requisite = self.requisite_waits(page);
            return PageWait {
                waits_for: of_requisite.unwrap_or(format!("its first visit: {waits_for}")),
                host_opens,
                ..PageWait::default()
            };
        };
        let per_day = |rate: f64| rate * 86_400.0;
        let due = self.revisits.due(page).filter(|due| due.is_finite());
        PageWait {
            changes_per_day: Some(per_day(belief.rate.median)),
            changes_per_day_interval: Some((per_day(belief.rate.low), per_day(belief.rate.high))),
            chance_fresh: self.revisits.chance_fresh(page, now.at),
            weight: self.revisits.weight(page).filter(|&weight| weight != 1.0),
            due: due.map(|due| now.to_wall(due)),
            host_opens,
            waits_for: match due {
                _ if self.pages.stage(page) != Stage::Idle => waits_for,
                Some(due) if due > now.at => {
                    format!("{DUE_TIME}{}", due_words(self.revisits.limit(page, now.at)))
                }
                _ => format!("its share of the budget; its host waits for {line}"),
            },
        }
    }
}

pub(crate) fn robots_word(standing: Option<&Standing>) -> &'static str {
    match standing.map(|standing| &standing.verdict) {
        None => "not asked yet",
        Some(Verdict::Rules(_)) => "rules",
        Some(Verdict::AllowAll) => "none: everything allowed",
        Some(Verdict::DisallowForNow) => "unreachable: nothing allowed for now",
    }
}

/// Why its time is when it is.
fn due_words(limit: Option<Limit>) -> &'static str {
    match limit {
        Some(Limit::LeastInterval) => "; no visit may come sooner (revisit.least_interval)",
        Some(Limit::MostInterval) => "; no page waits longer (revisit.most_interval)",
        Some(Limit::LeastChance) => "; until then a change is unlikely (revisit.least_chance)",
        None => "; until then other visits are worth more",
    }
}

fn waiting_words(waiting: Waiting, at: f64) -> String {
    match waiting {
        Waiting::ForOwner => "the fleet to confirm that it belongs to this robot".into(),
        Waiting::ForWork => "work".into(),
        Waiting::ForAnswer => "an answer".into(),
        Waiting::Until(then) if then - at > 3600.0 => {
            format!("the time it asked for, {:.1} h more", (then - at) / 3600.0)
        }
        Waiting::Until(then) => format!("its interval, {:.1} s more", then - at),
        Waiting::ForHours(_) => "its hours".into(),
        Waiting::ForAddress => "its address".into(),
        Waiting::ForNeighbours(address) => format!("other hosts at {address}"),
        Waiting::ForRobots => "its robots.txt".into(),
        Waiting::ForOpening(hosts) => {
            format!("its site to answer with pages from other hosts ({hosts} wait to be opened)")
        }
        Waiting::ForShare => "a connection; its site or network has taken its share".into(),
        Waiting::ForNothing => "a free connection".into(),
    }
}
