//! What all robots of a fleet have in common, as it is kept in the fleet itself.

use crate::bad_input::BadInput;
use anyhow::{Result, anyhow};
use bus::layout::Layout;
use fleet::identity::{GroupId, Millis, RobotId};
use fleet::robot::Settings;
use fleet::wire::limits;
use frontier::politeness::Interval;
use robot::config::Config;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;
use toml::{Table, Value};

/// Of this text; others cannot be read.
const VERSION: u32 = 1;
/// The first division waits for distances: this many times the span after which robots tell what they read.
const PATIENCE: Millis = 4;
/// The longest that a host is thought to be left alone where its own answers decide that.
const LONGEST_INTERVAL: f64 = 60.0;
/// The longest that a dead robot's servers may be left alone, in seconds.
const LONGEST_QUIET: f64 = 86_400.0;
/// Keys that are a machine's own affair.
const LOCAL: [&str; 8] = [
    "data",
    "log",
    "metrics",
    "dashboard",
    "state",
    "fetch.source",
    "fetch.dns_server",
    "seeds",
];

/// The articles of a fleet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Articles {
    pub version: u32,
    /// Random: another fleet of the same name has another.
    pub id: String,
    /// The configuration of all robots (TOML), without what is a machine's own affair.
    pub config: String,
    /// Seconds that a robot's lease lasts.
    pub lease: f64,
    /// Seconds that no server is asked after a robot died; nothing for what politeness and the limits of requests
    /// come to.
    pub quiet: Option<f64>,
    pub replicas: usize,
    /// Bytes that the streams may take on each server, in all.
    pub storage: u64,
    /// By what groups divide their shares.
    #[serde(default)]
    pub division: By,
    /// Whether robots probe servers that they do not ask for pages.
    #[serde(default = "yes")]
    pub probes: bool,
    /// Most routes that a robot traces in a minute.
    #[serde(default)]
    pub traces_per_minute: f64,
}

/// See [`Articles::traces_per_minute`].
pub const TRACES_PER_MINUTE: f64 = 0.0;

fn yes() -> bool {
    true
}

/// By what groups divide their shares.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// By links and distances, as soon as enough is known about them.
    #[default]
    Links,
    /// By a hash of addresses and names, for comparison.
    Hash,
}

impl Articles {
    pub fn new(config: &Config, lease: f64, quiet: Option<f64>) -> Result<Self> {
        Ok(Self {
            version: VERSION,
            id: format!("{:016x}", super::join::random()),
            config: toml::to_string(&common(config))?,
            lease,
            quiet,
            replicas: 1,
            storage: 0,
            division: By::default(),
            probes: true,
            traces_per_minute: TRACES_PER_MINUTE,
        })
    }

    pub fn check(&self) -> Result<()> {
        if self.version != VERSION {
            return Err(anyhow!(
                "the fleet's configuration has format {}; this evercrawl reads format {VERSION}",
                self.version
            ));
        }
        if self.quiet.is_some_and(|quiet| !is_bearable(quiet)) {
            return Err(anyhow!(
                "the fleet was created with a --quiet of more than 24h, after which no robot would begin: create it \
                 under another name"
            ));
        }
        Ok(())
    }

    /// Refuses what no fleet can work with, before there is one.
    pub fn check_new(&self, config: &Config) -> Result<()> {
        let f = &config.fetch;
        let usual =
            f.connect_seconds + f.first_byte_seconds + f.body_seconds + longest_interval(config);
        let text = match self.quiet {
            Some(quiet) if !is_bearable(quiet) => {
                "--quiet: expected a time from 0s to 24h".to_owned()
            }
            None if !is_bearable(usual) => format!(
                "after a death or a start, servers would be left alone for {usual:.0} s, by politeness.interval, \
                 fetch.connect_seconds, first_byte_seconds and body_seconds together: expected at most 24h; \
                 --quiet sets another time"
            ),
            _ => {
                let bytes = serde_json::to_vec(self)?.len();
                if bytes <= limits::VALUE {
                    return Ok(());
                }
                format!(
                    "the configuration takes {bytes} bytes without its seeds; a fleet keeps at most {} of it",
                    limits::VALUE
                )
            }
        };
        Err(BadInput(text).into())
    }

    /// The configuration of all robots.
    pub fn config(&self) -> Result<Config> {
        Config::parse(&self.config)
            .map_err(|error| anyhow!("the fleet's configuration cannot be used here: {error}"))
    }

    /// How often a robot measures what is around it, and whether it has servers probed.
    pub fn survey(&self) -> (Duration, bool) {
        let every = Duration::from_secs_f64(self.lease.clamp(2.0, 30.0));
        (every, self.probes && self.division == By::Links)
    }

    /// How large and how patient the streams are.
    pub fn layout(&self) -> Layout {
        let share = |part: u64| self.storage / part;
        Layout {
            replicas: self.replicas,
            key_bytes: share(32).max(8 << 20),
            queue_bytes: share(16).max(16 << 20),
            log_bytes: share(4),
            object_bytes: share(4),
            dead_bytes: share(64).clamp(1 << 20, 64 << 20),
            ack_wait: Duration::from_secs_f64(self.lease.clamp(2.0, 30.0)),
            patience: Duration::from_secs_f64((self.lease / 3.0).clamp(1.0, 6.0)),
            ..Layout::default()
        }
    }

    /// What the protocol of a robot has to be told.
    pub fn settings(&self, robot: RobotId, path: Vec<GroupId>, config: &Config) -> Settings {
        let mut settings = Settings::new(robot, path);
        let millis = |seconds: f64| (seconds * 1e3).ceil() as Millis;
        settings.term.lasts = millis(self.lease);
        settings.term.margin = millis(self.lease / 30.0).max(300);
        settings.poll = millis(self.lease / 6.0).clamp(500, 5_000);
        settings.resend = millis(self.lease * 2.0 / 3.0).clamp(2_000, 20_000);
        settings.observe = millis(self.lease).clamp(2_000, 30_000);
        match (&mut settings.division, self.division) {
            (Some(terms), By::Links) if self.probes => {
                terms.patience = PATIENCE * settings.observe;
                terms.routes = self.traces_per_minute > 0.0;
            }
            (_, By::Links) => {}
            (division, By::Hash) => *division = None,
        }
        let f = &config.fetch;
        (settings.interval, settings.longest) = match self.quiet {
            Some(quiet) => (millis(quiet), 0),
            None => (
                millis(longest_interval(config)),
                millis(f.connect_seconds + f.first_byte_seconds + f.body_seconds),
            ),
        };
        let rate = config.budget.requests_per_second;
        settings.budget =
            (rate > 0.0).then(|| (rate * settings.window as f64 / 1e3).max(1.0) as u32);
        settings
    }
}

fn is_bearable(quiet: f64) -> bool {
    (0.0..=LONGEST_QUIET).contains(&quiet)
}

/// The longest that a host is left alone after a request, without having asked for it.
fn longest_interval(config: &Config) -> f64 {
    match config.politeness.interval {
        Interval::Fixed { seconds } => seconds,
        Interval::Density { longest, .. } => longest,
        Interval::Latency { least, .. } => least.max(LONGEST_INTERVAL),
    }
}

/// A configuration without what is a machine's own affair.
fn common(config: &Config) -> Config {
    let mut common = config.clone();
    let usual = Config::default();
    common.data = usual.data;
    common.log = usual.log;
    common.metrics = usual.metrics;
    common.state = usual.state;
    common.fetch.source = None;
    common.fetch.dns_server = None;
    common.seeds = Vec::new();
    common
}

/// The fleet's configuration with what a machine's own file says of itself. A file that says something else of what
/// all robots have in common is refused.
pub fn with_local(fleet: &Config, path: &Path, text: &str, local: &Config) -> Result<Config> {
    let said: Table = text.parse().unwrap_or_default();
    let of = |config: &Config| -> Result<Table> { Ok(Table::try_from(config)?) };
    let (local_all, fleet_all) = (of(local)?, of(fleet)?);
    let mut keys = Vec::new();
    collect("", &said, &mut keys);
    for key in keys {
        let is_local = |own: &str| key == own || key.starts_with(&format!("{own}."));
        if LOCAL.iter().any(|own| is_local(own)) {
            continue;
        }
        let (here, there) = (find(&local_all, &key), find(&fleet_all, &key));
        if here != there {
            let shown = |value: Option<&Value>| {
                value.map_or_else(|| "unset".to_owned(), ToString::to_string)
            };
            let text = format!(
                "{key} = {}, but the fleet has {}: all robots of a fleet share one configuration; remove the key",
                shown(here),
                shown(there)
            );
            return Err(BadInput::file(path, text).into());
        }
    }
    let mut config = fleet.clone();
    config.data.clone_from(&local.data);
    config.log.clone_from(&local.log);
    config.metrics.clone_from(&local.metrics);
    config.dashboard.clone_from(&local.dashboard);
    config.state.clone_from(&local.state);
    config.fetch.source = local.fetch.source;
    config.fetch.dns_server = local.fetch.dns_server;
    Ok(config)
}

/// The keys that a file has, as people write them.
fn collect(above: &str, table: &Table, keys: &mut Vec<String>) {
    for (name, value) in table {
        let key = if above.is_empty() {
            name.clone()
        } else {
            format!("{above}.{name}")
        };
        match value {
            // below the second level tables are values
            Value::Table(table) if above.is_empty() => collect(&key, table, keys),
            _ => keys.push(key),
        }
    }
}

fn find<'a>(table: &'a Table, key: &str) -> Option<&'a Value> {
    match key.split_once('.') {
        Some((first, rest)) => table.get(first)?.as_table()?.get(rest),
        None => table.get(key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(fleet: &str, local: &str) -> Result<Config> {
        let fleet = common(&Config::parse(fleet).unwrap());
        let read = Config::parse(local).unwrap();
        with_local(&fleet, Path::new("local.toml"), local, &read)
    }

    #[test]
    fn a_machine_has_its_own_affairs() {
        let local = "data = \"here\"\n[fetch]\nsource = \"127.0.0.9\"\n[log]\nlevel = \"debug\"\n";
        let config = joined("[scope]\nsuffixes = [\"org\"]\n", local).unwrap();
        assert_eq!(config.scope.suffixes, ["org"]);
        assert_eq!(config.fetch.source, Some([127, 0, 0, 9].into()));
        assert_eq!(config.data.0, Path::new("here"));
    }

    #[test]
    fn what_differs_from_the_fleet_is_refused_by_name() {
        let fleet = "[scope]\nsuffixes = [\"org\"]\n[politeness]\nat_once = 2\n";
        let error = joined(fleet, "[politeness]\nat_once = 3\n").unwrap_err();
        assert!(error.is::<BadInput>());
        let error = error.to_string();
        assert!(
            error.contains("politeness.at_once = 3") && error.contains("the fleet has 2"),
            "{error}"
        );
        // said again, and the same
        assert!(joined(fleet, "[politeness]\nat_once = 2\n").is_ok());
        // the default, where the fleet has something else
        assert!(joined(fleet, "[scope]\nsuffixes = []\n").is_err());
    }

    #[test]
    fn what_no_fleet_can_work_with_is_refused() {
        let refusal = |config: &str, quiet| {
            let config = Config::parse(config).unwrap();
            let articles = Articles::new(&config, 30.0, quiet).unwrap();
            let error = articles.check_new(&config).err()?;
            assert!(error.is::<BadInput>());
            Some(error.to_string())
        };
        assert_eq!(refusal("", None), None);
        assert_eq!(refusal("", Some(86_400.0)), None);
        let said = refusal("", Some(1e300)).unwrap();
        assert!(said.contains("--quiet") && said.contains("24h"), "{said}");
        let interval = "[politeness]\ninterval = { rule = \"fixed\", seconds = 1e9 }\n";
        let said = refusal(interval, None).unwrap();
        assert!(said.contains("politeness.interval"), "{said}");
        assert_eq!(refusal(interval, Some(10.0)), None);
        let prefixes: Vec<String> = (0..100_000)
            .map(|n| format!("\"https://a.org/{n}/\""))
            .collect();
        let large = format!("[scope]\nprefixes = [{}]\n", prefixes.join(","));
        let said = refusal(&large, None).unwrap();
        assert!(said.contains("at most 1048576"), "{said}");
        // founded by an earlier version
        let old = Articles::new(&Config::default(), 30.0, Some(1e300)).unwrap();
        assert!(old.check().is_err());
    }
}
