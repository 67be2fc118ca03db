//! From hosts and robots to an assignment.

use super::hosts::Hosts;
use super::nearness::Measured;
use super::robots::Robots;
use crate::bad_input::BadInput;
use partition::graph::{Graph, GraphBuilder, Vertex};
use partition::hash::{Ring, Shares, stable_hash};
use partition::hierarchy::{self, Division};
use partition::method::Method;
use partition::moves::fair_price;
use partition::objectives::{Cost, Objective, combine, from_costs, lone_cuts};
use partition::single_level;
use partition::task::{NOWHERE, PartitionError, Previous, Task};
use std::collections::HashMap;

/// What is given away whole.
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

/// Hosts as vertices of a graph, one or several each.
pub struct Vertices {
    /// The vertex of each host.
    pub of_host: Vec<Vertex>,
    pub count: usize,
}

impl Vertices {
    pub fn new(hosts: &Hosts, level: Level) -> Self {
        let mut of_host = Vec::with_capacity(hosts.names.len());
        let mut numbers = HashMap::new();
        let mut count = 0;
        for address in &hosts.address {
            let vertex = match (level, address) {
                (Level::Addresses, Some(address)) => *numbers.entry(*address).or_insert(count),
                _ => count,
            };
            count += u32::from(vertex == count);
            of_host.push(vertex);
        }
        Self {
            of_host,
            count: count as usize,
        }
    }
}

/// The vertices of the robots: after all others.
pub fn robot_vertices(vertices: &Vertices, robots: usize) -> Vec<Vertex> {
    let robots = vertices.count..vertices.count + robots;
    robots.map(|vertex| vertex as Vertex).collect()
}

/// The links between vertices, and after them one more vertex a robot.
pub fn link_graph(
    hosts: &Hosts,
    vertices: &Vertices,
    robots: usize,
) -> Result<Graph, PartitionError> {
    let mut builder = GraphBuilder::new(vertices.count + robots);
    let mut pages = vec![0; vertices.count];
    for (host, &vertex) in vertices.of_host.iter().enumerate() {
        pages[vertex as usize] += hosts.pages[host];
    }
    for (vertex, &pages) in (0..).zip(&pages) {
        builder.pages(vertex, pages)?;
    }
    for robot in 0..robots {
        builder.robot((vertices.count + robot) as Vertex)?;
    }
    for &(from, to, links) in &hosts.links {
        let [from, to] = [from, to].map(|host| vertices.of_host[host as usize]);
        builder.link(from, to, links)?;
    }
    Ok(builder.build()?)
}

/// The robot of each host; nobody's for hash-url, which divides no hosts.
pub fn divide(
    problem: &Problem,
    method: Method,
    level: Level,
    vertices: &Vertices,
    links: &Graph,
) -> Result<Option<Vec<u32>>, BadInput> {
    let capacities = problem.robots.capacities();
    let bad = |error: PartitionError| BadInput(error.to_string());
    let hosts = problem.hosts;
    if vertices.count < capacities.len() {
        let name = match (level, vertices.count) {
            (Level::Hosts, 1) => "host",
            (Level::Hosts, _) => "hosts",
            (Level::Addresses, 1) => "address",
            (Level::Addresses, _) => "addresses",
        };
        return Err(BadInput(format!(
            "{} robots are more than the {} {name}",
            capacities.len(),
            vertices.count
        )));
    }
    let by_name = |robot: &dyn Fn(usize) -> u32| Some((0..hosts.names.len()).map(robot).collect());
    let shares = Shares::new(&capacities).map_err(bad)?;
    Ok(match method {
        Method::HashUrl => None,
        Method::HashHost => by_name(&|host| shares.of_host(&hosts.names[host])),
        Method::HashAddress => by_name(&|host| match hosts.address[host] {
            Some(address) => shares.of_address(address),
            None => shares.of_host(&hosts.names[host]),
        }),
        Method::ConsistentHash => {
            // by name, so that a robot that leaves does not rename the others
            let members: Vec<(u64, f64)> = (problem.robots.all.iter())
                .map(|robot| (stable_hash(robot.name.as_bytes()), robot.capacity))
                .collect();
            let ring = Ring::with_identities(&members).map_err(bad)?;
            by_name(&|host| ring.of_host(&hosts.names[host]))
        }
        Method::Graph | Method::SingleLevel => {
            let part = by_graph(problem, method, vertices, links).map_err(bad)?;
            by_name(&|host| part[vertices.of_host[host] as usize])
        }
    })
}

fn by_graph(
    problem: &Problem,
    method: Method,
    vertices: &Vertices,
    links: &Graph,
) -> Result<Vec<u32>, PartitionError> {
    let robots = problem.robots;
    let capacities = robots.capacities();
    let fixed = robot_vertices(vertices, capacities.len());
    let nearness = [
        (problem.rtt, robots.preference.rtt),
        (problem.distance, robots.preference.distance),
    ];
    let nearness: Vec<(Graph, f64)> = nearness
        .into_iter()
        .filter(|(_, preference)| *preference > 0.0)
        .filter_map(|(measured, preference)| Some((measured?, preference)))
        .map(|(measured, preference)| {
            Ok((cost_graph(measured, vertices, links, &fixed)?, preference))
        })
        .collect::<Result<_, PartitionError>>()?;
    let combined = if nearness.is_empty() {
        None
    } else {
        let objectives: Vec<Objective> = [(links, robots.preference.links)]
            .into_iter()
            .chain(nearness.iter().map(|(graph, p)| (graph, *p)))
            .map(|(graph, preference)| Objective { graph, preference })
            .collect();
        let cuts = lone_cuts(
            &objectives,
            &capacities,
            robots.balance,
            &fixed,
            problem.seed,
        )?;
        Some(combine(&objectives, &cuts)?)
    };
    let graph = combined.as_ref().unwrap_or(links);
    let before = problem.previous.map(|previous| {
        let mut part = vec![NOWHERE; graph.len()];
        for (host, &vertex) in vertices.of_host.iter().enumerate() {
            if previous[host] != NOWHERE {
                part[vertex as usize] = previous[host];
            }
        }
        part
    });
    let previous = before.as_ref().map(|part| Previous {
        part,
        price: fair_price(graph, problem.price),
    });
    if method == Method::SingleLevel {
        let mut task = Task::new(graph, &capacities, robots.balance);
        task.robots = &fixed;
        task.previous = previous;
        task.seed = problem.seed;
        return Ok(single_level::partition(&task)?.part);
    }
    hierarchy::partition(
        &robots.tree,
        &Division {
            graph,
            balance: robots.balance,
            robots: &fixed,
            previous,
            seed: problem.seed,
        },
    )
}

/// Costs of hosts as costs of their vertices, the mean where a vertex has several.
fn cost_graph(
    measured: &[Measured],
    vertices: &Vertices,
    links: &Graph,
    fixed: &[Vertex],
) -> Result<Graph, PartitionError> {
    let mut costs: Vec<Cost> = measured
        .iter()
        .map(|m| Cost {
            robot: fixed[m.robot as usize],
            host: vertices.of_host[m.host as usize],
            cost: m.cost,
        })
        .collect();
    costs.sort_by(|a, b| {
        (a.host, a.robot)
            .cmp(&(b.host, b.robot))
            .then(a.cost.total_cmp(&b.cost))
    });
    let costs: Vec<Cost> = costs
        .chunk_by(|a, b| (a.host, a.robot) == (b.host, b.robot))
        .map(|same| Cost {
            cost: same.iter().map(|c| c.cost).sum::<f64>() / same.len() as f64,
            ..same[0]
        })
        .collect();
    let pages: Vec<u64> = links.vertices().map(|v| links.load(v).pages).collect();
    from_costs(&pages, &costs)
}
