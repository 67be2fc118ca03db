//! Plain Kernighan–Lin/Fiduccia–Mattheyses on the whole graph, as the published work did it: the
//! comparison for [`crate::multilevel`], with the same limits, fixed robots and history.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::graph::Vertex;
use crate::refine::{Reach, State, rebalance, refine, repair};
use crate::task::{NOWHERE, Partition, PartitionError, Task, prepare};

/// Passes from the whole boundary at once, as in the original.
const PASSES: Reach = Reach {
    seeds: usize::MAX,
    patience: 5_000,
    rounds: 20,
};

/// Random assignment (or the previous one), then passes of best moves until none helps.
pub fn partition(task: &Task) -> Result<Partition, PartitionError> {
    let prepared = prepare(task, &[])?;
    let instance = prepared.instance(task);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(task.seed);
    let mut order: Vec<Vertex> = instance.graph.vertices().collect();
    order.shuffle(&mut rng);
    let parts = instance.parts() as u32;
    let mut part = instance.fixed.to_vec();
    for (i, v) in (0..).zip(order) {
        if instance.is_free(v) {
            let before = task.previous.map_or(NOWHERE, |p| p.part[v as usize]);
            part[v as usize] = if before == NOWHERE { i % parts } else { before };
        }
    }
    let mut state = State::new(instance, part);
    rebalance(&mut state);
    refine(&mut state, PASSES, &mut rng);
    repair(&mut state, PASSES, &mut rng);
    let part = state.part;
    Ok(prepared.answer(task, part))
}
