//! Partitions to start from that need no coarsening.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::graph::{Load, Vertex};
use crate::refine::{FREE, Instance};

/// Parts being filled one vertex at a time.
struct Filling<'a> {
    instance: Instance<'a>,
    part: Vec<u32>,
    loads: Vec<Load>,
}

impl<'a> Filling<'a> {
    /// Fixed vertices are in their parts, the others nowhere.
    fn new(instance: Instance<'a>) -> Self {
        let mut filling = Self {
            instance,
            part: instance.fixed.to_vec(),
            loads: vec![Load::default(); instance.parts()],
        };
        for v in instance.graph.vertices() {
            if !instance.is_free(v) {
                filling.loads[instance.fixed[v as usize] as usize] += instance.graph.load(v);
            }
        }
        filling
    }

    fn put(&mut self, v: Vertex, part: u32) {
        self.part[v as usize] = part;
        self.loads[part as usize] += self.instance.graph.load(v);
    }

    fn has_room(&self, v: Vertex, part: u32) -> bool {
        let p = part as usize;
        (self.loads[p] + self.instance.graph.load(v)).fits(&self.instance.limits[p])
    }

    /// The part that is emptiest for its size, with room if any has.
    fn emptiest(&self, v: Vertex) -> u32 {
        let fullness = |part: u32| {
            let p = part as usize;
            self.loads[p].pages as f64 / self.instance.limits[p].pages.max(1) as f64
        };
        (0..self.loads.len() as u32)
            .min_by(|&a, &b| {
                let key = |p| (!self.has_room(v, p), fullness(p));
                let (a, b) = (key(a), key(b));
                a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
            })
            .expect("there is a part")
    }

    fn finish(mut self) -> Vec<u32> {
        for v in self.instance.graph.vertices() {
            if self.part[v as usize] == FREE {
                let part = self.emptiest(v);
                self.put(v, part);
            }
        }
        self.part
    }
}

/// The most linked vertices share the largest part, as many as it takes; the rest is spread. On
/// graphs that are hubs and leaves without communities nothing beats it: only hubs have links
/// to each other.
pub fn hubs_together(instance: Instance) -> Vec<u32> {
    let graph = instance.graph;
    let mut filling = Filling::new(instance);
    let mut order: Vec<Vertex> = graph.vertices().filter(|&v| instance.is_free(v)).collect();
    order.sort_by_key(|&v| Reverse(graph.load(v).traffic));
    let largest = (0..instance.parts() as u32)
        .max_by_key(|&p| (instance.limits[p as usize].pages, Reverse(p)))
        .expect("there is a part");
    for v in order {
        let part = if filling.has_room(v, largest) {
            largest
        } else {
            filling.emptiest(v)
        };
        filling.put(v, part);
    }
    filling.finish()
}

/// Each vertex to the robot it is linked to most; those that would lose most by their second
/// choice choose first. For graphs whose weight lies on the links to robots (RTT, distance).
pub fn largest_regret_first(instance: Instance) -> Vec<u32> {
    let mut filling = Filling::new(instance);
    let mut queue: BinaryHeap<(u32, Reverse<Vertex>)> = BinaryHeap::new();
    for v in instance.graph.vertices().filter(|&v| instance.is_free(v)) {
        if let Some((_, regret)) = choice(&filling, v) {
            queue.push((regret, Reverse(v)));
        }
    }
    while let Some((old, Reverse(v))) = queue.pop() {
        match choice(&filling, v) {
            // a part filled up and the next best is farther: it is more urgent, or less
            Some((_, regret)) if regret != old => queue.push((regret, Reverse(v))),
            Some((part, _)) => filling.put(v, part),
            None => (),
        }
    }
    filling.finish()
}

/// The best robot with room for `v`, and by how much the second best is worse.
fn choice(filling: &Filling, v: Vertex) -> Option<(u32, u32)> {
    let instance = filling.instance;
    let mut best: Option<(u32, u32)> = None;
    let mut second = 0;
    for link in instance.graph.links(v) {
        let part = instance.fixed[link.to as usize];
        if part == FREE || !filling.has_room(v, part) {
            continue;
        }
        match best {
            Some((weight, _)) if weight >= link.weight => second = second.max(link.weight),
            _ => {
                second = best.map_or(second, |(weight, _)| weight);
                best = Some((link.weight, part));
            }
        }
    }
    best.map(|(weight, part)| (part, weight - second))
}

/// Everything where it was; what is new goes to the emptiest parts.
pub fn as_before(instance: Instance, previous: &[u32]) -> Vec<u32> {
    let mut filling = Filling::new(instance);
    for v in instance.graph.vertices().filter(|&v| instance.is_free(v)) {
        // NOWHERE is FREE
        let part = previous.get(v as usize).copied().unwrap_or(FREE);
        if part != FREE {
            filling.put(v, part);
        }
    }
    let mut newcomers: Vec<Vertex> = instance
        .graph
        .vertices()
        .filter(|&v| filling.part[v as usize] == FREE)
        .collect();
    newcomers.sort_by_key(|&v| Reverse(instance.graph.load(v).pages));
    for v in newcomers {
        let part = strongest(&filling, v).unwrap_or_else(|| filling.emptiest(v));
        filling.put(v, part);
    }
    filling.part
}

/// The part with room that `v` is linked to most.
fn strongest(filling: &Filling, v: Vertex) -> Option<u32> {
    let mut weights = vec![0_u64; filling.loads.len()];
    for link in filling.instance.graph.links(v) {
        let part = filling.part[link.to as usize];
        if part != FREE {
            weights[part as usize] += u64::from(link.weight);
        }
    }
    (0..weights.len() as u32)
        .filter(|&p| weights[p as usize] > 0 && filling.has_room(v, p))
        .max_by_key(|&p| (weights[p as usize], Reverse(p)))
}
