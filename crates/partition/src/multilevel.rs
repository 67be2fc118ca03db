//! The graph partitioner: coarsen, divide, refine.
#![doc = include_str!("multilevel/README.md")]

mod cluster;
mod contract;
mod cycle;
mod initial;
mod rename;
mod starts;

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use crate::graph::Vertex;
use crate::refine::{FREE, Instance, Reach, Score, State, repair};
use crate::task::{Partition, PartitionError, Task, prepare};
use cycle::{Plan, Start, cycle, improve};

/// Up to this many edges a population is affordable; larger graphs get one cycle.
const EDGES_FOR_A_POPULATION: usize = 2_000_000;

/// How much is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Independent multilevel cycles.
    pub population: usize,
    /// How often neighbours in the ranking are combined.
    pub generations: usize,
}

impl Effort {
    /// A few seconds for tens of thousands of hosts, a minute for a million.
    pub fn for_edges(edges: usize) -> Self {
        if edges <= EDGES_FOR_A_POPULATION {
            Self {
                population: 2,
                generations: 1,
            }
        } else {
            Self {
                population: 1,
                generations: 0,
            }
        }
    }
}

/// Divides the task's graph with the effort that suits its size.
pub fn partition(task: &Task) -> Result<Partition, PartitionError> {
    partition_with(task, Effort::for_edges(task.graph.edges()))
}

/// Divides the task's graph.
pub fn partition_with(task: &Task, effort: Effort) -> Result<Partition, PartitionError> {
    partition_fixed(task, &[], effort)
}

/// With more vertices fixed than the robots, any number in a part.
pub(crate) fn partition_fixed(
    task: &Task,
    fixed: &[(Vertex, u32)],
    effort: Effort,
) -> Result<Partition, PartitionError> {
    let prepared = prepare(task, fixed)?;
    let part = solve(prepared.instance(task), task, effort);
    Ok(prepared.answer(task, part))
}

fn plan(instance: Instance) -> Plan {
    let large = instance.graph.edges() > EDGES_FOR_A_POPULATION;
    Plan {
        coarsest_per_part: 20,
        shrink: 2.5,
        reach: Reach {
            seeds: 50,
            patience: 15,
            rounds: if large { 2 } else { 10 },
        },
    }
}

#[derive(Clone)]
struct Individual {
    score: Score,
    part: Vec<u32>,
}

fn individual(instance: Instance, part: Vec<u32>) -> Individual {
    let state = State::new(instance, part);
    Individual {
        score: state.score(),
        part: state.part,
    }
}

/// How one partition of the population comes about.
#[derive(Clone, Copy)]
enum Beginning {
    Cycle,
    Previous,
    Hubs,
    Regret,
}

fn beginnings(instance: Instance, task: &Task, effort: Effort) -> Vec<Beginning> {
    let cycles = effort.population.max(1);
    if task.previous.is_some() {
        return vec![Beginning::Previous; cycles];
    }
    let mut beginnings = vec![Beginning::Cycle; cycles];
    if instance.graph.edges() <= EDGES_FOR_A_POPULATION {
        beginnings.push(Beginning::Hubs);
    }
    if instance.fixed.iter().any(|&part| part != FREE) {
        beginnings.push(Beginning::Regret);
    }
    beginnings
}

fn solve(instance: Instance, task: &Task, effort: Effort) -> Vec<u32> {
    if instance.parts() == 1 {
        return vec![0; instance.graph.len()];
    }
    let plan = plan(instance);
    // each stream is fixed by its number: threads do not matter
    let stream = |number: usize| {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(task.seed);
        (0..number).for_each(|_| rng.jump());
        rng
    };
    let beginnings = beginnings(instance, task, effort);
    let mut population: Vec<Individual> = beginnings
        .par_iter()
        .enumerate()
        .map(|(number, beginning)| {
            let rng = &mut stream(number);
            let part = match beginning {
                Beginning::Cycle => cycle(instance, &plan, Start::Anew, rng),
                Beginning::Previous => {
                    let previous = task.previous.map_or(&[][..], |previous| previous.part);
                    let kept = starts::as_before(instance, previous);
                    cycle(instance, &plan, Start::From(&kept), rng)
                }
                Beginning::Hubs => improve(instance, starts::hubs_together(instance), &plan, rng),
                Beginning::Regret => {
                    improve(instance, starts::largest_regret_first(instance), &plan, rng)
                }
            };
            individual(instance, part)
        })
        .collect();
    for generation in 0..effort.generations {
        best_first(&mut population);
        population.truncate(effort.population.max(2));
        let members = population.len();
        let children: Vec<Individual> = (0..members)
            .into_par_iter()
            .map(|i| {
                let rng = &mut stream(beginnings.len() + generation * members + i);
                let mates =
                    Start::Between(&population[i].part, &population[(i + 1) % members].part);
                individual(instance, cycle(instance, &plan, mates, rng))
            })
            .collect();
        population.extend(children);
    }
    best_first(&mut population);
    let best = population.swap_remove(0);
    if best.score.excess == 0.0 {
        return best.part;
    }
    let mut state = State::new(instance, best.part);
    repair(&mut state, plan.reach, &mut stream(0));
    state.part
}

fn best_first(population: &mut [Individual]) {
    population.sort_by(|a, b| {
        let (a, b) = (a.score, b.score);
        a.excess.total_cmp(&b.excess).then(a.cut.cmp(&b.cut))
    });
}

#[cfg(test)]
mod tests;
