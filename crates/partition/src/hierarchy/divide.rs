//! Partition level by level.

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::tree::{Node, Tree};
use crate::graph::{Graph, Vertex};
use crate::limits::{Balance, balanced};
use crate::multilevel::{Effort, partition_fixed};
use crate::refine::{FREE, Reach, State, rebalance, repair};
use crate::task::{NOWHERE, PartitionError, Previous, Task, prepare_divided};

/// Of the searches after a repair.
const REACH: Reach = Reach {
    seeds: 50,
    patience: 15,
    rounds: 10,
};

/// What to divide over a tree.
#[derive(Clone, Debug)]
pub struct Division<'a> {
    /// The hosts, and the robots when they are vertices.
    pub graph: &'a Graph,
    /// For the whole tree.
    pub balance: Balance,
    /// The vertex of each robot, or none at all.
    pub robots: &'a [Vertex],
    /// Vertices that belong to a robot, whatever the balance.
    pub fixed: &'a [(Vertex, u32)],
    /// The robots' earlier shares.
    pub previous: Option<Previous<'a>>,
    /// Same seed, same answer.
    pub seed: u64,
}

/// The robot of each vertex.
pub fn partition(tree: &Tree, division: &Division) -> Result<Vec<u32>, PartitionError> {
    if !division.robots.is_empty() && division.robots.len() != tree.robots() {
        return Err(PartitionError::RobotVertices {
            vertices: division.robots.len(),
            robots: tree.robots(),
        });
    }
    let balance = division.balance.per_level(tree.levels());
    let mut part = vec![0; division.graph.len()];
    let everything: Vec<Vertex> = division.graph.vertices().collect();
    divide(tree, tree.root(), division, balance, &everything, &mut part)?;
    if tree.levels() > 1 {
        part = repaired(tree, division, part);
    }
    Ok(part)
}

/// Robots that the levels together left beyond their limits, brought back, across groups if need
/// be: a group may have got what its members cannot pack.
fn repaired(tree: &Tree, division: &Division, mut part: Vec<u32>) -> Vec<u32> {
    let mut task = Task::new(division.graph, tree.capacities(), division.balance);
    task.robots = division.robots;
    task.previous = division.previous;
    let prepared = prepare_divided(&task, division.fixed, &part);
    let instance = prepared.instance(&task);
    // those of a history are new
    part.resize(instance.graph.len(), FREE);
    for (part, &fixed) in part.iter_mut().zip(instance.fixed) {
        if fixed != FREE {
            *part = fixed;
        }
    }
    if !balanced(instance.graph, &part, instance.limits) {
        let mut state = State::new(instance, part);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(division.seed);
        rebalance(&mut state);
        repair(&mut state, REACH, &mut rng);
        part = state.part;
    }
    part.truncate(division.graph.len());
    part
}

/// Gives the vertices `share`, which are `group`'s, to its members.
fn divide(
    tree: &Tree,
    group: &Node,
    division: &Division,
    balance: Balance,
    share: &[Vertex],
    part: &mut [u32],
) -> Result<(), PartitionError> {
    if group.members.is_empty() {
        for &v in share {
            part[v as usize] = group.robots.start;
        }
        return Ok(());
    }
    let capacities: Vec<f64> = group.members.iter().map(|m| tree.capacity(m)).collect();
    let member_of = |robot: u32| {
        (0..)
            .zip(&group.members)
            .find(|(_, member)| member.robots.contains(&robot))
            .map(|(i, _)| i)
    };
    let graph = division.graph.induced(share);
    let previous: Option<Vec<u32>> = division.previous.map(|previous| {
        share
            .iter()
            .map(|&v| member_of(previous.part[v as usize]).unwrap_or(NOWHERE))
            .collect()
    });
    let mut task = Task::new(&graph, &capacities, balance);
    task.seed = division.seed;
    task.previous = division
        .previous
        .zip(previous.as_deref())
        .map(|(whole, part)| Previous {
            part,
            price: whole.price,
        });
    let robots = division.robots.iter().copied().zip(0..);
    let fixed: Vec<(Vertex, u32)> = (robots.chain(division.fixed.iter().copied()))
        .filter_map(|(vertex, robot)| {
            let here = share.binary_search(&vertex).ok()? as Vertex;
            Some((here, member_of(robot)?))
        })
        .collect();
    let answer = partition_fixed(&task, &fixed, Effort::for_edges(graph.edges()))?;
    for (i, member) in (0..).zip(&group.members) {
        // ascending, as `share` is
        let inside: Vec<Vertex> = share
            .iter()
            .zip(&answer.part)
            .filter(|&(_, &p)| p == i)
            .map(|(&v, _)| v)
            .collect();
        divide(tree, member, division, balance, &inside, part)?;
    }
    Ok(())
}
