use super::super::drawn::{Drawn, Spacing, draw};
use super::*;
use proptest::prelude::*;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

const WEAK: Prior = Prior {
    alpha: 0.5,
    beta: 0.5,
};
const NEVER: f64 = f64::INFINITY;

/// Evidence of drawn visits, each told the way `tell` says.
fn learn(half_life: f64, visits: &[Drawn], tell: fn(&Drawn) -> Observation) -> Evidence {
    let one = |evidence, visit: &Drawn| {
        forgetting(half_life, evidence, WEAK, visit.interval, tell(visit))
    };
    visits.iter().fold(Evidence::default(), one)
}

#[test]
fn state_is_eight_bytes() {
    assert_eq!(size_of::<Evidence>(), 8);
}

#[test]
fn any_kind_of_observation_finds_the_rate() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(21);
    for spacing in [Spacing::Regular, Spacing::Exponential, Spacing::Uniform] {
        for rate in [0.1, 1.0, 3.0] {
            for tell in [Drawn::bit, Drawn::dated, Drawn::counted] {
                let visits = draw(&mut rng, spacing, rate, 40_000);
                let found = learn(NEVER, &visits, tell).rate(WEAK);
                assert!(
                    (found / rate - 1.0).abs() < 0.06,
                    "{spacing:?} {rate}: {found}"
                );
            }
        }
    }
}

#[test]
fn forgetting_follows_a_jump_of_the_rate() {
    for (before, after) in [(0.1, 1.0), (1.0, 0.1)] {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(89);
        let (mut forgot, mut remembered) = (0.0, 0.0);
        let pages = 200;
        for _ in 0..pages {
            let mut visits = draw(&mut rng, Spacing::Uniform, before, 1_000);
            visits.extend(draw(&mut rng, Spacing::Uniform, after, 400));
            let found = |half_life| learn(half_life, &visits, Drawn::bit).rate(WEAK);
            forgot += found(50.0) / f64::from(pages);
            remembered += found(NEVER) / f64::from(pages);
        }
        let off = |found: f64| (found / after - 1.0).abs();
        assert!(off(forgot) < 0.15, "{before}→{after}: {forgot}");
        assert!(off(remembered) > 0.3, "{remembered}");
    }
}

/// Without visits to learn from, weight halves every half-life and belief returns to the prior.
#[test]
fn evidence_halves_with_its_half_life() {
    let three = Observation::History { changes: 3 };
    let after = forgetting(10.0, Evidence::new(8.0, 4.0), WEAK, 10.0, three);
    assert_eq!(after, Evidence::new(4.0 + 3.0, 2.0 + 10.0));
}

/// At the maximum an uncounted change leaves the estimate where it is: its fixed point solves the
/// likelihood equation.
#[test]
fn uncounted_changes_rest_at_the_likelihood_maximum() {
    for rate in [1e-4_f64, 0.01, 0.5, 2.0, 8.0] {
        let changed = -(-rate).exp_m1();
        let (events, exposure) = uncounted(rate, 1.0);
        // per regular visit, expected: events = rate × exposure
        let drift = changed * events - rate * (changed * exposure + 1.0 - changed);
        assert!(drift.abs() < 1e-9 * rate, "{rate}: {drift}");
    }
}

#[test]
fn a_dated_visit_counts_only_what_it_shows() {
    let of = |observation| forgetting(NEVER, Evidence::default(), WEAK, 2.0, observation);
    let dated = |age| of(Observation::LastModified { age });
    assert_eq!(dated(0.5), Evidence::new(1.0, 0.5));
    assert_eq!(dated(2.0), Evidence::new(1.0, 2.0));
    assert_eq!(dated(7.0), Evidence::new(0.0, 2.0));
    let changed = of(Observation::Changed);
    assert_eq!(dated(-1.0), changed);
    assert_eq!(dated(f64::NAN), changed);
}

proptest! {
    #[test]
    fn rates_stay_finite_whatever_is_observed(
        visits in prop::collection::vec((-9.0..6.0f64, 0u8..4, -12.0..8.0f64), 0..60),
        log_alpha in -3.0..3.0f64, log_beta in -6.0..9.0f64, log_half_life in -9.0..9.0f64,
    ) {
        let prior = Prior { alpha: 10f64.powf(log_alpha), beta: 10f64.powf(log_beta) };
        let mut evidence = Evidence::default();
        for (log, kind, age) in visits {
            let observation = match kind {
                0 => Observation::Unchanged,
                1 => Observation::Changed,
                2 => Observation::LastModified { age: 10f64.powf(age) },
                _ => Observation::History { changes: 1_000_000 },
            };
            let half_life = 10f64.powf(log_half_life);
            evidence = forgetting(half_life, evidence, prior, 10f64.powf(log), observation);
            let rate = evidence.rate(prior);
            prop_assert!(rate.is_finite() && rate > 0.0);
        }
    }
}
