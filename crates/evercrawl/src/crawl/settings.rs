//! The configuration file, and what is logged.

use crate::bad_input::BadInput;
use crate::terminal::complain;
use anyhow::Result;
use desk::log_file::LogFile;
use frontier::scope::Scope;
use robot::config::{Config, Level, Log};
use robot::whole_file;
use std::path::Path;
use std::sync::Mutex;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry, fmt};
use url::Url;

/// Reads and checks a configuration; the defaults without one.
pub fn read_config(path: Option<&Path>) -> Result<Config> {
    Ok(read_text(path)?.0)
}

fn read_text(path: Option<&Path>) -> Result<(Config, String)> {
    let Some(path) = path else {
        return Ok((Config::default(), String::new()));
    };
    let text = whole_file::read_text(path, whole_file::CONFIGURATION)
        .map_err(|error| BadInput::file(path, format!("cannot be read: {error}")))?;
    let mut config = Config::parse(&text).map_err(|error| BadInput::file(path, error))?;
    stand_beside(&mut config, &text, path);
    config
        .check()
        .map_err(|error| BadInput::file(path, error))?;
    // what the scope names is right or wrong whatever the seeds
    Scope::new(&config.scope, &[] as &[Url])
        .map_err(|error| BadInput::file(path, format!("scope.{error}")))?;
    Ok((config, text))
}

/// Files named in a configuration are relative to it; the directory that nobody named is where one is.
fn stand_beside(config: &mut Config, text: &str, path: &Path) {
    let beside = path.parent().unwrap_or(Path::new(""));
    if table(text).contains_key("data") {
        config.data.0 = beside.join(&config.data.0);
    }
    let hooks = config.webhooks.iter_mut();
    let secrets = hooks.filter_map(|hook| hook.secret_file.as_mut());
    let of_rules = config.rules.iter_mut().flat_map(robot::config::Rule::files);
    let single = [
        &mut config.fetch.extra_roots,
        &mut config.fetch.proxy_login_file,
        &mut config.dashboard.token_file,
        &mut config.dashboard.map,
        &mut config.log.file,
    ];
    for file in single.into_iter().flatten().chain(secrets).chain(of_rules) {
        let found = beside.join(&*file);
        // kept with the crawl, which may go on from elsewhere
        *file = std::path::absolute(&found).unwrap_or(found);
    }
}

/// Where the settings of a start come from.
pub enum Origin {
    /// A file that was named; which keys it has.
    File(toml::Table),
    /// The start before.
    Before,
    /// Nowhere: they are the defaults.
    Defaults,
}

/// The settings of the file, or else of the start before: others could widen the scope or hurry.
pub fn start_config(file: Option<&Path>, data: Option<&Path>) -> Result<(Config, Origin)> {
    let (mut config, text) = read_text(file)?;
    if let Some(data) = data {
        data.clone_into(&mut config.data.0);
    }
    if let Some(file) = file {
        spare(file, &text, &config)?;
        return Ok((config, Origin::File(table(&text))));
    }
    let Some(kept) = Config::kept(&config.data.0) else {
        return Ok((config, Origin::Defaults));
    };
    let kept = kept.map_err(|error| BadInput::file(&Config::kept_file(&config.data.0), error))?;
    let data = config.data;
    Ok((Config { data, ..kept }, Origin::Before))
}

/// A crawl keeps its settings in its directory; a file that somebody wrote is not to be lost by that.
pub fn spare(file: &Path, text: &str, config: &Config) -> Result<()> {
    let kept = Config::kept_file(&config.data.0);
    let [file_there, kept_there] = [file, &kept].map(|path| std::fs::canonicalize(path).ok());
    if file_there.is_none() || file_there != kept_there || Config::is_kept_text(text) {
        return Ok(());
    }
    let why = "data: a crawl in this directory would overwrite this file with its own settings; choose another directory";
    Err(BadInput::file(file, why).into())
}

/// The keys that a text has; it was read before.
fn table(text: &str) -> toml::Table {
    text.parse().unwrap_or_default()
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
                &format!("{}: {error}; using the defaults", path.display()),
            );
            None
        }
    }
}

/// Logs to standard error, and to a file if there is one.
pub fn log(log: &Log, verbose: bool, json: bool) -> Result<()> {
    let level = if verbose {
        LevelFilter::DEBUG
    } else {
        LevelFilter::WARN
    };
    let said = layer(fmt::layer().with_writer(|| desk::live::Stderr), json, level);
    let mut layers = vec![said];
    if let Some(path) = &log.file {
        let file = LogFile::open(path, log.rotate_bytes, log.keep_files)
            .map_err(|error| BadInput::file(path, format!("log.file: {error}")))?;
        let file = fmt::layer().with_writer(Mutex::new(file));
        layers.push(layer(file, log.json, level_of(log.level)));
    }
    // a second command in the same process keeps the first one's log
    let _ = tracing_subscriber::registry().with(layers).try_init();
    Ok(())
}

type Fmt<W> = fmt::Layer<Registry, fmt::format::DefaultFields, fmt::format::Format, W>;

fn layer<W>(to: Fmt<W>, json: bool, level: LevelFilter) -> Box<dyn Layer<Registry> + Send + Sync>
where
    W: for<'a> fmt::MakeWriter<'a> + Send + Sync + 'static,
{
    // what libraries tell of themselves is not what was asked for
    let ours = ["evercrawl", "robot", "fetch", "storage", "dashboard"].map(|name| (name, level));
    let targets = Targets::new()
        .with_default(LevelFilter::WARN)
        .with_targets(ours);
    if json {
        to.json().with_filter(targets).boxed()
    } else {
        to.with_ansi(false).with_filter(targets).boxed()
    }
}

fn level_of(level: Level) -> LevelFilter {
    match level {
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
    }
}
