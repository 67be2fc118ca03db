//! One level's problem: a graph, the limits of its parts, and the vertices that may not move.

use crate::graph::{Graph, Load, Vertex};

/// In a list of fixed parts: the vertex is free.
pub const FREE: u32 = u32::MAX;

/// A graph to divide into `limits.len()` parts.
#[derive(Clone, Copy)]
pub struct Instance<'a> {
    pub graph: &'a Graph,
    pub limits: &'a [Load],
    /// The part of each vertex that has no choice, else [`FREE`].
    pub fixed: &'a [u32],
}

impl Instance<'_> {
    pub fn parts(&self) -> usize {
        self.limits.len()
    }

    pub fn is_free(&self, vertex: Vertex) -> bool {
        self.fixed[vertex as usize] == FREE
    }
}
