//! `evercrawl fleet leave` and `evict`: robots that go, and robots that are made to.

use super::ask::Ask;
use super::office::{Member, Office, Where};
use crate::bad_input::BadInput;
use crate::terminal;
use anyhow::{Result, anyhow};
use bus::Bus;
use fleet::identity::{GroupId, RobotId};
use fleet::io::Outcome;
use fleet::key::{Key, Lease, Value, What};

/// Let a robot leave: it hands over its servers and ends.
#[derive(clap::Args)]
pub struct Leave {
    #[command(flatten)]
    place: Where,
    /// The robot.
    robot: String,
}

/// End a robot that must not work, or does not answer: others take over its servers from its log.
///
/// A process that is still at work ends. Started again, it comes back with a new share. A robot that never worked
/// is taken off the fleet's list.
#[derive(clap::Args)]
pub struct Evict {
    #[command(flatten)]
    place: Where,
    /// The robot.
    robot: String,
}

pub fn leave(arguments: &Leave) -> Result<()> {
    let office = Office::open(&arguments.place)?;
    office.articles()?;
    let robot = office.robot(&arguments.robot)?;
    let name = &robot.name;
    if office.ask::<bool>(robot.id(), &Ask::Leave) == Some(true) {
        let text = format!(
            "{name} will hand over its servers and then stop; `evercrawl fleet status` shows how far it is\n"
        );
        return Ok(terminal::print(&text)?);
    }
    Err(anyhow!(
        "{name} does not answer; if it is gone for good, or never worked: evercrawl fleet evict {name}"
    ))
}

pub fn evict(arguments: &Evict) -> Result<()> {
    let office = Office::open(&arguments.place)?;
    let articles = office.articles()?;
    let robot = office.robot(&arguments.robot)?;
    let (_, groups) = office.groups()?;
    let group = GroupId(groups.named(&robot.group)?.id);
    let key = Key {
        group,
        what: What::Lease(robot.id()),
    };
    let name = &robot.name;
    for _ in 0..20 {
        let readings = office.runtime.block_on(office.nats.poll(group));
        let readings = readings.map_err(|error| anyhow!("{error}"))?;
        let found = readings.into_iter().find(|reading| reading.key == key);
        let Some((revision, lease)) = found.and_then(|reading| match reading.value {
            Ok(Value::Lease(lease)) => Some((reading.revision, lease)),
            _ => None,
        }) else {
            return forget(&office, name, robot.id());
        };
        if lease.sealed {
            let text = format!(
                "{name}'s lease has ended already: others take over its servers, or have\n"
            );
            return Ok(terminal::print(&text)?);
        }
        mark(&office, name)?;
        let sealed = Value::Lease(Lease {
            sealed: true,
            ..lease
        });
        // a robot at work renews it meanwhile
        if let Outcome::Done(_) =
            (office.runtime).block_on(office.nats.swap(key, revision, &sealed))
        {
            let text = format!(
                "{name} is evicted; others take over its servers in about {:.0} s\n",
                articles.lease
            );
            return Ok(terminal::print(&text)?);
        }
    }
    Err(anyhow!("{name}'s lease could not be sealed; try again"))
}

/// A process at work reads it when it finds its lease sealed.
fn mark(office: &Office, name: &str) -> Result<()> {
    let paper = Member::paper(name);
    match office.read::<Member>(&paper)? {
        Some((revision, member)) if !member.evicted => {
            let evicted = Member {
                evicted: true,
                ..member
            };
            office.write(&paper, revision, &evicted).map(drop)
        }
        _ => Ok(()),
    }
}

/// A robot that never worked goes off the fleet's list.
fn forget(office: &Office, name: &str, robot: RobotId) -> Result<()> {
    if office.ask::<bool>(robot, &Ask::Ping) == Some(true) {
        let text = format!(
            "{name} is at work, without a lease: there is nothing to take over; stop it first"
        );
        return Err(BadInput(text).into());
    }
    let paper = Member::paper(name);
    let removed = office.runtime.block_on(office.nats.remove_paper(&paper));
    removed.map_err(|error| anyhow!("{error}"))?;
    let text = format!("{name} never had a lease: it is no longer among the fleet's robots\n");
    Ok(terminal::print(&text)?)
}
