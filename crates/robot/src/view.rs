//! What others see of a running crawl: plain values, made for looking at.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The state of the crawl.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Whether a robot is at work.
    pub running: bool,
    /// Seconds since it started.
    pub seconds: f64,
    /// Hosts known.
    pub hosts: u64,
    /// Pages admitted.
    pub pages_known: u64,
    /// Pages of which there is a copy.
    pub pages_fetched: u64,
    /// Pages that are gone.
    pub pages_gone: u64,
    /// Pages not to be fetched, by robots.txt, scope or type.
    pub pages_excluded: u64,
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
    /// Failures since the start, by cause.
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
    /// Seconds until something is due.
    pub next_due_in: Option<f64>,
    /// The hosts that answer slowest, with seconds.
    pub slowest_hosts: Vec<(String, f64)>,
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

/// How a page is scheduled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PageWait {
    /// Changes per day, by the model.
    pub changes_per_day: Option<f64>,
    /// The 95 % interval of that.
    pub changes_per_day_interval: Option<(f64, f64)>,
    /// The chance that the copy is current.
    pub chance_fresh: Option<f64>,
    /// When it is due, in seconds since the epoch.
    pub due: Option<f64>,
    /// What it waits for.
    pub waits_for: String,
}
