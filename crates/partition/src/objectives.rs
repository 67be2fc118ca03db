//! Links, round-trip times and distances as one graph.
#![doc = include_str!("objectives/README.md")]

use crate::graph::{Graph, GraphBuilder, Vertex};
use crate::limits::Balance;
use crate::multilevel::{self, Effort};
use crate::task::{PartitionError, Task};

const ONE_CYCLE: Effort = Effort {
    population: 1,
    generations: 0,
};

/// Sums are not known better than this: as much the median of seven times is wrong.
const ERROR: f64 = 0.08;

/// One graph over the common vertices and how much it matters.
#[derive(Clone, Copy, Debug)]
pub struct Objective<'a> {
    /// Heavy edges are good to keep within a part.
    pub graph: &'a Graph,
    /// The preference factor.
    pub preference: f64,
    /// Of costs, what they come to besides the cut, however they are divided: see [`from_costs`].
    pub rest: Option<f64>,
}

/// A measured cost between a robot and a host: RTT or distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// The robot's vertex.
    pub robot: Vertex,
    /// The host's vertex.
    pub host: Vertex,
    /// Milliseconds or kilometres; not negative.
    pub cost: f64,
}

/// The graph of an objective in which *small* is good: an edge weighs what its host saves, page
/// by page, over its costliest measured robot. Cutting all but the edge to its own robot, a host
/// loses the savings of all others: the least cut is the least cost, up to a constant, which is
/// the second answer. `pages` has one entry a vertex of the common numbering.
pub fn from_costs(pages: &[u64], costs: &[Cost]) -> Result<(Graph, f64), PartitionError> {
    let mut builder = GraphBuilder::new(pages.len());
    let mut worst = vec![0.0_f64; pages.len()];
    for cost in costs {
        // the builder's own check of range and sign
        builder.link(cost.robot, cost.host, cost.cost)?;
        let worst = &mut worst[cost.host as usize];
        *worst = worst.max(cost.cost);
    }
    let mut builder = GraphBuilder::new(pages.len());
    let mut rest = 0.0;
    for (v, &count) in (0..).zip(pages) {
        builder.pages(v, count)?;
        rest += worst[v as usize] * count as f64;
    }
    for cost in costs {
        builder.robot(cost.robot)?;
        let saved = worst[cost.host as usize] - cost.cost;
        let count = pages[cost.host as usize] as f64;
        builder.link(cost.robot, cost.host, saved * count)?;
        rest -= saved * count;
    }
    Ok((builder.build()?, rest))
}

/// Partitions each objective's graph alone and returns the cuts `ec_i`, in the graph's own units.
pub fn lone_cuts(
    objectives: &[Objective],
    capacities: &[f64],
    balance: Balance,
    robots: &[Vertex],
    seed: u64,
) -> Result<Vec<f64>, PartitionError> {
    objectives
        .iter()
        .map(|objective| {
            let mut task = Task::new(objective.graph, capacities, balance);
            task.robots = robots;
            task.seed = seed;
            // a measure of the objective, not an answer: one cycle will do
            let answer = multilevel::partition_with(&task, ONE_CYCLE)?;
            Ok(answer.cut as f64 * objective.graph.unit())
        })
        .collect()
}

/// `w = Σ p_i·w_i/ec_i`: each objective is measured by the cut it would have alone, so that
/// links, milliseconds and kilometres can be added. Where that is next to nothing, it is [`ERROR`] of all
/// links, or of what the costs come to: of two robots each host may have the nearer one, and a millisecond
/// by chance would weigh more than all links. Vertices weigh what they weigh in the first,
/// in every measure: milliseconds are no traffic.
pub fn combine(objectives: &[Objective], cuts: &[f64]) -> Result<Graph, PartitionError> {
    let Some(first) = objectives.first() else {
        return Err(PartitionError::NoObjectives);
    };
    let vertices = first.graph.len();
    let mut builder = GraphBuilder::new(vertices);
    for (objective, &cut) in objectives.iter().zip(cuts) {
        let unit = objective.graph.unit();
        let whole = match objective.rest {
            Some(rest) => cut + rest,
            None => objective.graph.total_weight() as f64 * unit,
        };
        let factor = objective.preference * unit / cut.max(ERROR * whole).max(unit);
        for v in objective.graph.vertices() {
            for link in objective.graph.links(v).iter().filter(|link| v < link.to) {
                builder.link(v, link.to, factor * f64::from(link.weight))?;
            }
        }
    }
    Ok(builder.build()?.weighing_as(first.graph))
}

#[cfg(test)]
mod tests;
