//! `evercrawl demo`: a changing web on loopback, crawled and kept fresh.

pub mod fleet;
mod scene;
mod summary;

use crate::interrupt::{Interrupted, stop_on_interrupt};
use crate::terminal::{self, complain};
use anyhow::Result;
use desk::live;
use scene::Scene;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use summary::Summary;

const MORE: &str = "\
What it shows:
  A web of 20 hosts on this machine's loopback addresses, served over real HTTP: pages that change at random, in \
bursts, by the clock or never; redirects, errors, slow hosts, robots.txt, and sitemaps that tell the truth or do \
not. One second here is a day there. The robot knows nothing about it at the start: it discovers the pages, archives \
them, learns how they change, and spends its requests where they buy the most. Beside its own estimate you see the \
truth, which only the server knows.

  Ctrl-C ends it with what there is so far (exit code 130).";

/// Watch a changing web on loopback being crawled and kept fresh.
///
/// Takes about a minute. Uses no network except loopback and leaves no files.
#[derive(clap::Args)]
#[command(after_help = MORE)]
pub struct Arguments {
    /// How long to run, in seconds; one second is a day of the web
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(5..=3600))]
    seconds: u32,

    /// The seed of the web and its changes
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Keep the page table and archive here instead of deleting them
    #[arg(long, value_name = "DIRECTORY")]
    data: Option<PathBuf>,

    /// Print only the result, as JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<()> {
    let stop = stop_on_interrupt();
    let mut scene = Scene::open(arguments)?;
    let watched = !arguments.json;
    let in_place = watched && io::stderr().is_terminal();
    if watched {
        terminal::print(&summary::introduction(&scene))?;
    }
    let end = Duration::from_secs(u64::from(arguments.seconds));
    let every = Duration::from_millis(if in_place { 500 } else { 5000 });
    let began = Instant::now();
    let mut shown = began;
    while began.elapsed() < end && !stop.load(Ordering::Relaxed) && !scene.crawl.is_over() {
        std::thread::sleep(Duration::from_millis(50));
        scene.sample();
        if watched && shown.elapsed() >= every {
            shown = Instant::now();
            show(&scene, in_place)?;
        }
    }
    if in_place {
        live::clear()?;
    }
    let seen = scene.close()?;
    let summary = Summary::new(&seen, arguments);
    terminal::print(&if arguments.json {
        summary.json()?
    } else {
        summary.text()
    })?;
    if stop.load(Ordering::Relaxed) {
        complain("warning", "interrupted: the figures cover the time so far");
        return Err(Interrupted.into());
    }
    Ok(())
}

/// Shows how it goes: in place on a terminal, as a line elsewhere.
fn show(scene: &Scene, in_place: bool) -> io::Result<()> {
    if in_place {
        return live::show(scene.frame().lines().map(str::to_owned).collect());
    }
    writeln!(io::stderr(), "{}", scene.line())
}
