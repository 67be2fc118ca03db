//! `evercrawl demo`: the freshness engine at work on a small simulated web.

mod contest;
mod screen;
mod summary;

use crate::interrupt::{Interrupted, stop_on_interrupt};
use crate::terminal::{self, complain};
use anyhow::Result;
use contest::Contest;
use screen::Screen;
use std::io::{self, IsTerminal};
use std::sync::atomic::Ordering;
use summary::Summary;

const EXAMPLES: &str = "\
What it shows:
  354 pages on 20 servers change at random, in bursts, by the clock or never. A crawler may
  make 200 visits a day and must leave each server alone for 20 minutes after a visit. At the
  start it knows nothing of how often pages change; each visit tells it only whether the page
  differs from the last visit. Beside it, on the same web with as many visits, a crawler that visits
  all pages equally often.

  The robot that fetches over HTTP is not part of this version: the web is simulated in the process,
  under a virtual clock, with the very policy code the robot will run.

  On a terminal it takes about 25 seconds; into a pipe or a file, and with --json, it does not wait.
  The same seed gives the same figures. Ctrl-C ends it with what there is so far (exit code 130).";

/// Watch the freshness engine learn a small simulated web.
///
/// Takes no files and no network.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Simulated days
    #[arg(long, value_name = "N", default_value_t = 120, value_parser = clap::value_parser!(u32).range(1..=3650))]
    days: u32,

    /// Decides the web and all else that is random
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Print the result as JSON, and nothing before it
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<()> {
    let stop = stop_on_interrupt();
    let web = contest::web(arguments.seed, arguments.days);
    let mut contest = Contest::new(&web, arguments.seed, arguments.days)?;
    let watched = !arguments.json;
    let mut screen = if io::stdout().is_terminal() && io::stderr().is_terminal() {
        Screen::live(&contest)
    } else {
        Screen::plain(&contest)
    };
    if watched {
        terminal::print(&summary::introduction(&contest))?;
        screen.begin()?;
    }
    while contest.step(stop) {
        if watched {
            screen.show(&contest, stop)?;
        }
    }
    screen.end();
    let summary = Summary::new(&contest, arguments);
    terminal::print(&if arguments.json {
        summary.json()?
    } else {
        summary.text()
    })?;
    if contest.is_over() {
        return Ok(());
    }
    debug_assert!(stop.load(Ordering::Relaxed), "nothing else ends it early");
    complain("warning", "interrupted: the figures are of the time so far");
    Err(Interrupted.into())
}
