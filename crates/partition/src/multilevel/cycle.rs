//! One multilevel cycle: coarsen, divide the coarsest graph, refine on the way back.

use rand_xoshiro::Xoshiro256PlusPlus;

use super::cluster::{Rules, cluster};
use super::contract::{Contraction, contract};
use super::initial;
use super::rename::rename;

use crate::graph::Load;
use crate::refine::{Instance, Reach, State, propagate, rebalance, refine};

/// How a cycle is run.
#[derive(Clone, Copy)]
pub struct Plan {
    /// Coarsen until this many vertices a part are left.
    pub coarsest_per_part: usize,
    /// A level shrinks by at most this factor: small steps give refinement more to do.
    pub shrink: f64,
    pub reach: Reach,
}

/// How often the limits are left for a while: on large levels it would take minutes, and the
/// smaller ones have done it already.
fn relaxations(edges: usize) -> usize {
    match edges {
        0..500_000 => 4,
        500_000..3_000_000 => 1,
        _ => 0,
    }
}

/// On levels larger than this only label propagation refines: searches from every boundary vertex
/// would take most of the time and find little that the smaller levels have not.
const EDGES_FOR_SEARCHES: usize = 3_000_000;

/// Where a cycle starts.
#[derive(Clone, Copy)]
pub enum Start<'a> {
    /// From nothing.
    Anew,
    /// From a partition: clusters stay within its parts, so that nothing is lost.
    From(&'a [u32]),
    /// From the first of two partitions, clusters within the parts of both: what they agree on
    /// is contracted, what they differ in is searched.
    Between(&'a [u32], &'a [u32]),
}

pub fn cycle(
    instance: Instance,
    plan: &Plan,
    start: Start,
    rng: &mut Xoshiro256PlusPlus,
) -> Vec<u32> {
    let parts = instance.parts() as u32;
    let (mut kept, mut colours) = match start {
        Start::Anew => (None, None),
        Start::From(part) => (Some(part.to_vec()), Some(part.to_vec())),
        Start::Between(a, b) => {
            let both = a.iter().zip(b).map(|(&a, &b)| a * parts + b).collect();
            (Some(a.to_vec()), Some(both))
        }
    };
    let levels = coarsen(instance, plan, &mut kept, &mut colours, rng);
    let level = |depth: usize| match depth {
        0 => instance,
        _ => Instance {
            graph: &levels[depth - 1].graph,
            limits: instance.limits,
            fixed: &levels[depth - 1].fixed,
        },
    };
    let coarsest = level(levels.len());
    let mut part = kept.unwrap_or_else(|| initial::divide(coarsest, rng));
    part = improve(coarsest, part, plan, rng);
    for depth in (0..levels.len()).rev() {
        part = levels[depth].project(&part);
        part = improve(level(depth), part, plan, rng);
    }
    part
}

fn coarsen(
    instance: Instance,
    plan: &Plan,
    kept: &mut Option<Vec<u32>>,
    colours: &mut Option<Vec<u32>>,
    rng: &mut Xoshiro256PlusPlus,
) -> Vec<Contraction> {
    let enough = plan.coarsest_per_part * instance.parts();
    let total = instance.graph.total_load();
    let largest = largest_cluster(total, instance.limits, enough);
    let mut levels: Vec<Contraction> = Vec::new();
    loop {
        let current = match levels.last() {
            None => instance,
            Some(level) => Instance {
                graph: &level.graph,
                limits: instance.limits,
                fixed: &level.fixed,
            },
        };
        let size = current.graph.len();
        if size <= enough {
            return levels;
        }
        let rules = Rules {
            largest,
            colours: colours.as_deref(),
            enough: enough.max((size as f64 / plan.shrink) as usize),
        };
        let label = cluster(current, &rules, rng);
        let next = contract(current, &label);
        // nothing left to contract
        if next.graph.len() as f64 > 0.97 * size as f64 {
            return levels;
        }
        for property in [&mut *kept, &mut *colours] {
            *property = property.take().map(|fine| next.lift(&fine));
        }
        levels.push(next);
    }
}

/// Small enough that the parts can still be balanced.
fn largest_cluster(total: Load, limits: &[Load], enough: usize) -> Load {
    let mut largest = [u64::MAX; 3];
    for (m, &amount) in total.measures().iter().enumerate() {
        if limits.iter().all(|limit| limit.measures()[m] < u64::MAX) {
            largest[m] = (amount * 2 / enough.max(1) as u64).max(1);
        }
    }
    Load::from_measures(largest)
}

/// Makes a partition feasible, then better: search, then leave the limits by less and less,
/// come back, and keep what improved.
pub fn improve(
    instance: Instance,
    mut part: Vec<u32>,
    plan: &Plan,
    rng: &mut Xoshiro256PlusPlus,
) -> Vec<u32> {
    rename(instance, &mut part);
    let mut state = State::new(instance, part);
    rebalance(&mut state);
    if instance.graph.edges() > EDGES_FOR_SEARCHES {
        propagate(&mut state, 8, rng);
        return state.part;
    }
    propagate(&mut state, 3, rng);
    refine(&mut state, plan.reach, rng);
    let mut slack = 1.0;
    for _ in 0..relaxations(instance.graph.edges()) {
        let before = state.score();
        let kept = state.part.clone();
        state.limits = relaxed(instance.limits, slack);
        refine(&mut state, plan.reach, rng);
        state.limits = instance.limits.to_vec();
        rebalance(&mut state);
        refine(&mut state, plan.reach, rng);
        if state.score() >= before {
            state.restore(&kept);
        }
        slack *= 0.4;
    }
    state.part
}

fn relaxed(limits: &[Load], slack: f64) -> Vec<Load> {
    let wider = |limit: u64| match limit {
        u64::MAX => limit,
        _ => (limit as f64 * (1.0 + slack)) as u64,
    };
    limits
        .iter()
        .map(|limit| Load::from_measures(limit.measures().map(wider)))
        .collect()
}
