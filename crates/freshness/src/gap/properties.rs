//! What must hold for every distribution at every time, extremes included.

use super::*;
use proptest::prelude::*;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

fn any_gap() -> impl Strategy<Value = Gap> {
    let scale = || (-9.0..9.0).prop_map(|e: f64| 10_f64.powf(e));
    let shape = |low: f64, high: f64| (low..high).prop_map(|e: f64| 10_f64.powf(e));
    let raw = || (scale(), prop::collection::vec(0.0..1.0_f64, 1..60));
    let gaps = |(scale, mut raw): (f64, Vec<f64>)| {
        raw.push(0.5);
        raw.iter()
            .map(|g| g.powi(4) * scale)
            .map(|g| if g < 1e-90 { 0.0 } else { g })
            .collect::<Vec<f64>>()
    };
    prop_oneof![
        scale().prop_map(|rate| Gap::exponential(rate).unwrap()),
        (shape(-2.9, 5.0), scale()).prop_map(|(k, s)| Gap::gamma(k, s).unwrap()),
        (shape(-1.6, 6.0), scale()).prop_map(|(k, s)| Gap::weibull(k, s).unwrap()),
        (shape(-2.9, 6.0), scale()).prop_map(|(k, s)| Gap::pareto(k, s).unwrap()),
        (-20.0..20.0, 0.001..9.9).prop_map(|(mu, sigma)| Gap::log_normal(mu, sigma).unwrap()),
        raw().prop_map(move |r| Gap::histogram(&gaps(r)).unwrap()),
        raw().prop_map(move |r| Gap::empirical(gaps(r)).unwrap()),
    ]
}

fn any_time() -> impl Strategy<Value = f64> {
    prop_oneof![
        8 => (-9.0..9.0).prop_map(|e: f64| 10_f64.powf(e)),
        1 => Just(0.0),
        1 => Just(f64::INFINITY),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn everything_is_monotone_and_in_range(gap in any_gap(), x in any_time(), factor in 1.0..5.0) {
        let y = x * factor;
        let rounding = 1.0 + 1e-9;
        prop_assert!(gap.survival(y) <= gap.survival(x) * rounding);
        prop_assert!((0.0..=1.0).contains(&gap.survival(x)));
        prop_assert!((0.0..=1.0).contains(&gap.cdf(x)));
        prop_assert!(gap.visit_gain(x) <= gap.visit_gain(y) * rounding);
        prop_assert!(gap.visit_gain(x) >= 0.0 && gap.visit_gain(x) <= gap.gain_supremum() * rounding);
        prop_assert!(gap.staleness(x) <= gap.staleness(y) * (1.0 + 1e-7) + 1e-12);
        prop_assert!((0.0..=1.0).contains(&gap.staleness(x)));
        prop_assert!((0.0..=1.0).contains(&gap.freshness(x)));
        prop_assert!((0.0..=1.0).contains(&gap.stationary_survival(x)));
        prop_assert!((gap.staleness(x) + gap.freshness(x) - 1.0).abs() < 1e-7);
        prop_assert!(!gap.coefficient_of_variation().is_nan());
        prop_assert!(gap.density(x).is_none_or(|d| d >= 0.0));
        prop_assert!(gap.hazard(x).is_none_or(|h| h >= 0.0));
    }

    #[test]
    fn the_interval_inverts_the_gain(gap in any_gap(), share in 1e-9..0.999_f64) {
        let supremum = gap.gain_supremum();
        let price = if supremum.is_finite() { share * supremum } else { share * gap.mean() };
        // a tail this heavy comes near its supremum only beyond the range of f64
        let out_of_reach = matches!(&gap, Gap::Pareto(p) if p.shape() > 2.0 && p.shape() < 2.1);
        if price > 0.0 && !out_of_reach {
            let x = gap.interval_for_gain(price).expect("below the supremum");
            let back = gap.visit_gain(x);
            prop_assert!((back / price - 1.0).abs() < 1e-8, "{price} {x} {back}");
        }
        prop_assert_eq!(gap.interval_for_gain(supremum * 1.001 + 1e-300).filter(|_| supremum.is_finite()), None);
        prop_assert_eq!(gap.interval_for_gain(0.0), Some(0.0));
    }

    #[test]
    fn residuals_are_in_range(gap in any_gap(), age in any_time(), x in any_time(), factor in 1.0..5.0) {
        let survival = gap.residual_survival(age, x);
        prop_assert!((0.0..=1.0).contains(&survival));
        let fresh = gap.residual_fresh_time(age, x);
        prop_assert!(fresh >= 0.0 && fresh <= x, "{fresh}");
        // survival falls, so its integral lies between its last value times x, and x
        // (an x that is lost in rounding beside the age has no survival of its own)
        if x.is_finite() && x > age * 1e-7 {
            prop_assert!(fresh >= survival * x * (1.0 - 1e-6), "{fresh} {survival}");
        }
        prop_assert!(fresh <= gap.residual_fresh_time(age, x * factor) * (1.0 + 1e-6));
    }

    #[test]
    fn samples_are_gaps(gap in any_gap(), seed in any::<u64>()) {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let drawn = gap.sample(&mut rng);
        prop_assert!(drawn >= 0.0);
        prop_assert!(gap.sample_residual(&mut rng) >= 0.0);
    }
}
