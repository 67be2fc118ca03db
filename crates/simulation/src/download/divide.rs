//! Who downloads which page, by each of the methods.

use super::internet::Internet;
use super::web::{Unit, Web};
use partition::graph::{Graph, GraphBuilder, Vertex};
use partition::hash::{Ring, Shares};
use partition::limits::Balance;
use partition::method::Method;
use partition::moves::fair_price;
use partition::objectives::{self, Cost, Objective, combine, lone_cuts};
use partition::task::{NOWHERE, PartitionError, Previous, Task};
use partition::{multilevel, single_level};

/// What the graph knows about nearness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Nearness {
    /// Round-trip times.
    Rtt,
    /// Distances.
    Distance,
    /// Both.
    Both,
    /// Links only.
    Neither,
}

/// How to divide.
#[derive(Clone, Copy, Debug)]
pub struct Wishes {
    /// By which method.
    pub method: Method,
    /// What stays together.
    pub unit: Unit,
    /// What is near; hashes do not ask.
    pub nearness: Nearness,
    /// Preference factors of links and of nearness.
    pub preference: [f64; 2],
    /// How equal parts must be.
    pub balance: Balance,
    /// Same seed, same answer.
    pub seed: u64,
}

impl Wishes {
    /// Our partitioner with equal preferences.
    pub fn new(method: Method, seed: u64) -> Self {
        Self {
            method,
            unit: Unit::Hosts,
            nearness: Nearness::Rtt,
            preference: [1.0; 2],
            balance: Balance::default(),
            seed,
        }
    }
}

/// The robot of each page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// How many robots there are.
    pub robots: usize,
    of_page: Vec<u16>,
    /// The robot of each server, where whole servers were given away.
    of_server: Option<Vec<u32>>,
}

impl Assignment {
    /// Gives each host's pages to `robot_of(host)`.
    pub fn by_host(web: &Web, robots: usize, robot_of: impl Fn(u32) -> u32) -> Self {
        let mut of_page = vec![0; web.pages()];
        for host in 0..web.hosts() as u32 {
            let pages = web.pages_of(host);
            of_page[pages.start as usize..pages.end as usize].fill(robot_of(host) as u16);
        }
        Self {
            robots,
            of_page,
            of_server: None,
        }
    }

    /// The robot of a page.
    pub fn of_page(&self, page: u32) -> u32 {
        u32::from(self.of_page[page as usize])
    }
}

/// Divides a Web among the robots of an Internet; a previous assignment of fewer or as many
/// robots is changed as little as is worth it by the graph, and no matter to the others.
pub fn divide(
    web: &Web,
    internet: &Internet,
    wishes: &Wishes,
    previous: Option<&Assignment>,
) -> Result<Assignment, PartitionError> {
    let robots = internet.robots();
    let capacities = vec![1.0; robots];
    if wishes.method.is_graph() {
        return by_graph(web, internet, wishes, previous);
    }
    let shares = Shares::new(&capacities)?;
    let ring = Ring::new(&capacities)?;
    let by_host = |robot: &dyn Fn(u32) -> u32| Assignment::by_host(web, robots, robot);
    Ok(match wishes.method {
        Method::HashAddress => by_host(&|host| shares.of_address(web.ip(web.address_of(host)))),
        Method::ConsistentHash => by_host(&|host| ring.of_host(web.name(host))),
        Method::HashUrl => {
            let mut all = by_host(&|_| 0);
            for host in 0..web.hosts() as u32 {
                for page in web.pages_of(host) {
                    let url = format!("http://{}/{page}", web.name(host));
                    all.of_page[page as usize] = shares.of_url(&url) as u16;
                }
            }
            all
        }
        _ => by_host(&|host| shares.of_host(web.name(host))),
    })
}

fn by_graph(
    web: &Web,
    internet: &Internet,
    wishes: &Wishes,
    previous: Option<&Assignment>,
) -> Result<Assignment, PartitionError> {
    let servers = web.servers(wishes.unit);
    let robots = internet.robots();
    let capacities = vec![1.0; robots];
    let vertices: Vec<Vertex> = (0..robots).map(|j| (servers + j) as Vertex).collect();
    let graph = combined(web, internet, wishes, &vertices)?;
    let mut task = Task::new(&graph, &capacities, wishes.balance);
    task.robots = &vertices;
    task.seed = wishes.seed;
    let before = previous.and_then(|previous| previous.of_server.as_ref());
    let before: Option<Vec<u32>> = before.map(|of_server| {
        let mut part = of_server.clone();
        part.resize(servers + robots, NOWHERE);
        part
    });
    task.previous = before.as_ref().map(|part| Previous {
        part,
        price: fair_price(&graph, 1.0),
    });
    let answer = match wishes.method {
        Method::SingleLevel => single_level::partition(&task)?,
        _ => multilevel::partition(&task)?,
    };
    let of_server = answer.part[..servers].to_vec();
    let robot_of = |host: u32| of_server[web.server_of(host, wishes.unit) as usize];
    let mut assignment = Assignment::by_host(web, robots, robot_of);
    assignment.of_server = Some(of_server);
    Ok(assignment)
}

/// Links, times and distances as one graph, the robots its last vertices.
fn combined(
    web: &Web,
    internet: &Internet,
    wishes: &Wishes,
    robots: &[Vertex],
) -> Result<Graph, PartitionError> {
    let links = link_graph(web, wishes.unit, robots)?;
    let mut pages = web.server_pages(wishes.unit);
    pages.resize(pages.len() + robots.len(), 0);
    let near = |cost: &dyn Fn(u32, u32) -> f64| {
        let costs = costs(web, wishes.unit, robots, cost);
        objectives::from_costs(&pages, &costs)
    };
    let rtt = || near(&|robot, address| internet.rtt(robot, address));
    let distance = || near(&|j, address| internet.kilometres(j, address).unwrap_or(0.0));
    let nearness = match wishes.nearness {
        Nearness::Rtt => vec![rtt()?],
        Nearness::Distance => vec![distance()?],
        Nearness::Both => vec![rtt()?, distance()?],
        Nearness::Neither => return Ok(links),
    };
    let preferences = [wishes.preference[0]]
        .into_iter()
        .chain(std::iter::repeat(wishes.preference[1]));
    let all: Vec<Objective> = [&links]
        .into_iter()
        .chain(&nearness)
        .zip(preferences)
        .map(|(graph, preference)| Objective { graph, preference })
        .collect();
    let capacities = vec![1.0; robots.len()];
    let cuts = lone_cuts(&all, &capacities, wishes.balance, robots, wishes.seed)?;
    combine(&all, &cuts)
}

/// The links between servers; the robots are vertices without any.
fn link_graph(web: &Web, unit: Unit, robots: &[Vertex]) -> Result<Graph, PartitionError> {
    let mut builder = GraphBuilder::new(web.servers(unit) + robots.len());
    for (server, &pages) in (0..).zip(&web.server_pages(unit)) {
        builder.pages(server, pages)?;
    }
    for &robot in robots {
        builder.robot(robot)?;
    }
    for page in 0..web.pages() as u32 {
        let server = web.server_of(web.host_of(page), unit);
        for &target in web.links_of(page) {
            builder.link(server, web.server_of(web.host_of(target), unit), 1.0)?;
        }
    }
    Ok(builder.build()?)
}

fn costs(web: &Web, unit: Unit, robots: &[Vertex], cost: impl Fn(u32, u32) -> f64) -> Vec<Cost> {
    let mut address = vec![0; web.servers(unit)];
    for host in 0..web.hosts() as u32 {
        address[web.server_of(host, unit) as usize] = web.address_of(host);
    }
    let mut costs = Vec::with_capacity(robots.len() * address.len());
    for (j, &robot) in (0..).zip(robots) {
        for (host, &address) in (0..).zip(&address) {
            costs.push(Cost {
                robot,
                host,
                cost: cost(j, address),
            });
        }
    }
    costs
}

#[cfg(test)]
mod tests;
