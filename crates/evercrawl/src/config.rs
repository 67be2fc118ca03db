//! `evercrawl config`: the sample, and whether a file is right.

use crate::bad_input::BadInput;
use crate::crawl::read_config;
use anyhow::Result;
use std::io::Write;
use std::path::PathBuf;

/// Print a configuration with every key, or check one.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Print every key with its default and its meaning.
    Sample,
    /// Check a file: unknown keys and impossible values are named.
    Check {
        /// The configuration (TOML).
        file: PathBuf,
    },
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match &arguments.command {
        Command::Sample => write!(out, "{}", robot::config::SAMPLE)?,
        Command::Check { file } => {
            let config = read_config(Some(file))?;
            robot::check(&config).map_err(|error| BadInput::file(file, error))?;
            writeln!(out, "{}: fine", file.display())?;
        }
    }
    Ok(())
}
