//! `evercrawl netmap`: the Internet as seen from here.

mod columns;
mod export;
mod locate;
mod merge;
mod probes;
mod report;
mod rtt;
mod sample_size;
mod sql;
mod survey;

use crate::bad_input::BadInput;
use anyhow::Result;
use ground::quantity::Seconds;
use netmap::store::Store;
use std::path::Path;

const EXAMPLES: &str = "\
Examples:
  evercrawl netmap probe www.example.org 192.0.2.7 --source lisbon --at 38.72,-9.14
  evercrawl netmap trace --targets hosts.txt --rate 20/s --again-after 7d
  evercrawl netmap locate --city-db city.mmdb --as-db asn.mmdb --registry delegated-ripencc-latest
  evercrawl netmap report --map map.svg
  evercrawl netmap export --rtt rtt.csv --places places.csv --complete
  evercrawl netmap probes --error 0.05
  evercrawl netmap merge tokyo.db newyork.db
  evercrawl netmap sql \"SELECT method, count(*) FROM end_to_end GROUP BY method\"

Everything is kept in one SQLite file (--db, netmap.db by default) that any SQL tool opens.

Exit codes: 0 success, 1 failure, 2 bad input, 130 interrupted; what was measured is kept.";

/// Measure the Internet: RTTs, routes, places.
#[derive(clap::Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    Probe(survey::ProbeArguments),
    Trace(survey::TraceArguments),
    Rtt(rtt::Arguments),
    Locate(locate::Arguments),
    Report(report::Arguments),
    Export(export::Arguments),
    Merge(merge::Arguments),
    Sql(sql::Arguments),
    SampleSize(sample_size::Arguments),
    Probes(probes::Arguments),
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.what {
        What::Probe(arguments) => survey::probe(arguments),
        What::Trace(arguments) => survey::trace(arguments),
        What::Rtt(arguments) => rtt::run(arguments),
        What::Locate(arguments) => locate::run(arguments),
        What::Report(arguments) => report::run(arguments),
        What::Export(arguments) => export::run(arguments),
        What::Merge(arguments) => merge::run(arguments),
        What::Sql(arguments) => sql::run(arguments),
        What::SampleSize(arguments) => sample_size::run(arguments),
        What::Probes(arguments) => probes::run(arguments),
    }
}

/// Over which time RTTs are taken.
#[derive(clap::Args)]
struct Window {
    /// How far back the median of a pair's answers reaches from its newest result; 0 for the
    /// newest result alone
    #[arg(long, value_name = "TIME", default_value = "7d")]
    window: Seconds,
}

/// A map to write to, made if need be.
fn open(path: &Path) -> Result<Store> {
    Ok(Store::open(path).map_err(|error| BadInput::file(path, error))?)
}

/// A map to read, which must be there.
pub fn open_existing(path: &Path) -> Result<Store> {
    if !path.exists() {
        let reason = "there is no map; 'evercrawl netmap probe' makes one";
        return Err(BadInput::file(path, reason).into());
    }
    Ok(Store::open_read_only(path).map_err(|error| BadInput::file(path, error))?)
}
