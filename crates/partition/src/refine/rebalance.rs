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

/// Rounds of trading at most; each ends earlier when nothing more can be gained.
const TRADES: usize = 50;

/// Empties overfull parts by the moves that cost least per unit of excess removed; where no part
/// has room in every measure any more, the parts trade. What cannot be packed stays as it is.
pub fn rebalance(state: &mut State) {
    empty(state);
    for _ in 0..TRADES {
        if state
            .loads
            .iter()
            .zip(&state.limits)
            .all(|(load, limit)| load.fits(limit))
        {
            return;
        }
        if !trade(state) {
            return;
        }
    }
}

/// Moves out of overfull parts that make another part overfull in one measure but lower the
/// excess in all: a part with too many servers gives small ones and takes pages in return.
fn trade(state: &mut State) -> bool {
    let mut traded = false;
    for v in state.instance.graph.vertices() {
        let from = state.part_of(v) as usize;
        let load = state.instance.graph.load(v);
        let relief = relief(load, state.loads[from], state.limits[from]);
        if !state.instance.is_free(v) || relief <= 0.0 {
            continue;
        }
        let burden = |part: u32| {
            let (loads, limit) = (state.loads[part as usize], state.limits[part as usize]);
            (loads + load).excess(&limit) - loads.excess(&limit)
        };
        let best = (0..state.instance.parts() as u32)
            .filter(|&part| part as usize != from)
            .map(|part| (burden(part), fullness(state, part), part))
            .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        // a real gain, not a rounding error
        if let Some((burden, _, to)) = best
            && burden < relief * (1.0 - 1e-6)
        {
            state.shift(v, to);
            traded = true;
        }
    }
    traded
}

fn empty(state: &mut State) {
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
