//! What a partitioner is asked and what it answers.

use crate::graph::{Graph, GraphError, Link, Load, Vertex};
use crate::hash::check_capacities;
use crate::limits::{Balance, balanced};
use crate::refine::{FREE, Instance};

/// In a previous assignment: the host is new.
pub const NOWHERE: u32 = u32::MAX;

/// Two part numbers must fit in 32 bits together.
const MOST_ROBOTS: usize = 1 << 15;

/// Why a task cannot be done.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PartitionError {
    /// Nobody to give anything to.
    #[error("there is no robot")]
    NoRobots,
    /// A capacity that is no positive number.
    #[error("robot {robot} has capacity {capacity}: it must be a positive number")]
    BadCapacity {
        /// The robot's number.
        robot: usize,
        /// The capacity as given.
        capacity: f64,
    },
    /// Some robot would have nothing to do.
    #[error("{robots} robots are more than the {hosts} hosts")]
    MoreRobotsThanHosts {
        /// How many robots.
        robots: usize,
        /// How many hosts.
        hosts: usize,
    },
    /// More than one level can hold.
    #[error("{0} robots are too many for one group: at most {MOST_ROBOTS}")]
    TooManyRobots(usize),
    /// Robot vertices were given, but not exactly one a part.
    #[error("{vertices} robot vertices for {robots} robots: each needs exactly one of its own")]
    RobotVertices {
        /// How many different vertices.
        vertices: usize,
        /// How many robots.
        robots: usize,
    },
    /// The previous assignment is not about this graph or these robots.
    #[error("the previous assignment does not fit: {0}")]
    Previous(String),
    /// Nothing to combine.
    #[error("there is no objective")]
    NoObjectives,
    /// A graph could not be built.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

/// An earlier assignment that should be changed as little as is worth it.
#[derive(Clone, Copy, Debug)]
pub struct Previous<'a> {
    /// The robot of each vertex, [`NOWHERE`] for new ones and for those of robots that left.
    pub part: &'a [u32],
    /// What moving one page costs, in links cut.
    pub price: f64,
}

/// A graph to divide among robots.
#[derive(Clone, Debug)]
pub struct Task<'a> {
    /// The hosts, and the robots when they are vertices.
    pub graph: &'a Graph,
    /// Each robot's capacity; parts weigh in proportion.
    pub capacities: &'a [f64],
    /// How far parts may deviate from their proportion.
    pub balance: Balance,
    /// The vertex of each robot, or none at all.
    pub robots: &'a [Vertex],
    /// Where everything was before.
    pub previous: Option<Previous<'a>>,
    /// Same seed, same answer.
    pub seed: u64,
}

impl<'a> Task<'a> {
    /// Free of robots' vertices and of history.
    pub fn new(graph: &'a Graph, capacities: &'a [f64], balance: Balance) -> Self {
        Self {
            graph,
            capacities,
            balance,
            robots: &[],
            previous: None,
            seed: 1,
        }
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Partition {
    /// The robot of each vertex.
    pub part: Vec<u32>,
    /// The weight of links between robots.
    pub cut: u64,
    /// What each robot carries.
    pub loads: Vec<Load>,
    /// What each robot may carry.
    pub limits: Vec<Load>,
    /// Whether all limits hold; they may not when hosts are too large to be packed.
    pub balanced: bool,
}

/// A task made ready for search: limits computed, giants and robots fixed, history as links.
pub(crate) struct Prepared {
    /// The task's graph, with one more vertex a robot when there is a history.
    extended: Option<Graph>,
    pub limits: Vec<Load>,
    pub fixed: Vec<u32>,
}

impl Prepared {
    pub fn instance<'a>(&'a self, task: &Task<'a>) -> Instance<'a> {
        Instance {
            graph: self.extended.as_ref().unwrap_or(task.graph),
            limits: &self.limits,
            fixed: &self.fixed,
        }
    }

    pub fn answer(self, task: &Task, mut part: Vec<u32>) -> Partition {
        part.truncate(task.graph.len());
        Partition {
            cut: task.graph.cut(&part),
            loads: task.graph.part_loads(&part, self.limits.len()),
            balanced: balanced(task.graph, &part, &self.limits),
            limits: self.limits,
            part,
        }
    }
}

/// Makes a task ready, with vertices fixed in parts beside its robots.
pub(crate) fn prepare(
    task: &Task,
    also_fixed: &[(Vertex, u32)],
) -> Result<Prepared, PartitionError> {
    check(task)?;
    Ok(made_ready(task, also_fixed, None))
}

/// Divided already: hosts larger than a part are fixed where they are, one a part.
pub(crate) fn prepare_divided(task: &Task, also_fixed: &[(Vertex, u32)], part: &[u32]) -> Prepared {
    made_ready(task, also_fixed, Some(part))
}

/// What each robot may carry in a task divided as `part` says: a host larger than a robot's share
/// is the limit of the robot that has it, and the others share the rest.
pub fn limits_in_force(task: &Task, part: &[u32]) -> Result<Vec<Load>, PartitionError> {
    check(task)?;
    Ok(prepare_divided(task, &[], part).limits)
}

fn made_ready(task: &Task, also_fixed: &[(Vertex, u32)], divided: Option<&[u32]>) -> Prepared {
    let mut fixed = vec![FREE; task.graph.len()];
    for (robot, &vertex) in (0..).zip(task.robots) {
        fixed[vertex as usize] = robot;
    }
    for &(vertex, part) in also_fixed {
        fixed[vertex as usize] = part;
    }
    let at_home = divided.or(task.previous.map(|previous| previous.part));
    let limits = limits_with_giants(task, &mut fixed, at_home);
    let extended = task.previous.map(|previous| {
        let terminals = 0..task.capacities.len() as u32;
        fixed.extend(terminals);
        with_history(task.graph, task.capacities.len(), previous)
    });
    Prepared {
        extended,
        limits,
        fixed,
    }
}

fn check(task: &Task) -> Result<(), PartitionError> {
    check_capacities(task.capacities)?;
    let robots = task.capacities.len();
    if robots > MOST_ROBOTS {
        return Err(PartitionError::TooManyRobots(robots));
    }
    let hosts = task.graph.len().saturating_sub(task.robots.len());
    if hosts < robots {
        return Err(PartitionError::MoreRobotsThanHosts { robots, hosts });
    }
    if !task.robots.is_empty() {
        let mut vertices = task.robots.to_vec();
        vertices.sort_unstable();
        vertices.dedup();
        vertices.retain(|&v| (v as usize) < task.graph.len());
        if vertices.len() != robots || task.robots.len() != robots {
            return Err(PartitionError::RobotVertices {
                vertices: vertices.len(),
                robots,
            });
        }
    }
    if let Some(previous) = task.previous {
        if previous.part.len() != task.graph.len() {
            return Err(PartitionError::Previous(format!(
                "{} entries for {} vertices",
                previous.part.len(),
                task.graph.len()
            )));
        }
        if let Some(&part) = previous
            .part
            .iter()
            .find(|&&part| part != NOWHERE && part as usize >= robots)
        {
            return Err(PartitionError::Previous(format!("robot {part} is unknown")));
        }
        if !(previous.price >= 0.0 && previous.price.is_finite()) {
            return Err(PartitionError::Previous(format!(
                "the price of moving is {}",
                previous.price
            )));
        }
    }
    Ok(())
}

/// A host larger than any part that is left gets a part of its own, which it overfills alone; the
/// others share the rest. A hub with more links than a part may have only raises that limit.
fn limits_with_giants(task: &Task, fixed: &mut [u32], at_home: Option<&[u32]>) -> Vec<Load> {
    let graph = task.graph;
    let mut heaviest: Vec<Vertex> = graph
        .vertices()
        .filter(|&v| fixed[v as usize] == FREE)
        .collect();
    heaviest.sort_by_key(|&v| std::cmp::Reverse(graph.load(v).pages));
    let mut rest = graph.total_load();
    let mut open: Vec<u32> = (0..task.capacities.len() as u32).collect();
    let mut limits = vec![Load::default(); task.capacities.len()];
    let mut giants = heaviest.iter();
    loop {
        let capacities: Vec<f64> = open.iter().map(|&p| task.capacities[p as usize]).collect();
        for (&part, limit) in open.iter().zip(task.balance.limits(rest, &capacities)) {
            limits[part as usize] = limit;
        }
        let largest = open.iter().map(|&p| limits[p as usize].pages).max();
        let Some(&giant) = giants.next() else { break };
        if open.len() < 2 || largest.is_none_or(|limit| graph.load(giant).pages <= limit) {
            break;
        }
        let at = home_of_giant(task, fixed, at_home, giant, &open);
        let part = open.swap_remove(at);
        fixed[giant as usize] = part;
        limits[part as usize] = graph.load(giant);
        rest -= graph.load(giant);
    }
    let hub = graph.vertices().map(|v| graph.load(v).traffic).max();
    for &part in &open {
        let traffic = &mut limits[part as usize].traffic;
        *traffic = (*traffic).max(hub.unwrap_or(0));
    }
    limits
}

/// Where a giant was, else the robot it is linked to most, else the one with most capacity.
fn home_of_giant(
    task: &Task,
    fixed: &[u32],
    at_home: Option<&[u32]>,
    giant: Vertex,
    open: &[u32],
) -> usize {
    let pull = |part: u32| {
        let stays = at_home.is_some_and(|home| home[giant as usize] == part);
        let linked: u64 = task
            .graph
            .links(giant)
            .iter()
            .filter(|link| fixed[link.to as usize] == part)
            .map(|link| u64::from(link.weight))
            .sum();
        (stays, linked, task.capacities[part as usize])
    };
    (0..open.len())
        .max_by(|&a, &b| {
            let (a, b) = (pull(open[a]), pull(open[b]));
            (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2))
        })
        .expect("some part is open")
}

/// The graph with one more, weightless vertex a robot, to which each host that was the robot's is
/// linked by the price of moving it: leaving cuts that link.
fn with_history(graph: &Graph, robots: usize, previous: Previous) -> Graph {
    let host = |v: Vertex| {
        let part = previous.part[v as usize];
        (part != NOWHERE).then_some(part)
    };
    let cost = |v: Vertex| graph.load(v).pages as f64 * previous.price / graph.unit();
    let total: f64 = graph
        .vertices()
        .filter(|&v| host(v).is_some())
        .map(cost)
        .sum();
    // the sum of weights stays within 32 bits
    let scale = (f64::from(1_u32 << 30) / total).min(1.0);
    let weight = |v: Vertex| ((cost(v) * scale).round() as u32).max(1);
    let hosts = graph.len() as u32;
    let mut offsets = Vec::with_capacity(graph.len() + robots + 1);
    let mut links = Vec::with_capacity(2 * (graph.edges() + graph.len()));
    let mut back: Vec<Vec<Link>> = vec![Vec::new(); robots];
    offsets.push(0);
    for v in graph.vertices() {
        links.extend_from_slice(graph.links(v));
        if let Some(part) = host(v) {
            let weight = weight(v);
            links.push(Link {
                to: hosts + part,
                weight,
            });
            back[part as usize].push(Link { to: v, weight });
        }
        offsets.push(links.len() as u32);
    }
    for row in back {
        links.extend(row);
        offsets.push(links.len() as u32);
    }
    let mut loads: Vec<Load> = graph.vertices().map(|v| graph.load(v)).collect();
    loads.resize(graph.len() + robots, Load::default());
    Graph::from_rows(offsets, links, loads, graph.unit())
}
