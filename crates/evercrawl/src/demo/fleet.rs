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
/// Takes about a minute. Uses no network except loopback and leaves no files.
#[derive(clap::Args)]
#[command(after_help = MORE)]
pub struct Arguments {
    /// The time limit, in seconds
    #[arg(long, value_name = "N", default_value_t = 150, value_parser = clap::value_parser!(u32).range(30..=3600))]
    seconds: u32,

    /// The seed of the web
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// What happens when a third of the pages is fetched
    #[arg(long, value_enum, default_value_t = Fault::Kill)]
    fault: Fault,

    /// Print only the result, as JSON
    #[arg(long)]
    json: bool,
}

/// What happens to the fleet.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fault {
    /// A robot is killed, and does not come back.
    Kill,
    /// A robot sleeps for longer than its lease, and wakes up.
    Sleep,
    /// A robot is killed, its data are destroyed, and it comes back.
    Disk,
    /// nats-server is killed, and comes back when all leases have ended.
    Server,
    /// nats-server is killed and loses all that it had; the fleet is founded again.
    Wipe,
    /// Nothing.
    None,
}

impl Fault {
    fn says(self) -> Option<String> {
        Some(match self {
            Self::Kill => format!("{VICTIM} is killed (kill -9)"),
            Self::Sleep => format!("{VICTIM} is stopped (SIGSTOP) for longer than its lease"),
            Self::Disk => format!("{VICTIM} is killed (kill -9) and its data are destroyed"),
            Self::Server => "nats-server is killed (kill -9)".to_owned(),
            Self::Wipe => "nats-server is killed (kill -9) and its data are destroyed".to_owned(),
            Self::None => return None,
        })
    }
}

/// The robot that it happens to.
const VICTIM: &str = "robot-2";
/// After a fault all is mended again; longer than a lease.
const MENDED: Duration = Duration::from_secs(stage::LEASE + 7);

pub fn run(arguments: &Arguments) -> Result<()> {
    let stop = stop_on_interrupt();
    let mut stage = Stage::build(arguments.seed)?;
    let mut view = show::View::new(arguments.json, &stage)?;
    stage.start_robots()?;
    let began = Instant::now();
    let limit = Duration::from_secs(u64::from(arguments.seconds));
    let (mut killed, mut mended) = (None, false);
    while began.elapsed() < limit && !stop.load(Ordering::Relaxed) && !stage.all_ended()? {
        std::thread::sleep(Duration::from_millis(200));
        view.show(&stage, began.elapsed())?;
        if killed.is_none()
            && 3 * stage.pages_had() >= stage.pages()
            && stage.has_worked(VICTIM)
            && let Some(said) = arguments.fault.says()
        {
            stage.strike(arguments.fault, VICTIM)?;
            killed = Some(began.elapsed());
            view.say(&said)?;
        }
        let is_time = killed.is_some_and(|killed| began.elapsed() >= killed + MENDED);
        if is_time && !mended && arguments.fault != Fault::Kill {
            stage.mend(arguments.fault, VICTIM)?;
            mended = true;
            view.say("what was stopped runs again")?;
        }
    }
    view.end()?;
    let summary = Summary::of(&mut stage, arguments.fault, killed, began.elapsed())?;
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
