//! What a robot may spend: its part of the fleet's requests and of the lines that its groups share.
//!
//! The protocol keeps to the budget of requests by itself, at the gate. The keeper has to know of it too, or it would plan
//! with what others spend.

use crate::fleet::groups::Groups;
use fleet::identity::GroupId;
use fleet::plan::{Plan, Standing};
use robot::config::Config;
use robot::message::Budgets;
use robot::view::Allowance;
use robot::{Crawl, Sight};
use std::time::{Duration, Instant};

/// So often it is looked whether it has changed.
const EVERY: Duration = Duration::from_secs(1);
/// Smaller changes are not worth a word.
const CHANGE: f64 = 0.02;
/// Where nothing is allowed: no limit is written as 0.
const LEAST: f64 = 0.001;

pub struct Purse {
    config: Config,
    last: Option<Part>,
    next: Instant,
}

/// A robot's part.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    /// Requests and bytes per second; 0 means no limit.
    requests: f64,
    bytes: f64,
    /// Of what the fleet has.
    share: f64,
}

/// Requests per second that the fleet's budget allows a robot; nothing without a budget.
pub fn allowed(protocol: &fleet::robot::Robot) -> Option<f64> {
    let window = protocol.window() as f64 / 1e3;
    Some(f64::from(protocol.allowance()?) / window)
}

impl Purse {
    pub fn new(config: &Config) -> Self {
        Self {
            config: config.clone(),
            last: None,
            next: Instant::now(),
        }
    }

    /// Tells the crawl what it may spend, if that has changed.
    pub fn look(&mut self, sight: &Sight, groups: &Groups, crawl: &Crawl) {
        if Instant::now() < self.next {
            return;
        }
        self.next = Instant::now() + EVERY;
        let part = sight.look(|seam| {
            let protocol = seam.protocol();
            let plans: Vec<&Plan> = protocol.plans().map(|plan| &*plan.0).collect();
            part(&self.config, groups, &plans, allowed(protocol))
        });
        let Some(part) = part else { return };
        if self.last.is_some_and(|last| last.is_near(part)) {
            return;
        }
        if let Some(budgets) = part.budgets(&self.config) {
            self.last = Some(part);
            crawl.set_budgets(budgets);
        }
    }
}

/// What each member of a group gets of what is divided evenly.
fn evenly(plan: &Plan) -> f64 {
    let active = (plan.seats.iter()).filter(|seat| seat.standing == Standing::Active);
    1.0 / active.count().max(1) as f64
}

fn part(config: &Config, groups: &Groups, plans: &[&Plan], allowed: Option<f64>) -> Part {
    let fleet = config.budget.requests_per_second;
    let (mut bytes, mut even) = (f64::INFINITY, 1.0);
    // from the robot's own group up: a line is shared by all that are below it
    for plan in plans.iter().rev() {
        even *= evenly(plan);
        let line = match plan.parent {
            Some(_) => line_of(groups, plan.group),
            None => config.budget.bytes_per_second,
        };
        if line > 0.0 {
            bytes = bytes.min(line * even);
        }
    }
    Part {
        requests: allowed.map_or(fleet, |allowed| allowed.max(LEAST)),
        bytes: if bytes.is_finite() {
            bytes.max(1.0)
        } else {
            0.0
        },
        share: match allowed {
            Some(allowed) if fleet > 0.0 => (allowed / fleet).min(1.0),
            _ => even,
        },
    }
}

fn line_of(groups: &Groups, group: GroupId) -> f64 {
    let known = groups.with(group);
    known.map_or(0.0, |known| known.bytes_per_second as f64)
}

impl Part {
    fn is_near(self, other: Self) -> bool {
        let near = |a: f64, b: f64| (a - b).abs() <= CHANGE * a.max(b);
        near(self.requests, other.requests)
            && near(self.bytes, other.bytes)
            && near(self.share, other.share)
    }

    fn budgets(self, config: &Config) -> Option<Budgets> {
        let mut budgets = Allowance::of(config).read().ok()?;
        budgets.requests_per_second = self.requests;
        budgets.bytes_per_second = self.bytes;
        budgets.revisits = budgets.revisits.part(self.share);
        Some(budgets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fleet::identity::{Member, RobotId};
    use fleet::plan::Seat;

    fn plan(group: u64, parent: Option<u64>, members: u64) -> Plan {
        let mut plan = Plan::founding(GroupId(group), parent.map(GroupId));
        for member in 0..members {
            plan.seats
                .push(Seat::new(Member::Robot(RobotId(member)), 1, 1));
        }
        plan
    }

    #[test]
    fn a_line_is_shared_by_all_below_it() {
        let mut groups = Groups::founded("web");
        groups.groups.push(crate::fleet::groups::Group {
            id: 2,
            name: "braga".into(),
            above: Some(1),
            nodes: false,
            bytes_per_second: 900,
        });
        let mut config = Config::default();
        config.budget.requests_per_second = 10.0;
        let (top, site) = (plan(1, None, 2), plan(2, Some(1), 3));
        let got = part(&config, &groups, &[&top, &site], Some(2.5));
        assert_eq!((got.requests, got.bytes, got.share), (2.5, 300.0, 0.25));
        // the fleet's own line is the narrower one
        config.budget.bytes_per_second = 600.0;
        let got = part(&config, &groups, &[&top, &site], Some(0.0));
        assert_eq!((got.requests, got.bytes, got.share), (LEAST, 100.0, 0.0));
        // no budget of requests, no line
        config.budget.requests_per_second = 0.0;
        config.budget.bytes_per_second = 0.0;
        let got = part(&config, &Groups::founded("web"), &[&top, &site], None);
        assert_eq!((got.requests, got.bytes, got.share), (0.0, 0.0, 1.0 / 6.0));
    }
}
