//! What others see of a running crawl: plain values, made for looking at.

use crate::config::{Config, Invalid};
use crate::message::Budgets;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How a webhook goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookView {
    /// Scheme, name and port of the receiver; the rest may be secret.
    pub to: String,
    /// Changes that it took, since the start.
    pub told: u64,
    /// Changes that it refused for good, since the start.
    pub refused: u64,
    /// Visits of which it was not told whether they were changes, since the start: the log had dropped them,
    /// or they cannot be read.
    #[serde(default)]
    pub lost: u64,
    /// Why it takes nothing at the moment.
    pub failing: Option<String>,
}

/// The state of the crawl.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Whether a robot is at work.
    pub running: bool,
    /// Whether somebody has it wait: no request is made until they have it go on.
    #[serde(default)]
    pub paused: bool,
    /// Seconds since it started.
    pub seconds: f64,
    /// Hosts known.
    pub hosts: u64,
    /// Hosts that are not asked yet: their site must answer with pages from others first.
    #[serde(default)]
    pub unopened_hosts: u64,
    /// Pages admitted.
    pub pages_known: u64,
    /// Pages of which there is a copy.
    pub pages_fetched: u64,
    /// Pages that are gone.
    pub pages_gone: u64,
    /// Pages not to be fetched, by robots.txt, scope or type.
    pub pages_excluded: u64,
    /// Pages that another robot has.
    #[serde(default)]
    pub pages_elsewhere: u64,
    /// URLs and rows of other robots that were not taken: out of scope, at an address that may not be
    /// contacted, or not readable.
    #[serde(default)]
    pub refused_from_peers: u64,
    /// Pages that came from other robots without what was learnt of them, because clocks differ.
    #[serde(default)]
    pub unlearnt: u64,
    /// What they embed.
    #[serde(default)]
    pub requisites: RequisiteCounts,
    /// Pages waiting for their first visit.
    pub new_waiting: u64,
    /// Pages waiting for a revisit that is due.
    pub due_waiting: u64,
    /// Requests under way.
    pub under_way: u64,
    /// Requests made since the start.
    pub requests: u64,
    /// Requests per second lately.
    pub requests_per_second: f64,
    /// Bytes received since the start.
    pub bytes: u64,
    /// First visits since the start.
    pub first_visits: u64,
    /// Revisits since the start.
    pub revisits: u64,
    /// Changes of the main text found since the start.
    pub changes: u64,
    /// Changes of nothing but the surroundings found since the start.
    pub minor_changes: u64,
    /// Failures since the crawl began, by cause; pages that are excluded are counted once.
    pub failures: BTreeMap<String, u64>,
    /// Links that led into traps since the start.
    pub trapped: u64,
    /// Links left out because they were too long, since the start.
    pub cut_links: u64,
    /// Copies that are cut, by the limits of bytes, since the start.
    pub cut_bodies: u64,
    /// The share of copies that are current, by the model.
    pub estimated_freshness: Option<f64>,
    /// The 95 % interval of that: wide where little is known.
    #[serde(default)]
    pub freshness_interval: Option<(f64, f64)>,
    /// Copies never compared with a second visit: for them the estimate rests on their hosts.
    pub never_revisited: u64,
    /// Revisits per second allowed.
    pub revisit_budget: f64,
    /// The limit by which the crawl ends.
    #[serde(default)]
    pub limit: Option<String>,
    /// The limits of rules, and how far they are used up.
    #[serde(default)]
    pub rule_limits: Vec<RuleLimit>,
    /// Who is told of changes.
    #[serde(default)]
    pub webhooks: Vec<WebhookView>,
    /// Seconds until something is due.
    pub next_due_in: Option<f64>,
    /// The hosts that answer slowest, with seconds.
    pub slowest_hosts: Vec<(String, f64)>,
    /// The hosts that new pages wait for longest.
    #[serde(default)]
    pub held_up: Vec<HeldUp>,
    /// Seconds until every page known has been visited once, by politeness alone.
    #[serde(default)]
    pub first_pass_seconds: Option<f64>,
    /// Some of the hosts that are being asked now.
    #[serde(default)]
    pub asked_now: Vec<String>,
}

/// Budgets as people write them; 0 means no limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Allowance {
    /// Requests per second in all.
    pub requests_per_second: f64,
    /// Bytes per second in all.
    pub bytes_per_second: f64,
    /// What revisits get: a share such as `20%`, or visits such as `2000/day`.
    pub revisits: String,
}

impl Allowance {
    /// Those that a crawl is configured with.
    pub fn of(config: &Config) -> Self {
        Self {
            requests_per_second: config.budget.requests_per_second,
            bytes_per_second: config.budget.bytes_per_second,
            revisits: config.revisit.budget.clone(),
        }
    }

    /// Checked as in a configuration.
    pub fn read(&self) -> Result<Budgets, Invalid> {
        let mut config = Config::default();
        config.budget.requests_per_second = self.requests_per_second;
        config.budget.bytes_per_second = self.bytes_per_second;
        config.revisit.budget.clone_from(&self.revisits);
        config.check()?;
        Ok(Budgets {
            requests_per_second: self.requests_per_second,
            bytes_per_second: self.bytes_per_second,
            revisits: config.revisit.budget()?,
        })
    }
}

/// How much of what fits a rule may be had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleLimit {
    /// Which rule, from 1.
    pub rule: u64,
    /// What it is about.
    pub place: String,
    /// Pages with a copy.
    pub pages: u64,
    /// The most there may be.
    pub most_pages: Option<u64>,
    /// Bytes received.
    pub bytes: u64,
    /// The most there may be.
    pub most_bytes: Option<u64>,
    /// Pages that were not fetched for it, since the start.
    pub left_out: u64,
}

/// A span of time in words, for those who wait.
pub(crate) fn span(seconds: f64) -> String {
    if seconds >= 5400.0 {
        format!("{:.1} h", seconds / 3600.0)
    } else if seconds >= 90.0 {
        format!("{:.0} min", seconds / 60.0)
    } else {
        format!("{seconds:.0} s")
    }
}

/// A host that new pages wait for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldUp {
    /// Scheme, name and port.
    pub host: String,
    /// New pages waiting.
    pub new_waiting: u64,
    /// Seconds that they take, one after the other.
    pub seconds: f64,
    /// What it waits for now.
    pub waits_for: String,
}

/// What pages embed, counted apart from them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequisiteCounts {
    /// Found.
    pub known: u64,
    /// Of which there is a copy.
    pub fetched: u64,
    /// Waiting to be fetched.
    pub waiting: u64,
    /// Not there, not allowed, or given up.
    pub missing: u64,
}

/// A host, as it is scheduled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostView {
    /// Scheme, name and port.
    pub host: String,
    /// Where it was last found.
    pub address: Option<std::net::IpAddr>,
    /// New pages waiting.
    pub new_waiting: u64,
    /// Due pages waiting.
    pub due_waiting: u64,
    /// Seconds between two requests.
    pub interval: f64,
    /// Seconds the last answer took.
    pub response: f64,
    /// What robots.txt asks for.
    pub crawl_delay: f64,
    /// What robots.txt comes to.
    pub robots: String,
    /// What it waits for.
    pub waits_for: String,
}

/// What a page waits for whose time has not come; the reason may follow.
pub const DUE_TIME: &str = "its due time";

/// How a page is scheduled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PageWait {
    /// Changes per day, by the model.
    pub changes_per_day: Option<f64>,
    /// The 95 % interval of that.
    pub changes_per_day_interval: Option<(f64, f64)>,
    /// The chance that the copy is current.
    pub chance_fresh: Option<f64>,
    /// How much it matters, if not as much as others.
    #[serde(default)]
    pub weight: Option<f64>,
    /// When it is due, in seconds since the epoch.
    pub due: Option<f64>,
    /// Its host may not be asked before, in seconds since the epoch.
    #[serde(default)]
    pub host_opens: Option<f64>,
    /// What it waits for.
    pub waits_for: String,
}
