//! A scenario as people write it: a TOML file with places, robots and what goes wrong.

use std::collections::BTreeMap;

use fleet::identity::{GroupId, Millis};
use serde::Deserialize;

use super::scenario::{FLEET, Fault, Scenario};
use super::web::Size;

/// What a scenario file says. Times are seconds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Decides everything that is drawn.
    #[serde(default = "one")]
    pub seed: u64,
    /// Visits of each page until the crawl is done; 0 for a crawl without end.
    #[serde(default = "one")]
    pub visits: u64,
    /// When a crawl without end is looked at.
    pub lasts: Option<f64>,
    /// Least time between two requests to a server.
    #[serde(default = "usual_interval")]
    pub interval: f64,
    /// Requests of the whole fleet in ten seconds.
    pub budget: Option<u32>,
    /// Whether messages are lost, late and doubled.
    #[serde(default)]
    pub noisy: bool,
    /// The web.
    #[serde(default)]
    pub web: WebSize,
    /// Where robots are.
    #[serde(rename = "place")]
    pub places: Vec<Place>,
    /// What goes wrong, or changes.
    #[serde(default, rename = "fault")]
    pub faults: Vec<Written>,
}

/// The web in numbers.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WebSize {
    /// Host names.
    pub hosts: u16,
    /// Addresses; names share them.
    pub servers: u16,
    /// Most pages of a host.
    pub pages: u16,
    /// Links of a page beyond those that make everything reachable.
    pub links: u16,
    /// Changes of a page in an hour, on average.
    pub changes: f64,
}

impl Default for WebSize {
    fn default() -> Self {
        Self {
            hosts: 24,
            servers: 14,
            pages: 5,
            links: 3,
            changes: 6.0,
        }
    }
}

/// A site.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Robots are called by it and their number: "Oslo 2".
    pub name: String,
    /// Robots that are there from the start.
    pub robots: usize,
    /// Robots that may join later; their numbers follow.
    #[serde(default)]
    pub spare: usize,
    /// One way to the messaging engine, in milliseconds.
    #[serde(default)]
    pub delay: Millis,
}

/// A fault in words.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// When.
    pub at: f64,
    /// What.
    pub what: Kind,
    /// To whom, where it is about one robot.
    pub robot: Option<String>,
    /// For how long, where it lasts.
    #[serde(rename = "for")]
    pub lasts: Option<f64>,
}

/// What may go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The process dies and comes back.
    Kill,
    /// The disk dies with it.
    DiskLoss,
    /// It sleeps.
    Pause,
    /// It falls asleep just before a request.
    PauseAtGate,
    /// It is cut off.
    Partition,
    /// Its writes take up to that long.
    SlowDisk,
    /// The messaging engine has no leader.
    Gap,
    /// The engine forgets what it acknowledged in that time.
    Amnesia,
    /// All streams are full.
    Full,
    /// A spare robot starts.
    Join,
    /// A robot leaves in order.
    Leave,
    /// A new routing table comes into force.
    Divide,
}

fn one() -> u64 {
    1
}

fn usual_interval() -> f64 {
    15.0
}

/// Why a file is no scenario.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Not TOML, or unknown keys.
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    /// A value that cannot be.
    #[error("{key}: {reason}")]
    Value {
        /// Which.
        key: String,
        /// What was expected.
        reason: String,
    },
}

fn bad<T>(key: impl Into<String>, reason: impl Into<String>) -> Result<T, FileError> {
    let (key, reason) = (key.into(), reason.into());
    Err(FileError::Value { key, reason })
}

/// Most robots that a scenario may have.
const MOST_ROBOTS: usize = 1_000;

/// A scenario with the names of its robots, and how often pages change.
#[derive(Clone, Debug)]
pub struct Named {
    /// What happens.
    pub scenario: Scenario,
    /// By position.
    pub names: Vec<String>,
    /// Changes of a page in an hour.
    pub changes: f64,
}

impl File {
    /// Reads a scenario.
    pub fn parse(text: &str) -> Result<Named, FileError> {
        toml::from_str::<Self>(text)?.named()
    }

    fn named(self) -> Result<Named, FileError> {
        let mut scenario = Scenario::calm(self.seed, 0);
        let mut names = Vec::new();
        let mut spares = Vec::new();
        let one_place = self.places.len() == 1;
        for (number, place) in (10..).zip(&self.places) {
            if place.robots == 0 {
                return bad(
                    format!("place \"{}\"", place.name),
                    "needs at least one robot",
                );
            }
            let site = GroupId(number);
            let path = if one_place {
                vec![FLEET]
            } else {
                vec![FLEET, site]
            };
            for robot in 0..place.robots + place.spare {
                if robot >= place.robots {
                    spares.push(names.len());
                }
                names.push(format!("{} {}", place.name, robot + 1));
                scenario.robots.push(path.clone());
                scenario.delays.push(place.delay);
            }
        }
        if names.is_empty() || names.len() > MOST_ROBOTS {
            return bad(
                "place",
                format!("expected 1 to {MOST_ROBOTS} robots in all"),
            );
        }
        let positions: BTreeMap<&str, usize> = names.iter().map(String::as_str).zip(0..).collect();
        if positions.len() < names.len() {
            return bad("place", "two places have one name");
        }
        let web = self.web;
        if web.hosts == 0 || web.servers == 0 || web.pages == 0 {
            return bad("web", "hosts, servers and pages must be at least 1");
        }
        if !(web.changes.is_finite() && web.changes >= 0.0) {
            return bad("web.changes", "expected a number from 0 on");
        }
        scenario.web = Size {
            hosts: web.hosts,
            servers: web.servers,
            pages: web.pages,
            links: web.links,
            blocks: 1,
        };
        scenario.interval = seconds("interval", self.interval)?;
        scenario.budget = self.budget;
        scenario.noisy = self.noisy;
        scenario.visits = u32::try_from(self.visits).unwrap_or(u32::MAX);
        scenario.lasts = self.lasts.map(|s| seconds("lasts", s)).transpose()?;
        match (self.visits, scenario.lasts) {
            (0, None) => return bad("lasts", "a crawl without end (visits = 0) needs it"),
            (1.., Some(_)) => return bad("lasts", "belongs to a crawl without end (visits = 0)"),
            (0, Some(_)) => scenario.visits = u32::MAX,
            _ => scenario.once = true,
        }
        for (number, fault) in (1..).zip(&self.faults) {
            let key = format!("fault {number}");
            let at = seconds(&key, fault.at)?;
            let fault = fault.fault(&key, &positions)?;
            if let Fault::Join(robot) = fault
                && !spares.contains(&robot)
            {
                return bad(key, format!("\"{}\" is there from the start", names[robot]));
            }
            scenario.events.push((at, fault));
        }
        scenario.events.sort_by_key(|event| event.0);
        scenario.newcomers = spares;
        scenario.patience =
            1_500_000 + scenario.interval * 1_000 * u64::from(scenario.visits.min(1_000));
        Ok(Named {
            scenario,
            names,
            changes: web.changes,
        })
    }
}

impl Written {
    fn fault(&self, key: &str, robots: &BTreeMap<&str, usize>) -> Result<Fault, FileError> {
        let whole = matches!(
            self.what,
            Kind::Gap | Kind::Amnesia | Kind::Full | Kind::Divide
        );
        let lasting = !matches!(self.what, Kind::Join | Kind::Leave | Kind::Divide);
        let robot = match (&self.robot, whole) {
            (None, true) => 0,
            (Some(_), true) => return bad(key, "concerns nobody in particular; leave 'robot' out"),
            (None, false) => return bad(key, "which 'robot'?"),
            (Some(name), false) => match robots.get(name.as_str()) {
                Some(position) => *position,
                None => return bad(key, format!("there is no robot \"{name}\"")),
            },
        };
        let long = match (self.lasts, lasting) {
            (Some(lasts), true) => seconds(key, lasts)?,
            (None, true) => return bad(key, "for how long? ('for', in seconds)"),
            (Some(_), false) => return bad(key, "does not last; leave 'for' out"),
            (None, false) => 0,
        };
        Ok(match self.what {
            Kind::Kill => Fault::Kill(robot, long),
            Kind::DiskLoss => Fault::DiskLoss(robot, long),
            Kind::Pause => Fault::Pause(robot, long),
            Kind::PauseAtGate => Fault::PauseAtGate(robot, long),
            Kind::Partition => Fault::Partition(robot, long),
            Kind::SlowDisk => Fault::SlowDisk(robot, long),
            Kind::Gap => Fault::Gap(long),
            Kind::Amnesia => Fault::Amnesia(long),
            Kind::Full => Fault::Full(long),
            Kind::Join => Fault::Join(robot),
            Kind::Leave => Fault::Leave(robot),
            Kind::Divide => Fault::Divide(seconds(key, self.at)?),
        })
    }
}

fn seconds(key: &str, value: f64) -> Result<Millis, FileError> {
    if value.is_finite() && (0.0..=1e7).contains(&value) {
        Ok((value * 1_000.0) as Millis)
    } else {
        bad(key, "expected seconds, from 0 to 10,000,000")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        let place = "[[place]]\nname = \"Oslo\"\nrobots = 2\nspare = 1\n";
        let with = |more: &str| File::parse(&format!("{place}{more}"));
        let named = with("[[fault]]\nat = 3\nwhat = \"join\"\nrobot = \"Oslo 3\"\n").unwrap();
        assert_eq!(named.names, ["Oslo 1", "Oslo 2", "Oslo 3"]);
        assert_eq!(named.scenario.events, [(3_000, Fault::Join(2))]);
        for (more, says) in [
            (
                "[[fault]]\nat = 3\nwhat = \"join\"\nrobot = \"Oslo 1\"\n",
                "from the start",
            ),
            (
                "[[fault]]\nat = 3\nwhat = \"kill\"\nrobot = \"Oslo 1\"\n",
                "for how long",
            ),
            (
                "[[fault]]\nat = 3\nwhat = \"kill\"\nfor = 3\n",
                "which 'robot'",
            ),
            (
                "[[fault]]\nat = -3\nwhat = \"gap\"\nfor = 3\n",
                "expected seconds",
            ),
            ("[[fault]]\nat = 3\nwhat = \"fire\"\n", "unknown variant"),
            ("[web]\nhosts = 0\n", "at least 1"),
            ("[web]\nhots = 3\n", "unknown field"),
        ] {
            let error = with(more).unwrap_err().to_string();
            assert!(error.contains(says), "{more}: {error}");
        }
        assert!(File::parse("visits = 0\n[[place]]\nname = \"a\"\nrobots = 1\n").is_err());
    }
}
