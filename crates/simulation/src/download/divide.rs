//! Who downloads which page, by each of the methods.

use super::internet::Internet;
use super::web::{Address, Unit, Web};
use partition::graph::{Graph, GraphBuilder};
use partition::hash::Shares;
use partition::hierarchy::{Member, Tree};
use partition::limits::Balance;
use partition::method::Method;
use partition::solve::{self, Before, Host, Measured, Named, Robot, Servers};
use partition::task::PartitionError;

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
    /// The robot of each host, where a graph was divided.
    of_host: Option<Vec<u32>>,
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
            of_host: None,
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
    let tree = Tree::new(&Member::Group(vec![Member::Robot(1.0); robots]))?;
    if wishes.method == Method::HashUrl {
        return by_url(web, robots);
    }
    let hosts: Vec<Named> = (web.all_hosts())
        .map(|host| Named {
            name: web.name(host),
            address: Some(web.ip(web.address_of(host))),
        })
        .collect();
    let servers = servers(web, wishes.unit);
    let links = if wishes.method.is_graph() {
        link_graph(web, &servers, robots)?
    } else {
        GraphBuilder::new(servers.count + robots).build()?
    };
    let costs = costs(web, internet, wishes);
    let nearness: Vec<solve::Nearness> = (costs.iter())
        .map(|measured| solve::Nearness {
            measured,
            preference: wishes.preference[1],
        })
        .collect();
    let identities: Vec<u64> = (0..).take(robots).collect();
    let problem = solve::Problem {
        method: wishes.method,
        hosts: &hosts,
        servers: &servers,
        links: &links,
        preference: wishes.preference[0],
        nearness: &nearness,
        tree: &tree,
        identities: &identities,
        balance: wishes.balance,
        fixed: &[],
        seed: wishes.seed,
    };
    let before = (previous.and_then(|previous| previous.of_host.as_deref()))
        .map(|part| Before { part, price: 1.0 });
    let part = solve::solve(&problem, before)?.expect("only hash-url divides no hosts");
    let mut assignment = Assignment::by_host(web, robots, |host| part[host as usize]);
    assignment.of_host = wishes.method.is_graph().then_some(part);
    Ok(assignment)
}

/// hash-url: the pages of a host go everywhere.
fn by_url(web: &Web, robots: usize) -> Result<Assignment, PartitionError> {
    let shares = Shares::new(&vec![1.0; robots])?;
    let mut all = Assignment::by_host(web, robots, |_| 0);
    for host in web.all_hosts() {
        for page in web.pages_of(host) {
            let url = format!("http://{}/{page}", web.name(host));
            all.of_page[page as usize] = shares.of_url(&url) as u16;
        }
    }
    Ok(all)
}

fn servers(web: &Web, unit: Unit) -> Servers {
    Servers {
        of_host: web
            .all_hosts()
            .map(|host| web.server_of(host, unit))
            .collect(),
        count: web.servers(unit),
    }
}

fn link_graph(web: &Web, servers: &Servers, robots: usize) -> Result<Graph, PartitionError> {
    let pages = web.all_hosts().map(|host| web.pages_of(host).len() as u64);
    let links = (0..web.pages() as u32).flat_map(|page| {
        let from = Host(web.host_of(page));
        let to = web.links_of(page).iter();
        to.map(move |&to| (from, Host(web.host_of(to)), 1.0))
    });
    servers.graph(pages, links, robots)
}

/// Times, distances, both or neither, for graphs.
fn costs(web: &Web, internet: &Internet, wishes: &Wishes) -> Vec<Vec<Measured>> {
    let costs = |cost: &dyn Fn(Robot, Address) -> f64| -> Vec<Measured> {
        let robots = 0..internet.robots() as u32;
        let of_robot = |robot: u32| {
            let hosts = web.all_hosts();
            hosts.map(move |host| Measured {
                robot: Robot(robot),
                host: Host(host),
                cost: cost(Robot(robot), web.address_of(host)),
            })
        };
        robots.flat_map(of_robot).collect()
    };
    let rtt = || costs(&|robot, address| internet.rtt(robot, address));
    let distance = || costs(&|robot, to| internet.kilometres(robot, to).unwrap_or(0.0));
    match wishes.nearness {
        _ if !wishes.method.is_graph() => Vec::new(),
        Nearness::Rtt => vec![rtt()],
        Nearness::Distance => vec![distance()],
        Nearness::Both => vec![rtt(), distance()],
        Nearness::Neither => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
