//! Back within the limits at the least loss.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::state::{Move, State};
use crate::graph::{Load, Vertex};

#[derive(PartialEq)]
struct Candidate {
    key: f64,
    vertex: Vertex,
}

impl Eq for Candidate {}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key
            .total_cmp(&other.key)
            .then(other.vertex.cmp(&self.vertex))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The best move of `v` into any part with room, connected or not.
fn way_out(state: &State, v: Vertex) -> Option<Move> {
    let load = state.instance.graph.load(v);
    let own = state.part_of(v);
    let connected = state.best_move(v);
    if connected.is_some_and(|step| step.gain >= 0) {
        return connected;
    }
    let lightest = (0..state.instance.parts() as u32)
        .filter(|&p| p != own && state.has_room(p, load))
        .min_by(|&a, &b| fullness(state, a).total_cmp(&fullness(state, b)))?;
    let away = Move {
        gain: -i64::from(state.internal(v)),
        to: lightest,
    };
    Some(
        connected
            .filter(|step| step.gain > away.gain)
            .unwrap_or(away),
    )
}

fn fullness(state: &State, part: u32) -> f64 {
    let (load, limit) = (state.loads[part as usize], state.limits[part as usize]);
    load.measures()
        .iter()
        .zip(limit.measures())
        .map(|(&load, limit)| load as f64 / limit.max(1) as f64)
        .fold(0.0, f64::max)
}

/// How much of the excess of its part a vertex would take away.
fn relief(load: Load, part: Load, limit: Load) -> f64 {
    part.excess(&limit) - part.zip_with(&load, u64::saturating_sub).excess(&limit)
}

fn key(state: &State, v: Vertex, step: Move) -> Option<f64> {
    let part = state.part_of(v) as usize;
    let relief = relief(
        state.instance.graph.load(v),
        state.loads[part],
        state.limits[part],
    );
    (relief > 0.0).then(|| {
        let gain = step.gain as f64;
        if gain >= 0.0 {
            (gain + 1.0) * relief
        } else {
            gain / relief
        }
    })
}

/// Empties overfull parts by the moves that cost least per unit of excess removed. Where nothing
/// fits any more (a host larger than a part), the rest stays as it is.
pub fn rebalance(state: &mut State) {
    let overfull = |state: &State, part: usize| !state.loads[part].fits(&state.limits[part]);
    let mut queue = BinaryHeap::new();
    for v in state.instance.graph.vertices() {
        if state.instance.is_free(v)
            && overfull(state, state.part_of(v) as usize)
            && let Some(step) = way_out(state, v)
            && let Some(key) = key(state, v, step)
        {
            queue.push(Candidate { key, vertex: v });
        }
    }
    while let Some(Candidate { key: old, vertex }) = queue.pop() {
        if !overfull(state, state.part_of(vertex) as usize) {
            continue;
        }
        let Some(step) = way_out(state, vertex) else {
            continue;
        };
        let Some(key) = key(state, vertex, step) else {
            continue;
        };
        if key < old - old.abs() * 1e-9 {
            queue.push(Candidate { key, vertex });
            continue;
        }
        state.shift(vertex, step.to);
    }
}
