//! `evercrawl simulate`: what would happen, under a virtual clock.

mod freshness;
mod input;
mod output;
mod report;
mod trace;
mod when;

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
    Freshness(Box<freshness::Arguments>),
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.what {
        What::Freshness(arguments) => freshness::run(arguments),
    }
}
