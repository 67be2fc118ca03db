//! `evercrawl simulate download`: how long a fleet takes, and what its robots tell each other.

mod input;
mod output;
mod report;
mod rule;

pub use input::real;
pub use output::Row;
pub use report::against_robots;

use super::Form;
use anyhow::Result;
use clap::ValueEnum;
use desk::bad_input::BadInput;
use desk::hosts::ReadCrawl;
use desk::interrupt::{Interrupted, stop_on_interrupt};
use desk::new_file::{NewFile, check_target};
use desk::terminal::{self, complain};
use ground::quantity::{Seconds, not_negative};
use input::Input;
use output::Summary;
use partition::limits::Balance;
use partition::method::Method;
use rule::NamedRule;
use simulation::download::conditions::Conditions;
use simulation::download::divide::Nearness;
use simulation::download::sweep::{Case, Sweep, downloads, sweep};
use simulation::download::web::Unit;
use simulation::run::Control;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

const EXAMPLES: &str = "\
Examples:
  Is a graph partition worth it, with 8 and with 30 robots?
    evercrawl simulate download --robots 8,30 --method graph,hash-host --report report.html

  How much faster is a crawl that visits large servers more often?
    evercrawl simulate download --size 1 --robots 30 --politeness 15s,density,mean-of-density

  Real links between hosts, real round-trip times
    evercrawl simulate download --links edges.tsv.gz --latency matrix.txt.gz --robots 30

Files, plain or gzipped:
  --links     source,target,links, as for 'evercrawl partition'; links of a host to itself stand
              for its pages. Or the data directory of a crawl
  --pages     host,pages[,address]
  --latency   a square matrix of milliseconds, separated by tabs, blanks or commas; 0: missing.
              Robots and addresses are put at nodes drawn from it

What comes out, for each case:
  time        simulated seconds until the last page has arrived
  formula     the same by formula: a pause holds a connection, and one server may have them all
  exchanged   links from one robot's pages to another's, and their share of all links
  URLs, bytes what is sent for them; a robot sends each URL to another only once
  idle        share of the time that a robot has no download under way, mean over robots
  broken      visits before the server's pause was over; there should be none

The same seed gives the same numbers on any number of threads. Ctrl-C prints what is done so
far, marked as partial (exit code 130); a second one stops at once.

Exit codes: 0 success, 1 failure, 2 bad input, 130 interrupted.";

/// Show how long robots take to download a web together, and what they must exchange.
///
/// Divides a generated national web, or a real one, among robots in different places by each of
/// several methods, and downloads it event by event under a virtual clock.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A generated national web of this share of the published size (1,246,129 URLs)
    #[arg(long, value_name = "SHARE", default_value_t = 0.1, value_parser = share, conflicts_with = "links")]
    size: f64,

    /// Real links between hosts, or the data directory of a crawl
    #[arg(long, value_name = "CSV|DIR")]
    links: Option<PathBuf>,

    /// Real hosts with their pages and addresses
    #[arg(long, value_name = "CSV", requires = "links")]
    pages: Option<PathBuf>,

    /// Real round-trip times [default: modelled from places]
    #[arg(long, value_name = "MATRIX")]
    latency: Option<PathBuf>,

    /// Numbers of robots, separated by commas
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "8", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    robots: Vec<u16>,

    /// graph, single-level, hash-host, hash-address, hash-url, consistent-hash, or all
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "graph,hash-host",
        value_parser = methods
    )]
    method: Vec<Methods>,

    /// 15s, density, latency, mean-of-density or mean-of-latency, separated by commas
    ///
    /// density: from 15 s for a server of one page down to 1 s for the largest. latency: ten times
    /// the download before. mean-of-…: fixed at the mean interval of a run of the other rule.
    #[arg(
        long,
        value_name = "RULES",
        value_delimiter = ',',
        default_value = "15s"
    )]
    politeness: Vec<NamedRule>,

    /// What the graph knows about nearness
    #[arg(long, value_enum, value_delimiter = ',', default_value = "rtt")]
    nearness: Vec<Near>,

    /// What counts as a server, for politeness and assignment
    #[arg(long, value_enum, value_delimiter = ',', default_value = "hosts")]
    level: Vec<Level>,

    /// Concurrent downloads per robot
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    connections: u32,

    /// Bandwidth of one connection, in bytes per second
    #[arg(long, value_name = "BYTES", default_value_t = 250_000.0, value_parser = above_zero)]
    bandwidth: f64,

    /// Size of a page, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 25_000.0, value_parser = above_zero)]
    page_size: f64,

    /// Size of an exchanged URL, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 60.0, value_parser = above_zero)]
    url_size: f64,

    /// Pages downloaded over one connection before the pause
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pages_per_connection: u32,

    /// By how much robots may exceed their fair share of pages
    #[arg(long, value_name = "SHARE", default_value_t = 0.03, value_parser = above_zero)]
    balance: f64,

    /// Use only the formula, without simulation
    #[arg(long)]
    formula_only: bool,

    /// The seed of all randomness
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Threads to use [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,

    #[command(flatten)]
    form: Form,

    /// Write a report with charts and timelines, as a single file
    #[arg(long, value_name = "HTML")]
    report: Option<PathBuf>,
}

/// What the graph knows about nearness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Near {
    /// Round-trip times
    Rtt,
    /// Distances
    Distance,
    /// Both
    Both,
    /// Neither: links only
    Neither,
}

/// What is a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Level {
    /// A host name
    Hosts,
    /// An address, with all its hosts
    Addresses,
}

/// One method, or all.
#[derive(Clone, Debug)]
struct Methods(Vec<Method>);

fn methods(text: &str) -> Result<Methods, String> {
    if text == "all" {
        return Ok(Methods(Method::ALL.to_vec()));
    }
    let method: Result<Method, _> = text.parse();
    method
        .map(|method| Methods(vec![method]))
        .map_err(|error| format!("{error}, or all"))
}

fn above_zero(text: &str) -> Result<f64, String> {
    let number = not_negative(text).filter(|&number| number > 0.0);
    number.ok_or_else(|| "expected a number above 0".to_owned())
}

fn share(text: &str) -> Result<f64, String> {
    let number = above_zero(text)?;
    if (0.0005..=20.0).contains(&number) {
        Ok(number)
    } else {
        Err("expected a number from 0.0005 to 20".to_owned())
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments, crawled: ReadCrawl) -> Result<()> {
    let files = [&arguments.links, &arguments.pages, &arguments.latency];
    let inputs: Vec<&Path> = files.into_iter().flatten().map(PathBuf::as_path).collect();
    if let Some(report) = &arguments.report {
        check_target(report, &inputs)?;
    }
    if let Some(threads) = arguments.threads {
        rayon::ThreadPoolBuilder::new()
            .num_threads(usize::from(threads))
            .build_global()?;
    }
    let stop = stop_on_interrupt();
    let input = Input::read(arguments, crawled)?;
    let (cases, names) = cases(arguments, &input)?;
    let question = Sweep {
        web: &input.web,
        internet: &|robots| input.internet(robots),
        cases: &cases,
        conditions: Conditions {
            connections: arguments.connections,
            bandwidth: arguments.bandwidth,
            page_bytes: arguments.page_size,
            url_bytes: arguments.url_size,
            pages_per_connection: arguments.pages_per_connection,
            ..Conditions::published()
        },
        preference: [1.0; 2],
        balance: Balance {
            pages: Some(arguments.balance),
            ..Balance::default()
        },
        simulate: !arguments.formula_only,
        seed: arguments.seed,
    };
    let bar = terminal::progress("downloading", downloads(&question) as u64, false);
    let control = Control {
        stop,
        progress: &|pages| bar.inc(pages as u64),
    };
    let answers = sweep(&question, &control);
    bar.finish_and_clear();
    let answers = answers.map_err(|error| BadInput(error.to_string()))?;
    let summary = Summary::new(&input, arguments.seed, &question, answers, &names);
    if let Some(path) = &arguments.report {
        let mut file = NewFile::create(path)?;
        file.write_all(report::html(&summary).as_bytes())?;
        file.finish()?;
    }
    terminal::print(&if arguments.form.json {
        output::json(&summary)?
    } else if arguments.form.csv {
        output::csv(&summary)?
    } else {
        output::table(&summary)
    })?;
    if summary.partial && stop.load(Ordering::Relaxed) {
        complain("warning", "interrupted: the result is partial");
        return Err(Interrupted.into());
    }
    Ok(())
}

/// All combinations; hashes know no nearness, so they come once. With the names of their rules.
fn cases(arguments: &Arguments, input: &Input) -> Result<(Vec<Case>, Vec<String>)> {
    let (mut cases, mut names): (Vec<Case>, Vec<String>) = (Vec::new(), Vec::new());
    for &robots in &arguments.robots {
        for rule in &arguments.politeness {
            for level in &arguments.level {
                for near in &arguments.nearness {
                    for &method in arguments.method.iter().flat_map(|methods| &methods.0) {
                        let case = Case {
                            robots: usize::from(robots),
                            method,
                            unit: match level {
                                Level::Hosts => Unit::Hosts,
                                Level::Addresses => Unit::Addresses,
                            },
                            nearness: match near {
                                _ if !method.is_graph() => Nearness::Neither,
                                Near::Rtt => Nearness::Rtt,
                                Near::Distance => Nearness::Distance,
                                Near::Both => Nearness::Both,
                                Near::Neither => Nearness::Neither,
                            },
                            rule: rule.rule,
                        };
                        if !cases.contains(&case) {
                            cases.push(case);
                            names.push(rule.name.clone());
                        }
                    }
                }
            }
        }
    }
    let needs_places = |near: &Near| matches!(near, Near::Distance | Near::Both);
    if !input.has_places() && arguments.nearness.iter().any(needs_places) {
        let reason = "--latency gives times, no places: --nearness is rtt or neither then";
        return Err(BadInput(reason.to_owned()).into());
    }
    Ok((cases, names))
}

/// A fixed interval as text.
fn fixed(text: &str) -> Option<f64> {
    text.parse().ok().map(|Seconds(seconds)| seconds)
}
