//! Weighted undirected graphs in compressed rows, with several weights per vertex.

mod builder;
mod load;

pub use builder::{GraphBuilder, GraphError};
pub use load::Load;

/// A vertex of a graph: a host, an address, or a robot.
pub type Vertex = u32;

/// One direction of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The vertex at the other end.
    pub to: Vertex,
    /// Its weight; the same in both directions.
    pub weight: u32,
}

/// An undirected graph without self-loops or parallel edges. Eight bytes a direction, so ten
/// million edges take 160 MB.
///
/// Edge weights are integers whose sum fits in 32 bits: no sum of them, in any contraction of
/// the graph, can overflow.
#[derive(Clone, Debug)]
pub struct Graph {
    offsets: Vec<u32>,
    links: Vec<Link>,
    loads: Vec<Load>,
    unit: f64,
}

impl Graph {
    /// Rows that are already symmetric, simple and in range; `unit` is what weight 1 stands for.
    pub(crate) fn from_rows(
        offsets: Vec<u32>,
        links: Vec<Link>,
        loads: Vec<Load>,
        unit: f64,
    ) -> Self {
        debug_assert_eq!(offsets.len(), loads.len() + 1);
        debug_assert_eq!(offsets.last().copied(), Some(links.len() as u32));
        Self {
            offsets,
            links,
            loads,
            unit,
        }
    }

    /// The same links with the loads of another graph over the same vertices.
    pub(crate) fn weighing_as(mut self, other: &Self) -> Self {
        debug_assert_eq!(self.len(), other.len());
        self.loads.clone_from(&other.loads);
        self
    }

    /// Number of vertices.
    pub fn len(&self) -> usize {
        self.loads.len()
    }

    /// Whether there is no vertex.
    pub fn is_empty(&self) -> bool {
        self.loads.is_empty()
    }

    /// Number of undirected edges.
    pub fn edges(&self) -> usize {
        self.links.len() / 2
    }

    /// All vertices.
    pub fn vertices(&self) -> std::ops::Range<Vertex> {
        0..self.loads.len() as Vertex
    }

    /// The links of one vertex.
    pub fn links(&self, vertex: Vertex) -> &[Link] {
        let v = vertex as usize;
        &self.links[self.offsets[v] as usize..self.offsets[v + 1] as usize]
    }

    /// Number of neighbours.
    pub fn degree(&self, vertex: Vertex) -> usize {
        let v = vertex as usize;
        (self.offsets[v + 1] - self.offsets[v]) as usize
    }

    /// What one vertex weighs.
    pub fn load(&self, vertex: Vertex) -> Load {
        self.loads[vertex as usize]
    }

    /// What all vertices weigh together.
    pub fn total_load(&self) -> Load {
        self.loads.iter().copied().sum()
    }

    /// The weight of all edges together.
    pub fn total_weight(&self) -> u64 {
        self.links.iter().map(|l| u64::from(l.weight)).sum::<u64>() / 2
    }

    /// What an edge weight of 1 stands for, in the units that the builder was given.
    pub fn unit(&self) -> f64 {
        self.unit
    }

    /// The weight of the edges between different parts.
    pub fn cut(&self, part: &[u32]) -> u64 {
        self.vertices()
            .flat_map(|v| self.links(v).iter().map(move |l| (v, l)))
            .filter(|&(v, l)| v < l.to && part[v as usize] != part[l.to as usize])
            .map(|(_, l)| u64::from(l.weight))
            .sum()
    }

    /// What each of `parts` parts weighs.
    pub fn part_loads(&self, part: &[u32], parts: usize) -> Vec<Load> {
        let mut loads = vec![Load::default(); parts];
        for v in self.vertices() {
            loads[part[v as usize] as usize] += self.load(v);
        }
        loads
    }

    /// The weight of the cut edges that end in each part: what its robot exchanges.
    pub fn exchange(&self, part: &[u32], parts: usize) -> Vec<u64> {
        let mut exchange = vec![0; parts];
        for v in self.vertices() {
            let own = part[v as usize];
            for link in self.links(v) {
                if part[link.to as usize] != own {
                    exchange[own as usize] += u64::from(link.weight);
                }
            }
        }
        exchange
    }

    /// The subgraph of the `chosen` vertices, renumbered in their order. Their traffic stays what
    /// it was: links to those left behind are still links.
    #[must_use]
    pub fn induced(&self, chosen: &[Vertex]) -> Self {
        let mut new_name = vec![Vertex::MAX; self.len()];
        for (new, &v) in chosen.iter().enumerate() {
            new_name[v as usize] = new as Vertex;
        }
        let mut offsets = Vec::with_capacity(chosen.len() + 1);
        let mut links = Vec::new();
        offsets.push(0);
        for &v in chosen {
            for link in self.links(v) {
                let to = new_name[link.to as usize];
                if to != Vertex::MAX {
                    links.push(Link {
                        to,
                        weight: link.weight,
                    });
                }
            }
            offsets.push(links.len() as u32);
        }
        let loads = chosen.iter().map(|&v| self.load(v)).collect();
        Self::from_rows(offsets, links, loads, self.unit)
    }
}

#[cfg(test)]
mod tests;
