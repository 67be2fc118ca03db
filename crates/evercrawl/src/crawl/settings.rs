//! The configuration file, and what is logged.

use crate::bad_input::BadInput;
use crate::terminal::complain;
use anyhow::Result;
use robot::config::Config;
use std::path::Path;

/// Reads and checks a configuration; the defaults without one.
pub fn read_config(path: Option<&Path>) -> Result<Config> {
    let Some(path) = path else {
        return Ok(Config::default());
    };
    let text = std::fs::read_to_string(path)
        .map_err(|error| BadInput::file(path, format!("cannot be read: {error}")))?;
    let config = Config::parse(&text).map_err(|error| BadInput::file(path, error))?;
    config
        .check()
        .map_err(|error| BadInput::file(path, error))?;
    Ok(config)
}

/// The configuration that the crawl of this directory was last started with.
pub fn kept_config(data: &Path) -> Option<Config> {
    match Config::kept(data)? {
        Ok(config) => Some(config),
        Err(error) => {
            // of another version, perhaps: no reason to show nothing
            let path = Config::kept_file(data);
            complain(
                "warning",
                &format!("{}: {error}; going by the defaults", path.display()),
            );
            None
        }
    }
}

/// Logs to standard error.
pub fn log(verbose: bool, json: bool) {
    let level = if verbose {
        tracing::Level::DEBUG
    } else {
        tracing::Level::WARN
    };
    let log = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr);
    // a second command in the same process keeps the first one's log
    let _ = if json {
        log.json().try_init()
    } else {
        log.with_ansi(false).try_init()
    };
}
