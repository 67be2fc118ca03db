use super::accuracy::{DrawnVisit, Measured, Spacing, draw_visits, exact};
use super::*;
use proptest::prelude::*;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

const RATES: [f64; 4] = [0.1, 0.3, 1.0, 3.0];
const VISITS: [u32; 3] = [5, 20, 100];
const IRREGULAR: [Spacing; 3] = [Spacing::Uniform, Spacing::Exponential, Spacing::LogUniform];
const PENALTIES: [Penalty; 3] = [Penalty::None, Penalty::HalfVisit, Penalty::Shrink];

fn seen(visits: &[DrawnVisit]) -> Vec<Visit> {
    visits.iter().map(DrawnVisit::seen).collect()
}

fn changed_of(n: u32, changes: u32, interval: f64) -> Vec<Visit> {
    (0..n)
        .map(|k| Visit {
            interval,
            changed: k < changes,
        })
        .collect()
}

fn naive_of(visits: &[Visit]) -> Estimate {
    let changes = visits.iter().filter(|visit| visit.changed).count();
    naive(
        changes as u32,
        visits.iter().map(|visit| visit.interval).sum(),
    )
}

fn check(estimate: Estimate, what: &str) {
    let Estimate {
        rate,
        low,
        high,
        error,
    } = estimate;
    assert!(rate.is_finite() && rate >= 0.0, "{what}: {estimate:?}");
    assert!(
        low >= 0.0 && low <= rate && rate <= high,
        "{what}: {estimate:?}"
    );
    assert!(error > 0.0, "{what}: {estimate:?}");
}

/// Bias and RMSE over simulated runs agree with the expectation over the binomial, within 4.5
/// standard errors (24 cells, twice: a false alarm in one of three thousand seeds).
#[test]
fn simulated_accuracy_is_that_of_the_published_formulas() {
    for rate in RATES {
        for n in VISITS {
            let by_formula = [
                exact(n, rate, 1.0, |x| f64::from(x) / f64::from(n)),
                exact(n, rate, 1.0, |x| {
                    -((f64::from(n - x) + 0.5) / (f64::from(n) + 0.5)).ln()
                }),
            ];
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
            let mut measured = [Measured::default(); 2];
            for _ in 0..20_000 {
                let visits = seen(&draw_visits(&mut rng, Spacing::Regular, rate, n));
                let changes = visits.iter().filter(|visit| visit.changed).count() as u32;
                measured[0].record(naive(changes, f64::from(n)).rate - rate);
                measured[1].record(regular(n, changes, 1.0).rate - rate);
            }
            for (formula, measured) in by_formula.iter().zip(&measured) {
                let (found, errors) = (measured.accuracy(), measured.errors());
                assert!(
                    (found.bias - formula.bias).abs() < 4.5 * errors.bias
                        && (found.rmse - formula.rmse).abs() < 4.5 * errors.rmse,
                    "λI {rate}, n {n}: {found:?} ± {errors:?} is not {formula:?}"
                );
            }
        }
    }
}

#[test]
fn the_shrunken_maximum_beats_naive_at_every_irregular_spacing() {
    for spacing in IRREGULAR {
        for rate in RATES {
            for n in VISITS {
                let mut rng = Xoshiro256PlusPlus::seed_from_u64(2026);
                let (mut shrunken, mut plain) = (Measured::default(), Measured::default());
                for _ in 0..8_000 {
                    let visits = seen(&draw_visits(&mut rng, spacing, rate, n));
                    shrunken.record(irregular_rate(&visits, Penalty::Shrink) - rate);
                    plain.record(naive_of(&visits).rate - rate);
                }
                let (shrunken, plain) = (shrunken.accuracy().rmse, plain.accuracy().rmse);
                assert!(
                    shrunken < plain,
                    "{spacing:?}, λI {rate}, n {n}: {shrunken} ≥ {plain}"
                );
            }
        }
    }
}

/// Relative bias of the half-visit maximum: small once there are 20 visits, while the naive
/// estimator loses more than a third at λI = 1 however many visits there are.
#[test]
fn the_half_visit_removes_the_bias() {
    for spacing in IRREGULAR {
        for rate in [0.3, 1.0] {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
            let (mut firth, mut plain) = (Measured::default(), Measured::default());
            for _ in 0..10_000 {
                let visits = seen(&draw_visits(&mut rng, spacing, rate, 20));
                firth.record(irregular_rate(&visits, Penalty::HalfVisit) / rate - 1.0);
                plain.record(naive_of(&visits).rate / rate - 1.0);
            }
            let (firth, plain) = (firth.accuracy().bias, plain.accuracy().bias);
            assert!(
                firth.abs() < 0.04,
                "{spacing:?}, λI {rate}: {firth} (naive {plain})"
            );
            assert!(rate < 1.0 || plain < -1.0 / 3.0, "{spacing:?}: {plain}");
        }
    }
}

#[test]
fn every_maximum_is_consistent() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(8);
    for spacing in IRREGULAR {
        for rate in [0.1, 1.0, 3.0] {
            let drawn = draw_visits(&mut rng, spacing, rate, 400_000);
            let visits = seen(&drawn);
            for penalty in [Penalty::None, Penalty::HalfVisit] {
                let found = irregular_rate(&visits, penalty);
                assert!(
                    (found / rate - 1.0).abs() < 0.03,
                    "{spacing:?} {rate}: {found}"
                );
            }
            // the penalty's weight falls as n^(−1/3) only
            let few = irregular_rate(&visits[..1_000], Penalty::Shrink);
            let many = irregular_rate(&visits, Penalty::Shrink);
            assert!((many - rate).abs() < 0.5 * (few - rate).abs() + 0.02 * rate);
            let dated: Vec<DatedVisit> = drawn.iter().map(|visit| visit.dated).collect();
            assert!((last_modified(&dated).rate / rate - 1.0).abs() < 0.02);
        }
    }
}

/// Share of runs whose interval holds the true rate.
fn coverage(
    spacing: Spacing,
    rate: f64,
    n: u32,
    estimator: impl Fn(&[DrawnVisit]) -> Estimate,
) -> f64 {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(13);
    let runs = 1_500;
    let hits = (0..runs)
        .filter(|_| {
            let found = estimator(&draw_visits(&mut rng, spacing, rate, n));
            found.low <= rate && rate <= found.high
        })
        .count();
    hits as f64 / f64::from(runs)
}

#[test]
fn intervals_cover_the_rate_as_often_as_they_say() {
    let check = |covered: f64, what: String| {
        assert!((0.90..=0.99).contains(&covered), "{what}: {covered}");
    };
    for rate in RATES {
        for n in [50, 100] {
            for spacing in IRREGULAR {
                let covered = coverage(spacing, rate, n, |visits| {
                    irregular(&seen(visits), Penalty::HalfVisit)
                });
                check(covered, format!("maximum, {spacing:?}, λI {rate}, n {n}"));
                let covered = coverage(spacing, rate, n, |visits| {
                    let dated: Vec<DatedVisit> = visits.iter().map(|visit| visit.dated).collect();
                    last_modified(&dated)
                });
                check(covered, format!("dated, {spacing:?}, λI {rate}, n {n}"));
                let covered = coverage(spacing, rate, n, |visits| {
                    let changes = visits.iter().map(|visit| visit.changes).sum();
                    full_history(changes, visits.iter().map(|v| v.dated.interval).sum())
                });
                check(covered, format!("history, {spacing:?}, λI {rate}, n {n}"));
            }
            let covered = coverage(Spacing::Regular, rate, n, |visits| {
                let changes = visits.iter().filter(|visit| visit.changes > 0).count();
                regular(n, changes as u32, 1.0)
            });
            check(covered, format!("regular, λI {rate}, n {n}"));
        }
    }
}

#[test]
fn nothing_known_and_the_two_extremes() {
    assert_eq!(naive(0, 0.0), Estimate::UNKNOWN);
    assert_eq!(regular(0, 0, 1.0), Estimate::UNKNOWN);
    assert_eq!(irregular(&[], Penalty::Shrink), Estimate::UNKNOWN);
    assert_eq!(last_modified(&[]), Estimate::UNKNOWN);
    for n in VISITS {
        let never = changed_of(n, 0, 1.0);
        let always = changed_of(n, n, 1.0);
        assert_eq!(naive_of(&always).rate, 1.0, "saturates at the visit rate");
        for penalty in PENALTIES {
            let (never, always) = (irregular(&never, penalty), irregular(&always, penalty));
            check(never, "never");
            check(always, "always");
            assert!(never.high < 5.0 / f64::from(n));
            assert!(always.high.is_infinite() && always.low > 0.0);
            assert!(never.rate == 0.0 || penalty == Penalty::Shrink);
        }
        assert_eq!(regular(n, 0, 1.0).rate, 0.0);
        assert!(regular(n, 0, 1.0).high.is_finite());
        check(regular(n, n, 1.0), "always, regular");
    }
}

proptest! {
    #[test]
    fn on_regular_visits_the_maxima_are_the_closed_forms(
        n in 1u32..200, share in 0.0..1.0f64, interval in 1e-6..1e6f64,
    ) {
        let changes = (share * f64::from(n)) as u32;
        let visits = changed_of(n, changes, interval);
        let plain = irregular_rate(&visits, Penalty::None);
        let closed = -(-f64::from(changes) / f64::from(n)).ln_1p() / interval;
        prop_assert!((plain - closed).abs() <= 1e-8 * closed, "{plain} {closed}");

        let cho = regular(n, changes, interval);
        let firth = irregular(&visits, Penalty::HalfVisit);
        prop_assert!((firth.rate - cho.rate).abs() <= 1e-8 * cho.rate);
        prop_assert!((firth.low - cho.low).abs() <= 1e-6 * cho.low);
        prop_assert!((firth.high - cho.high).abs() <= 1e-6 * cho.high);
    }

    #[test]
    fn no_interval_or_rate_is_too_extreme(
        visits in prop::collection::vec((-9.0..6.0f64, any::<bool>(), -12.0..9.0f64), 1..40),
    ) {
        let seen: Vec<Visit> = visits
            .iter()
            .map(|&(log, changed, _)| Visit { interval: 10f64.powf(log), changed })
            .collect();
        for penalty in PENALTIES {
            check(irregular(&seen, penalty), "irregular");
        }
        check(naive_of(&seen), "naive");
        let dated: Vec<DatedVisit> = visits
            .iter()
            .map(|&(log, _, age)| DatedVisit { interval: 10f64.powf(log), age: 10f64.powf(age) })
            .collect();
        check(last_modified(&dated), "dated");
    }

    #[test]
    fn the_maximum_solves_its_equation_in_any_unit_of_time(
        visits in prop::collection::vec((0.01..10.0f64, any::<bool>()), 2..40),
        unit in 1e-6..1e6f64,
    ) {
        let in_unit = |unit: f64| -> Vec<Visit> {
            visits
                .iter()
                .map(|&(interval, changed)| Visit { interval: interval * unit, changed })
                .collect()
        };
        let rate = irregular_rate(&in_unit(1.0), Penalty::None);
        for penalty in PENALTIES {
            let one = irregular_rate(&in_unit(1.0), penalty);
            let other = irregular_rate(&in_unit(unit), penalty) * unit;
            prop_assert!((one - other).abs() <= 1e-8 * one, "{one} {other}");
        }
        let quiet: f64 = visits.iter().filter(|v| !v.1).map(|v| v.0).sum();
        if rate > 0.0 && quiet > 0.0 {
            let sum: f64 = visits.iter().filter(|v| v.1).map(|v| v.0 / (rate * v.0).exp_m1()).sum();
            prop_assert!((sum / quiet - 1.0).abs() < 1e-7, "{sum} {quiet}");
        }
    }
}
