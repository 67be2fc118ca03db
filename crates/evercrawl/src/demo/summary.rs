//! What the demo says before and after.

use super::Arguments;
use super::scene::{BUDGET, DELAY, Scene, Seen, per_cent};
use crate::terminal::grouped;
use anyhow::Result;
use serde::Serialize;
use simulation::small_web::Kind;
use simulation::web::Web;

/// What there is to see.
pub fn introduction(scene: &Scene) -> String {
    let web = &scene.web;
    let count = |kind| web.pages().iter().filter(|page| page.kind == kind).count();
    format!(
        "evercrawl demo: a small web on this machine, crawled and kept fresh\n\
         {} pages on {} hosts, served over HTTP on loopback: {} change at random, {} in bursts, {} by\n\
         the clock, {} never. One second is a day. {BUDGET} revisits a day; each host and address is left\n\
         alone for {} ms after a request. How often pages change is not known at the start.\n\n",
        web.pages().len(),
        web.hosts().len(),
        count(Kind::Poisson),
        count(Kind::Bursty),
        count(Kind::Periodic),
        count(Kind::Never),
        1000.0 * DELAY
    )
}

/// The outcome.
#[derive(Serialize)]
pub struct Summary {
    seed: u64,
    days: f64,
    partial: bool,
    pages: usize,
    hosts: usize,
    changes: usize,
    pages_copied: u64,
    requests: usize,
    requests_per_day: f64,
    changes_found: u64,
    minor_changes_found: u64,
    politeness_violations: usize,
    true_freshness: f64,
    estimated_freshness: Option<f64>,
    bound_polite: Option<f64>,
    uniform: Option<f64>,
}

impl Summary {
    /// What it has come to.
    pub fn new(seen: &Seen, arguments: &Arguments) -> Self {
        Self {
            seed: arguments.seed,
            days: seen.days,
            partial: seen.days < f64::from(arguments.seconds) - 0.5,
            pages: seen.web.pages().len(),
            hosts: seen.web.hosts().len(),
            changes: changes(&seen.web, seen.days),
            pages_copied: seen.status.pages_fetched,
            requests: seen.requests,
            requests_per_day: seen.requests_per_day,
            changes_found: seen.status.changes,
            minor_changes_found: seen.status.minor_changes,
            politeness_violations: seen.impolite,
            true_freshness: seen.truth,
            estimated_freshness: seen.estimate,
            bound_polite: seen.bound,
            uniform: seen.uniform,
        }
    }

    /// For programs.
    pub fn json(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// For people.
    pub fn text(&self) -> String {
        let politeness = match self.politeness_violations {
            0 => "not one came too soon after another on its host or address".to_owned(),
            n => format!("{n} came too soon after another on their host or address"),
        };
        let mut text = format!(
            "\nIn {:.0} days {} pages changed {} times. The robot made {} requests; by the servers'\n\
             own record {politeness}.\n\n\
             In the second half, how much of the copy was up to date:\n  \
               the truth                                {:>7}\n  \
               the robot's own estimate                 {:>7}\n  \
               the most that politeness allows          {:>7}   (with all rates known)\n  \
               visiting all pages equally often         {:>7}   (as many requests)\n",
            self.days,
            self.pages,
            grouped(self.changes),
            grouped(self.requests),
            per_cent(Some(self.true_freshness)),
            per_cent(self.estimated_freshness),
            per_cent(self.bound_polite),
            per_cent(self.uniform),
        );
        if self.partial {
            text.push_str("\nIt was stopped early: there was little time to learn.\n");
        }
        text
    }
}

fn changes(web: &Web, days: f64) -> usize {
    let of = |page: &simulation::web::Page| page.changes.partition_point(|&at| at < days);
    web.pages().iter().map(of).sum()
}
