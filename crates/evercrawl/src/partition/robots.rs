//! `robots.toml`: who shares the Web, in which groups.

use crate::bad_input::BadInput;
use crate::terminal::short;
use anyhow::Result;
use ground::Point;
use partition::hierarchy::{Member, Tree};
use partition::limits::Balance;
use serde::Deserialize;
use std::collections::HashSet;
use std::path::Path;
use toml::Spanned;

/// Capacities are in proportion to each other, so their unit is free, but not endless.
const MOST_CAPACITY: f64 = 1e12;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    balance: Tolerances,
    #[serde(default)]
    preference: Preference,
    #[serde(default)]
    robot: Vec<RobotForm>,
}

/// By how much a robot may exceed its fair share; 0.03 is 3 %, a negative number no limit.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Tolerances {
    pages: f64,
    servers: f64,
    traffic: f64,
}

impl Tolerances {
    fn check(&self, path: &Path) -> Result<(), BadInput> {
        for (key, value) in [
            ("pages", self.pages),
            ("servers", self.servers),
            ("traffic", self.traffic),
        ] {
            if !value.is_finite() {
                let reason = format!(
                    "balance.{key} is {value}: expected a number such as 0.03, or -1 for no limit"
                );
                return Err(BadInput::file(path, reason));
            }
        }
        Ok(())
    }
}

impl Default for Tolerances {
    fn default() -> Self {
        Self {
            pages: 0.03,
            servers: 0.5,
            traffic: 0.5,
        }
    }
}

/// How much each objective matters; 0 leaves it out.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Preference {
    /// Few links between robots.
    pub links: f64,
    /// Short round-trip times.
    pub rtt: f64,
    /// Short distances.
    pub distance: f64,
}

impl Preference {
    fn check(&self, path: &Path) -> Result<(), BadInput> {
        for (key, value) in [
            ("links", self.links),
            ("rtt", self.rtt),
            ("distance", self.distance),
        ] {
            if !(value >= 0.0 && value.is_finite()) {
                let reason =
                    format!("preference.{key} is {value}: expected a number of at least 0");
                return Err(BadInput::file(path, reason));
            }
        }
        Ok(())
    }
}

impl Default for Preference {
    fn default() -> Self {
        Self {
            links: 1.0,
            rtt: 1.0,
            distance: 1.0,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RobotForm {
    name: Spanned<String>,
    #[serde(default)]
    group: String,
    capacity: Option<Spanned<f64>>,
    latitude: Option<f64>,
    longitude: Option<f64>,
}

/// A robot.
#[derive(Clone, Debug, PartialEq)]
pub struct Robot {
    /// Its name.
    pub name: String,
    /// The groups above it, the widest first.
    pub groups: Vec<String>,
    /// How much it can take; only proportions matter.
    pub capacity: f64,
    /// Where it is.
    pub place: Option<Point>,
}

/// All robots, in the order of the tree of groups.
pub struct Robots {
    /// The robots; groups are ranges of them.
    pub all: Vec<Robot>,
    /// The tree.
    pub tree: Tree,
    /// How equal their parts must be.
    pub balance: Balance,
    /// What matters.
    pub preference: Preference,
}

impl Robots {
    /// Reads the file.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| BadInput::file(path, format!("cannot be read: {error}")))?;
        Ok(Self::parse(path, &text)?)
    }

    fn parse(path: &Path, text: &str) -> Result<Self, BadInput> {
        let file: File = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_of(text, span.start));
            BadInput::at(path, line, error.message())
        })?;
        if file.robot.is_empty() {
            return Err(BadInput::file(
                path,
                "there is no robot; expected at least one [[robot]] with a name",
            ));
        }
        let mut names = HashSet::new();
        let mut robots = Vec::new();
        for form in file.robot {
            let line = line_of(text, form.name.span().start);
            let wrong = |line, reason: String| Err(BadInput::at(path, line, reason));
            let name = form.name.into_inner();
            if !is_name(&name) {
                return wrong(
                    line,
                    format!("name is '{name}': expected letters, digits, -, _ and ."),
                );
            }
            if !names.insert(name.clone()) {
                return wrong(line, format!("the robot '{name}' is listed twice"));
            }
            let (capacity, line) = form.capacity.map_or((1.0, line), |capacity| {
                let line = line_of(text, capacity.span().start);
                (capacity.into_inner(), line)
            });
            if !(1.0 / MOST_CAPACITY..=MOST_CAPACITY).contains(&capacity) {
                return wrong(
                    line,
                    format!(
                        "the robot '{name}' has capacity {}: expected a number above 0, at most \
                         {MOST_CAPACITY:e}",
                        short(capacity)
                    ),
                );
            }
            let place = match (form.latitude, form.longitude) {
                (None, None) => None,
                (Some(latitude), Some(longitude))
                    if latitude.abs() <= 90.0 && longitude.abs() <= 180.0 =>
                {
                    Some(Point {
                        latitude,
                        longitude,
                    })
                }
                _ => {
                    return wrong(
                        line,
                        format!(
                            "the robot '{name}' is nowhere: expected latitude from -90 to 90 and \
                             longitude from -180 to 180, both or none"
                        ),
                    );
                }
            };
            let groups = form.group.split('/').map(str::trim);
            robots.push(Robot {
                name,
                groups: groups
                    .filter(|g| !g.is_empty())
                    .map(str::to_owned)
                    .collect(),
                capacity,
                place,
            });
        }
        let is_group = |name: &String| {
            robots
                .iter()
                .any(|robot| robot.groups.first() == Some(name))
        };
        if let Some(robot) = robots.iter().find(|robot| is_group(&robot.name)) {
            let name = &robot.name;
            let reason =
                format!("'{name}' is a robot and a group: tables could not tell them apart");
            return Err(BadInput::file(path, reason));
        }
        file.balance.check(path)?;
        let preference = file.preference;
        preference.check(path)?;
        let (all, fleet) = grouped(robots, 0);
        let tree = Tree::new(&fleet).map_err(|error| BadInput::file(path, error))?;
        let limit = |tolerance: f64| (tolerance >= 0.0).then_some(tolerance);
        Ok(Self {
            all,
            tree,
            balance: Balance {
                pages: limit(file.balance.pages),
                servers: limit(file.balance.servers),
                traffic: limit(file.balance.traffic),
            },
            preference,
        })
    }

    /// Their capacities.
    pub fn capacities(&self) -> Vec<f64> {
        self.all.iter().map(|robot| robot.capacity).collect()
    }

    /// The robot of that name.
    pub fn number(&self, name: &str) -> Option<u32> {
        let found = self.all.iter().position(|robot| robot.name == name);
        found.map(|number| number as u32)
    }
}

/// Whether a robot may be called so: it becomes the name of a file.
pub fn is_name(name: &str) -> bool {
    let good = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && !name.starts_with('.') && name.chars().all(good)
}

/// Robots with those of one group together, in the order of first appearance, and their tree.
fn grouped(robots: Vec<Robot>, depth: usize) -> (Vec<Robot>, Member) {
    let mut groups: Vec<(Option<String>, Vec<Robot>)> = Vec::new();
    for robot in robots {
        let group = robot.groups.get(depth).cloned();
        let same = group.as_ref().and_then(|name| {
            groups
                .iter_mut()
                .find(|(other, _)| other.as_ref() == Some(name))
        });
        match same {
            Some((_, members)) => members.push(robot),
            None => groups.push((group, vec![robot])),
        }
    }
    let (mut ordered, mut members) = (Vec::new(), Vec::new());
    for (group, inside) in groups {
        if group.is_some() {
            let (inside, member) = grouped(inside, depth + 1);
            ordered.extend(inside);
            members.push(member);
        } else {
            members.extend(inside.iter().map(|robot| Member::Robot(robot.capacity)));
            ordered.extend(inside);
        }
    }
    (ordered, Member::Group(members))
}

fn line_of(text: &str, offset: usize) -> u64 {
    1 + text[..offset.min(text.len())].matches('\n').count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Robots, String> {
        Robots::parse(Path::new("robots.toml"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn groups_become_a_tree_and_their_robots_stand_together() {
        let text = "
            [[robot]]\nname = 'a1'\ngroup = 'a'\n
            [[robot]]\nname = 'b1'\ngroup = 'b/x'\ncapacity = 2\n
            [[robot]]\nname = 'a2'\ngroup = 'a'\n
            [[robot]]\nname = 'c'\n";
        let robots = parse(text).unwrap();
        let names: Vec<&str> = robots.all.iter().map(|r| r.name.as_str()).collect();
        assert_eq!(names, ["a1", "a2", "b1", "c"]);
        assert_eq!(robots.capacities(), [1.0, 1.0, 2.0, 1.0]);
        assert_eq!(robots.tree.path(1), [0, 1]);
        assert_eq!(robots.tree.path(2), [1, 0, 0]);
        assert_eq!(robots.tree.path(3), [2]);
        assert_eq!(robots.number("b1"), Some(2));
    }

    #[test]
    fn errors_name_line_and_key() {
        for (text, expected) in [
            ("", "no robot"),
            (
                "[[robot]]\nname='a'\nspeed=1",
                "robots.toml:3: unknown field `speed`",
            ),
            (
                "[[robot]]\nname='a'\ncapacity=0",
                "robots.toml:3: the robot 'a' has capacity 0",
            ),
            (
                "[[robot]]\nname='a'\n[[robot]]\nname='a'",
                "robots.toml:4: the robot 'a' is listed twice",
            ),
            (
                "[[robot]]\nname='a'\ncapacity=1e300",
                "robots.toml:3: the robot 'a' has capacity 1.0000e300: expected",
            ),
            (
                "[[robot]]\nname='a'\ngroup='b/c'\n[[robot]]\nname='b'",
                "robots.toml: 'b' is a robot and a group",
            ),
            ("[[robot]]\nname='../a'", "robots.toml:2: name is"),
            ("[[robot]]\nname='a'\nlatitude=4", "is nowhere"),
            (
                "[preference]\nlinks=-1\n[[robot]]\nname='a'",
                "preference.links is -1",
            ),
            (
                "[balance]\npages=nan\n[[robot]]\nname='a'",
                "robots.toml: balance.pages is NaN",
            ),
            (
                "[balance]\nservers=inf\n[[robot]]\nname='a'",
                "robots.toml: balance.servers is inf",
            ),
            (
                "[balance]\npage=1\n[[robot]]\nname='a'",
                "robots.toml:2: unknown field `page`",
            ),
            ("[[robot]]\nname=", "robots.toml:2"),
        ] {
            let error = parse(text).err().unwrap_or_else(|| panic!("{text}"));
            assert!(error.contains(expected), "{error}");
        }
    }
}
