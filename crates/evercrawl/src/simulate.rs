//! `evercrawl simulate`: what would happen, under a virtual clock.

mod download;
mod freshness;
mod input;
mod output;
mod report;
mod trace;
mod when;

pub use download::{Row, against_robots};
pub use input::replay;
pub use trace::Trace;

use anyhow::Result;

/// What would happen, under a virtual clock.
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
}

/// How the result is printed; a table unless asked otherwise.
#[derive(clap::Args)]
struct Form {
    /// Print the result as JSON, with all that is known
    #[arg(long, conflicts_with = "csv")]
    json: bool,

    /// Print the result as CSV
    #[arg(long)]
    csv: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.what {
        What::Download(arguments) => download::run(arguments),
        What::Freshness(arguments) => freshness::run(arguments),
    }
}
