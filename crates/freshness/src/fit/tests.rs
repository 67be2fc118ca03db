//! Parameters recovered within their standard errors, families told apart, bad gaps refused.

use super::*;
use crate::gap::special::trigamma;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::f64::consts::PI;

fn draws(gap: &Gap, count: usize, seed: u64) -> Vec<f64> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..count).map(|_| gap.sample(&mut rng)).collect()
}

const N: usize = 4000;

/// Fits twenty samples; every estimate must lie within four of its standard errors, as given by
/// the inverse of the Fisher information of one gap, and their mean within one.
fn check_recovery(
    family: Family,
    truth: &Gap,
    parameters: fn(&Gap) -> [f64; 2],
    variances: [f64; 2],
) {
    let runs = 20;
    let mut sums = [0.0; 2];
    for seed in 0..runs {
        let report = fit(family, &draws(truth, N, seed)).unwrap();
        for i in 0..2 {
            let error = (variances[i] / N as f64).sqrt();
            let off = (parameters(&report.gap)[i] - parameters(truth)[i]) / error;
            assert!(
                off.abs() < 4.0,
                "{truth} became {}: {off} errors",
                report.gap
            );
            sums[i] += off;
        }
    }
    for sum in sums {
        let mean = sum / runs as f64;
        assert!(
            mean.abs() < 1.0,
            "{family} {truth}: off by {mean} errors on average"
        );
    }
}

/// The diagonal of the inverse of a symmetric matrix `[[a, b], [b, c]]`.
fn inverse_diagonal(a: f64, b: f64, c: f64) -> [f64; 2] {
    let determinant = a * c - b * b;
    [c / determinant, a / determinant]
}

#[test]
fn exponential_and_log_normal_parameters_are_recovered() {
    let rate = |gap: &Gap| [1.0 / gap.mean(), 0.0];
    let truth = Gap::exponential(0.2).unwrap();
    check_recovery(Family::Exponential, &truth, rate, [0.04, 1.0]);
    let truth = Gap::log_normal(1.5, 2.0).unwrap();
    let parameters = |gap: &Gap| match gap {
        Gap::LogNormal(law) => [law.mu(), law.sigma()],
        other => panic!("{other}"),
    };
    check_recovery(Family::LogNormal, &truth, parameters, [4.0, 2.0]);
}

#[test]
fn gamma_parameters_are_recovered() {
    for (shape, scale) in [(0.2, 30.0), (1.0, 1.0), (12.0, 0.01)] {
        let truth = Gap::gamma(shape, scale).unwrap();
        let parameters = |gap: &Gap| match gap {
            Gap::Gamma(law) => [law.shape(), law.scale()],
            other => panic!("{other}"),
        };
        let variances = inverse_diagonal(trigamma(shape), 1.0 / scale, shape / (scale * scale));
        check_recovery(Family::Gamma, &truth, parameters, variances);
    }
}

#[test]
fn weibull_parameters_are_recovered() {
    let euler = 0.577_215_664_901_532_9;
    for (shape, scale) in [(0.4, 7.0), (1.0, 1.0), (3.5, 200.0)] {
        let truth = Gap::weibull(shape, scale).unwrap();
        let parameters = |gap: &Gap| match gap {
            Gap::Weibull(law) => [law.shape(), law.scale()],
            other => panic!("{other}"),
        };
        let variances = inverse_diagonal(
            (PI * PI / 6.0 + (1.0 - euler) * (1.0 - euler)) / (shape * shape),
            -(1.0 - euler) / scale,
            shape * shape / (scale * scale),
        );
        check_recovery(Family::Weibull, &truth, parameters, variances);
    }
}

#[test]
fn pareto_parameters_are_recovered() {
    for (shape, scale) in [(0.7, 3.0), (1.6, 0.1), (2.5, 40.0)] {
        let truth = Gap::pareto(shape, scale).unwrap();
        let parameters = |gap: &Gap| match gap {
            Gap::Pareto(law) => [law.shape(), law.scale()],
            other => panic!("{other}"),
        };
        let variances = inverse_diagonal(
            1.0 / (shape * shape),
            -1.0 / (scale * (shape + 1.0)),
            shape / (scale * scale * (shape + 2.0)),
        );
        check_recovery(Family::Pareto, &truth, parameters, variances);
    }
}

#[test]
fn the_likelihood_is_at_its_maximum() {
    let gaps = draws(&Gap::log_normal(0.0, 1.5).unwrap(), 500, 3);
    let likelihood = |gap: Gap| {
        gaps.iter()
            .map(|&x| gap.log_density(x).unwrap())
            .sum::<f64>()
    };
    let nearby = [(1.01, 1.0), (0.99, 1.0), (1.0, 1.01), (1.0, 0.99)];
    for report in fit_all(&gaps).unwrap().reports {
        for (a, b) in nearby {
            let moved = match &report.gap {
                Gap::Exponential(law) => Gap::exponential(law.rate() * a * b),
                Gap::Gamma(law) => Gap::gamma(law.shape() * a, law.scale() * b),
                Gap::Weibull(law) => Gap::weibull(law.shape() * a, law.scale() * b),
                Gap::Pareto(law) => Gap::pareto(law.shape() * a, law.scale() * b),
                Gap::LogNormal(law) => Gap::log_normal(law.mu() + a - 1.0, law.sigma() * b),
                _ => continue,
            };
            assert!(
                likelihood(moved.unwrap()) < report.log_likelihood,
                "{report}"
            );
        }
    }
}

#[test]
fn the_right_family_is_accepted_and_wrong_ones_are_rejected() {
    let cases = [
        (Family::Exponential, Gap::exponential(3.0).unwrap()),
        (Family::Gamma, Gap::gamma(0.3, 2.0).unwrap()),
        (Family::Weibull, Gap::weibull(0.4, 1.0).unwrap()),
        (Family::Pareto, Gap::pareto(1.2, 5.0).unwrap()),
        (Family::LogNormal, Gap::log_normal(0.0, 1.0).unwrap()),
    ];
    for (seed, (family, truth)) in cases.into_iter().enumerate() {
        let fits = fit_all(&draws(&truth, N, seed as u64)).unwrap();
        let right = fits.of(family).unwrap();
        assert!(right.ks_p_value > 0.05, "{fits}");
        assert!(right.aic <= fits.reports[0].aic + 2.0, "{fits}");
        for report in &fits.reports {
            // an exponential is also a gamma, a Weibull and nearly a Pareto
            let contains = matches!(
                report.family,
                Family::Gamma | Family::Weibull | Family::Pareto
            ) && family == Family::Exponential;
            if report.family != family && !contains && report.family != Family::Histogram {
                assert!(report.ks_p_value < 0.01, "{family} taken for {report}");
            }
        }
    }
}

#[test]
fn steady_gaps_have_no_pareto_fit() {
    let fits = fit_all(&draws(&Gap::gamma(5.0, 1.0).unwrap(), 300, 1)).unwrap();
    assert_eq!(fits.failures, [(Family::Pareto, FitError::NoHeavyTail)]);
    let table = fits.to_string();
    assert_eq!(table.lines().count(), 2 + 6, "{table}");
    assert!(
        table.contains("Pareto       the gaps have no heavy tail"),
        "{table}"
    );
    assert!(
        table.starts_with("300 gaps, coefficient of variation 0."),
        "{table}"
    );
}

#[test]
fn degenerate_gaps_give_errors_and_no_nan() {
    assert_eq!(fit_all(&[]), Err(FitError::TooFew(0)));
    assert_eq!(fit_all(&[1.0; 9]), Err(FitError::TooFew(9)));
    assert_eq!(fit_all(&[0.0; 20]), Err(FitError::Gap(GapError::NoGaps)));
    assert!(matches!(
        fit_all(&[-1.0; 20]),
        Err(FitError::Gap(GapError::NotAGap(_)))
    ));
    let mut with_nan = vec![1.0; 20];
    with_nan[3] = f64::NAN;
    assert!(fit_all(&with_nan).is_err());

    let constant = fit_all(&[2.5; 20]).unwrap();
    assert_eq!(constant.reports.len(), 2, "{constant}");
    assert!(constant.failures.iter().all(|f| f.1 == FitError::Constant));

    let mut nearly_constant = vec![1.0; 20];
    nearly_constant[0] += f64::EPSILON;
    let mut two_values = vec![1e-9; 30];
    two_values.extend([1e9; 30]);
    let mut mostly_zero = vec![0.0; 500];
    mostly_zero.extend([1.0, 2.0]);
    for gaps in [nearly_constant, two_values, mostly_zero] {
        let fits = fit_all(&gaps).unwrap();
        assert!(!fits.reports.is_empty());
        for report in &fits.reports {
            assert!(report.log_likelihood.is_finite(), "{fits}");
            assert!((0.0..=1.0).contains(&report.ks_distance), "{fits}");
            assert!((0.0..=1.0).contains(&report.ks_p_value), "{fits}");
        }
    }
}

#[test]
fn order_and_unit_do_not_matter() {
    let gaps = draws(&Gap::weibull(0.6, 1.0).unwrap(), 400, 8);
    let seconds: Vec<f64> = gaps.iter().rev().map(|gap| gap * 86_400.0).collect();
    let (days, seconds) = (fit_all(&gaps).unwrap(), fit_all(&seconds).unwrap());
    for (a, b) in days.reports.iter().zip(&seconds.reports) {
        assert_eq!(a.family, b.family);
        assert!((a.ks_distance - b.ks_distance).abs() < 1e-6);
        assert!(
            (b.gap.mean() / a.gap.mean() / 86_400.0 - 1.0).abs() < 1e-5
                || a.gap.mean().is_infinite()
        );
    }
}
