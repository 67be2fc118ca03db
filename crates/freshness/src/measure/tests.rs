use super::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

fn poisson(rng: &mut Xoshiro256PlusPlus, rate: f64, until: f64) -> Vec<f64> {
    let mut at = 0.0;
    std::iter::from_fn(|| {
        at += -(1.0 - rng.random::<f64>()).ln() / rate;
        (at < until).then_some(at)
    })
    .collect()
}

/// Runs `visits_of` in many independent runs and checks its mean freshness against `expected`
/// within the 99.9 % confidence interval, with drawn changes and with exact expectation.
fn check_closed_form(
    expected: fn(f64, f64) -> f64,
    visits_of: fn(&mut Xoshiro256PlusPlus, f64) -> Vec<f64>,
) {
    let until = 200.0;
    for rate in [0.1, 0.5, 1.0, 3.0] {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(11);
        let runs = 300;
        let mut drawn = Vec::new();
        let mut exact = Vec::new();
        for _ in 0..runs {
            let visits = visits_of(&mut rng, until);
            // score between the first and the last visit: no edge effects
            let (from, end) = (visits[0], *visits.last().unwrap());
            let inner = &visits[1..visits.len() - 1];
            let changes = poisson(&mut rng, rate, until);
            drawn.push(score_changes(&changes, inner, from, end, true).fresh / (end - from));
            exact.push(score_poisson(rate, inner, from, end, true).fresh / (end - from));
        }
        for sample in [drawn, exact] {
            let mean = sample.iter().sum::<f64>() / f64::from(runs);
            let variance =
                sample.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(runs - 1);
            let margin = 3.29 * (variance / f64::from(runs)).sqrt() + 2e-3;
            let formula = expected(rate, 1.0);
            assert!(
                (mean - formula).abs() < margin,
                "rate {rate}: simulated {mean} ± {margin}, formula {formula}"
            );
        }
    }
}

#[test]
fn evenly_spaced_agrees_with_simulation() {
    check_closed_form(evenly_spaced, |rng, until| {
        let offset = rng.random::<f64>();
        (0..until as usize).map(|k| k as f64 + offset).collect()
    });
}

#[test]
fn random_order_agrees_with_simulation() {
    check_closed_form(random_order, |rng, until| {
        (0..until as usize)
            .map(|round| round as f64 + rng.random::<f64>())
            .collect()
    });
}

#[test]
fn purely_random_agrees_with_simulation() {
    check_closed_form(purely_random, |rng, until| poisson(rng, 1.0, until));
}

#[test]
fn mean_age_agrees_with_the_exact_score() {
    for rate in [1e-4, 0.01, 0.1, 1.0, 10.0, 1e4] {
        let visits: Vec<f64> = (1..1000).map(f64::from).collect();
        let score = score_poisson(rate, &visits, 0.0, 1000.0, true);
        let per_time = score.age / 1000.0;
        let formula = mean_age(rate, 1.0);
        assert!(
            (per_time / formula - 1.0).abs() < 1e-8,
            "rate {rate}: {per_time} {formula}"
        );
    }
}

#[test]
fn the_worst_factor_of_random_selection_is_0_770() {
    let (worst, at) = (1..100_000)
        .map(|k| f64::from(k) * 1e-4)
        .map(|r| (random_selection_factor(r), r))
        .fold((f64::INFINITY, 0.0), |a, b| if b.0 < a.0 { b } else { a });
    assert!((worst - 0.770).abs() < 5e-4, "{worst}");
    assert!((at - 1.79).abs() < 5e-3, "{at}");
}

#[test]
fn visit_gain_is_smooth_where_its_two_forms_meet() {
    for r in [1e-12, 1e-6, 1e-3, 0.1, 0.499_999_9, 0.500_000_1, 3.0, 700.0] {
        let gain = visit_gain(r);
        assert!(gain > 0.0 && gain <= 1.0);
        // derivative is r·e^{−r}
        let h = r * 1e-4;
        let slope = (visit_gain(r + h) - visit_gain(r - h)) / (2.0 * h);
        let exact = r * (-r).exp();
        assert!((slope - exact).abs() <= 1e-6 * exact + 1e-12, "r {r}");
    }
}

#[test]
fn extremes_stay_finite_and_in_range() {
    for rate in [0.0, 1e-300, 1e-9, 1.0, 1e6, 1e300] {
        for frequency in [0.0, 1e-300, 1e-9, 1.0, 1e6, 1e300] {
            for form in [evenly_spaced, random_order, purely_random] {
                let value = form(rate, frequency);
                assert!((0.0..=1.0).contains(&value), "{rate} {frequency}: {value}");
            }
            assert!(mean_age(rate, frequency) >= 0.0);
        }
    }
}

#[test]
fn an_exact_score_by_hand() {
    // changes at 1, 4, 4.5; visits at 2 and 4 (the visit at 4 sees the change at 4)
    let score = score_changes(&[1.0, 4.0, 4.5], &[2.0, 4.0], 0.0, 6.0, true);
    assert!((score.fresh - (1.0 + 2.0 + 0.5)).abs() < 1e-12);
    assert!((score.age - (0.5 + 0.0 + 1.125)).abs() < 1e-12);
    let stale = score_changes(&[1.0], &[2.0], 0.0, 3.0, false);
    assert!((stale.fresh - 1.0).abs() < 1e-12);
    assert!((stale.age - 2.0).abs() < 1e-12);
}
