//! A partition being improved: parts, loads, cut and gains, all updated with each move.

use super::connections::Connections;
use super::instance::Instance;
use crate::graph::{Load, Vertex};

/// A partition of one instance with everything a search wants to know about it.
pub struct State<'a> {
    pub instance: Instance<'a>,
    pub part: Vec<u32>,
    pub loads: Vec<Load>,
    pub cut: u64,
    /// The limits in force; a search may relax them for a while.
    pub limits: Vec<Load>,
    connections: Connections,
}

/// A change of part and what it takes off the cut.
#[derive(Clone, Copy, Debug)]
pub struct Move {
    pub gain: i64,
    pub to: u32,
}

impl<'a> State<'a> {
    pub fn new(instance: Instance<'a>, part: Vec<u32>) -> Self {
        let parts = instance.parts();
        Self {
            loads: instance.graph.part_loads(&part, parts),
            cut: instance.graph.cut(&part),
            limits: instance.limits.to_vec(),
            connections: Connections::new(instance.graph, &part, parts),
            instance,
            part,
        }
    }

    pub fn part_of(&self, v: Vertex) -> u32 {
        self.part[v as usize]
    }

    /// Whether `v` has a neighbour in another part.
    pub fn on_boundary(&self, v: Vertex) -> bool {
        let own = self.part_of(v);
        self.connections
            .of(v)
            .any(|(part, weight)| part != own && weight > 0)
    }

    pub fn has_room(&self, part: u32, load: Load) -> bool {
        (self.loads[part as usize] + load).fits(&self.limits[part as usize])
    }

    /// The room left in pages, for ties.
    fn room(&self, part: u32) -> u64 {
        let p = part as usize;
        self.limits[p].pages.saturating_sub(self.loads[p].pages)
    }

    /// How strongly `v` is tied to its own part.
    pub fn internal(&self, v: Vertex) -> u32 {
        self.connections.weight(v, self.part_of(v))
    }

    /// How strongly `v` is tied to a part.
    pub fn connection(&self, v: Vertex, part: u32) -> u32 {
        self.connections.weight(v, part)
    }

    /// The move of `v` that gains most among the parts that it is connected to and that have
    /// room for it; the roomier part among equals.
    pub fn best_move(&self, v: Vertex) -> Option<Move> {
        let load = self.instance.graph.load(v);
        let own = self.part_of(v);
        let mut best: Option<(u32, u32)> = None;
        let mut internal = 0;
        for (part, weight) in self.connections.of(v) {
            if part == own {
                internal = weight;
                continue;
            }
            if weight == 0 {
                continue;
            }
            let better = best.is_none_or(|(best_part, best_weight)| {
                weight > best_weight
                    || (weight == best_weight && self.room(part) > self.room(best_part))
            });
            if better && self.has_room(part, load) {
                best = Some((part, weight));
            }
        }
        best.map(|(to, weight)| Move {
            gain: i64::from(weight) - i64::from(internal),
            to,
        })
    }

    /// Moves `v` and calls `touched` for each neighbour.
    pub fn apply(&mut self, v: Vertex, to: u32, mut touched: impl FnMut(&Self, Vertex)) {
        let from = self.part_of(v);
        debug_assert_ne!(from, to);
        let gain =
            i64::from(self.connections.weight(v, to)) - i64::from(self.connections.weight(v, from));
        self.cut = self.cut.strict_sub_signed(gain);
        let load = self.instance.graph.load(v);
        self.loads[from as usize] -= load;
        self.loads[to as usize] += load;
        self.part[v as usize] = to;
        let graph = self.instance.graph;
        for link in graph.links(v) {
            self.connections
                .neighbour_moved(link.to, from, to, link.weight);
        }
        for link in graph.links(v) {
            touched(self, link.to);
        }
    }

    /// Moves `v` when nobody keeps gains.
    pub fn shift(&mut self, v: Vertex, to: u32) {
        self.apply(v, to, |_, _| ());
    }

    /// Back to an earlier partition, undoing only what differs.
    pub fn restore(&mut self, part: &[u32]) {
        for v in self.instance.graph.vertices() {
            if self.part_of(v) != part[v as usize] {
                self.shift(v, part[v as usize]);
            }
        }
    }

    /// By how much the true limits are exceeded, all in all.
    pub fn excess(&self) -> f64 {
        self.loads
            .iter()
            .zip(self.instance.limits)
            .map(|(load, limit)| load.excess(limit))
            .sum()
    }

    /// What is to be minimised, first balance, then cut.
    pub fn score(&self) -> Score {
        Score {
            excess: self.excess(),
            cut: self.cut,
        }
    }
}

/// How good a partition is; smaller is better.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Score {
    pub excess: f64,
    pub cut: u64,
}
