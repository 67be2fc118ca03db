//! A fleet as the dashboard shows it: many robots as one crawler. Whoever can reach the fleet tells of it.

pub(crate) mod page;
pub(crate) mod servers;
pub(crate) mod watch;

use desk::chart::{marker, robot_colour};
use maud::{Markup, PreEscaped, html};
use std::net::IpAddr;

/// Tells how a fleet is. Each answer may take as long as its messaging engine does.
pub trait Source: Send + Sync {
    /// The fleet's name.
    fn name(&self) -> String;
    /// How it is now.
    fn look(&self) -> anyhow::Result<Fleet>;
    /// The servers that its robots have to do with.
    fn servers(&self) -> anyhow::Result<Servers>;
    /// How a host gets to its robot, in lines.
    fn way(&self, host: &str) -> anyhow::Result<String>;
    /// The robots that would have these servers by the plans in force.
    fn owners(&self, servers: &[IpAddr]) -> anyhow::Result<Vec<Option<String>>>;
}

/// A fleet at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fleet {
    /// Its messaging servers.
    pub engine: String,
    /// Whether nothing is left to try, as all robots agreed.
    pub once: bool,
    /// Seeds.
    pub seeds: usize,
    /// Of these, the ones that no robot has taken yet.
    pub seeds_waiting: usize,
    /// Messages that nobody could make sense of.
    pub dead_letters: u64,
    /// The whole, with what is below it.
    pub tree: Group,
    /// By name.
    pub robots: Vec<Robot>,
    /// Newest first.
    pub moves: Vec<Move>,
}

/// A group, with what is below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// What people call it.
    pub name: String,
    /// Its plan, in words.
    pub plan: String,
    /// Its share of what the group above divides, in words.
    pub share: String,
    /// Robots and their shares, in words.
    pub robots: Vec<(String, String)>,
    /// Groups below it.
    pub groups: Vec<Group>,
}

/// A robot. The figures of one that does not answer are zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Robot {
    /// Its name.
    pub name: String,
    /// The group that it is in.
    pub group: String,
    /// How it stands, in words.
    pub state: String,
    /// Whether it answers.
    pub at_work: bool,
    /// Its lease, in words.
    pub lease: String,
    /// How busy it is, in per cent.
    pub load: Option<u8>,
    /// Servers of its own.
    pub servers: usize,
    /// Servers on their way to it.
    pub arriving: usize,
    /// Servers on their way to others.
    pub going: usize,
    /// Pages with a copy.
    pub pages: u64,
    /// Pages that wait for their first visit.
    pub waiting: u64,
    /// Requests since it started.
    pub requests: u64,
    /// Requests a second lately.
    pub requests_per_second: f64,
    /// URLs that nobody else has taken over yet.
    pub in_custody: usize,
    /// The share of copies that are current, by the model.
    pub fresh: Option<f64>,
}

/// Something that happened to servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Move {
    /// Milliseconds since 1970.
    pub at: i64,
    /// Whose servers.
    pub robot: String,
    /// In words.
    pub what: String,
}

/// Servers, by address.
#[derive(Clone, Debug, Default)]
pub struct Servers {
    /// Those that can be told.
    pub all: Vec<Server>,
    /// Those that there was no room for.
    pub left_out: usize,
}

/// A server that a robot has to do with.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// Its address.
    pub address: IpAddr,
    /// Who has to do with it.
    pub robot: String,
    /// How the robot holds it, in a word.
    pub held: String,
    /// Some of the hosts there.
    pub names: Vec<String>,
    /// Pages read from it.
    pub pages: u64,
    /// Milliseconds that it takes to answer that robot.
    pub answers_in: Option<f64>,
}

impl Fleet {
    /// Robots that answer.
    pub(crate) fn at_work(&self) -> usize {
        self.robots.iter().filter(|robot| robot.at_work).count()
    }

    /// Which of the robots it is; decides its colour and its mark.
    pub(crate) fn number(&self, robot: &str) -> Option<usize> {
        self.robots.iter().position(|known| known.name == robot)
    }

    /// The mark by which a robot is known in pictures, and its name.
    pub(crate) fn mark(&self, robot: &str) -> Markup {
        html! {
            @if let Some(number) = self.number(robot) {
                svg.mark viewBox="0 0 14 14" aria-hidden="true" { (PreEscaped(mark(number, 7.0, 7.0))) }
            }
            (crate::words::shown(robot))
        }
    }
}

/// A robot's mark in a picture; figures alone, so nothing in it needs escaping.
pub(crate) fn mark(number: usize, x: f64, y: f64) -> String {
    marker(number, x, y, robot_colour(number))
}
