//! From hosts, robots and what lies between them to an assignment: one way for whoever divides a
//! Web, by graph or by hash.

use crate::graph::{Graph, GraphBuilder, Vertex};
use crate::hash::{Ring, Shares};
use crate::hierarchy::{self, Division, Tree};
use crate::limits::Balance;
use crate::method::Method;
use crate::moves::fair_price;
use crate::objectives::{Cost, Objective, combine, from_costs, lone_cuts};
use crate::single_level;
use crate::task::{NOWHERE, PartitionError, Previous, Task};
use std::net::IpAddr;

/// A host, as a position in the list of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host(pub u32);

/// A robot, as a position among the leaves of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Robot(pub u32);

/// What hashes know of a host.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its address, if that is known.
    pub address: Option<IpAddr>,
}

/// The smallest unit that is assigned: each host is on one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Servers {
    /// The vertex of each host's server.
    pub of_host: Vec<Vertex>,
    /// How many servers there are; they are the vertices `0..count`.
    pub count: usize,
}

impl Servers {
    /// The vertices of so many robots: after all servers.
    pub fn robots(&self, robots: usize) -> Vec<Vertex> {
        let vertices = self.count..self.count + robots;
        vertices.map(|vertex| vertex as Vertex).collect()
    }

    /// The links between servers, each with the pages of its hosts, and after them a vertex a
    /// robot.
    pub fn graph(
        &self,
        pages: impl Iterator<Item = u64>,
        links: impl Iterator<Item = (Host, Host, f64)>,
        robots: usize,
    ) -> Result<Graph, PartitionError> {
        let mut builder = GraphBuilder::new(self.count + robots);
        let mut sums = vec![0; self.count];
        for (&server, pages) in self.of_host.iter().zip(pages) {
            sums[server as usize] += pages;
        }
        for (server, &pages) in (0..).zip(&sums) {
            builder.pages(server, pages)?;
        }
        for robot in self.robots(robots) {
            builder.robot(robot)?;
        }
        for (from, to, links) in links {
            let [from, to] = [from, to].map(|Host(host)| self.of_host[host as usize]);
            builder.link(from, to, links)?;
        }
        Ok(builder.build()?)
    }
}

/// A measured cost between a robot and a host: milliseconds or kilometres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// From here.
    pub robot: Robot,
    /// To there.
    pub host: Host,
    /// Not negative.
    pub cost: f64,
}

/// Costs that should be small.
#[derive(Clone, Copy, Debug)]
pub struct Nearness<'a> {
    /// What was measured; pairs may be missing.
    pub measured: &'a [Measured],
    /// How much it matters; 0 leaves it out.
    pub preference: f64,
}

/// Everything there is to divide, and among whom.
#[derive(Clone, Debug)]
pub struct Problem<'a> {
    /// By which method.
    pub method: Method,
    /// The hosts, for hashes.
    pub hosts: &'a [Named<'a>],
    /// The smallest unit that is assigned, for graphs.
    pub servers: &'a Servers,
    /// The links between servers, the robots its last vertices; hashes do not look at it.
    pub links: &'a Graph,
    /// How much few links between robots matter.
    pub preference: f64,
    /// What else matters to graphs.
    pub nearness: &'a [Nearness<'a>],
    /// The robots in their groups.
    pub tree: &'a Tree,
    /// What each robot is known by for good, so that one that leaves does not rename the others.
    pub identities: &'a [u64],
    /// How equal their parts must be.
    pub balance: Balance,
    /// Hosts that one robot alone may have, whatever the balance; for graphs of several levels.
    pub fixed: &'a [(Host, Robot)],
    /// Same seed, same answer.
    pub seed: u64,
}

/// An earlier answer that should be changed as little as is worth it; hashes do not ask.
#[derive(Clone, Copy, Debug)]
pub struct Before<'a> {
    /// The robot of each host, [`NOWHERE`] for new ones and for those of robots that left.
    pub part: &'a [u32],
    /// What moving a page costs, in links of an average page.
    pub price: f64,
}

/// The robot of each host; nobody's for hash-url, which divides no hosts.
pub fn solve(
    problem: &Problem,
    previous: Option<Before>,
) -> Result<Option<Vec<u32>>, PartitionError> {
    let capacities = problem.tree.capacities();
    let (robots, servers) = (capacities.len(), problem.servers.count);
    if servers < robots {
        return Err(PartitionError::MoreRobotsThanHosts {
            robots,
            hosts: servers,
        });
    }
    let shares = Shares::new(capacities)?;
    let of_host = |robot: &dyn Fn(&Named) -> u32| problem.hosts.iter().map(robot).collect();
    Ok(match problem.method {
        Method::HashUrl => None,
        Method::HashHost => Some(of_host(&|host| shares.of_host(host.name))),
        Method::HashAddress => Some(of_host(&|host| match host.address {
            Some(address) => shares.of_address(address),
            None => shares.of_host(host.name),
        })),
        Method::ConsistentHash => {
            let identities = problem.identities.iter().copied();
            let members: Vec<(u64, f64)> = identities.zip(capacities.iter().copied()).collect();
            let ring = Ring::with_identities(&members)?;
            Some(of_host(&|host| ring.of_host(host.name)))
        }
        Method::Graph | Method::SingleLevel => {
            let part = by_graph(problem, previous)?;
            let of_host = problem.servers.of_host.iter();
            Some(of_host.map(|&server| part[server as usize]).collect())
        }
    })
}

fn by_graph(problem: &Problem, before: Option<Before>) -> Result<Vec<u32>, PartitionError> {
    let fixed = problem.servers.robots(problem.tree.robots());
    let combined = combined(problem, &fixed)?;
    let graph = combined.as_ref().unwrap_or(problem.links);
    let part = before.map(|before| {
        let mut part = vec![NOWHERE; graph.len()];
        for (&server, &robot) in problem.servers.of_host.iter().zip(before.part) {
            if robot != NOWHERE {
                part[server as usize] = robot;
            }
        }
        part
    });
    let previous = (before.zip(part.as_ref())).map(|(before, part)| Previous {
        part,
        price: fair_price(graph, before.price),
    });
    if problem.method == Method::SingleLevel {
        let mut task = Task::new(graph, problem.tree.capacities(), problem.balance);
        task.robots = &fixed;
        task.previous = previous;
        task.seed = problem.seed;
        return Ok(single_level::partition(&task)?.part);
    }
    let held: Vec<(Vertex, u32)> = (problem.fixed.iter())
        .map(|(Host(host), Robot(robot))| (problem.servers.of_host[*host as usize], *robot))
        .collect();
    hierarchy::partition(
        problem.tree,
        &Division {
            graph,
            balance: problem.balance,
            robots: &fixed,
            fixed: &held,
            previous,
            seed: problem.seed,
        },
    )
}

/// Links and what is near as one graph; nothing where there are only links.
fn combined(problem: &Problem, fixed: &[Vertex]) -> Result<Option<Graph>, PartitionError> {
    let nearness: Vec<((Graph, f64), f64)> = (problem.nearness.iter())
        .filter(|nearness| nearness.preference > 0.0)
        .map(|nearness| Ok((cost_graph(problem, nearness, fixed)?, nearness.preference)))
        .collect::<Result<_, PartitionError>>()?;
    if nearness.is_empty() {
        return Ok(None);
    }
    let costs = nearness
        .iter()
        .map(|((graph, rest), preference)| Objective {
            graph,
            preference: *preference,
            rest: Some(*rest),
        });
    let links = Objective {
        graph: problem.links,
        preference: problem.preference,
        rest: None,
    };
    let objectives: Vec<Objective> = std::iter::once(links).chain(costs).collect();
    let capacities = problem.tree.capacities();
    let cuts = lone_cuts(
        &objectives,
        capacities,
        problem.balance,
        fixed,
        problem.seed,
    )?;
    combine(&objectives, &cuts).map(Some)
}

/// Costs of hosts as costs of their servers, the mean where a server has several.
fn cost_graph(
    problem: &Problem,
    nearness: &Nearness,
    fixed: &[Vertex],
) -> Result<(Graph, f64), PartitionError> {
    let mut costs: Vec<Cost> = (nearness.measured.iter())
        .map(|measured| Cost {
            robot: fixed[measured.robot.0 as usize],
            host: problem.servers.of_host[measured.host.0 as usize],
            cost: measured.cost,
        })
        .collect();
    costs.sort_by(|a, b| {
        let places = (a.host, a.robot).cmp(&(b.host, b.robot));
        places.then(a.cost.total_cmp(&b.cost))
    });
    let costs: Vec<Cost> = costs
        .chunk_by(|a, b| (a.host, a.robot) == (b.host, b.robot))
        .map(|same| Cost {
            cost: same.iter().map(|c| c.cost).sum::<f64>() / same.len() as f64,
            ..same[0]
        })
        .collect();
    let links = problem.links;
    let pages: Vec<u64> = links.vertices().map(|v| links.load(v).pages).collect();
    from_costs(&pages, &costs)
}
