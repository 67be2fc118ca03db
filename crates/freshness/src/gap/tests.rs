//! Closed forms against quadrature, simulation and hand.

use super::*;
use crate::measure::{evenly_spaced, score_changes, visit_gain};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

fn rng(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

fn draws(gap: &Gap, count: usize, seed: u64) -> Vec<f64> {
    let mut rng = rng(seed);
    (0..count).map(|_| gap.sample(&mut rng)).collect()
}

/// One or more of each family, with means of about one.
fn families() -> Vec<Gap> {
    let bursty = draws(&Gap::gamma(0.4, 2.5).unwrap(), 700, 5);
    vec![
        Gap::exponential(0.8).unwrap(),
        Gap::gamma(0.3, 3.0).unwrap(),
        Gap::gamma(1.0, 1.3).unwrap(),
        Gap::gamma(7.5, 0.2).unwrap(),
        Gap::gamma(400.0, 0.0025).unwrap(),
        Gap::weibull(0.5, 0.6).unwrap(),
        Gap::weibull(3.0, 1.1).unwrap(),
        Gap::pareto(1.5, 0.7).unwrap(),
        Gap::pareto(2.0, 1.0).unwrap(),
        Gap::pareto(4.2, 3.0).unwrap(),
        Gap::log_normal(-0.5, 1.2).unwrap(),
        Gap::log_normal(0.1, 0.2).unwrap(),
        Gap::histogram(&bursty).unwrap(),
        Gap::empirical(bursty).unwrap(),
    ]
}

/// `∫₀ˣ u^power·P(X > u) du` by the midpoint rule in `√u`, which tames singular densities at zero.
fn integral(gap: &Gap, power: i32, x: f64) -> f64 {
    let steps = 200_000;
    let h = x.sqrt() / f64::from(steps);
    (0..steps)
        .map(|k| (f64::from(k) + 0.5) * h)
        .map(|v| 2.0 * v * (v * v).powi(power) * gap.survival(v * v) * h)
        .sum()
}

fn close(found: f64, expected: f64, tolerance: f64, what: impl fmt::Display) {
    assert!(
        (found - expected).abs() <= tolerance * expected.abs(),
        "{what}: {found}, expected {expected}"
    );
}

#[test]
fn closed_forms_agree_with_quadrature_of_the_survival_function() {
    for gap in families() {
        let mean = gap.mean();
        for x in [0.01, 0.3, 1.0, 2.5, 9.0] {
            let what = format!("{gap:?} at {x}")
                .chars()
                .take(60)
                .collect::<String>();
            let limited = integral(&gap, 0, x);
            let gain = integral(&gap, 1, x) / mean;
            close(gap.visit_gain(x), gain, 2e-5, &what);
            let stationary = 1.0 - limited / mean;
            assert!(
                (gap.stationary_survival(x) - stationary).abs() < 2e-5,
                "{what}"
            );
            close(gap.residual_fresh_time(0.0, x), limited, 2e-5, &what);
            // H(x)/x, from the definition
            let freshness = stationary + gain / x;
            assert!((gap.freshness(x) - freshness).abs() < 3e-5, "{what}");
            assert!(
                (gap.staleness(x) + gap.freshness(x) - 1.0).abs() < 1e-10,
                "{what}"
            );
        }
    }
}

#[test]
fn densities_and_survivals_belong_together() {
    for gap in families() {
        if let Gap::Empirical(_) = gap {
            assert_eq!((gap.density(1.0), gap.hazard(1.0)), (None, None));
            continue;
        }
        for x in [0.02, 0.5, 1.7] {
            let h = 1e-6;
            let slope = (gap.survival(x - h) - gap.survival(x + h)) / (2.0 * h);
            let density = gap.density(x).unwrap();
            assert!(
                (density - slope).abs() < 1e-4 * density + 1e-7,
                "{gap:?} at {x}"
            );
            if gap.survival(x) > 0.0 {
                close(
                    gap.hazard(x).unwrap(),
                    density / gap.survival(x),
                    1e-9,
                    &gap,
                );
            }
            assert!((gap.cdf(x) + gap.survival(x) - 1.0).abs() < 1e-15);
        }
    }
}

#[test]
fn samples_have_the_moments_and_the_distribution() {
    for (seed, gap) in families().into_iter().enumerate() {
        let n = 40_000;
        let sample = draws(&gap, n, seed as u64);
        let root = (n as f64).sqrt();
        if gap.second_moment().is_finite() {
            let mean = sample.iter().sum::<f64>() / n as f64;
            let margin = 4.0 * gap.mean() * gap.coefficient_of_variation() / root;
            assert!((mean - gap.mean()).abs() < margin, "{gap:?}: mean {mean}");
        }
        for x in [0.1, 0.7, 2.0] {
            let longer = sample.iter().filter(|&&g| g > x).count() as f64 / n as f64;
            assert!(
                (longer - gap.survival(x)).abs() < 4.0 * 0.5 / root,
                "{gap:?} at {x}"
            );
        }
        let mut rng = rng(seed as u64);
        let residuals: Vec<f64> = (0..n).map(|_| gap.sample_residual(&mut rng)).collect();
        for x in [0.1, 0.7, 2.0] {
            let longer = residuals.iter().filter(|&&g| g > x).count() as f64 / n as f64;
            let expected = gap.stationary_survival(x);
            assert!(
                (longer - expected).abs() < 4.0 * 0.5 / root,
                "{gap:?} residual at {x}"
            );
        }
    }
}

#[test]
fn staleness_agrees_with_simulated_changes() {
    for (seed, gap) in families().into_iter().enumerate() {
        if gap.second_moment() == f64::INFINITY {
            continue; // its time averages settle too slowly to check
        }
        let mut rng = rng(seed as u64 + 100);
        let until = 30_000.0;
        let mut at = gap.sample_residual(&mut rng);
        let mut changes = Vec::new();
        while at < until {
            changes.push(at);
            at += gap.sample(&mut rng);
        }
        for interval in [0.4, 1.6] {
            let visits: Vec<f64> = (1..(until / interval) as usize)
                .map(|k| k as f64 * interval)
                .collect();
            let fresh = score_changes(&changes, &visits, 0.0, until, true).fresh / until;
            let expected = gap.freshness(interval);
            assert!(
                (fresh - expected).abs() < 0.02,
                "{gap:?} every {interval}: {fresh} {expected}"
            );
        }
    }
}

#[test]
fn exponential_gaps_agree_with_the_poisson_measures() {
    for rate in [1e-6, 0.3, 4.0, 1e7] {
        let gap = Gap::exponential(rate).unwrap();
        for x in [1e-9, 1e-3, 1.0, 50.0, 1e9] {
            close(
                gap.visit_gain(x),
                visit_gain(rate * x) / rate,
                1e-15,
                rate * x,
            );
            let expected = evenly_spaced(rate, 1.0 / x);
            close(
                gap.freshness(x),
                expected,
                1e-12,
                format!("rate {rate}, {x}"),
            );
        }
        close(gap.gain_supremum(), 1.0 / rate, 1e-15, rate);
    }
    // a gamma and a Weibull of shape one are exponential too
    let exponential = Gap::exponential(0.5).unwrap();
    for same in [
        Gap::gamma(1.0, 2.0).unwrap(),
        Gap::weibull(1.0, 2.0).unwrap(),
    ] {
        for x in [1e-9, 1e-3, 0.1, 1.0, 3.9, 4.1, 50.0] {
            close(same.visit_gain(x), exponential.visit_gain(x), 1e-12, &same);
            close(same.staleness(x), exponential.staleness(x), 1e-10, &same);
            close(
                same.residual_fresh_time(3.0, x),
                exponential.residual_fresh_time(3.0, x),
                1e-9,
                x,
            );
            close(
                same.log_density(x).unwrap(),
                exponential.log_density(x).unwrap(),
                1e-12,
                x,
            );
        }
    }
}

#[test]
fn empirical_gains_agree_with_the_plain_sums() {
    let mut rng = rng(9);
    for n in [1, 2, 15, 16, 17, 31, 32, 33, 500] {
        // ties and zeros included
        let mut raw: Vec<f64> = (0..n)
            .map(|_| f64::from(rng.random_range(0..40)) / 4.0)
            .collect();
        raw[0] = 3.0;
        let gap = Gap::empirical(raw.clone()).unwrap();
        let total: f64 = raw.iter().sum();
        for x in [0.1, 0.25, 1.0, 2.9, 3.0, 6.6, 9.75, 12.0] {
            let plain = |f: &dyn Fn(f64) -> f64| raw.iter().map(|&g| f(g)).sum::<f64>();
            let gain = plain(&|g| g.min(x).powi(2)) / (2.0 * total);
            close(gap.visit_gain(x), gain, 1e-12, format!("{n} gaps at {x}"));
            let older = plain(&|g| f64::from(u8::from(g > 2.9)));
            let fresh = plain(&|g| (g - 2.9).clamp(0.0, x)) / older;
            close(
                gap.residual_fresh_time(2.9, x),
                fresh,
                1e-12,
                format!("{n} gaps at {x}"),
            );
            if let Some(back) = gap.interval_for_gain(gain) {
                close(
                    gap.visit_gain(back),
                    gain,
                    1e-12,
                    format!("{n} gaps, back to {x}"),
                );
            }
        }
        assert_eq!(gap.interval_for_gain(gap.gain_supremum()), None);
        close(
            gap.residual_fresh_time(2.9, f64::INFINITY),
            {
                let older: Vec<f64> = raw.iter().copied().filter(|&g| g > 2.9).collect();
                older.iter().map(|g| g - 2.9).sum::<f64>() / older.len() as f64
            },
            1e-12,
            n,
        );
        assert_eq!(gap.residual_fresh_time(10.0, 1.0), 0.0);
    }
}

#[test]
fn a_histogram_has_bins_that_grow_and_the_mass_of_the_gaps() {
    let raw = draws(&Gap::log_normal(0.0, 2.0).unwrap(), 5000, 3);
    let histogram = Histogram::from_gaps(&raw, Histogram::BINS).unwrap();
    let bins: Vec<_> = histogram.bins().collect();
    assert_eq!(bins.len(), 10);
    let ratio = (bins[1].1 - bins[1].0) / (bins[0].1 - bins[0].0);
    assert!(ratio > 1.5, "{ratio}");
    for pair in bins.windows(2) {
        assert_eq!(pair[0].1, pair[1].0);
        close(
            (pair[1].1 - pair[1].0) / (pair[0].1 - pair[0].0),
            ratio,
            1e-6,
            "ratio",
        );
    }
    for (start, end, mass) in bins {
        let inside = raw.iter().filter(|&&g| g > start && g <= end).count();
        assert!((mass - inside as f64 / 5000.0).abs() < 1e-12);
    }
    // equal gaps cannot have bins that shrink
    let equal = Gap::histogram(&[2.0; 20]).unwrap();
    close(equal.mean(), 1.9, 1e-12, "the last of ten equal bins");
}

#[test]
fn old_contents_keep_their_precision() {
    // Rayleigh: what is left at a great age a is exponential with the hazard 2a, to order 1/a²
    let rayleigh = Gap::weibull(2.0, 1.0).unwrap();
    close(
        rayleigh.residual_fresh_time(100.0, f64::INFINITY),
        1.0 / 200.0,
        1e-4,
        "Rayleigh",
    );
    close(
        rayleigh.residual_fresh_time(100.0, 1e-6),
        1e-6,
        2e-4,
        "Rayleigh, soon",
    );
    // a gamma content grown old forgets: the hazard tends to 1/scale
    let gamma = Gap::gamma(3.0, 2.0).unwrap();
    close(gamma.hazard(1e5).unwrap(), 0.5, 1e-4, "gamma hazard");
    close(
        gamma.residual_fresh_time(1e5, f64::INFINITY),
        2.0,
        1e-4,
        "gamma residual",
    );
    // both ways to the same integral, on either side of where one takes over
    for gap in families() {
        if matches!(gap, Gap::Histogram(_) | Gap::Empirical(_)) || gap.survival(1.5) < 1e-9 {
            continue;
        }
        let whole = gap.residual_fresh_time(1.5, 1.0);
        let steps = 4000;
        let h = 1.0 / f64::from(steps);
        let sum: f64 = (0..steps)
            .map(|k| gap.residual_survival(1.5, (f64::from(k) + 0.5) * h) * h)
            .sum();
        close(whole, sum, 1e-5, &gap);
        close(gap.residual_fresh_time(1.5, 1e-8), 1e-8, 1e-6, &gap);
    }
}

#[test]
fn what_cannot_be_a_distribution_is_refused() {
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300] {
        assert!(Gap::exponential(bad).is_err());
        for (a, b) in [(bad, 1.0), (1.0, bad)] {
            assert!(Gap::gamma(a, b).is_err());
            assert!(Gap::weibull(a, b).is_err());
            assert!(Gap::pareto(a, b).is_err());
        }
        assert!(Gap::log_normal(0.0, bad).is_err());
    }
    assert!(Gap::log_normal(f64::NAN, 1.0).is_err());
    assert_eq!(Gap::empirical(vec![]), Err(GapError::NoGaps));
    assert_eq!(Gap::empirical(vec![0.0, 0.0]), Err(GapError::NoGaps));
    assert_eq!(
        Gap::empirical(vec![1.0, -2.0]),
        Err(GapError::NotAGap(-2.0))
    );
    assert!(Gap::histogram(&[1.0, f64::NAN]).is_err());
    assert_eq!(Histogram::from_gaps(&[1.0], 0), Err(GapError::NoBins));
    let error = Gap::gamma(-1.0, 1.0).unwrap_err().to_string();
    assert_eq!(error, "shape is -1; it must lie between 1e-3 and 1e6");
}

#[test]
fn gaps_without_a_mean_take_the_limit() {
    let gap = Gap::pareto(0.8, 1.0).unwrap();
    assert_eq!(gap.mean(), f64::INFINITY);
    assert_eq!((gap.staleness(5.0), gap.freshness(5.0)), (0.0, 1.0));
    assert_eq!(gap.interval_for_gain(1e-9), None);
    assert_eq!(gap.sample_residual(&mut rng(1)), f64::INFINITY);
    // once it has changed, it changes on
    assert!(gap.residual_fresh_time(0.0, 10.0) < 5.0);
}
