//! `evercrawl fit`: what kind of changes a recorded history holds, or a crawl has seen.

mod findings;
mod report;
mod watched;

use crate::simulate::Trace;
use anyhow::Result;
use desk::bad_input::BadInput;
use desk::new_file::{NewFile, check_target};
use desk::terminal::{self, complain};
use findings::Findings;
use freshness::fit::VisitedPage;
use std::io::Write;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  evercrawl fit changes.csv.gz
  evercrawl fit changes.csv.gz --items items.csv.gz --report fit.html
  evercrawl fit evercrawl-data

Files, plain or gzipped, with a header:
  TRACE    item_id,timestamp_seconds   when each item changed
  --items  item_id,server[,weight]     where each item lives (or `host`)

For a crawl, TRACE is its data directory: its visits show between which two of them a page changed.

Exit codes: 0 success, 1 failure, 2 bad input.";

/// Tell what kind of changes a history has: models, rates, servers, daily rhythm.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A recorded history of changes, or the data directory of a crawl
    #[arg(value_name = "TRACE")]
    trace: PathBuf,

    /// The servers of the items
    #[arg(long, value_name = "CSV")]
    items: Option<PathBuf>,

    /// Fit only items with at least this many changes
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(5..))]
    least: u32,

    /// Write a page with charts, as a single file
    #[arg(long, value_name = "HTML")]
    report: Option<PathBuf>,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// How the visits to the pages of a crawl are read from its data directory.
pub type ReadVisits = fn(&Path) -> Result<Vec<VisitedPage>>;

/// Runs the command.
pub fn run(arguments: &Arguments, visits: ReadVisits) -> Result<()> {
    let mut inputs: Vec<&Path> = vec![&arguments.trace];
    inputs.extend(arguments.items.as_deref());
    if let Some(report) = &arguments.report {
        check_target(report, &inputs)?;
    }
    let findings = find(arguments, visits)?;
    if let Some(path) = &arguments.report {
        let name = arguments.trace.file_name().unwrap_or_default();
        let page = report::html(&name.to_string_lossy(), &findings);
        let mut file = NewFile::create(path)?;
        file.write_all(page.as_bytes())?;
        file.finish()?;
    }
    let text = if arguments.json {
        serde_json::to_string_pretty(&findings)? + "\n"
    } else {
        report::text(&findings)
    };
    Ok(terminal::print(&text)?)
}

fn find(arguments: &Arguments, visits: ReadVisits) -> Result<Findings> {
    let (path, least) = (&arguments.trace, arguments.least as usize);
    if path.is_dir() {
        if let Some(items) = &arguments.items {
            let reason =
                "a crawl knows the servers of its pages; --items is for a recorded history";
            return Err(BadInput::file(items, reason).into());
        }
        let none = || BadInput::file(path, "no visit of this crawl has found a change yet");
        return Ok(Findings::watched(visits(path)?, least).ok_or_else(none)?);
    }
    let trace = Trace::read(path, arguments.items.as_deref())?;
    for warning in &trace.warnings {
        complain("warning", warning);
    }
    if trace.seconds.is_empty() {
        return Err(BadInput::file(path, "has no changes").into());
    }
    Ok(Findings::of(&trace, least))
}
