use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;
use crate::graph::Load;
use crate::limits::Balance;
use crate::sample_graphs::communities;

/// Cut, loads and gains kept move by move are those of the graph itself.
#[test]
fn the_state_stays_true() {
    let graph = communities(300, 2000, 1);
    let fixed = vec![FREE; 300];
    let limits = vec![Load::UNLIMITED; 6];
    let instance = Instance {
        graph: &graph,
        limits: &limits,
        fixed: &fixed,
    };
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    let part = (0..300).map(|_| rng.random_range(0..6)).collect();
    let mut state = State::new(instance, part);
    for _ in 0..2000 {
        let v = rng.random_range(0..300);
        let Some(step) = state.best_move(v) else {
            continue;
        };
        let before = graph.cut(&state.part).cast_signed();
        state.shift(v, step.to);
        assert_eq!(before - graph.cut(&state.part).cast_signed(), step.gain);
        assert_eq!(state.cut, graph.cut(&state.part));
    }
    assert_eq!(state.loads, graph.part_loads(&state.part, 6));
}

#[test]
fn rebalancing_reaches_the_limits_and_searches_keep_them() {
    let graph = communities(1000, 5000, 2);
    let mut fixed = vec![FREE; 1000];
    fixed[5] = 3;
    let balance = Balance {
        pages: Some(0.03),
        servers: Some(0.05),
        traffic: None,
    };
    let limits = balance.limits(graph.total_load(), &[1.0; 4]);
    let instance = Instance {
        graph: &graph,
        limits: &limits,
        fixed: &fixed,
    };
    // everything in part 3
    let mut state = State::new(instance, vec![3; 1000]);
    assert!(state.excess() > 1.0);
    rebalance(&mut state);
    assert_eq!(state.excess(), 0.0);
    let cut = state.cut;
    let rng = &mut Xoshiro256PlusPlus::seed_from_u64(3);
    propagate(&mut state, 5, rng);
    let reach = Reach {
        seeds: 10,
        patience: 50,
        rounds: 10,
    };
    refine(&mut state, reach, rng);
    assert!(state.cut < cut);
    assert_eq!(state.excess(), 0.0);
    assert_eq!(state.part_of(5), 3);
}
