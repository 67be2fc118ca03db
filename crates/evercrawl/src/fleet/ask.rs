//! What a robot at work is asked over the messaging engine, and what it answers.

use super::office::Office;
use bus::Bus;
use fleet::identity::{GroupId, Member, RobotId};
use fleet::trace::Trace;
use robot::view::Status;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::sync::Arc;

/// Most moves that a robot names.
const MOVES: usize = 200;

/// A question.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ask {
    /// Whether it is there.
    Ping,
    /// How it goes.
    Status,
    /// Where the register has a name, and how a server is held.
    Where {
        name: Option<String>,
        server: Option<IpAddr>,
    },
    /// The servers that it has to do with, after this address.
    Servers { after: Option<IpAddr> },
    /// Leave the fleet.
    Leave,
    /// Divide a group's share anew, if it is this robot that does.
    Divide { group: u64 },
    /// How far servers are, in microseconds: what is known by now; the others are measured.
    Probe { servers: Vec<IpAddr> },
    /// The ways to servers that are known by now; the others are looked for.
    Trace { servers: Vec<IpAddr> },
    /// What came of the last division of a group.
    Divided { group: u64 },
}

/// Of what [`Traces`] says; others cannot be read.
const FORMAT: u32 = 1;

/// The ways to servers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Traces {
    format: u32,
    found: Vec<(IpAddr, Way)>,
}

/// Routers with microseconds to each, in order, and microseconds to the server itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Way {
    hops: Vec<(IpAddr, u32)>,
    end: Option<u32>,
}

impl Traces {
    pub fn of(found: Vec<(IpAddr, Trace)>) -> Self {
        let way = |Trace { hops, end }| Way { hops, end };
        Self {
            format: FORMAT,
            found: (found.into_iter())
                .map(|(server, trace)| (server, way(trace)))
                .collect(),
        }
    }

    /// Nothing if a newer robot wrote it.
    pub fn read(self) -> Option<Vec<(IpAddr, Trace)>> {
        let trace = |Way { hops, end }| Trace { hops, end };
        let found = self.found.into_iter();
        (self.format == FORMAT).then(|| found.map(|(server, way)| (server, trace(way))).collect())
    }
}

/// What a robot says of a division.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Division {
    /// Why it does not divide the group.
    pub refused: Option<String>,
    /// Divisions of the group that ended here.
    pub ended: u64,
    /// Servers that it was told of.
    pub known: usize,
    pub last: Option<Change>,
}

/// What a division changes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Change {
    /// The plan that it followed.
    pub after: String,
    pub servers: usize,
    pub pages: u64,
    pub servers_moved: usize,
    pub pages_moved: u64,
    /// Some of those servers: from whom, to whom, by the numbers of robots and groups.
    pub moves: Vec<(IpAddr, Who, Who)>,
    /// Of these pages, those that move beyond the promise: they were placed before anybody knew how far they are.
    #[serde(default)]
    pub pages_moved_late: u64,
    /// Servers that the table has no room for.
    pub unlisted: usize,
    /// Milliseconds from a page to its robot, as a mean: as it was, and as it will be.
    pub delay: Option<(f64, f64)>,
}

/// A member of a group.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Who {
    Robot(u64),
    Group(u64),
}

impl From<Member> for Who {
    fn from(member: Member) -> Self {
        match member {
            Member::Robot(robot) => Self::Robot(robot.0),
            Member::Group(group) => Self::Group(group.0),
        }
    }
}

impl From<Who> for Member {
    fn from(who: Who) -> Self {
        match who {
            Who::Robot(robot) => Self::Robot(RobotId(robot)),
            Who::Group(group) => Self::Group(GroupId(group)),
        }
    }
}

impl From<&fleet::robot::Told> for Change {
    fn from(told: &fleet::robot::Told) -> Self {
        let moves = told.moves.iter().take(MOVES);
        Self {
            after: told.version.to_string(),
            servers: told.servers,
            pages: told.pages,
            servers_moved: told.moves.len(),
            pages_moved: told.moved,
            pages_moved_late: told.late,
            moves: moves
                .map(|(server, from, to)| (*server, (*from).into(), (*to).into()))
                .collect(),
            unlisted: told.unlisted,
            delay: (told.delay).map(|(was, will)| (f64::from(was) / 1e3, f64::from(will) / 1e3)),
        }
    }
}

/// How a robot is doing.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    pub robot: String,
    pub incarnation: u64,
    /// Whether it may ask servers now.
    pub lease: bool,
    pub leaving: bool,
    /// Servers of its own, on their way to it, and on their way to others.
    pub servers: usize,
    pub arriving: usize,
    pub going: usize,
    /// URLs that nobody else has taken over yet.
    pub in_custody: usize,
    /// Requests per second that the fleet's budget allows it; nothing without a budget.
    #[serde(default)]
    pub allowed: Option<f64>,
    /// Seconds since it joined.
    pub seconds: f64,
    /// Servers that it probed for partitioners.
    #[serde(default)]
    pub probed: u64,
    /// Answers to probes of all robots that it knows as a partitioner.
    #[serde(default)]
    pub probes: usize,
    /// Ways to servers that it found for partitioners, and servers to which it found none.
    #[serde(default)]
    pub traced: u64,
    #[serde(default)]
    pub untraced: u64,
    /// Ways of all robots that it knows as a partitioner.
    #[serde(default)]
    pub traces: usize,
    /// Servers and ways that it could not remember: there are too many.
    #[serde(default)]
    pub unmeasured: u64,
    /// Some of the URLs whose names have no address that may be contacted.
    #[serde(default)]
    pub given_up: Vec<String>,
    /// Times that it could not be written down that seeds were given.
    #[serde(default)]
    pub seeds_unmarked: u64,
    pub tally: Tally,
    pub engine: Engine,
    pub status: Status,
    /// In the protocol's own words.
    pub standing: String,
}

/// What the protocol counted.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    pub sent: u64,
    pub sent_again: u64,
    pub passed_on: u64,
    pub known_sent: u64,
    pub taken_over: u64,
    pub handed: u64,
    pub refused: u64,
    pub unresolved: u64,
    pub unreadable: u64,
    pub full: u64,
    pub kept_in_log: u64,
    pub lower_plans: u64,
    pub early: u64,
    pub too_many_hops: u64,
    pub incomplete: u64,
    pub cut_from_log: u64,
    pub removed: u64,
    pub divisions: u64,
    #[serde(default)]
    pub moved_late: u64,
    pub unlisted: u64,
    pub names_left_out: u64,
}

impl From<fleet::robot::Tally> for Tally {
    fn from(tally: fleet::robot::Tally) -> Self {
        Self {
            sent: tally.sent,
            sent_again: tally.sent_again,
            passed_on: tally.passed_on,
            known_sent: tally.known_sent,
            taken_over: tally.taken_over,
            handed: tally.handed,
            refused: tally.refused,
            unresolved: tally.unresolved,
            unreadable: tally.unreadable,
            full: tally.full,
            kept_in_log: tally.kept_in_log,
            lower_plans: tally.lower_plans,
            early: tally.early,
            too_many_hops: tally.too_many_hops,
            incomplete: tally.incomplete,
            cut_from_log: tally.cut_from_log,
            removed: tally.removed,
            divisions: tally.divisions,
            moved_late: tally.moved_late,
            unlisted: tally.unlisted,
            names_left_out: tally.names_left_out,
        }
    }
}

/// What happened between the robot and the messaging engine.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Engine {
    pub reconnects: u64,
    pub ambiguous: u64,
    pub resolved: u64,
    pub full: u64,
    pub oversized: u64,
    pub unreadable: u64,
    pub given_up: u64,
    #[serde(default)]
    pub unburied: u64,
    pub missed: u64,
}

impl From<&bus::Tally> for Engine {
    fn from(tally: &bus::Tally) -> Self {
        Self {
            reconnects: tally.reconnects.get(),
            ambiguous: tally.ambiguous.get(),
            resolved: tally.resolved.get(),
            full: tally.full.get(),
            oversized: tally.oversized.get(),
            unreadable: tally.unreadable.get(),
            given_up: tally.given_up.get(),
            unburied: tally.unburied.get(),
            missed: tally.missed.get(),
        }
    }
}

/// What a robot knows of a name or a server.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Known {
    /// The server that the robot's register bound the name to.
    pub bound: Option<IpAddr>,
    /// How the robot holds the server.
    pub held: Option<String>,
    /// Names at the server whose pages the robot has.
    pub names: Vec<String>,
}

/// Some of the servers that a robot has to do with, by address.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Holdings {
    pub some: Vec<Holding>,
    /// Those that come after.
    pub more: usize,
}

/// A server that a robot has to do with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Holding {
    pub server: IpAddr,
    /// In a word.
    pub held: String,
    /// Some of the hosts there.
    pub names: Vec<String>,
    /// Pages read.
    pub pages: u64,
    /// Milliseconds until it answers, as a median.
    pub answers_in: Option<f64>,
}

impl Office {
    /// Asks a robot; nothing if it does not answer.
    pub fn ask<T: serde::de::DeserializeOwned>(&self, robot: RobotId, ask: &Ask) -> Option<T> {
        let question = serde_json::to_vec(ask).ok()?;
        let answer = self.runtime.block_on(self.nats.ask(robot, &question))?;
        serde_json::from_slice(&answer).ok()
    }

    /// Asks robots all at once: many silent ones cost no more time than one.
    pub fn ask_all<T: serde::de::DeserializeOwned>(
        &self,
        robots: impl Iterator<Item = RobotId>,
        ask: &Ask,
    ) -> Vec<Option<T>> {
        let question: Arc<[u8]> = serde_json::to_vec(ask).unwrap_or_default().into();
        let asked = robots.map(|robot| {
            let (nats, question) = (self.nats.clone(), Arc::clone(&question));
            let answer = async move { nats.ask(robot, &question).await };
            self.runtime.spawn(answer)
        });
        let asked: Vec<_> = asked.collect();
        let answers = asked.into_iter().map(|answer| {
            let answer = self.runtime.block_on(answer).ok()??;
            serde_json::from_slice(&answer).ok()
        });
        answers.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_read_back_and_those_of_another_format_are_not() {
        let server: IpAddr = [192, 0, 2, 1].into();
        let trace = Trace {
            hops: vec![([8, 8, 8, 8].into(), 900)],
            end: Some(1_500),
        };
        let mut told = serde_json::to_value(Traces::of(vec![(server, trace.clone())])).unwrap();
        let read = |told: &serde_json::Value| {
            let told: Traces = serde_json::from_value(told.clone()).ok()?;
            told.read()
        };
        assert_eq!(read(&told), Some(vec![(server, trace)]));
        told["format"] = 2.into();
        assert_eq!(read(&told), None);
    }
}
