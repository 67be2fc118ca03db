//! `evercrawl simulate fleet`: the protocol of many robots, with whatever a file says goes wrong.

mod timeline;

use anyhow::{Context, Result};
use desk::bad_input::BadInput;
use desk::new_file::{NewFile, check_target};
use desk::terminal::{grouped, plain};
use serde::Serialize;
use simulation::fleet::file::{File, Named};
use simulation::fleet::fresh::freshness;
use simulation::fleet::{Outcome, Scenario, finish};
use std::io::Write;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  What does a fleet do when a disk dies, a robot sleeps and another joins?
    evercrawl simulate fleet examples/fleet.toml --timeline fleet.svg

  The same with another seed
    evercrawl simulate fleet examples/fleet.toml --seed 7 --json

The robots' protocol is the real one; the web, the messaging engine and the disks are models, and
time is virtual. After every step the simulation checks that no server has two owners or gets a
request too soon, that nothing is logged before it is safe, and that the budget is kept. In the end
every page must have been found. A run that breaks a rule prints its last steps and ends with exit
code 1.

Exit codes: 0 success, 1 a rule was broken or another failure, 2 bad input.";

/// Show how many robots work as one crawler while things go wrong.
///
/// Reads places, robots and faults from a TOML file, runs the fleet under a virtual clock, and
/// compares it with one large robot that never fails.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The scenario (TOML)
    scenario: PathBuf,

    /// A seed that replaces the one in the file
    #[arg(long)]
    seed: Option<u64>,

    /// Draw what each robot did over time
    #[arg(long, value_name = "SVG")]
    timeline: Option<PathBuf>,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// What a run came to.
#[derive(Serialize)]
struct Told {
    seed: u64,
    robots: usize,
    pages: u64,
    /// Until everything was found and the fleet knew it; seconds.
    download_seconds: f64,
    one_robot_seconds: f64,
    requests: u64,
    /// For pages that had all their visits: after a disk died.
    requests_again: u64,
    /// After a pause that nobody can prevent, without a lease.
    requests_late: u64,
    /// URLs sent to other robots, those sent again and passed on among them.
    urls_sent: u64,
    /// Distinct pairs of a robot and a URL of another.
    urls_distinct: u64,
    most_hops: u8,
    messages: u64,
    /// Servers and registers of names that were handed over.
    moves: u64,
    evictions: u64,
    /// Copies that are up to date, on average over time.
    freshness: f64,
    one_robot_freshness: f64,
    freshness_ratio: f64,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<()> {
    let path = &arguments.scenario;
    let text = std::fs::read_to_string(path)
        .map_err(|error| BadInput::file(path, format!("cannot be read: {error}")))?;
    let mut named = File::parse(&text).map_err(|error| {
        let lines: Vec<String> = error.to_string().lines().map(plain).collect();
        BadInput::file(path, lines.join("\n"))
    })?;
    if let Some(seed) = arguments.seed {
        named.scenario.seed = seed;
    }
    if let Some(target) = &arguments.timeline {
        check_target(target, &[path])?;
    }
    let outcome = ran(&named.scenario)?;
    let alone = ran(&one_robot(&named.scenario)).context("one robot alone")?;
    let told = tell(&named, &outcome, &alone);
    if let Some(target) = &arguments.timeline {
        let mut file = NewFile::create(target)?;
        file.write_all(timeline::draw(&named, &outcome).as_bytes())?;
        file.finish()?;
    }
    let mut out = std::io::stdout().lock();
    if arguments.json {
        serde_json::to_writer_pretty(&mut out, &told)?;
        writeln!(out)?;
    } else {
        write!(out, "{}", table(&told))?;
    }
    Ok(())
}

fn ran(scenario: &Scenario) -> Result<Outcome> {
    finish(scenario).map_err(|failure| anyhow::anyhow!("a rule was broken\n{failure}"))
}

/// The same web and the same budget, for one robot to which nothing happens.
fn one_robot(scenario: &Scenario) -> Scenario {
    let mut alone = scenario.clone();
    alone.robots.truncate(1);
    alone.robots[0].truncate(1);
    alone.delays.truncate(1);
    alone.newcomers.clear();
    alone.events.clear();
    alone.noisy = false;
    alone
}

fn tell(named: &Named, outcome: &Outcome, alone: &Outcome) -> Told {
    let Named {
        scenario,
        names,
        changes,
    } = named;
    let report = &outcome.report;
    let last = report.took.max(alone.report.took);
    let period = scenario.lasts.map_or((0, last), |lasts| (lasts / 2, lasts));
    let fresh = |outcome: &Outcome| {
        let visits: Vec<_> = outcome
            .requests
            .iter()
            .map(|(at, _, page)| (*at, *page))
            .collect();
        let rate = changes / 3_600_000.0;
        freshness(
            outcome.all.iter().copied(),
            &visits,
            rate,
            scenario.seed,
            period,
        )
    };
    let (fleet, one) = (fresh(outcome), fresh(alone));
    Told {
        seed: scenario.seed,
        robots: names.len(),
        pages: report.pages,
        download_seconds: report.took as f64 / 1_000.0,
        one_robot_seconds: alone.report.took as f64 / 1_000.0,
        requests: report.requests,
        requests_again: report.again,
        requests_late: report.late,
        urls_sent: report.entries,
        urls_distinct: report.pairs,
        most_hops: report.most_hops,
        messages: report.messages,
        moves: report.handed,
        evictions: report.evicted,
        freshness: fleet,
        one_robot_freshness: one,
        freshness_ratio: fleet / one,
    }
}

fn table(told: &Told) -> String {
    let count = |number: u64| grouped(usize::try_from(number).unwrap_or(usize::MAX));
    let rows = [
        ("robots", count(told.robots as u64)),
        ("pages", count(told.pages)),
        (
            "time",
            format!(
                "{:.1} s; one robot {:.1} s",
                told.download_seconds, told.one_robot_seconds
            ),
        ),
        (
            "requests",
            format!(
                "{}; {} again after a loss, {} late after a pause",
                count(told.requests),
                count(told.requests_again),
                count(told.requests_late)
            ),
        ),
        (
            "URLs sent",
            format!(
                "{} for {} pairs of a robot and a URL, at most {} hops",
                count(told.urls_sent),
                count(told.urls_distinct),
                told.most_hops
            ),
        ),
        ("messages", count(told.messages)),
        (
            "moves",
            format!(
                "{} handed over, {} evictions",
                count(told.moves),
                count(told.evictions)
            ),
        ),
        (
            "freshness",
            format!(
                "{:.4}; one robot {:.4}; ratio {:.4}",
                told.freshness, told.one_robot_freshness, told.freshness_ratio
            ),
        ),
    ];
    let line = |(name, value): &(&str, String)| format!("{name:<10} {value}");
    rows.iter().map(line).collect::<Vec<_>>().join("\n") + "\n"
}
