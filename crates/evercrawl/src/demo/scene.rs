//! The demo's web, and the robot that crawls it.

use super::Arguments;
use crate::terminal::named;
use anyhow::{Context, Result, anyhow};
use robot::config::Config;
use robot::view::Status;
use robot::{Crawl, Until};
use simulation::web::spec::Robots;
use simulation::web::{Audit, Clock, Rules, Running, Server, Web, WebSpec, check_politeness};
use std::path::PathBuf;
use std::sync::Arc;

/// Web days in a second.
const SPEED: f64 = 86_400.0;
/// Requests in a second, which is a day there.
pub const BUDGET: f64 = 200.0;
/// Seconds between two requests to a host, or to an address.
pub const DELAY: f64 = 0.01;

/// The web and its robot, at work.
pub struct Scene {
    pub web: Arc<Web>,
    running: Running,
    pub crawl: Crawl,
    /// Web time and estimated freshness, now and then.
    estimates: Vec<(f64, f64)>,
    scratch: Option<PathBuf>,
}

/// What was seen when all was over.
pub struct Seen {
    pub web: Arc<Web>,
    pub status: Status,
    pub days: f64,
    pub requests: usize,
    pub impolite: usize,
    /// All of these of the second half, when the robot had learnt.
    pub truth: f64,
    pub estimate: Option<f64>,
    pub bound: Option<f64>,
    pub uniform: Option<f64>,
    pub requests_per_day: f64,
}

impl Scene {
    pub fn open(arguments: &Arguments) -> Result<Self> {
        let mut spec = WebSpec {
            seed: arguments.seed,
            days: f64::from(arguments.seconds) + 5.0,
            latency_ms: (0.1, 3.0),
            crawl_delay: 0.05,
            ..WebSpec::default()
        };
        // a robots.txt that cannot be had is asked for again after minutes: too long for a minute
        spec.robots.remove(&Robots::Failing);
        let web = Arc::new(Web::new(&spec)?);
        let running = Server::start(web.clone(), Clock::starting_now(SPEED))
            .context("the demo's web cannot listen on loopback addresses (127.0.0.0/8)")?;
        let scratch = || {
            let name = format!("evercrawl-demo-{}", std::process::id());
            std::env::temp_dir().join(name)
        };
        let data = arguments.data.clone().unwrap_or_else(scratch);
        let scratch = arguments.data.is_none().then(|| data.clone());
        let crawl = robot::start(&config(&web, &running, data), Until::Stopped)?;
        Ok(Self {
            web,
            running,
            crawl,
            estimates: Vec::new(),
            scratch,
        })
    }

    /// Takes the robot's own estimate down.
    pub fn sample(&mut self) {
        let estimate = self.crawl.status().estimated_freshness;
        let now = self.running.now();
        self.estimates
            .extend(estimate.map(|estimate| (now, estimate)));
    }

    /// The share of copies that are true now.
    fn truth_now(&self) -> f64 {
        let visits = self.running.record.visits();
        let audit = Audit::new(&self.web, self.running.clock, &visits);
        audit.freshness_at(self.running.now())
    }

    pub fn line(&self) -> String {
        let status = self.crawl.status();
        format!(
            "day {:>3.0}: {} known, {} copied, {}, {} found; fresh: {:.1} % true, {} estimated",
            self.running.now(),
            so_many(status.pages_known, "page"),
            status.pages_fetched,
            so_many(status.requests, "request"),
            so_many(status.changes, "change"),
            100.0 * self.truth_now(),
            per_cent(status.estimated_freshness),
        )
    }

    pub fn frame(&self) -> String {
        let status = self.crawl.status();
        let truth = self.truth_now();
        let bar = |share: f64| "█".repeat((share.clamp(0.0, 1.0) * 40.0).round() as usize);
        let estimate = status.estimated_freshness.unwrap_or(0.0);
        format!(
            "  day {:>3.0}   {} known · {} copied · {} waiting\n  \
             requests  {} · {:.0}/s · {} found · {} minor\n  \
             true      {:>6} {}\n  \
             estimated {:>6} {}\n",
            self.running.now(),
            so_many(status.pages_known, "page"),
            status.pages_fetched,
            status.new_waiting,
            status.requests,
            status.requests_per_second,
            so_many(status.changes, "change"),
            status.minor_changes,
            per_cent(Some(truth)),
            bar(truth),
            per_cent(status.estimated_freshness),
            bar(estimate),
        )
    }

    /// Stops the robot and looks at the server's record.
    pub fn close(self) -> Result<Seen> {
        let until = self.running.now();
        self.crawl.stop();
        let ended = self.crawl.wait();
        if let Some(scratch) = &self.scratch {
            // scratch that stays behind harms nobody
            let _ = std::fs::remove_dir_all(scratch);
        }
        let status = ended.map_err(|what| anyhow!("the robot ended: {what}"))?;
        let visits = self.running.record.visits();
        let rules = Rules {
            host_delay: DELAY,
            address_delay: DELAY,
            crawl_delay: self.web.crawl_delays(),
            ..Rules::default()
        };
        let from = until / 2.0;
        let audit = Audit::new(&self.web, self.running.clock, &visits);
        let requests_per_day = audit.requests(from, until) as f64 / (until - from);
        let bounds = audit.bounds(from, until, requests_per_day, &rules).ok();
        let late: Vec<f64> = self
            .estimates
            .iter()
            .filter(|(at, _)| *at >= from)
            .map(|&(_, estimate)| estimate)
            .collect();
        Ok(Seen {
            truth: audit.freshness(from, until).freshness,
            estimate: (!late.is_empty()).then(|| late.iter().sum::<f64>() / late.len() as f64),
            bound: bounds.map(|bounds| bounds.polite),
            uniform: bounds.map(|bounds| bounds.uniform),
            requests: visits.len(),
            impolite: check_politeness(&visits, &rules).len(),
            requests_per_day,
            days: until,
            status,
            web: self.web,
        })
    }
}

fn config(web: &Web, running: &Running, data: PathBuf) -> Config {
    let mut config = Config {
        seeds: vec![web.seed_url(running.port).into()],
        ..Config::default()
    };
    config.data.0 = data;
    config.scope.suffixes = vec!["demo.test".into()];
    config.politeness.interval = frontier::politeness::Interval::Fixed { seconds: DELAY };
    config.budget.requests_per_second = 2.0 * BUDGET;
    config.revisit.budget = format!("{BUDGET}/second");
    // a day is a second here
    config.revisit.first_guess_days = 1.0 / 86_400.0;
    config.revisit.least_interval = "0".into();
    config.revisit.least_chance = 0.0;
    config.fetch.allow_networks = vec!["127.0.0.0/8".into()];
    let hosts = running.addresses.iter();
    config.fetch.hosts = hosts.map(|(name, &at)| (name.clone(), vec![at])).collect();
    config
}

fn so_many(number: u64, one: &str) -> String {
    format!("{number} {}", named(number, one))
}

pub fn per_cent(share: Option<f64>) -> String {
    share.map_or("—".into(), |share| format!("{:.1} %", 100.0 * share))
}
