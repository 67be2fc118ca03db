//! Vertices packed into parts, links left aside.

use std::cmp::Reverse;

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::instance::Instance;
use crate::graph::{Load, Vertex};

/// Steps of a walk.
const STEPS: u32 = 100_000;
/// How much more excess is likely to be taken, at the beginning of a walk and at its end.
const HOT: f64 = 0.1;
const COLD: f64 = 0.001;
/// Draws for a vertex of an overfull part.
const DRAWS: usize = 8;

pub struct Packing<'a> {
    instance: Instance<'a>,
    pub part: Vec<u32>,
    loads: Vec<Load>,
    free: Vec<Vertex>,
}

impl<'a> Packing<'a> {
    pub fn from(instance: Instance<'a>, part: Vec<u32>) -> Self {
        let vertices = instance.graph.vertices();
        Self {
            loads: instance.graph.part_loads(&part, instance.parts()),
            free: vertices.filter(|&v| instance.is_free(v)).collect(),
            part,
            instance,
        }
    }

    /// The largest first, each where it adds least to the excess and leaves most room; `varied`
    /// in how much room counts.
    pub fn anew(instance: Instance<'a>, varied: bool, rng: &mut Xoshiro256PlusPlus) -> Self {
        let graph = instance.graph;
        let mut packing = Self {
            instance,
            part: instance.fixed.to_vec(),
            loads: vec![Load::default(); instance.parts()],
            free: Vec::new(),
        };
        for v in graph.vertices() {
            if instance.is_free(v) {
                packing.free.push(v);
            } else {
                packing.loads[instance.fixed[v as usize] as usize] += graph.load(v);
            }
        }
        let mut order = packing.free.clone();
        order.sort_by_key(|&v| (Reverse(graph.load(v).pages), v));
        for v in order {
            let load = graph.load(v);
            let mut best = (f64::INFINITY, f64::INFINITY, 0);
            for (part, (&own, limit)) in (0..).zip(packing.loads.iter().zip(instance.limits)) {
                let burden = (own + load).excess(limit) - own.excess(limit);
                let weight = if varied {
                    rng.random_range(0.3..1.3)
                } else {
                    1.0
                };
                let room = limit.pages.saturating_sub(own.pages) as f64 * weight;
                if (burden, -room) < (best.0, best.1) {
                    best = (burden, -room, part);
                }
            }
            packing.part[v as usize] = best.2;
            packing.loads[best.2 as usize] += load;
        }
        packing
    }

    fn overfull(&self, part: u32) -> bool {
        !self.loads[part as usize].fits(&self.instance.limits[part as usize])
    }

    /// Random moves and swaps that lower the excess, or raise it less and less often, until there
    /// is none.
    pub fn walk(&mut self, rng: &mut Xoshiro256PlusPlus) {
        let parts = self.loads.len() as u32;
        let mut overfull = (0..parts).filter(|&p| self.overfull(p)).count();
        if self.free.is_empty() || parts < 2 {
            return;
        }
        for step in 0..STEPS {
            if overfull == 0 {
                return;
            }
            let heat = HOT * (COLD / HOT).powf(f64::from(step) / f64::from(STEPS));
            let mut any = || self.free[rng.random_range(0..self.free.len())];
            let mut v = any();
            // half the time one that should go
            let draws = if step % 2 == 0 { DRAWS } else { 0 };
            for _ in 0..draws {
                if self.overfull(self.part[v as usize]) {
                    break;
                }
                v = any();
            }
            let u = any();
            let from = self.part[v as usize];
            let (taken, to) = if rng.random::<bool>() {
                (Some(u), self.part[u as usize])
            } else {
                (None, rng.random_range(0..parts))
            };
            if from == to {
                continue;
            }
            let given = self.instance.graph.load(v);
            let back = taken.map_or(Load::default(), |u| self.instance.graph.load(u));
            let before = [from, to].map(|p| self.loads[p as usize]);
            let mut after = [before[0] + back, before[1] + given];
            after[0] -= given;
            after[1] -= back;
            let limits = [from, to].map(|p| self.instance.limits[p as usize]);
            let excess =
                |loads: [Load; 2]| loads[0].excess(&limits[0]) + loads[1].excess(&limits[1]);
            let rise = excess(after) - excess(before);
            if rise > 0.0 && rng.random::<f64>() >= (-rise / heat).exp() {
                continue;
            }
            overfull -= [from, to].into_iter().filter(|&p| self.overfull(p)).count();
            self.loads[from as usize] = after[0];
            self.loads[to as usize] = after[1];
            overfull += [from, to].into_iter().filter(|&p| self.overfull(p)).count();
            self.part[v as usize] = to;
            if let Some(u) = taken {
                self.part[u as usize] = from;
            }
        }
    }
}
