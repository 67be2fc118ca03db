//! `evercrawl config`: the sample, and whether a file is right.

use crate::bad_input::BadInput;
use crate::crawl::read_config;
use crate::dashboard_view;
use crate::terminal::complain;
use anyhow::Result;
use robot::config::Seed;
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
    /// Check a file: unknown keys, impossible values, and settings by which nothing would be fetched.
    Check {
        /// The configuration (TOML).
        file: PathBuf,
        /// URLs that `crawl` will be given besides its seeds.
        urls: Vec<String>,
    },
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match &arguments.command {
        Command::Sample => write!(out, "{}", robot::config::SAMPLE)?,
        Command::Check { file, urls } => {
            let mut config = read_config(Some(file))?;
            config.seeds.extend(urls.iter().cloned().map(Seed::from));
            let bad = |error: robot::StartError| {
                if error.is_bad_input() {
                    BadInput::file(file, error).into()
                } else {
                    anyhow::Error::from(error)
                }
            };
            robot::check(&config).map_err(bad)?;
            robot::check_start(&config).map_err(bad)?;
            dashboard_view::check(&config).map_err(|refused| BadInput::file(file, refused))?;
            for barred in robot::barred::barred(&config).map_err(bad)? {
                complain("warning", &barred.to_string());
            }
            writeln!(out, "{}: fine", file.display())?;
        }
    }
    Ok(())
}
