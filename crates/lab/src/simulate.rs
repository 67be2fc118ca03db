//! `evercrawl simulate`: what would happen, under a virtual clock.

mod download;
mod fleet;
mod freshness;
mod input;
mod new_pages;
mod output;
mod report;
mod trace;
mod when;

pub(crate) use download::{Row, against_robots, real};
pub(crate) use input::replay;
pub(crate) use new_pages::pages_made;
pub(crate) use trace::Trace;

use anyhow::Result;
use desk::hosts::ReadCrawl;

/// Simulate what would happen, with a virtual clock.
#[derive(clap::Args)]
#[command(arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    Download(Box<download::Arguments>),
    Freshness(Box<freshness::Arguments>),
    NewPages(new_pages::Arguments),
    Fleet(fleet::Arguments),
}

/// How the result is printed; a table unless asked otherwise.
#[derive(clap::Args)]
struct Form {
    /// Print the full result as JSON
    #[arg(long, conflicts_with = "csv")]
    json: bool,

    /// Print the result as CSV
    #[arg(long)]
    csv: bool,
}

/// Runs the command.
///
/// `crawled` reads the hosts of a crawl from its data directory.
pub fn run(arguments: &Arguments, crawled: ReadCrawl) -> Result<()> {
    match &arguments.what {
        What::Download(arguments) => download::run(arguments, crawled),
        What::Freshness(arguments) => freshness::run(arguments),
        What::NewPages(arguments) => new_pages::run(arguments),
        What::Fleet(arguments) => fleet::run(arguments),
    }
}
