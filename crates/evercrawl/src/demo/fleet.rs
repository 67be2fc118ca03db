//! `evercrawl fleet demo`: three robots in two sites share a web on loopback; one of them is killed.

mod show;
mod stage;

use crate::interrupt::{Interrupted, stop_on_interrupt};
use crate::terminal;
use anyhow::Result;
use show::Summary;
use stage::Stage;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const MORE: &str = "\
What it shows:
  A nats-server, three robots in two sites, each a process of its own, and a web of 16 hosts on this
  machine's loopback addresses. Half of the hosts are near one site, half near the other, and answers
  from afar take longer. The robots divide the hosts among them; when a third of the pages is fetched
  one robot is killed. The others notice when its lease ends, take over its hosts with all that was
  learnt of them, and finish. The figures at the end are those of the web's own record.

  nats-server is looked for in EVERCRAWL_NATS_SERVER, in the PATH and in ~/.cache/evercrawl, where
  scripts/get-nats-server puts it. Ctrl-C ends everything (exit code 130).";

/// Watch three robots share a web, and two of them take over from the third.
///
/// Takes about a minute, no network but loopback, and leaves no files.
#[derive(clap::Args)]
#[command(after_help = MORE)]
pub struct Arguments {
    /// The longest that it may take, in seconds
    #[arg(long, value_name = "N", default_value_t = 150, value_parser = clap::value_parser!(u32).range(30..=3600))]
    seconds: u32,

    /// Decides the web
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Print the result as JSON, and nothing before it
    #[arg(long)]
    json: bool,
}

/// The robot that is killed.
const VICTIM: &str = "robot-2";

pub fn run(arguments: &Arguments) -> Result<()> {
    let stop = stop_on_interrupt();
    let mut stage = Stage::build(arguments.seed)?;
    let mut view = show::View::new(arguments.json, &stage)?;
    stage.start_robots()?;
    let began = Instant::now();
    let limit = Duration::from_secs(u64::from(arguments.seconds));
    let mut killed = None;
    while began.elapsed() < limit && !stop.load(Ordering::Relaxed) && !stage.all_ended()? {
        std::thread::sleep(Duration::from_millis(200));
        view.show(&stage, began.elapsed())?;
        if killed.is_none() && 3 * stage.pages_had() >= stage.pages() {
            stage.kill(VICTIM)?;
            killed = Some(began.elapsed());
            view.say(&format!("{VICTIM} is killed (kill -9)"))?;
        }
    }
    view.end()?;
    let summary = Summary::of(&mut stage, killed, began.elapsed())?;
    terminal::print(&if arguments.json {
        serde_json::to_string_pretty(&summary)? + "\n"
    } else {
        summary.text()
    })?;
    if stop.load(Ordering::Relaxed) {
        return Err(Interrupted.into());
    }
    summary.verdict()
}
