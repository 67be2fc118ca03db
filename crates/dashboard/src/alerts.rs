//! What somebody should know, in words.

use crate::crawl::Crawl;
use crate::words::duration;
use desk::terminal::count;
use robot::offline;
use robot::view::Status;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use storage::{HostId, Observations, Outcome, Position, Reader, Time};

/// Between two looks.
const PACE: Duration = Duration::from_secs(5);
/// Visits looked at in a look; when there are more, those before are left out.
const MOST_VISITS: u64 = 20_000;
/// Visits of before the start that are looked at.
const BEFORE: u64 = 100_000;
/// Hosts kept in mind, and hosts named.
const MOST_HOSTS: usize = 10_000;
const NAMED: usize = 5;
/// What lasts less is no news.
const LONG: Time = 600_000;
const OFTEN: u32 = 3;

/// Something that somebody should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Alert {
    pub text: String,
    pub is_bad: bool,
}

impl Alert {
    pub fn class(&self) -> &'static str {
        if self.is_bad { "bad" } else { "note" }
    }
}

fn bad(text: String) -> Alert {
    Alert { text, is_bad: true }
}

fn note(text: String) -> Alert {
    Alert {
        text,
        is_bad: false,
    }
}

/// A host that has brought nothing since.
#[derive(Clone, Copy, Debug)]
struct Streak {
    since: Time,
    last: Time,
    times: u32,
    status: u16,
    cause: u8,
}

/// What must be remembered for it.
#[derive(Default)]
pub(crate) struct Alerts {
    looked: Option<Instant>,
    log: Option<(Reader, Observations)>,
    failing: HashMap<HostId, Streak>,
}

impl Alerts {
    /// All there is to be said now, if it is time to look.
    pub fn look(&mut self, crawl: &Crawl, status: &Status, now: Time) -> Option<Vec<Alert>> {
        if self.looked.is_some_and(|looked| looked.elapsed() < PACE) {
            return None;
        }
        self.looked = Some(Instant::now());
        if let Err(error) = self.follow(crawl) {
            tracing::debug!(%error, "the log of visits cannot be followed");
            self.log = None;
        }
        let mut alerts = general(status);
        alerts.extend(self.hosts(now));
        Some(alerts)
    }

    /// Reads what was visited since the last look.
    fn follow(&mut self, crawl: &Crawl) -> storage::Result<()> {
        let end = storage::log_end(&robot::state_directory(&crawl.data))?;
        let at = self.log.as_ref().map(|(_, log)| log.position().0);
        let from = at.unwrap_or_else(|| end.0.saturating_sub(BEFORE));
        if at.is_none() || (at.is_some() && end.0 - from.min(end.0) > MOST_VISITS) {
            let reader = crawl.reader()?;
            let from = if at.is_none() {
                from
            } else {
                end.0 - MOST_VISITS
            };
            let log = reader.observations(Position(from))?;
            self.log = Some((reader, log));
        }
        let Some((reader, log)) = &mut self.log else {
            return Ok(());
        };
        while let Some(visit) = log.read()? {
            let failed = match visit.outcome {
                Outcome::Failed(cause) => Some(cause),
                _ => None,
            };
            // whoever succeeds is looked up only where somebody fails
            if failed.is_none() && self.failing.is_empty() {
                continue;
            }
            let Ok(host) = reader.brief(visit.page, |brief| brief.host) else {
                continue;
            };
            let Some(cause) = failed else {
                self.failing.remove(&host);
                continue;
            };
            // what a server says of one page is no trouble of the host
            let is_of_host = visit.status == 0 || visit.status == 429 || visit.status >= 500;
            if !is_of_host || self.failing.len() >= MOST_HOSTS {
                continue;
            }
            let streak = self.failing.entry(host).or_insert(Streak {
                since: visit.at,
                last: visit.at,
                times: 0,
                status: 0,
                cause,
            });
            streak.last = visit.at;
            streak.times += 1;
            (streak.status, streak.cause) = (visit.status, cause);
        }
        Ok(())
    }

    /// The hosts that have been in trouble for long.
    fn hosts(&self, now: Time) -> Vec<Alert> {
        let Some((reader, _)) = &self.log else {
            return Vec::new();
        };
        let is_long = |streak: &Streak| streak.times >= OFTEN && now - streak.since >= LONG;
        let mut long: Vec<_> = self
            .failing
            .iter()
            .filter(|(_, streak)| is_long(streak))
            .collect();
        long.sort_by_key(|(host, streak)| (streak.since, **host));
        let mut alerts = Vec::new();
        for (host, streak) in long.iter().take(NAMED) {
            let Ok(Some(row)) = reader.host(**host) else {
                continue;
            };
            let lasting = duration((now - streak.since) as f64 / 1e3);
            let what = if streak.status > 0 {
                format!("has answered {} for {lasting}", streak.status)
            } else {
                let cause = robot::cause::word(streak.cause);
                format!("has not been reachable for {lasting} ({cause})")
            };
            let asked = count(u64::from(streak.times), "request");
            let since = offline::host(&row.blob).standing;
            let closed = since
                .and_then(|standing| standing.unreachable_since)
                .is_some();
            let more = if closed {
                "; its robots.txt cannot be fetched, so nothing else is requested"
            } else {
                ""
            };
            alerts.push(bad(format!("{} {what}, {asked}{more}.", row.name)));
        }
        if long.len() > NAMED {
            let others = count((long.len() - NAMED) as u64, "other host");
            alerts.push(bad(format!(
                "Nothing has come from {others} for more than 10 minutes."
            )));
        }
        alerts
    }
}

/// What the figures alone tell.
fn general(status: &Status) -> Vec<Alert> {
    let mut alerts = Vec::new();
    if status.paused {
        alerts.push(bad(
            "The crawl is paused: no request is made until it is resumed.".into(),
        ));
    }
    if !status.running {
        let text = "No robot is at work. These figures come from the data directory, and copies age meanwhile.";
        alerts.push(note(text.into()));
    }
    if let Some(limit) = &status.limit {
        alerts.push(bad(format!("The crawl ends because it reached {limit}.")));
    }
    for hook in &status.webhooks {
        if let Some(why) = &hook.failing {
            alerts.push(bad(format!(
                "The webhook {} accepts nothing: {why}. Deliveries are being retried.",
                hook.to
            )));
        }
    }
    for limit in status.rule_limits.iter().filter(|limit| limit.left_out > 0) {
        let pages = count(limit.left_out, "page");
        alerts.push(note(format!(
            "Rule {} ({}) is used up; {pages} left out.",
            limit.rule, limit.place
        )));
    }
    if status.trapped > 0 {
        let links = count(status.trapped, "link");
        alerts.push(note(format!(
            "{links} led into traps and were not followed."
        )));
    }
    if status.cut_bodies > 0 {
        let answers = count(status.cut_bodies, "answer");
        alerts.push(note(format!(
            "{answers} incomplete: longer than fetch.max_bytes allows, broken off, or wrongly encoded."
        )));
    }
    alerts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_speak() {
        let status = Status {
            running: true,
            paused: true,
            trapped: 1,
            ..Status::default()
        };
        let texts: Vec<String> = general(&status)
            .into_iter()
            .map(|alert| alert.text)
            .collect();
        assert!(texts[0].contains("paused"), "{texts:?}");
        assert!(texts[1].starts_with("1 link led into traps"), "{texts:?}");
        assert!(
            general(&Status {
                running: true,
                ..Status::default()
            })
            .is_empty()
        );
    }
}
