//! `evercrawl simulate`: what would happen, under a virtual clock.

mod download;
mod freshness;
mod input;
mod output;
mod report;
mod trace;
mod when;

pub use download::Row;
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

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.what {
        What::Download(arguments) => download::run(arguments),
        What::Freshness(arguments) => freshness::run(arguments),
    }
}
