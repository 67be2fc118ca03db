//! `evercrawl config`: the sample, and whether a file is right.

use crate::bad_input::BadInput;
use crate::crawl::read_config;
use crate::terminal::complain;
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
    /// Check a file for unknown keys and impossible values.
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
            let bad = |error: robot::StartError| BadInput::file(file, error);
            robot::check(&config).map_err(bad)?;
            for barred in robot::barred::barred(&config).map_err(bad)? {
                complain("warning", &barred.to_string());
            }
            writeln!(out, "{}: fine", file.display())?;
        }
    }
    Ok(())
}
