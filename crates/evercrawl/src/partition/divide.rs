//! From hosts and robots to an assignment.

use super::robots::Robots;
use crate::bad_input::BadInput;
use desk::hosts::Hosts;
use partition::graph::Graph;
use partition::hash::stable_hash;
use partition::method::Method;
use partition::solve::{self, Before, Host, Measured, Named, Nearness, Servers};
use partition::task::PartitionError;
use std::collections::HashMap;

/// The smallest unit that is assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Level {
    /// Hosts
    Hosts,
    /// Addresses, each with all its hosts; hosts without one stand alone
    Addresses,
}

/// Everything there is to divide.
pub struct Problem<'a> {
    pub hosts: &'a Hosts,
    pub robots: &'a Robots,
    pub rtt: Option<&'a [Measured]>,
    pub distance: Option<&'a [Measured]>,
    /// The robot that had each host.
    pub previous: Option<&'a [u32]>,
    /// Whether each host was that of a robot that is gone.
    pub left_behind: Option<&'a [bool]>,
    /// What moving a page costs, in links of an average page.
    pub price: f64,
    pub seed: u64,
}

/// The smallest unit that is assigned, numbered.
pub fn servers(hosts: &Hosts, level: Level) -> Servers {
    let mut of_host = Vec::with_capacity(hosts.names.len());
    let mut numbers = HashMap::new();
    let mut count = 0;
    for address in &hosts.address {
        let server = match (level, address) {
            (Level::Addresses, Some(address)) => *numbers.entry(*address).or_insert(count),
            _ => count,
        };
        count += u32::from(server == count);
        of_host.push(server);
    }
    Servers {
        of_host,
        count: count as usize,
    }
}

/// The links between servers, and after them one more vertex a robot.
pub fn link_graph(
    hosts: &Hosts,
    servers: &Servers,
    robots: usize,
) -> Result<Graph, PartitionError> {
    let links = hosts.links.iter();
    let links = links.map(|&(from, to, links)| (Host(from), Host(to), links));
    servers.graph(hosts.pages.iter().copied(), links, robots)
}

/// The robot of each host; nobody's for hash-url, which divides no hosts.
pub fn divide(
    problem: &Problem,
    method: Method,
    level: Level,
    servers: &Servers,
    links: &Graph,
) -> Result<Option<Vec<u32>>, BadInput> {
    let (hosts, robots) = (problem.hosts, problem.robots);
    let named: Vec<Named> = (hosts.names.iter().zip(&hosts.address))
        .map(|(name, &address)| Named { name, address })
        .collect();
    let nearness = [
        (problem.rtt, robots.preference.rtt),
        (problem.distance, robots.preference.distance),
    ];
    let nearness: Vec<Nearness> = nearness
        .into_iter()
        .filter_map(|(measured, preference)| {
            let measured = measured?;
            Some(Nearness {
                measured,
                preference,
            })
        })
        .collect();
    // by name, so that a robot that leaves does not rename the others
    let identities = robots.all.iter();
    let identities: Vec<u64> = identities
        .map(|robot| stable_hash(robot.name.as_bytes()))
        .collect();
    let question = solve::Problem {
        method,
        hosts: &named,
        servers,
        links,
        preference: robots.preference.links,
        nearness: &nearness,
        tree: &robots.tree,
        identities: &identities,
        balance: robots.balance,
        fixed: &[],
        seed: problem.seed,
    };
    let before = problem.previous.map(|part| Before {
        part,
        price: problem.price,
    });
    solve::solve(&question, before).map_err(|error| match error {
        PartitionError::MoreRobotsThanHosts { robots, hosts } => {
            let name = match (level, hosts) {
                (Level::Hosts, 1) => "host",
                (Level::Hosts, _) => "hosts",
                (Level::Addresses, 1) => "address",
                (Level::Addresses, _) => "addresses",
            };
            BadInput(format!("{robots} robots are more than the {hosts} {name}"))
        }
        error => BadInput(error.to_string()),
    })
}
