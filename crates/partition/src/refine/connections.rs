//! How strongly each vertex is connected to each part, kept up to date move by move.

use crate::graph::{Graph, Vertex};

#[derive(Clone, Copy, Default)]
struct Slot {
    part: u32,
    weight: u32,
}

/// `min(degree, parts)` slots a vertex: hubs are indexed by part, all others are short lists.
pub struct Connections {
    starts: Vec<u32>,
    used: Vec<u32>,
    slots: Vec<Slot>,
    parts: u32,
}

impl Connections {
    pub fn new(graph: &Graph, part: &[u32], parts: usize) -> Self {
        let mut starts = Vec::with_capacity(graph.len() + 1);
        let mut total = 0_u32;
        starts.push(0);
        for v in graph.vertices() {
            total += graph.degree(v).min(parts) as u32;
            starts.push(total);
        }
        let mut table = Self {
            starts,
            used: vec![0; graph.len()],
            slots: vec![Slot::default(); total as usize],
            parts: parts as u32,
        };
        for v in graph.vertices() {
            if table.is_indexed(v) {
                let start = table.starts[v as usize] as usize;
                for p in 0..table.parts {
                    table.slots[start + p as usize].part = p;
                }
                table.used[v as usize] = table.parts;
            }
            for link in graph.links(v) {
                table.add(v, part[link.to as usize], link.weight);
            }
        }
        table
    }

    fn is_indexed(&self, v: Vertex) -> bool {
        let v = v as usize;
        self.starts[v + 1] - self.starts[v] == self.parts
    }

    /// The parts `v` is connected to and how strongly; hubs also list weights of 0.
    pub fn of(&self, v: Vertex) -> impl Iterator<Item = (u32, u32)> + '_ {
        let start = self.starts[v as usize] as usize;
        self.slots[start..start + self.used[v as usize] as usize]
            .iter()
            .map(|slot| (slot.part, slot.weight))
    }

    pub fn weight(&self, v: Vertex, part: u32) -> u32 {
        if self.is_indexed(v) {
            return self.slots[(self.starts[v as usize] + part) as usize].weight;
        }
        self.of(v)
            .find(|&(p, _)| p == part)
            .map_or(0, |(_, weight)| weight)
    }

    fn find(&self, v: Vertex, part: u32) -> Option<usize> {
        let start = self.starts[v as usize] as usize;
        if self.is_indexed(v) {
            return Some(start + part as usize);
        }
        self.slots[start..start + self.used[v as usize] as usize]
            .iter()
            .position(|slot| slot.part == part)
            .map(|at| start + at)
    }

    fn add(&mut self, v: Vertex, part: u32, weight: u32) {
        if let Some(at) = self.find(v, part) {
            self.slots[at].weight += weight;
        } else {
            let at = self.starts[v as usize] + self.used[v as usize];
            self.slots[at as usize] = Slot { part, weight };
            self.used[v as usize] += 1;
        }
    }

    /// A neighbour of `v` over an edge of `weight` went from one part to another.
    pub fn neighbour_moved(&mut self, v: Vertex, from: u32, to: u32, weight: u32) {
        let start = self.starts[v as usize] as usize;
        if self.is_indexed(v) {
            self.slots[start + from as usize].weight -= weight;
            self.slots[start + to as usize].weight += weight;
            return;
        }
        // both in one pass: this is where the time goes
        let slots = &mut self.slots[start..start + self.used[v as usize] as usize];
        let (mut left, mut entered) = (None, false);
        for (at, slot) in slots.iter_mut().enumerate() {
            if slot.part == from {
                slot.weight -= weight;
                left = Some((at, slot.weight));
            } else if slot.part == to {
                slot.weight += weight;
                entered = true;
            } else {
                continue;
            }
            if entered && left.is_some() {
                break;
            }
        }
        let (at, remaining) = left.expect("a link lies in the part of its end");
        let last = slots.len() - 1;
        if remaining == 0 {
            slots.swap(at, last);
            self.used[v as usize] -= 1;
        }
        if !entered {
            let free = start + self.used[v as usize] as usize;
            self.slots[free] = Slot { part: to, weight };
            self.used[v as usize] += 1;
        }
    }
}
