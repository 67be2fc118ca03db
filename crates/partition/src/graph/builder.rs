//! From rows `source, target, links` to a graph.

use super::{Graph, Link, Load, Vertex};

/// Above this sum, weights are scaled down: 32 bits must hold any sum of them, and as much again
/// for the price of moving.
const LARGEST_TOTAL: f64 = (1_u64 << 31) as f64;
/// The sum after scaling; the rest is room for rounding up to 1.
const SCALED_TOTAL: f64 = (1_u64 << 30) as f64;

/// Why a row was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GraphError {
    /// A vertex outside the declared range.
    #[error("vertex {vertex} is unknown: the graph has {vertices}")]
    UnknownVertex {
        /// The vertex as given.
        vertex: Vertex,
        /// How many there are.
        vertices: usize,
    },
    /// A weight that is negative or not a number.
    #[error(
        "edge {source_vertex} to {target} has weight {weight}: it must be a number and not negative"
    )]
    BadWeight {
        /// One end.
        source_vertex: Vertex,
        /// The other end.
        target: Vertex,
        /// The weight as given.
        weight: f64,
    },
    /// More edges than 32-bit offsets address.
    #[error("{0} edges are more than a graph can hold")]
    TooManyEdges(usize),
}

/// Collects rows; self-loops are dropped, parallel and opposite edges are added up.
#[derive(Clone, Debug)]
pub struct GraphBuilder {
    rows: Vec<(Vertex, Vertex, f64)>,
    loads: Vec<Load>,
}

impl GraphBuilder {
    /// A graph of `vertices` servers with one page each.
    pub fn new(vertices: usize) -> Self {
        let server = Load {
            pages: 1,
            servers: 1,
            traffic: 0,
        };
        Self {
            rows: Vec::new(),
            loads: vec![server; vertices],
        }
    }

    fn check(&self, vertex: Vertex) -> Result<(), GraphError> {
        if (vertex as usize) < self.loads.len() {
            return Ok(());
        }
        Err(GraphError::UnknownVertex {
            vertex,
            vertices: self.loads.len(),
        })
    }

    /// How many pages a vertex stands for.
    pub fn pages(&mut self, vertex: Vertex, pages: u64) -> Result<&mut Self, GraphError> {
        self.check(vertex)?;
        self.loads[vertex as usize].pages = pages;
        Ok(self)
    }

    /// How many servers a vertex stands for: an address may hold several hosts.
    pub fn servers(&mut self, vertex: Vertex, servers: u64) -> Result<&mut Self, GraphError> {
        self.check(vertex)?;
        self.loads[vertex as usize].servers = servers;
        Ok(self)
    }

    /// A vertex that weighs nothing because it downloads instead of being downloaded.
    pub fn robot(&mut self, vertex: Vertex) -> Result<&mut Self, GraphError> {
        self.pages(vertex, 0)?.servers(vertex, 0)
    }

    /// Adds links between two vertices, in either direction.
    pub fn link(
        &mut self,
        source: Vertex,
        target: Vertex,
        links: f64,
    ) -> Result<&mut Self, GraphError> {
        self.check(source)?;
        self.check(target)?;
        if !(links >= 0.0 && links.is_finite()) {
            return Err(GraphError::BadWeight {
                source_vertex: source,
                target,
                weight: links,
            });
        }
        if source != target && links > 0.0 {
            self.rows.push((source, target, links));
        }
        Ok(self)
    }

    /// The graph. Integral weights with a 32-bit sum are kept as they are; others are scaled
    /// ([`Graph::unit`] says how) and rounded, but never to nothing.
    pub fn build(self) -> Result<Graph, GraphError> {
        if self.rows.len() > (u32::MAX / 2) as usize {
            return Err(GraphError::TooManyEdges(self.rows.len()));
        }
        let total: f64 = self.rows.iter().map(|row| row.2).sum();
        let integral = self.rows.iter().all(|row| row.2.fract() == 0.0);
        let unit = if integral && total <= LARGEST_TOTAL {
            1.0
        } else {
            total / SCALED_TOTAL
        };
        let count = self.loads.len();
        let mut ends = vec![0_u32; count + 1];
        for &(a, b, _) in &self.rows {
            ends[a as usize + 1] += 1;
            ends[b as usize + 1] += 1;
        }
        for v in 0..count {
            ends[v + 1] += ends[v];
        }
        let starts = ends.clone();
        let mut links = vec![(0 as Vertex, 0.0_f64); 2 * self.rows.len()];
        for (a, b, weight) in self.rows {
            for (from, to) in [(a, b), (b, a)] {
                let at = &mut ends[from as usize];
                links[*at as usize] = (to, weight);
                *at += 1;
            }
        }
        let mut folded = Vec::with_capacity(links.len());
        let mut offsets = Vec::with_capacity(count + 1);
        let mut loads = self.loads;
        offsets.push(0);
        for v in 0..count {
            let row = &mut links[starts[v] as usize..starts[v + 1] as usize];
            // weight too, so that both directions add up in the same order
            row.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            for parallel in row.chunk_by(|a, b| a.0 == b.0) {
                let sum: f64 = parallel.iter().map(|link| link.1).sum();
                let weight = ((sum / unit).round() as u32).max(1);
                folded.push(Link {
                    to: parallel[0].0,
                    weight,
                });
                loads[v].traffic += u64::from(weight);
            }
            offsets.push(folded.len() as u32);
        }
        folded.shrink_to_fit();
        Ok(Graph::from_rows(offsets, folded, loads, unit))
    }
}
