//! The configuration file, and what is logged.

use crate::bad_input::BadInput;
use crate::terminal::complain;
use anyhow::Result;
use robot::config::Config;
use std::path::Path;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Reads and checks a configuration; the defaults without one.
pub fn read_config(path: Option<&Path>) -> Result<Config> {
    let Some(path) = path else {
        return Ok(Config::default());
    };
    let text = std::fs::read_to_string(path)
        .map_err(|error| BadInput::file(path, format!("cannot be read: {error}")))?;
    let mut config = Config::parse(&text).map_err(|error| BadInput::file(path, error))?;
    stand_beside(&mut config, &text, path);
    config
        .check()
        .map_err(|error| BadInput::file(path, error))?;
    Ok(config)
}

/// Files named in a configuration are relative to it; the directory that nobody named is where one is.
fn stand_beside(config: &mut Config, text: &str, path: &Path) {
    let beside = path.parent().unwrap_or(Path::new(""));
    let written: Option<toml::Table> = text.parse().ok();
    if written.is_some_and(|table| table.contains_key("data")) {
        config.data.0 = beside.join(&config.data.0);
    }
    let hooks = config.webhooks.iter_mut();
    let secrets = hooks.filter_map(|hook| hook.secret_file.as_mut());
    let of_rules = config.rules.iter_mut().flat_map(robot::config::Rule::files);
    let of_fetch = [
        &mut config.fetch.extra_roots,
        &mut config.fetch.proxy_login_file,
    ];
    for file in of_fetch
        .into_iter()
        .flatten()
        .chain(secrets)
        .chain(of_rules)
    {
        let found = beside.join(&*file);
        // kept with the crawl, which may go on from elsewhere
        *file = std::path::absolute(&found).unwrap_or(found);
    }
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
        LevelFilter::DEBUG
    } else {
        LevelFilter::WARN
    };
    // what libraries tell of themselves is not what was asked for
    let ours = ["evercrawl", "robot", "fetch", "storage"].map(|name| (name, level));
    let targets = Targets::new()
        .with_default(LevelFilter::WARN)
        .with_targets(ours);
    let log = fmt::layer().with_writer(|| desk::live::Stderr);
    let to = tracing_subscriber::registry().with(targets);
    // a second command in the same process keeps the first one's log
    let _ = if json {
        to.with(log.json()).try_init()
    } else {
        to.with(log.with_ansi(false)).try_init()
    };
}
