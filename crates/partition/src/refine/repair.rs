//! The limits met again where emptying and trading parts did not do.

use rand_xoshiro::Xoshiro256PlusPlus;

use super::packing::Packing;
use super::search::{Reach, refine};
use super::state::State;
use crate::graph::{Load, Vertex};

/// Packings tried; on large graphs, where small hosts fill every gap, one of each kind.
const TRIES: usize = 8;
const LARGE: usize = 20_000;
/// Vertices of overfull parts, and partners of each of them on either side of the size wanted, that
/// are looked at in a round.
const GIVEN: usize = 4_000;
const AROUND: usize = 2;
const ROUNDS: usize = 50;
/// Less than this is a rounding error.
const LEAST_RELIEF: f64 = 1e-9;

/// Lowers the excess over the limits until there is none or nothing helps: by moves and swaps at
/// the least loss of cut, and where these end, by packing anew and searching from there. Nothing
/// is done where nothing is exceeded.
pub fn repair(state: &mut State, reach: Reach, rng: &mut Xoshiro256PlusPlus) {
    if state.excess() == 0.0 {
        return;
    }
    exchange(state);
    if state.excess() == 0.0 {
        return;
    }
    let start = state.part.clone();
    let mut best = (state.score(), start.clone());
    let large = state.instance.graph.len() > LARGE;
    for attempt in 0..if large { 2 } else { TRIES } {
        let mut packing = if attempt % 2 == 0 {
            Packing::anew(state.instance, attempt > 0, rng)
        } else {
            Packing::from(state.instance, start.clone())
        };
        packing.walk(rng);
        state.restore(&packing.part);
        exchange(state);
        if !large {
            refine(state, reach, rng);
        }
        if state.score() < best.0 {
            best = (state.score(), state.part.clone());
        }
    }
    state.restore(&best.1);
}

/// A vertex that leaves an overfull part, alone or against another.
struct Exchange {
    given: Vertex,
    taken: Option<Vertex>,
    to: u32,
    /// Cut lost per unit of excess.
    price: f64,
}

/// Exchanges that lower the excess, the cheapest first, until there is none or time is up.
fn exchange(state: &mut State) {
    for _ in 0..ROUNDS {
        let mut members = vec![Vec::new(); state.instance.parts()];
        for v in state.instance.graph.vertices() {
            if state.instance.is_free(v) {
                members[state.part_of(v) as usize].push(v);
            }
        }
        for inside in &mut members {
            inside.sort_by_key(|&v| (state.instance.graph.load(v).pages, v));
        }
        let overfull = |part: &usize| !state.loads[*part].fits(&state.limits[*part]);
        let candidates: Vec<Vertex> = (0..members.len())
            .filter(overfull)
            .flat_map(|part| members[part].iter().copied())
            .collect();
        let step = candidates.len().div_ceil(GIVEN).max(1);
        let given = candidates.into_iter().step_by(step);
        let mut found: Vec<Exchange> = given.filter_map(|v| cheapest(state, v, &members)).collect();
        found.sort_by(|a, b| a.price.total_cmp(&b.price).then(a.given.cmp(&b.given)));
        let mut helped = false;
        for Exchange {
            given, taken, to, ..
        } in found
        {
            let from = state.part_of(given);
            // others may have gone before
            let still = taken.is_none_or(|taken| state.part_of(taken) == to) && from != to;
            if still && relief(state, given, taken, to) > LEAST_RELIEF {
                state.shift(given, to);
                if let Some(taken) = taken {
                    state.shift(taken, from);
                }
                helped = true;
            }
        }
        if !helped {
            return;
        }
    }
}

/// The exchange of `v` that loses least for what it relieves.
fn cheapest(state: &State, v: Vertex, members: &[Vec<Vertex>]) -> Option<Exchange> {
    let from = state.part_of(v);
    let mut best: Option<Exchange> = None;
    let mut consider = |taken: Option<Vertex>, to: u32| {
        let relief = relief(state, v, taken, to);
        if relief <= LEAST_RELIEF {
            return;
        }
        let mut loss = i64::from(state.internal(v)) - i64::from(state.connection(v, to));
        if let Some(u) = taken {
            loss += i64::from(state.internal(u)) - i64::from(state.connection(u, from));
        }
        // what gains is best where it relieves most
        let price = match loss {
            1.. => loss as f64 / relief,
            _ => (loss - 1) as f64 * relief,
        };
        if best.as_ref().is_none_or(|best| price < best.price) {
            best = Some(Exchange {
                given: v,
                taken,
                to,
                price,
            });
        }
    };
    let graph = state.instance.graph;
    let pages = graph.load(v).pages;
    let [own, limit] = [&state.loads, &state.limits].map(|loads| loads[from as usize].pages);
    let surplus = own.saturating_sub(limit);
    for (to, others) in (0..).zip(members).filter(|&(to, _)| to != from) {
        consider(None, to);
        let [load, limit] = [&state.loads, &state.limits].map(|loads| loads[to as usize].pages);
        let room = limit.saturating_sub(load);
        // as large as it may be, as small as it must be, and equal
        for wanted in [surplus, room, 0] {
            let wanted = pages.saturating_sub(wanted);
            let at = others.partition_point(|&u| graph.load(u).pages < wanted);
            let near = at.saturating_sub(AROUND)..(at + AROUND).min(others.len());
            for &u in &others[near] {
                consider(Some(u), to);
            }
        }
    }
    best
}

/// By how much an exchange lowers the excess.
fn relief(state: &State, given: Vertex, taken: Option<Vertex>, to: u32) -> f64 {
    let graph = state.instance.graph;
    let (from, to) = (state.part_of(given) as usize, to as usize);
    let given = graph.load(given);
    let taken = taken.map_or(Load::default(), |taken| graph.load(taken));
    let (mut less, mut more) = (state.loads[from] + taken, state.loads[to] + given);
    less -= given;
    more -= taken;
    let excess = |load: Load, part: usize| load.excess(&state.limits[part]);
    excess(state.loads[from], from) + excess(state.loads[to], to)
        - excess(less, from)
        - excess(more, to)
}
