//! First partitions of the coarsest graph: recursive bisection by greedy growing.

use std::collections::BinaryHeap;

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::cycle::{Plan, Start, cycle, improve};
use crate::graph::{Load, Vertex};
use crate::refine::{FREE, Instance, Reach, Score, State};

/// Growths tried for each bisection of a small graph.
const TRIES: usize = 8;

const BISECTION: Plan = Plan {
    coarsest_per_part: 80,
    shrink: 2.5,
    reach: Reach {
        seeds: 50,
        patience: 15,
        rounds: 10,
    },
};

/// A partition into as many parts as there are limits.
pub fn divide(instance: Instance, rng: &mut Xoshiro256PlusPlus) -> Vec<u32> {
    if instance.parts() == 2 {
        return grow_best(instance, rng);
    }
    let mut part = vec![0; instance.graph.len()];
    let everything: Vec<Vertex> = instance.graph.vertices().collect();
    split(instance, &everything, 0, &mut part, rng);
    part
}

/// Divides `instance`, whose vertices are `names` in the whole graph, into parts from `first`.
fn split(
    instance: Instance,
    names: &[Vertex],
    first: u32,
    part: &mut [u32],
    rng: &mut Xoshiro256PlusPlus,
) {
    let parts = instance.parts();
    if parts == 1 {
        for &name in names {
            part[name as usize] = first;
        }
        return;
    }
    let left = parts / 2;
    let limits = two_sides(instance.graph.total_load(), instance.limits, left);
    let fixed: Vec<u32> = instance
        .fixed
        .iter()
        .map(|&p| {
            if p == FREE {
                FREE
            } else {
                u32::from(p as usize >= left)
            }
        })
        .collect();
    let bisection = Instance {
        graph: instance.graph,
        limits: &limits,
        fixed: &fixed,
    };
    let side = cycle(bisection, &BISECTION, Start::Anew, rng);
    for (which, range, offset) in [(0, 0..left, 0), (1, left..parts, left as u32)] {
        let chosen: Vec<Vertex> = instance
            .graph
            .vertices()
            .filter(|&v| side[v as usize] == which)
            .collect();
        let graph = instance.graph.induced(&chosen);
        let fixed: Vec<u32> = chosen
            .iter()
            .map(|&v| match instance.fixed[v as usize] {
                FREE => FREE,
                p => p - offset,
            })
            .collect();
        let names: Vec<Vertex> = chosen.iter().map(|&v| names[v as usize]).collect();
        let half = Instance {
            graph: &graph,
            limits: &instance.limits[range],
            fixed: &fixed,
        };
        split(half, &names, first + offset, part, rng);
    }
}

/// Limits for the first `left` parts together and for the rest. The tolerance that the parts
/// have in all is spread evenly over the bisections still to come.
fn two_sides(total: Load, limits: &[Load], left: usize) -> Vec<Load> {
    let depth = f64::from(usize::BITS - (limits.len() - 1).leading_zeros());
    let mut sides = [[u64::MAX; 3]; 2];
    for (m, &amount) in total.measures().iter().enumerate() {
        let each: Vec<u64> = limits.iter().map(|limit| limit.measures()[m]).collect();
        if each.contains(&u64::MAX) {
            continue;
        }
        let whole: u64 = each.iter().sum();
        let tolerance = (whole as f64 / amount.max(1) as f64)
            .max(1.0)
            .powf(1.0 / depth);
        for (side, group) in sides.iter_mut().zip([&each[..left], &each[left..]]) {
            let mine: u64 = group.iter().sum();
            let share = amount as f64 * mine as f64 / whole.max(1) as f64;
            side[m] = ((share * tolerance).ceil() as u64).min(mine);
        }
    }
    sides.map(Load::from_measures).to_vec()
}

/// The best of several growths, each refined.
fn grow_best(instance: Instance, rng: &mut Xoshiro256PlusPlus) -> Vec<u32> {
    let mut best: Option<(Score, Vec<u32>)> = None;
    for _ in 0..TRIES {
        let part = improve(instance, grow(instance, rng), &BISECTION, rng);
        let score = State::new(instance, part.clone()).score();
        if best.as_ref().is_none_or(|(least, _)| score < *least) {
            best = Some((score, part));
        }
    }
    best.map(|(_, part)| part).unwrap_or_default()
}

/// Side 0 grows from a random vertex, strongest connection first, to its share of the pages.
fn grow(instance: Instance, rng: &mut Xoshiro256PlusPlus) -> Vec<u32> {
    let graph = instance.graph;
    let mut part: Vec<u32> = instance
        .fixed
        .iter()
        .map(|&fixed| if fixed == FREE { 1 } else { fixed })
        .collect();
    let limit = instance.limits.iter().map(|l| l.pages as f64);
    let whole: f64 = limit.clone().sum();
    let share = limit.clone().next().unwrap_or(0.0) / whole;
    let target = (graph.total_load().pages as f64 * share) as u64;
    let mut load: Load = graph.part_loads(&part, 2)[0];
    let mut pull = vec![0_i64; graph.len()];
    let mut heap: BinaryHeap<(i64, u32, Vertex)> = BinaryHeap::new();
    for v in graph.vertices() {
        for link in graph.links(v) {
            pull[v as usize] -= i64::from(link.weight);
            if part[link.to as usize] == 0 {
                pull[v as usize] += 2 * i64::from(link.weight);
            }
        }
    }
    let mut unvisited: Vec<Vertex> = graph.vertices().filter(|&v| instance.is_free(v)).collect();
    while load.pages < target {
        let v = loop {
            if let Some((key, _, v)) = heap.pop() {
                if key == pull[v as usize] && part[v as usize] == 1 {
                    break Some(v);
                }
            } else if unvisited.is_empty() {
                break None;
            } else {
                let v = unvisited.swap_remove(rng.random_range(0..unvisited.len()));
                if part[v as usize] == 1 {
                    break Some(v);
                }
            }
        };
        let Some(v) = v else { break };
        if !(load + graph.load(v)).fits(&instance.limits[0]) {
            continue;
        }
        part[v as usize] = 0;
        load += graph.load(v);
        for link in graph.links(v) {
            if part[link.to as usize] == 1 && instance.is_free(link.to) {
                let key = &mut pull[link.to as usize];
                *key += 2 * i64::from(link.weight);
                heap.push((*key, rng.random(), link.to));
            }
        }
    }
    part
}
