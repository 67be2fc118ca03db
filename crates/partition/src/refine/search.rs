//! k-way Fiduccia–Mattheyses: local searches that may climb before they descend.

use std::collections::BinaryHeap;

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::state::State;
use crate::graph::Vertex;

/// How far a local search may go.
#[derive(Clone, Copy)]
pub struct Reach {
    /// Vertices a search starts from.
    pub seeds: usize,
    /// Moves without a new best after which a search gives up.
    pub patience: usize,
    /// Rounds over the boundary at most.
    pub rounds: usize,
}

/// The queue of one local search; a vertex counts with the last key it was given.
struct Frontier {
    heap: BinaryHeap<(i64, u32, Vertex)>,
    keys: Vec<i64>,
}

const ABSENT: i64 = i64::MIN;

impl Frontier {
    fn offer(&mut self, state: &State, v: Vertex, rng: &mut Xoshiro256PlusPlus) {
        match state.best_move(v) {
            Some(step) => {
                if self.keys[v as usize] != step.gain {
                    self.keys[v as usize] = step.gain;
                    self.heap.push((step.gain, rng.random(), v));
                }
            }
            None => self.keys[v as usize] = ABSENT,
        }
    }

    fn pop(&mut self) -> Option<Vertex> {
        while let Some((key, _, v)) = self.heap.pop() {
            if self.keys[v as usize] == key {
                self.keys[v as usize] = ABSENT;
                return Some(v);
            }
        }
        None
    }

    fn clear(&mut self) {
        for (_, _, v) in self.heap.drain() {
            self.keys[v as usize] = ABSENT;
        }
    }
}

/// Rounds of local searches from random boundary vertices until nothing improves.
pub fn refine(state: &mut State, reach: Reach, rng: &mut Xoshiro256PlusPlus) {
    let vertices = state.instance.graph.len();
    let mut frontier = Frontier {
        heap: BinaryHeap::new(),
        keys: vec![ABSENT; vertices],
    };
    let mut done = vec![false; vertices];
    for _ in 0..reach.rounds {
        let mut boundary: Vec<Vertex> = state
            .instance
            .graph
            .vertices()
            .filter(|&v| state.instance.is_free(v) && state.on_boundary(v))
            .collect();
        boundary.shuffle(rng);
        done.fill(false);
        let before = state.cut;
        for seeds in boundary.chunks(reach.seeds) {
            for &seed in seeds {
                if !done[seed as usize] {
                    frontier.offer(state, seed, rng);
                }
            }
            search(state, &mut frontier, &mut done, reach.patience, rng);
            frontier.clear();
        }
        // a round that gains less than half a percent is followed by none that gains much
        if (before - state.cut) * 200 <= before {
            break;
        }
    }
}

/// One search: best move first, whatever it gains, each vertex once; back to the best state met.
fn search(
    state: &mut State,
    frontier: &mut Frontier,
    done: &mut [bool],
    patience: usize,
    rng: &mut Xoshiro256PlusPlus,
) {
    let mut undo: Vec<(Vertex, u32)> = Vec::new();
    let mut best_cut = state.cut;
    let mut kept = 0;
    while undo.len() < kept + patience {
        let Some(v) = frontier.pop() else { break };
        // parts fill up meanwhile: the move may have become another
        let Some(step) = state.best_move(v) else {
            continue;
        };
        if let Some(&(next, _, _)) = frontier.heap.peek()
            && step.gain < next
        {
            frontier.offer(state, v, rng);
            continue;
        }
        let from = state.part_of(v);
        done[v as usize] = true;
        state.apply(v, step.to, |state, neighbour| {
            if !done[neighbour as usize] && state.instance.is_free(neighbour) {
                frontier.offer(state, neighbour, rng);
            }
        });
        undo.push((v, from));
        if state.cut < best_cut {
            best_cut = state.cut;
            kept = undo.len();
        }
    }
    for &(v, from) in undo[kept..].iter().rev() {
        state.shift(v, from);
        done[v as usize] = false;
    }
}

/// Label propagation: each vertex in random order to the part where it gains; cheap, for a start.
pub fn propagate(state: &mut State, rounds: usize, rng: &mut Xoshiro256PlusPlus) {
    let mut order: Vec<Vertex> = state
        .instance
        .graph
        .vertices()
        .filter(|&v| state.instance.is_free(v))
        .collect();
    for _ in 0..rounds {
        order.shuffle(rng);
        let before = state.cut;
        for &v in &order {
            if let Some(step) = state.best_move(v)
                && step.gain > 0
            {
                state.shift(v, step.to);
            }
        }
        if (before - state.cut) * 200 <= before {
            break;
        }
    }
}
