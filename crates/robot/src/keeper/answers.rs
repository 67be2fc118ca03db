//! What the keeper tells those who ask.

use super::{Keeper, NONE, SAMPLE};
use crate::message::Question;
use crate::view::{HostView, PageWait};
use crate::visit::now;
use freshness::PageId as PolicyPage;
use frontier::lines::Waiting;
use frontier::robots::{Standing, Verdict};

/// Hosts shown as the slowest.
const SLOWEST: usize = 5;

impl Keeper {
    /// Brings budgets and figures up to date.
    pub(super) fn look(&mut self, at: f64) {
        self.set_budget(at);
        let estimated = self.beliefs.estimated(at, SAMPLE);
        let status = &mut self.status;
        status.seconds = at - self.started;
        status.due_waiting = self.lines.due_waiting() as u64;
        status.pages_gone = self.gone.len() as u64;
        // in line, under way, or to be tried again
        let seen = status.pages_fetched + status.pages_gone + status.pages_excluded;
        status.new_waiting = status.pages_known.saturating_sub(seen);
        status.under_way = self.under_way as u64;
        status.requests_per_second = self.rate.per_second(at);
        status.estimated_freshness = (estimated.copies > 0).then_some(estimated.freshness);
        status.never_revisited = estimated.never_revisited as u64;
        let next = if self.lines.new_waiting() + self.lines.due_waiting() > 0 {
            at
        } else {
            self.next_due
        };
        status.next_due_in = next.is_finite().then_some((next - at).max(0.0));
        let mut slowest: Vec<(f64, u32)> = (0..self.lines.hosts())
            .map(|host| (self.lines.courtesy(host).response, host))
            .filter(|&(response, _)| response > 0.0)
            .collect();
        slowest.sort_by(|a, b| b.0.total_cmp(&a.0));
        slowest.truncate(SLOWEST);
        let named =
            |(response, host): (f64, u32)| (self.hosts[host as usize].origin.clone(), response);
        status.slowest_hosts = slowest.into_iter().map(named).collect();
        if let Ok(mut shown) = self.shown.lock() {
            shown.clone_from(&self.status);
        }
    }

    pub(super) fn answer(&mut self, question: Question) {
        // whoever asked may have gone
        let _ = match question {
            Question::Status(reply) => {
                self.look(now());
                reply.send(self.status.clone()).is_ok()
            }
            Question::Hosts(reply) => {
                let views = (0..self.lines.hosts()).map(|host| self.host_view(host));
                reply.send(views.collect()).is_ok()
            }
            Question::Page(page, reply) => reply.send(self.page_wait(page.0)).is_ok(),
        };
    }

    fn host_view(&self, host: u32) -> HostView {
        let known = &self.hosts[host as usize];
        let waits_for = self.host_waits_for(host, now());
        let courtesy = self.lines.courtesy(host);
        let (new_waiting, due_waiting) = self.lines.waiting_at(host);
        HostView {
            host: known.origin.clone(),
            address: self.lines.address(host),
            new_waiting: new_waiting as u64,
            due_waiting: due_waiting as u64,
            interval: self.lines.interval(host),
            response: courtesy.response,
            crawl_delay: courtesy.crawl_delay,
            robots: robots_word(known.standing.as_deref()).to_owned(),
            waits_for,
        }
    }

    fn host_waits_for(&self, host: u32, at: f64) -> String {
        let words = waiting_words(self.lines.waiting(host, at), at);
        match self.hosts[host as usize].no_address {
            Some(cause) => format!("{words} (no address: {})", crate::cause::word(cause)),
            None => words,
        }
    }

    fn page_wait(&self, page: u32) -> PageWait {
        let at = now();
        let (Some(&host), Some(&number)) = (
            self.host_of.get(page as usize),
            self.numbers.get(page as usize),
        ) else {
            return PageWait::default();
        };
        let line = self.host_waits_for(host, at);
        if number == NONE {
            return PageWait {
                waits_for: format!("its first visit; its host waits for {line}"),
                ..PageWait::default()
            };
        }
        let rate = self.beliefs.rate(number);
        let per_day = |rate: f64| rate * 86_400.0;
        let policy = self.policy.as_ref();
        let due = policy.and_then(|policy| policy.due(PolicyPage(number)));
        let due = due.filter(|due| due.is_finite());
        PageWait {
            changes_per_day: Some(per_day(rate.rate)),
            changes_per_day_interval: Some((per_day(rate.low), per_day(rate.high))),
            chance_fresh: Some(self.beliefs.chance_fresh(number, at)),
            due,
            waits_for: match due {
                Some(due) if due > at => format!("its time, in {:.0} s", due - at),
                _ => format!("the policy's budget; its host waits for {line}"),
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

fn waiting_words(waiting: Waiting, at: f64) -> String {
    match waiting {
        Waiting::ForWork => "work".into(),
        Waiting::ForAnswer => "an answer".into(),
        Waiting::Until(then) => format!("its interval, {:.1} s more", then - at),
        Waiting::ForAddress => "its address".into(),
        Waiting::ForNeighbours(address) => format!("other hosts at {address}"),
        Waiting::ForRobots => "its robots.txt".into(),
        Waiting::ForOpening(hosts) => {
            format!("its site to answer with pages from other hosts ({hosts} wait to be opened)")
        }
        Waiting::ForShare => "connections that its site or network has not taken yet".into(),
        Waiting::ForNothing => "a free connection".into(),
    }
}
