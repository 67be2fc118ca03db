//! What the demo says before and after.

use super::Arguments;
use super::contest::{BUDGET, Contest, LATELY_DAYS, POLITENESS_SECONDS, lately, so_far};
use super::screen::per_cent;
use crate::terminal::grouped;
use anyhow::Result;
use serde::Serialize;
use simulation::run::Run;
use simulation::small_web::Kind;

/// What there is to see, and what is not there.
pub fn introduction(contest: &Contest) -> String {
    let count = |kind| contest.web.kind.iter().filter(|&&k| k == kind).count();
    format!(
        "evercrawl demo: keeping copies of a small web fresh\n\
         The robot that fetches over HTTP is not part of this version: the web here is simulated in\n\
         the process, under a virtual clock, with the very policy code the robot will run.\n\
         \n\
         {} pages on {} servers: {} change at random, {} in bursts, {} by the clock, {} never.\n\
         {BUDGET} visits a day in all; a server is left alone for {} minutes after a visit. How often\n\
         a page changes is not known at the start: a visit only tells whether it differs from the last.\n\
         \n",
        contest.web.world.pages(),
        contest.web.world.delay.len(),
        count(Kind::Poisson),
        count(Kind::Bursty),
        count(Kind::Periodic),
        count(Kind::Never),
        POLITENESS_SECONDS / 60.0
    )
}

/// The outcome.
#[derive(Serialize)]
pub struct Summary {
    /// Always: no page of this demo comes over a network.
    simulated: bool,
    seed: u64,
    days: f64,
    /// Whether an interruption left days out.
    partial: bool,
    pages: usize,
    servers: usize,
    changes: usize,
    budget_per_day: f64,
    politeness_seconds: f64,
    evercrawl: Figures,
    uniform: Figures,
    bound_polite: f64,
}

/// What one crawler came to.
#[derive(Serialize)]
struct Figures {
    visits: u64,
    freshness: f64,
    freshness_last_7_days: f64,
}

impl Figures {
    fn new(run: &Run) -> Self {
        Self {
            visits: run.visits(),
            freshness: so_far(run),
            freshness_last_7_days: lately(run),
        }
    }
}

impl Summary {
    /// What it has come to.
    pub fn new(contest: &Contest, arguments: &Arguments) -> Self {
        let world = &contest.web.world;
        let days = contest.days();
        let changes = |page| world.instants(page).partition_point(|&at| at < days);
        Self {
            simulated: true,
            seed: arguments.seed,
            days,
            partial: !contest.is_over(),
            pages: world.pages(),
            servers: world.delay.len(),
            changes: (0..world.pages()).map(changes).sum(),
            budget_per_day: BUDGET,
            politeness_seconds: POLITENESS_SECONDS,
            evercrawl: Figures::new(&contest.engine),
            uniform: Figures::new(&contest.uniform),
            bound_polite: contest.bound,
        }
    }

    /// For programs.
    pub fn json(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// For people.
    pub fn text(&self) -> String {
        let row = |name: &str, figures: &Figures| {
            format!(
                "{name:<24} {:>10} {:>14} {:>14}\n",
                grouped(figures.visits as usize),
                per_cent(figures.freshness),
                per_cent(figures.freshness_last_7_days)
            )
        };
        let stale = |figures: &Figures| 1.0 - figures.freshness_last_7_days;
        let (own, other) = (stale(&self.evercrawl), stale(&self.uniform));
        let comparison = if own < other {
            format!(
                "With the same budget, {} of evercrawl's copies were out of date in the last days, \
                 and\n{} of those of a crawler that visits all pages equally often.\n",
                per_cent(own),
                per_cent(other)
            )
        } else {
            "In so short a time evercrawl did not learn enough to do better than a crawler that \
             visits\nall pages equally often; try more --days.\n"
                .to_owned()
        };
        format!(
            "\nAfter {} simulated day{} and {} changes of pages:\n\n\
             {:<24} {:>10} {:>14} {:>14}\n{}{}{:<24} {:>10} {:>14} {:>14}\n\n\
             Freshness is the share of copies that equal their originals, on the average over time.\n\
             {comparison}\
             The best plan knows how often each page changes, from the start, and holds for changes at\n\
             random; a policy that sees bursts or a clock behind them may do better than it.\n\n\
             Next: evercrawl plan --help       what a budget of visits can buy for your own pages\n      \
             evercrawl simulate --help   how policies do on larger webs and recorded histories\n",
            self.days,
            if self.days == 1.0 { "" } else { "s" },
            grouped(self.changes),
            "",
            "visits",
            "freshness",
            format!("last {LATELY_DAYS} days"),
            row("evercrawl, learning", &self.evercrawl),
            row("uniform revisiting", &self.uniform),
            "best plan, rates known",
            "",
            "",
            per_cent(self.bound_polite),
        )
    }
}
