//! `evercrawl fleet demo`: three robots in two sites share a web on loopback; one of them is killed.

mod servers;
mod show;
mod stage;

use crate::bad_input::BadInput;
use crate::interrupt::{Interrupted, stop_on_interrupt};
use crate::terminal;
use anyhow::Result;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use show::Summary;
use stage::Stage;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const MORE: &str = "\
What it shows:
  A nats-server, three robots in two sites, each its own process, and a web of 16 hosts on this machine's loopback \
addresses. Two thirds of the hosts are near one site, the others near the other, and distant answers take longer. The \
robots first divide the hosts by hash. When a fifth of the pages has been fetched, they divide them again by the links and \
distances they have seen. When a third has been fetched, one robot is killed. The others notice when its lease ends, take \
over its hosts with everything learnt about them, and finish. The figures at the end come from the web's own record.

  The demo looks for nats-server in EVERCRAWL_NATS_SERVER, on the PATH and in ~/.cache/evercrawl, where \
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

    /// What happens when a third of the pages has been fetched
    #[arg(long, value_enum, default_value_t = Fault::Kill)]
    fault: Fault,

    /// To whom: robot-1 and robot-2 are in one site, robot-3 is alone in the other; the partitioner is the robot
    /// that divides the whole
    #[arg(long, value_name = "ROBOT", default_value = VICTIM, value_parser = ["robot-1", "robot-2", "robot-3", "partitioner"])]
    victim: String,

    /// How often it happens; more than once to each robot in turn, at odd moments
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    times: u32,

    /// nats-servers: 1, or 3 as a cluster that keeps everything three times
    #[arg(long, value_name = "N", default_value = "1", value_parser = ["1", "3"])]
    servers: String,

    /// Seconds that a robot counts as alive after its last sign of life
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(2..=60))]
    lease: u32,

    /// Pages of the largest host
    #[arg(long, value_name = "N", default_value_t = 120, value_parser = clap::value_parser!(u32).range(40..=10_000))]
    largest: u32,

    /// The addresses of nats-server, for one that is in another network namespace: for all robots, and for the
    /// one that is cut off.
    #[arg(long, value_name = "HOST", hide = true)]
    host: Vec<String>,

    /// Cuts that robot off and joins it again: run with `down`, and with `up`.
    #[arg(long, value_name = "COMMAND", hide = true)]
    cut: Option<String>,

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
    /// nats-server is killed and loses its data.
    Wipe,
    /// One nats-server of three is killed, and comes back.
    One,
    /// The nats-server that leads the fleet's keys is killed, and comes back.
    Leader,
    /// All nats-servers are killed, and come back after a minute.
    Hub,
    /// A robot is cut off from nats-server for longer than its lease.
    #[value(hide = true)]
    Cut,
    /// The wall clocks of two robots step by ten minutes, and back.
    #[value(hide = true)]
    Clock,
    /// Nothing.
    None,
}

impl Fault {
    fn says(self, victim: &str) -> Option<String> {
        Some(match self {
            Self::Kill => format!("{victim} is killed (kill -9)"),
            Self::Sleep => format!("{victim} is stopped (SIGSTOP) for longer than its lease"),
            Self::Disk => format!("{victim} is killed (kill -9) and its data are destroyed"),
            Self::Server => "nats-server is killed (kill -9)".to_owned(),
            Self::Wipe => "nats-server is killed (kill -9) and its data are destroyed".to_owned(),
            Self::One => "one nats-server of three is killed (kill -9)".to_owned(),
            Self::Leader => "the nats-server that leads the keys is killed (kill -9)".to_owned(),
            Self::Hub => "all nats-servers are killed (kill -9) for a minute".to_owned(),
            Self::Cut => format!("{victim} is cut off from nats-server"),
            Self::Clock => "the clocks of two robots step by ten minutes".to_owned(),
            Self::None => return None,
        })
    }

    /// Seconds until all is mended; more than a lease.
    fn lasts(self, play: &Play) -> u64 {
        match self {
            Self::Hub => 60,
            // begins anew while others still think that it lives
            Self::Disk if play.times > 1 => 0,
            Self::Sleep if play.times > 1 => play.lease + 2,
            _ => play.lease + 7,
        }
    }
}

/// How the demo is played.
pub struct Play {
    seed: u64,
    largest: u32,
    lease: u64,
    servers: usize,
    times: u32,
    victim: String,
    hosts: Vec<String>,
    cut: Option<String>,
}

/// The robot that it happens to, unless another is named.
const VICTIM: &str = "robot-2";
/// A division is carried out by then, mostly.
const SETTLED: Duration = Duration::from_secs(8);
/// Most seconds between two things that happen.
const APART: f64 = 6.0;

/// What has happened so far.
#[derive(Default)]
struct Events {
    /// When it was divided anew, by the web's record.
    divided: Option<u64>,
    /// The first, and all in all.
    struck: Option<Duration>,
    /// Whom.
    victim: String,
    strikes: u32,
    /// What is to be mended, and when.
    open: Option<(String, Duration)>,
    next: Duration,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let stop = stop_on_interrupt();
    let fault = arguments.fault;
    let play = Play {
        seed: arguments.seed,
        largest: arguments.largest,
        lease: arguments.lease.into(),
        servers: arguments.servers.parse().unwrap_or(1),
        times: arguments.times,
        victim: arguments.victim.clone(),
        hosts: arguments.host.clone(),
        cut: arguments.cut.clone(),
    };
    if matches!(fault, Fault::One | Fault::Leader) && play.servers < 3 {
        return Err(BadInput("--fault one and leader need --servers 3".into()).into());
    }
    if fault == Fault::Kill && play.times > 1 {
        return Err(BadInput("--fault kill happens once: no robot would be left".into()).into());
    }
    let mut stage = Stage::build(play)?;
    let mut view = show::View::new(arguments.json, &stage)?;
    stage.start_robots()?;
    let began = Instant::now();
    let limit = Duration::from_secs(u64::from(arguments.seconds));
    let mut events = Events::default();
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(arguments.seed);
    while began.elapsed() < limit && !stop.load(Ordering::Relaxed) && !stage.all_ended()? {
        std::thread::sleep(Duration::from_millis(200));
        view.show(&stage, began.elapsed())?;
        events.divide(&stage, &view, began.elapsed())?;
        events.advance(fault, &mut stage, &view, began.elapsed(), &mut chance)?;
    }
    view.end()?;
    let summary = Summary::of(&mut stage, fault, &events, began.elapsed())?;
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

impl Events {
    /// The hosts are divided anew when enough is known of them.
    fn divide(&mut self, stage: &Stage, view: &show::View, now: Duration) -> Result<()> {
        let known = 5 * stage.pages_had() >= stage.pages();
        if self.divided.is_some() || !known || now < self.next || self.strikes > 0 {
            return Ok(());
        }
        let told = stage.divide().unwrap_or_default();
        self.next = now + Duration::from_secs(3);
        // what robots have read they tell only now and then
        let hosts = stage.web.hosts().len() as u64;
        let known =
            |group: &serde_json::Value| 4 * group["servers"].as_u64().unwrap_or(0) >= 3 * hosts;
        if told
            .iter()
            .any(|group| group["group"] == "demo" && known(group))
        {
            let visits = stage.running.record.visits();
            self.divided = visits.iter().map(|visit| visit.start).max();
            // what moves has moved by then
            self.next = now + SETTLED;
            view.divided(&told)?;
        }
        Ok(())
    }

    /// What is due happens.
    fn advance(
        &mut self,
        fault: Fault,
        stage: &mut Stage,
        view: &show::View,
        now: Duration,
        chance: &mut Xoshiro256PlusPlus,
    ) -> Result<()> {
        if let Some((victim, at)) = &self.open {
            if now < *at {
                return Ok(());
            }
            stage.mend(fault, victim)?;
            if fault != Fault::Kill {
                view.say("what was stopped is running again")?;
            }
            self.open = None;
            self.next = now + Duration::from_secs_f64(chance.random_range(0.0..APART));
        }
        let divided = self.divided.is_some() || 2 * stage.pages_had() >= stage.pages();
        let far = 3 * stage.pages_had() >= stage.pages() || self.strikes > 0;
        if self.strikes >= stage.play.times || now < self.next || !divided || !far {
            return Ok(());
        }
        let candidates = match stage.play.times {
            1 => vec![stage.victim()],
            _ => (0..3)
                .map(|turn| format!("robot-{}", 1 + (self.strikes + 1 + turn) % 3))
                .collect(),
        };
        // one that has nothing yet has nothing to lose
        let works = |victim: &String| stage.has_worked(victim) && stage.is_working(victim);
        if let Some(victim) = candidates.into_iter().find(works)
            && stage.runs(&victim)
        {
            let Some(said) = fault.says(&victim) else {
                return Ok(());
            };
            stage.strike(fault, &victim)?;
            self.struck = self.struck.or(Some(now));
            self.victim.clone_from(&victim);
            self.strikes += 1;
            view.say(&said)?;
            let mended = now + Duration::from_secs(fault.lasts(&stage.play));
            self.open = Some((victim, mended));
        }
        Ok(())
    }
}
