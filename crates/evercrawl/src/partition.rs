//! `evercrawl partition`: who downloads what.

mod crawled;
mod divide;
mod judge;
mod limits;
mod nearness;
mod picture;
mod prefixes;
mod previous;
mod report;
mod robots;
mod summary;
mod tables;

pub use crawled::read as crawled;

use crate::bad_input::BadInput;
use crate::new_file::{NewFile, check_target};
use crate::terminal::{self, complain};
use anyhow::Result;
use desk::hosts::{Hosts, SelfLinks};
use divide::{Level, Problem, divide, link_graph, servers};
use ground::Point;
use partition::method::Method;
use partition::solve::Measured;
use robots::Robots;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;
use summary::Summary;
use tables::Tables;

const EXAMPLES: &str = "\
Examples:
  Divide a web among the robots of a file, and write the assignment and the routing tables
    evercrawl partition --links links.csv --robots robots.toml --out assignment.csv --tables tables

  The same with what a crawl found: its links, pages and addresses
    evercrawl partition --links evercrawl-data --robots robots.toml --out assignment.csv

  A robot was added to the file: change as little as possible
    evercrawl partition --links links.csv --robots robots.toml --previous assignment.csv \\
        --out assignment.csv --report report.html

  What would hashing cost?
    evercrawl partition --links links.csv --robots robots.toml --method hash-host

Files may be gzipped. Columns may come in any order, and others are ignored. Without a header (which
--pages must have) the columns are these. Tabs may replace commas.
  --links     source,target,links          hosts and the number of links between them; or the data
                                           directory of a crawl, which has pages and addresses too
  --pages     host,pages[,address]         all hosts; without it those of --links, see --self-links
  --rtt       robot,host,milliseconds      measured medians; pairs may be missing
  --places    host,latitude,longitude      in degrees; robots have theirs in robots.toml
  --prefixes  start,end,asn or prefix,asn  address blocks; or a MaxMind database (.mmdb)
  --previous  host,robot                   as --out writes it
  --robots    TOML; a [[robot]] for each, with
                name = 'porto-1'           letters, digits, -, _ and .
                group = 'europe/portugal'  the groups above it [default: none]
                capacity = 2               in proportion to others [default: 1]
                latitude = 41.15           in degrees, both or none
                longitude = -8.61
              [balance]: pages = 0.03, servers = 0.5, traffic = 0.5 (tolerances; -1: no limit)
              [preference]: links = 1, rtt = 1, distance = 1 (0 leaves an objective out)

Exit codes: 0 success, 1 failure, 2 bad input.";

/// Divide the hosts of a web among robots.
///
/// Keeps links between robots few, round-trip times and distances short, and shares equal. Uses a
/// multilevel graph partitioner, or hashes for comparison.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Links between hosts, or the data directory of a crawl
    #[arg(long, value_name = "CSV|DIR")]
    links: PathBuf,

    /// The robots and their groups
    #[arg(long, value_name = "TOML")]
    robots: PathBuf,

    /// All hosts, with pages and addresses
    #[arg(long, value_name = "CSV")]
    pages: Option<PathBuf>,

    /// Round-trip times between robots and hosts
    #[arg(long, value_name = "CSV")]
    rtt: Option<PathBuf>,

    /// Where the hosts are
    #[arg(long, value_name = "CSV")]
    places: Option<PathBuf>,

    /// Address blocks, for smaller routing tables
    #[arg(long, value_name = "FILE")]
    prefixes: Option<PathBuf>,

    /// The previous assignment
    #[arg(long, value_name = "CSV")]
    previous: Option<PathBuf>,

    /// What moving a page costs, in links of an average page [default: 1]
    #[arg(long, value_name = "LINKS", requires = "previous", value_parser = price)]
    move_price: Option<f64>,

    /// graph, single-level, hash-host, hash-address, hash-url or consistent-hash
    #[arg(long, default_value = "graph")]
    method: Method,

    /// The smallest unit that is assigned
    #[arg(long, value_enum, default_value_t = Level::Hosts)]
    level: Level,

    /// What a host's links to itself mean [default: pages; with --pages: refuse]
    #[arg(long, value_enum)]
    self_links: Option<SelfLinks>,

    /// Most pages that --self-links pages gives to a host
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    most_pages: u64,

    /// The seed of all randomness
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Write the robot of each host
    #[arg(long, value_name = "CSV")]
    out: Option<PathBuf>,

    /// Write the routing table of each robot into this folder
    #[arg(long, value_name = "DIR")]
    tables: Option<PathBuf>,

    /// Write a report with charts, as a single file
    #[arg(long, value_name = "HTML")]
    report: Option<PathBuf>,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,

    /// Leave out measured times, so that outputs can be compared byte for byte
    #[arg(long)]
    no_timings: bool,
}

fn price(text: &str) -> Result<f64, String> {
    ground::quantity::not_negative(text).ok_or_else(|| "expected a number of at least 0".to_owned())
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<()> {
    check(arguments)?;
    let robots = Robots::read(&arguments.robots)?;
    let self_links = arguments.self_links.unwrap_or(match arguments.pages {
        Some(_) => SelfLinks::Refuse,
        None => SelfLinks::Pages,
    });
    let hosts = Hosts::read(
        &arguments.links,
        arguments.pages.as_deref(),
        self_links,
        arguments.most_pages,
        crawled,
    )?;
    if arguments.level == Level::Addresses && hosts.address.iter().all(Option::is_none) {
        let reason = "--level addresses needs --pages with a column 'address', or a crawl";
        return Err(BadInput(reason.to_owned()).into());
    }
    let rtt = (arguments.rtt.as_deref())
        .map(|file| nearness::read_rtt(file, &hosts, &robots))
        .transpose()?;
    let places = (arguments.places.as_deref())
        .map(|file| nearness::read_places(file, &hosts))
        .transpose()?;
    let distance: Option<Vec<Measured>> = match (&arguments.places, &places) {
        (Some(file), Some(places)) => Some(nearness::distances(file, &robots, places)?),
        _ => None,
    };
    let blocks = match &arguments.prefixes {
        Some(file) => prefixes::read(file)?,
        None => Vec::new(),
    };
    let previous = (arguments.previous.as_deref())
        .map(|file| previous::read(file, &hosts, &robots))
        .transpose()?;

    let problem = Problem {
        hosts: &hosts,
        robots: &robots,
        rtt: rtt.as_deref(),
        distance: distance.as_deref(),
        previous: previous.as_ref().map(|previous| previous.part.as_slice()),
        left_behind: (previous.as_ref()).map(|previous| previous.left_behind.as_slice()),
        price: arguments.move_price.unwrap_or(1.0),
        seed: arguments.seed,
    };
    let clock = Instant::now();
    let vertices = servers(&hosts, arguments.level);
    let links = link_graph(&hosts, &vertices, robots.all.len())
        .map_err(|error| BadInput::file(&arguments.links, error))?;
    let bar = terminal::working("dividing");
    let part = divide(
        &problem,
        arguments.method,
        arguments.level,
        &vertices,
        &links,
    )?;
    let seconds = clock.elapsed().as_secs_f64();
    let mut summary = judge::judge(
        &problem,
        arguments.method,
        arguments.level,
        &vertices,
        part.as_deref(),
    )?;
    if let Some(part) = &part
        && matches!(arguments.method, Method::Graph | Method::SingleLevel)
    {
        limits::add(&mut summary, &problem, &vertices, &links, part)?;
    }
    drop(links);
    summary.seconds = (!arguments.no_timings).then_some(seconds);
    if let Some(previous) = &previous {
        summary.warnings.extend(previous.warnings.iter().cloned());
    }
    bar.set_message("making tables");
    let tables = (part.as_deref())
        .map(|part| Tables::new(&robots, &hosts, part, &blocks))
        .transpose()?;
    bar.finish_and_clear();
    if let (Some(part), Some(tables)) = (&part, &tables) {
        judge::add_tables(&mut summary, &tables.sizes());
        for robot in write(arguments, &hosts, &robots, part, tables)? {
            summary.warnings.push(format!(
                "removed the table of '{robot}', which is not among the robots any more"
            ));
        }
    }
    if let Some(path) = &arguments.report {
        write_report(path, &summary, &problem, places.as_deref(), part.as_deref())?;
    }
    for warning in &summary.warnings {
        complain("warning", warning);
    }
    let text = if arguments.json {
        summary.json()?
    } else {
        summary.table()
    };
    Ok(terminal::print(&text)?)
}

fn write_report(
    path: &Path,
    summary: &Summary,
    problem: &Problem,
    places: Option<&[Option<Point>]>,
    part: Option<&[u32]>,
) -> Result<()> {
    let robots = problem.robots;
    let flows = part.map(|part| judge::flows(problem.hosts, part, robots.all.len()));
    let page = report::html(summary, robots, flows.as_deref(), places.zip(part));
    let mut file = NewFile::create(path)?;
    file.write_all(page.as_bytes())?;
    file.finish()
}

/// Writes who gets what, and the tables; returns whose tables were removed.
fn write(
    arguments: &Arguments,
    hosts: &Hosts,
    robots: &Robots,
    part: &[u32],
    tables: &Tables,
) -> Result<Vec<String>> {
    let assignment = (arguments.out.as_deref())
        .map(|path| -> Result<NewFile> {
            let mut rows = csv::Writer::from_writer(NewFile::create(path)?);
            rows.write_record(["host", "robot"])?;
            for (host, &robot) in hosts.names.iter().zip(part) {
                rows.write_record([host, &robots.all[robot as usize].name])?;
            }
            let file = rows.into_inner().map_err(csv::IntoInnerError::into_error)?;
            Ok(file)
        })
        .transpose()?;
    let removed = match &arguments.tables {
        Some(folder) => tables.write(folder)?,
        None => Vec::new(),
    };
    assignment.map_or(Ok(()), NewFile::finish)?;
    Ok(removed)
}

/// Refuses what cannot be, before any work is done.
fn check(arguments: &Arguments) -> Result<()> {
    if arguments.method == Method::HashUrl
        && (arguments.out.is_some() || arguments.tables.is_some())
    {
        let reason = "hash-url divides the pages of each host, so no host has a robot: leave out \
                      --out and --tables";
        return Err(BadInput(reason.to_owned()).into());
    }
    if let (Some(SelfLinks::Pages), Some(pages)) = (arguments.self_links, &arguments.pages) {
        let reason = "has the pages of each host already: leave out --self-links pages";
        return Err(BadInput::file(pages, reason).into());
    }
    if let (Some(out), Some(report)) = (&arguments.out, &arguments.report)
        && place(out) == place(report)
    {
        return Err(BadInput::file(out, "is the file of both --out and --report").into());
    }
    // --previous may be replaced by what follows from it
    let files = [
        Some(&arguments.links),
        Some(&arguments.robots),
        arguments.pages.as_ref(),
        arguments.rtt.as_ref(),
        arguments.places.as_ref(),
        arguments.prefixes.as_ref(),
    ];
    let inputs: Vec<&Path> = files.into_iter().flatten().map(PathBuf::as_path).collect();
    for output in [&arguments.out, &arguments.report].into_iter().flatten() {
        check_target(output, &inputs)?;
    }
    if let Some(folder) = &arguments.tables
        && folder.exists()
        && !folder.is_dir()
    {
        return Err(BadInput::file(folder, "is not a directory").into());
    }
    Ok(())
}

/// The place of a file that may not be there yet, however it is written.
fn place(path: &Path) -> PathBuf {
    let folder = (path.parent()).filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    path.canonicalize()
        .or_else(|_| {
            Ok(folder
                .canonicalize()?
                .join(path.file_name().unwrap_or_default()))
        })
        .unwrap_or_else(|_: std::io::Error| path.to_path_buf())
}
