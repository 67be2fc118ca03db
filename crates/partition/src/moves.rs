//! What moves when robots come and go.
#![doc = include_str!("moves/README.md")]

use crate::graph::{Graph, Vertex};
use crate::task::NOWHERE;

/// A host that changes robots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The host.
    pub vertex: Vertex,
    /// Who had it, [`NOWHERE`] if nobody.
    pub from: u32,
    /// Who gets it.
    pub to: u32,
}

/// What changes hands between two assignments, in order of vertices.
pub fn moves(before: &[u32], after: &[u32]) -> Vec<Move> {
    (0..)
        .zip(before.iter().zip(after))
        .filter(|(_, (from, to))| from != to)
        .map(|(vertex, (&from, &to))| Move { vertex, from, to })
        .collect()
}

/// The pages of all moved hosts, new ones included.
pub fn moved_pages(graph: &Graph, before: &[u32], after: &[u32]) -> u64 {
    moves(before, after)
        .iter()
        .map(|step| graph.load(step.vertex).pages)
        .sum()
}

/// An assignment after a robot left: its hosts are nowhere, the robots after it are renumbered.
pub fn without_robot(part: &[u32], robot: u32) -> Vec<u32> {
    part.iter()
        .map(|&p| match p {
            NOWHERE => NOWHERE,
            p if p == robot => NOWHERE,
            p if p > robot => p - 1,
            p => p,
        })
        .collect()
}

/// A price of moving a page that lets only worthwhile hosts move: `share` of the average number
/// of links a page takes part in.
pub fn fair_price(graph: &Graph, share: f64) -> f64 {
    let pages = graph.total_load().pages.max(1);
    graph.total_weight() as f64 * graph.unit() * share / pages as f64
}

#[cfg(test)]
mod tests;
