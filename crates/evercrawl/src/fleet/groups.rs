//! `evercrawl fleet group`: the tree of groups, as its owners want it.

use super::office::{Office, Where, check_name};
use crate::bad_input::BadInput;
use crate::terminal;
use anyhow::{Result, anyhow};
use bus::Bus;
use bus::nats::setup::SetupError;
use fleet::identity::GroupId;
use fleet::io::Outcome;
use fleet::key::{Charter, Key, Value, What};
use fleet::plan::Plan;
use fleet::record::Shared;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The fleet itself.
pub const TOP: GroupId = GroupId(1);
/// How a plan can be deep, by the protocol.
const DEEPEST: usize = 16;

/// Define, move and remove groups: sites and regions.
///
/// The command records the change at once; the groups' own robots carry it out when it is safe.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    place: Where,
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Define a group.
    Add {
        /// Its name.
        group: String,
        /// The group above it [default: the fleet itself].
        #[arg(long = "in", value_name = "GROUP")]
        above: Option<String>,
        /// The group is one robot on several machines, which share its part by hash; `join --node-of` adds each.
        #[arg(long)]
        nodes: bool,
    },
    /// Move a group, with everything in it, below another.
    Move {
        /// The group.
        group: String,
        /// The new group above it; the fleet's name stands for the fleet itself.
        #[arg(long = "in", value_name = "GROUP")]
        above: String,
    },
    /// Limit the bandwidth of the line that a group's robots share.
    Limit {
        /// The group.
        group: String,
        /// Bytes per second of all its robots together; 0 for no limit.
        #[arg(long, value_name = "NUMBER")]
        bytes_per_second: u64,
    },
    /// Remove a group from the fleet. Its share goes to others; no group may be below it.
    Remove {
        /// The group.
        group: String,
    },
}

/// The groups, as they are written down.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Groups {
    pub groups: Vec<Group>,
    /// Numbers are never used again.
    pub last: u64,
}

/// A group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    pub id: u64,
    pub name: String,
    /// The number of the one above; nothing for the fleet.
    pub above: Option<u64>,
    /// One robot of several machines.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nodes: bool,
    /// What the line that its robots share may carry; 0 means no limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes_per_second: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde calls it
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Groups {
    /// The fleet alone.
    pub fn founded(fleet: &str) -> Self {
        Self {
            groups: vec![Group {
                id: TOP.0,
                name: fleet.to_owned(),
                above: None,
                nodes: false,
                bytes_per_second: 0,
            }],
            last: TOP.0,
        }
    }

    pub fn named(&self, name: &str) -> Result<&Group> {
        let found = self.groups.iter().find(|group| group.name == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = self.groups.iter().map(|g| g.name.as_str()).collect();
            BadInput(format!(
                "no group {name:?}; there are: {}",
                names.join(", ")
            ))
            .into()
        })
    }

    pub fn with(&self, id: GroupId) -> Option<&Group> {
        self.groups.iter().find(|group| group.id == id.0)
    }

    /// What people call a group.
    pub fn name(&self, id: GroupId) -> String {
        self.with(id)
            .map_or_else(|| id.to_string(), |group| group.name.clone())
    }

    /// From the fleet down to the group.
    pub fn path(&self, id: GroupId) -> Vec<GroupId> {
        let mut path = vec![id];
        let mut at = self.with(id);
        while let Some(above) = at.and_then(|group| group.above) {
            path.push(GroupId(above));
            at = self.with(GroupId(above));
        }
        path.reverse();
        path
    }

    /// How many levels of groups a group is, with those below it.
    fn levels(&self, id: GroupId) -> usize {
        let own = self.path(id).len();
        let below = self.groups.iter().map(|group| self.path(GroupId(group.id)));
        let below = below.filter(|path| path.contains(&id));
        below.map(|path| path.len() - own + 1).max().unwrap_or(1)
    }

    /// Whether so many levels of groups may be below a group; robots are one more.
    fn check_below(&self, above: GroupId, levels: usize) -> Result<()> {
        if let Some(above) = self.with(above).filter(|above| above.nodes) {
            let text = format!("{} is one robot: no group is below it", above.name);
            return Err(BadInput(text).into());
        }
        if self.path(above).len() + levels >= DEEPEST {
            return Err(BadInput(format!("no tree is deeper than {DEEPEST} levels")).into());
        }
        Ok(())
    }
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let office = Office::open(&arguments.place)?;
    office.articles()?;
    let (revision, mut groups) = office.groups()?;
    match &arguments.command {
        Command::Add {
            group,
            above,
            nodes,
        } => {
            // with the fleet's own sizes
            let layout = office.articles()?.layout();
            let builder = Office::connect(&office.place, "operator", layout, true)?;
            let above = add(&builder, group, above.as_deref(), *nodes)?;
            let what = if *nodes {
                "a robot of several machines"
            } else {
                "a group"
            };
            terminal::print(&format!("{group} is {what} in {above}\n"))?;
        }
        Command::Move { group, above } => {
            let (id, _) = below_top(&groups, group)?;
            let to = GroupId(groups.named(above)?.id);
            if groups.path(to).contains(&id) {
                return Err(BadInput(format!("{above} is {group} itself, or below it")).into());
            }
            groups.check_below(to, groups.levels(id))?;
            if let Some(moved) = groups.groups.iter_mut().find(|known| known.id == id.0) {
                moved.above = Some(to.0);
            }
            office.write("groups", revision, &groups)?;
            let charter = |group, change: &dyn Fn(&mut Charter)| {
                self::charter(&office, &groups, group, change)
            };
            charter(id, &|charter| charter.parent = Some(to))?;
            // wherever it was, and where an earlier try left it
            for other in groups.groups.iter().map(|known| GroupId(known.id)) {
                if other != to && is_member(&office, other, id)? {
                    charter(other, &|charter| charter.groups.retain(|g| *g != id))?;
                }
            }
            charter(to, &|charter| charter.groups.push(id))?;
            terminal::print(&format!("{group} goes to {above}; its share moves first\n"))?;
        }
        Command::Limit {
            group,
            bytes_per_second,
        } => {
            let id = groups.named(group)?.id;
            if id == TOP.0 {
                let text = "the fleet's own limit is budget.bytes_per_second of its configuration";
                return Err(BadInput(text.into()).into());
            }
            let known = groups.groups.iter_mut().filter(|known| known.id == id);
            known.for_each(|known| known.bytes_per_second = *bytes_per_second);
            office.write("groups", revision, &groups)?;
            terminal::print(&match bytes_per_second {
                0 => format!("the line of {group} has no limit\n"),
                bytes => format!(
                    "the robots of {group} together receive at most {} bytes a second\n",
                    terminal::grouped(*bytes as usize)
                ),
            })?;
        }
        Command::Remove { group } => {
            let (id, from) = below_top(&groups, group)?;
            if groups.groups.iter().any(|known| known.above == Some(id.0)) {
                let text = format!("there are groups below {group}: move or remove them first");
                return Err(BadInput(text).into());
            }
            groups.groups.retain(|known| known.id != id.0);
            charter(&office, &groups, from, |charter| {
                charter.groups.retain(|g| *g != id);
            })?;
            office.write("groups", revision, &groups)?;
            terminal::print(&format!(
                "{group} is no longer a group; others take over its share\n"
            ))?;
        }
    }
    Ok(())
}

fn below_top(groups: &Groups, name: &str) -> Result<(GroupId, GroupId)> {
    let group = groups.named(name)?;
    let above = group
        .above
        .ok_or_else(|| BadInput(format!("{name} is the fleet itself")))?;
    Ok((GroupId(group.id), GroupId(above)))
}

/// Adds a group; says what the one above it is called. The office knows the fleet's own sizes.
pub fn add(office: &Office, group: &str, above: Option<&str>, nodes: bool) -> Result<String> {
    check_name("group", group)?;
    let (revision, mut groups) = office.groups()?;
    let above = groups.named(above.unwrap_or(&office.place.name))?;
    let (above, name) = (GroupId(above.id), above.name.clone());
    let mut new = Group {
        id: 0,
        name: group.to_owned(),
        above: Some(above.0),
        nodes,
        bytes_per_second: 0,
    };
    let id = match groups.groups.iter().find(|known| known.name == group) {
        // an earlier try came as far as the list
        Some(known) if is_unfinished(office, known, &new)? => {
            let id = GroupId(known.id);
            found(office, id, Some(above))?;
            id
        }
        Some(_) => return Err(BadInput(format!("there already is a group {group:?}")).into()),
        None => {
            groups.check_below(above, 1)?;
            groups.last += 1;
            new.id = groups.last;
            list(office, revision, &mut groups, new)?
        }
    };
    charter(office, &groups, id, |_| ())?;
    charter(office, &groups, above, |charter| charter.groups.push(id))?;
    Ok(name)
}

/// Lists a group when it has its streams, because everybody looks for those of a group that is listed. Its number is
/// taken before.
fn list(office: &Office, revision: u64, groups: &mut Groups, new: Group) -> Result<GroupId> {
    let id = GroupId(new.id);
    let revision = office.write("groups", revision, groups)?;
    found(office, id, new.above.map(GroupId))?;
    groups.groups.push(new);
    office.write("groups", revision, groups)?;
    Ok(id)
}

/// Whether a group that is listed is the new one, and the one above it was not told.
fn is_unfinished(office: &Office, known: &Group, new: &Group) -> Result<bool> {
    let same = (known.above, known.nodes) == (new.above, new.nodes);
    let Some(above) = known.above.filter(|_| same) else {
        return Ok(false);
    };
    Ok(!is_member(office, GroupId(above), GroupId(known.id))?)
}

/// Whether a group is to be a member of another.
fn is_member(office: &Office, above: GroupId, group: GroupId) -> Result<bool> {
    let readings = office.runtime.block_on(office.nats.poll(above));
    let readings = readings.map_err(|error| anyhow!("{error}"))?;
    Ok(readings.into_iter().any(|reading| {
        matches!(reading.value, Ok(Value::Charter(charter)) if charter.groups.contains(&group))
    }))
}

/// Makes a group's streams and its first plan, if they are not there. The office knows the fleet's own sizes.
pub fn found(office: &Office, group: GroupId, above: Option<GroupId>) -> Result<()> {
    let made = office.runtime.block_on(office.nats.found(&[group]));
    made.map_err(no_streams)?;
    plan(office, Plan::founding(group, above))
}

/// The same for a group whose plans may have been lost.
pub fn found_again(office: &Office, group: GroupId, above: Option<GroupId>) -> Result<()> {
    // robots may use what is there already
    let made = office.runtime.block_on(office.nats.init(&[group]));
    made.map_err(no_streams)?;
    plan(office, Plan::founding_again(group, above))
}

#[allow(clippy::needless_pass_by_value)] // as `map_err` gives it
fn no_streams(error: SetupError) -> anyhow::Error {
    anyhow!("the streams of a group could not be created: {error}")
}

/// Writes a group's first plan.
fn plan(office: &Office, plan: Plan) -> Result<()> {
    let group = plan.group;
    let key = Key {
        group,
        what: What::Plan,
    };
    let plan = Value::Plan(Shared(Arc::new(plan)));
    match office.runtime.block_on(office.nats.swap(key, 0, &plan)) {
        // it is there
        Outcome::Done(_) | Outcome::Refused => Ok(()),
        Outcome::Unknown => Err(anyhow!("no answer from NATS; try again")),
    }
}

/// What a group's owners want, as far as the list of groups says it.
fn first(groups: &Groups, group: GroupId) -> Charter {
    let known = groups.with(group);
    let below = groups.groups.iter().filter(|g| g.above == Some(group.0));
    Charter {
        parent: known.and_then(|known| known.above).map(GroupId),
        groups: below.map(|below| GroupId(below.id)).collect(),
        ring: known.is_some_and(|known| known.nodes),
        ..Charter::default()
    }
}

/// Writes down what a group's owners want.
pub fn charter(
    office: &Office,
    groups: &Groups,
    group: GroupId,
    change: impl Fn(&mut Charter),
) -> Result<()> {
    let key = Key {
        group,
        what: What::Charter,
    };
    for _ in 0..5 {
        let readings = office.runtime.block_on(office.nats.poll(group));
        let readings = readings.map_err(|error| anyhow!("{error}"))?;
        let (mut revision, mut wanted, mut carried_out) = (0, first(groups, group), 0);
        for reading in readings {
            match reading.value {
                Ok(Value::Charter(charter)) => (revision, wanted) = (reading.revision, charter),
                Ok(Value::Plan(plan)) => carried_out = plan.charter,
                _ => {}
            }
        }
        // servers may have lost it, but the plan remembers how many there were
        wanted.number = wanted.number.max(carried_out) + 1;
        change(&mut wanted);
        wanted.groups.sort_unstable();
        wanted.groups.dedup();
        let value = Value::Charter(wanted);
        if let Outcome::Done(_) = office
            .runtime
            .block_on(office.nats.swap(key, revision, &value))
        {
            return Ok(());
        }
    }
    Err(anyhow!(
        "the change could not be written; `evercrawl fleet tree` shows the present state"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain of groups below the fleet, and one robot of several machines.
    fn chain(length: u64) -> Groups {
        let mut groups = Groups::founded("web");
        let mut add = |id, above, nodes| {
            groups.groups.push(Group {
                id,
                name: format!("g{id}"),
                above: Some(above),
                nodes,
                bytes_per_second: 0,
            });
        };
        (2..2 + length).for_each(|id| add(id, id - 1, false));
        add(100, 1, true);
        add(101, 1, false);
        groups
    }

    #[test]
    fn a_group_moves_only_where_one_could_be_added() {
        let groups = chain(8);
        assert_eq!(groups.levels(GroupId(2)), 8);
        assert_eq!(groups.levels(GroupId(9)), 1);
        let levels = groups.levels(GroupId(2));
        assert!(groups.check_below(GroupId(101), levels).is_ok());
        let error = groups.check_below(GroupId(100), 1).unwrap_err();
        assert!(error.to_string().contains("g100 is one robot"), "{error}");
        // two chains, one below the other
        let deep = chain(14);
        assert!(deep.check_below(GroupId(15), 1).is_err());
        assert!(deep.check_below(GroupId(14), 1).is_ok());
        let error = deep
            .check_below(GroupId(101), deep.levels(GroupId(2)))
            .unwrap_err();
        assert!(error.to_string().contains("16 levels"), "{error}");
    }
}
