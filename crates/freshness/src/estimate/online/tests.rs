use super::super::accuracy::{DrawnVisit, Measured, Spacing, draw_visits};
use super::*;
use proptest::prelude::*;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

const WEAK: Prior = Prior {
    alpha: 0.5,
    beta: 0.5,
};

const KEEPS_ALL: Learning = Learning {
    half_life: f64::INFINITY,
    imputation: Imputation::Curvature,
};

fn bit(changed: bool) -> Observation {
    if changed {
        Observation::Changed
    } else {
        Observation::Unchanged
    }
}

/// Evidence of `n` drawn visits, each told the way `tell` says.
fn learn(
    rng: &mut Xoshiro256PlusPlus,
    learning: Learning,
    spacing: Spacing,
    rate: f64,
    n: u32,
    tell: fn(&DrawnVisit) -> Observation,
) -> Evidence {
    draw_visits(rng, spacing, rate, n)
        .iter()
        .fold(Evidence::default(), |evidence, visit| {
            learning.observe(evidence, WEAK, visit.dated.interval, tell(visit))
        })
}

#[test]
fn state_is_eight_bytes() {
    assert_eq!(size_of::<Evidence>(), 8);
}

#[test]
fn any_kind_of_observation_finds_the_rate() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(21);
    for spacing in [Spacing::Regular, Spacing::Exponential, Spacing::LogUniform] {
        for rate in [0.1, 1.0, 3.0] {
            for tell in [
                |visit| bit(visit.changes > 0),
                |visit| Observation::LastModified {
                    age: visit.dated.age,
                },
                |visit| Observation::History {
                    changes: visit.changes,
                },
            ] as [fn(&DrawnVisit) -> Observation; 3]
            {
                let found = learn(&mut rng, KEEPS_ALL, spacing, rate, 40_000, tell).rate(WEAK);
                assert!(
                    (found / rate - 1.0).abs() < 0.06,
                    "{spacing:?} {rate}: {found}"
                );
            }
        }
    }
}

#[test]
fn posterior_intervals_cover_with_curvature_and_not_with_expected_counts() {
    let coverage = |imputation, rate: f64| {
        let learning = Learning {
            imputation,
            ..KEEPS_ALL
        };
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(34);
        let hits = (0..2_000)
            .filter(|_| {
                let tell = |visit: &DrawnVisit| bit(visit.changes > 0);
                let found =
                    learn(&mut rng, learning, Spacing::Exponential, rate, 100, tell).estimate(WEAK);
                found.low <= rate && rate <= found.high
            })
            .count();
        hits as f64 / 2_000.0
    };
    for rate in [0.1, 0.3, 1.0, 3.0] {
        let covered = coverage(Imputation::Curvature, rate);
        assert!((0.90..=0.99).contains(&covered), "λI {rate}: {covered}");
    }
    let covered = coverage(Imputation::ExpectedCount, 3.0);
    assert!(covered < 0.8, "{covered}");
}

#[test]
fn curvature_is_the_better_imputation_where_changes_are_missed() {
    let rmse = |imputation| {
        let learning = Learning {
            imputation,
            ..KEEPS_ALL
        };
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(55);
        let mut measured = Measured::default();
        for _ in 0..500 {
            let tell = |visit: &DrawnVisit| bit(visit.changes > 0);
            let found = learn(&mut rng, learning, Spacing::Regular, 3.0, 200, tell);
            measured.record(found.rate(WEAK) - 3.0);
        }
        measured.accuracy().rmse
    };
    let (curvature, expected) = (rmse(Imputation::Curvature), rmse(Imputation::ExpectedCount));
    assert!(curvature < 0.7 * expected, "{curvature} {expected}");
}

#[test]
fn forgetting_follows_a_jump_of_the_rate() {
    for imputation in [Imputation::Curvature, Imputation::ExpectedCount] {
        let forgets = Learning {
            half_life: 50.0,
            imputation,
        };
        let remembers = Learning {
            half_life: f64::INFINITY,
            imputation,
        };
        for (before, after) in [(0.1, 1.0), (1.0, 0.1)] {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(89);
            let mut found = [0.0; 2];
            let pages = 200;
            for _ in 0..pages {
                let mut visits = draw_visits(&mut rng, Spacing::Uniform, before, 1_000);
                visits.extend(draw_visits(&mut rng, Spacing::Uniform, after, 400));
                for (learning, found) in [forgets, remembers].into_iter().zip(&mut found) {
                    let evidence = visits.iter().fold(Evidence::default(), |evidence, visit| {
                        let seen = bit(visit.changes > 0);
                        learning.observe(evidence, WEAK, visit.dated.interval, seen)
                    });
                    *found += evidence.rate(WEAK) / f64::from(pages);
                }
            }
            let [forgot, remembered] = found;
            assert!(
                (forgot / after - 1.0).abs() < 0.15,
                "{imputation:?} {before}→{after}: {forgot}"
            );
            assert!((remembered / after - 1.0).abs() > 0.3, "{remembered}");
        }
    }
}

/// Without visits to learn from, weight halves every half-life and belief returns to the prior.
#[test]
fn evidence_halves_with_its_half_life() {
    let learning = Learning {
        half_life: 10.0,
        ..KEEPS_ALL
    };
    let after = learning.observe(
        Evidence::new(8.0, 4.0),
        WEAK,
        10.0,
        Observation::History { changes: 3 },
    );
    assert_eq!(after, Evidence::new(4.0 + 3.0, 2.0 + 10.0));
}

/// A fetch that fails is not an observation: the page's evidence stays, the interval runs on, and
/// all is as if the visit had never been made.
#[test]
fn a_failed_fetch_leaves_no_trace() {
    let fetches = [
        (1.0, Some(false)),
        (2.0, None),
        (2.5, None),
        (4.0, Some(true)),
        (5.0, Some(false)),
    ];
    let crawl = |fetches: &mut dyn Iterator<Item = (f64, Option<bool>)>| {
        let (mut evidence, mut last_visit) = (Evidence::default(), 0.0);
        for (at, outcome) in fetches {
            if let Some(changed) = outcome {
                evidence = KEEPS_ALL.observe(evidence, WEAK, at - last_visit, bit(changed));
                last_visit = at;
            }
        }
        evidence
    };
    let with_failures = crawl(&mut fetches.into_iter());
    let without = crawl(&mut fetches.into_iter().filter(|fetch| fetch.1.is_some()));
    assert_eq!(with_failures, without);
    let as_unchanged = crawl(
        &mut fetches
            .into_iter()
            .map(|(at, o)| (at, Some(o == Some(true)))),
    );
    assert_ne!(with_failures, as_unchanged);
}

/// At the maximum, both ways to impute leave the estimate where it is: their fixed point solves
/// the likelihood equation.
#[test]
fn both_imputations_rest_at_the_likelihood_maximum() {
    for rate in [1e-4_f64, 0.01, 0.5, 2.0, 8.0] {
        let changed = -(-rate).exp_m1();
        for imputation in [Imputation::ExpectedCount, Imputation::Curvature] {
            let (events, exposure) = imputation.of(rate, 1.0);
            // per regular visit, expected: events = rate × exposure
            let drift = changed * events - rate * (changed * exposure + 1.0 - changed);
            assert!(drift.abs() < 1e-9 * rate, "{imputation:?} {rate}: {drift}");
        }
    }
}

#[test]
fn a_dated_visit_counts_only_what_it_shows() {
    let dated = |age| {
        KEEPS_ALL.observe(
            Evidence::default(),
            WEAK,
            2.0,
            Observation::LastModified { age },
        )
    };
    assert_eq!(dated(0.5), Evidence::new(1.0, 0.5));
    assert_eq!(dated(2.0), Evidence::new(1.0, 2.0));
    assert_eq!(dated(7.0), Evidence::new(0.0, 2.0));
    let changed = KEEPS_ALL.observe(Evidence::default(), WEAK, 2.0, Observation::Changed);
    assert_eq!(dated(-1.0), changed);
    assert_eq!(dated(f64::NAN), changed);
}

proptest! {
    #[test]
    fn estimates_stay_finite_whatever_is_observed(
        visits in prop::collection::vec((-9.0..6.0f64, 0u8..4, -12.0..8.0f64), 0..60),
        log_alpha in -3.0..3.0f64, log_beta in -6.0..9.0f64, log_half_life in -9.0..9.0f64,
        curvature in any::<bool>(),
    ) {
        let prior = Prior { alpha: 10f64.powf(log_alpha), beta: 10f64.powf(log_beta) };
        let learning = Learning {
            half_life: 10f64.powf(log_half_life),
            imputation: if curvature { Imputation::Curvature } else { Imputation::ExpectedCount },
        };
        let mut evidence = Evidence::default();
        for (log, kind, age) in visits {
            let observation = match kind {
                0 => Observation::Unchanged,
                1 => Observation::Changed,
                2 => Observation::LastModified { age: 10f64.powf(age) },
                _ => Observation::History { changes: 1_000_000 },
            };
            evidence = learning.observe(evidence, prior, 10f64.powf(log), observation);
            let found = evidence.estimate(prior);
            prop_assert!(found.rate.is_finite() && found.rate > 0.0);
            prop_assert!(found.low >= 0.0 && found.low <= found.rate);
            prop_assert!(found.high >= found.rate && found.high.is_finite());
            prop_assert!(found.error > 0.0);
        }
    }
}
