//! Fits where changes are known by visits only.
//!
//! A visit that finds a change starts a wait for the next one. Its end lies between two later visits,
//! or beyond the last. The content was of some age when the wait began: known where the answer dated
//! it, else younger than the interval before that visit. Under a stationary renewal process ages are
//! spread there as `P(X > age)`, so that the wait exceeds `x` with probability `G(x)/G(0)`,
//! `G(x) = ∫ P(X > age + x) d age`. For Poisson changes that is `e^{−λx}`, whatever the age. Gaps
//! that begin and end between two visits are seen by nobody, and missing them does no harm here:
//! only what follows a visit is asked about.

use super::kolmogorov::{distance_from, ks_p_value};
use super::search::highest;
use super::{FEWEST_GAPS, Family, FitError, Fits, Report};
use crate::gap::Gap;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// How old the content was when a wait began.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Age {
    /// So old.
    Known(f64),
    /// Younger than this, which is above zero.
    Below(f64),
}

/// A wait for the next change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wait {
    /// Of the content, at its beginning.
    pub age: Age,
    /// It had not ended by then.
    pub from: f64,
    /// It had by then; infinite where nobody saw the end.
    pub to: f64,
}

impl Wait {
    /// How likely it is to last longer than `x`, up to a factor that is the same for all `x`.
    fn beyond(&self, gap: &Gap, x: f64) -> f64 {
        match self.age {
            _ if x == f64::INFINITY => 0.0,
            Age::Known(age) => gap.survival(age + x),
            Age::Below(age) => gap.survival(x) * gap.residual_fresh_time(x, age),
        }
    }

    /// The probabilities that the wait ends by its two limits.
    fn ended(&self, gap: &Gap) -> (f64, f64) {
        let all = self.beyond(gap, 0.0);
        let by = |x| (1.0 - self.beyond(gap, x) / all).clamp(0.0, 1.0);
        if all > 0.0 {
            (by(self.from), by(self.to))
        } else {
            (0.0, 0.0)
        }
    }

    fn log_likelihood(&self, gap: &Gap) -> f64 {
        let (from, to) = self.ended(gap);
        (to - from).max(f64::MIN_POSITIVE).ln()
    }
}

/// The families that are fitted to waits: a histogram has its bins by exact gaps.
pub const OF_WAITS: [Family; 5] = [
    Family::Exponential,
    Family::Gamma,
    Family::Weibull,
    Family::Pareto,
    Family::LogNormal,
];

/// A Pareto law of a greater shape is an exponential one.
const NO_TAIL: f64 = 200.0;
/// Decides where within its limits a wait is taken to end for the test of fit.
const SEED: u64 = 1;

/// Fits every family of [`OF_WAITS`] by greatest likelihood. An error where fewer than
/// [`FEWEST_GAPS`] waits have an end. The test of Kolmogorov and Smirnov is on the probabilities by
/// which waits had ended, each drawn evenly between its limits, which the true law makes even.
pub fn fit_waits(waits: &[Wait]) -> Result<Fits, FitError> {
    let ends = waits.iter().filter(|wait| wait.to.is_finite()).count();
    if ends < FEWEST_GAPS {
        return Err(FitError::TooFew(ends));
    }
    let rate = rate_of(waits).ok_or(FitError::TooFew(ends))?;
    let (mut reports, mut failures) = (Vec::new(), Vec::new());
    for family in OF_WAITS {
        match fitted(family, waits, 1.0 / rate) {
            Ok(gap) => reports.push(report(family, gap, waits)),
            Err(error) => failures.push((family, error)),
        }
    }
    reports.sort_by(|a: &Report, b| a.aic.total_cmp(&b.aic));
    let weibull = reports.iter().find(|r| r.family == Family::Weibull);
    Ok(Fits {
        count: ends,
        coefficient_of_variation: weibull.map_or(f64::NAN, |r| r.gap.coefficient_of_variation()),
        reports,
        failures,
    })
}

/// The rate of Poisson changes under which these waits are most likely, with half a wait of the mean
/// length and no end besides, so that it is finite where every visit found a change; none without an end.
pub fn rate_of(waits: &[Wait]) -> Option<f64> {
    let ends: Vec<&Wait> = waits.iter().filter(|wait| wait.to.is_finite()).collect();
    if ends.is_empty() {
        return None;
    }
    let spans = || ends.iter().map(|wait| wait.to - wait.from);
    let mean = spans().sum::<f64>() / ends.len() as f64;
    let quiet = waits.iter().map(|wait| wait.from).sum::<f64>() + 0.5 * mean;
    // falls from above zero to below it
    let slope = |rate: f64| {
        let ended: f64 = spans().map(|span| span / (rate * span).exp_m1()).sum();
        ended - quiet
    };
    let (mut low, mut high) = (1e-12 / mean, 1e6 / mean);
    for _ in 0..100 {
        let middle = (low * high).sqrt();
        if slope(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some((low * high).sqrt())
}

fn fitted(family: Family, waits: &[Wait], mean: f64) -> Result<Gap, FitError> {
    let make = |[a, b]: [f64; 2]| match family {
        Family::Exponential => Gap::exponential(a.exp()),
        Family::Gamma => Gap::gamma(a.exp(), b.exp()),
        Family::Weibull => Gap::weibull(a.exp(), b.exp()),
        Family::Pareto => Gap::pareto(a.exp(), b.exp()),
        Family::LogNormal => Gap::log_normal(b, a.exp()),
        Family::Histogram => unreachable!("it is not among those of waits"),
    };
    let height = |point: [f64; 2]| {
        let likelihood = |gap: Gap| waits.iter().map(|wait| wait.log_likelihood(&gap)).sum();
        make(point).map_or(f64::NEG_INFINITY, likelihood)
    };
    let start = match family {
        Family::Exponential => [-mean.ln(), 0.0],
        Family::Pareto => [2.0_f64.ln(), mean.ln()],
        _ => [0.0, mean.ln()],
    };
    let best = highest(height, start);
    if family == Family::Pareto && best[0] > NO_TAIL.ln() {
        return Err(FitError::NoHeavyTail);
    }
    Ok(make(best)?)
}

fn report(family: Family, gap: Gap, waits: &[Wait]) -> Report {
    let log_likelihood = waits.iter().map(|wait| wait.log_likelihood(&gap)).sum();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let mut even: Vec<f64> = waits
        .iter()
        .map(|wait| {
            let (from, to) = wait.ended(&gap);
            from + rng.random::<f64>() * (to - from)
        })
        .collect();
    even.sort_by(f64::total_cmp);
    let ks_distance = distance_from(|x| x, &even);
    Report {
        family,
        log_likelihood,
        aic: 2.0 * family.parameters() as f64 - 2.0 * log_likelihood,
        ks_distance,
        ks_p_value: ks_p_value(ks_distance, even.len()),
        gap,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What visits at these intervals, by turns, make of a renewal process.
    fn seen(truth: &Gap, intervals: &[f64], visits: usize, dated: bool, seed: u64) -> Vec<Wait> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (mut next, mut last, mut now) = (truth.sample(&mut rng), 0.0, 0.0);
        let (mut waits, mut began) = (Vec::new(), None::<(f64, Age)>);
        let mut before = 0.0;
        for visit in 0..visits {
            now += intervals[visit % intervals.len()];
            let changed = next <= now;
            while next <= now {
                last = next;
                next += truth.sample(&mut rng);
            }
            if changed {
                if let Some((at, age)) = began {
                    let (from, to) = (before - at, now - at);
                    waits.push(Wait { age, from, to });
                }
                let age = if dated {
                    Age::Known(now - last)
                } else {
                    Age::Below(now - before)
                };
                began = Some((now, age));
            }
            before = now;
        }
        if let Some((at, age)) = began {
            waits.push(Wait {
                age,
                from: now - at,
                to: f64::INFINITY,
            });
        }
        waits
    }

    #[test]
    fn the_shape_is_recovered_however_rare_the_visits_are() {
        for (shape, scale) in [(0.5, 1.0), (1.0, 2.0), (3.0, 2.0)] {
            let truth = Gap::weibull(shape, scale).unwrap();
            for (intervals, dated) in [(&[0.3, 0.5][..], false), (&[2.0, 1.0], true)] {
                let waits = seen(&truth, intervals, 6000, dated, 3);
                let fits = fit_waits(&waits).unwrap();
                let Gap::Weibull(found) = &fits.of(Family::Weibull).unwrap().gap else {
                    panic!("{fits}");
                };
                let off = found.shape() / shape - 1.0;
                assert!(off.abs() < 0.12, "{truth} {dated}: {}", found.shape());
                let off = fits.of(Family::Weibull).unwrap().gap.mean() / truth.mean() - 1.0;
                assert!(off.abs() < 0.12, "{truth} {dated}: mean off by {off}");
            }
        }
    }

    #[test]
    fn poisson_changes_are_told_from_regular_and_bursty_ones() {
        let rejected = |truth: &Gap| {
            let rejected = (0..40).filter(|&seed| {
                let waits = seen(truth, &[0.4, 0.7], 500, false, seed);
                let fits = fit_waits(&waits).unwrap();
                fits.of(Family::Exponential).unwrap().ks_p_value < 0.01
            });
            rejected.count()
        };
        assert!(rejected(&Gap::exponential(0.7).unwrap()) <= 2);
        assert!(rejected(&Gap::weibull(4.0, 1.5).unwrap()) >= 30);
        assert!(rejected(&Gap::pareto(1.2, 0.3).unwrap()) >= 30);
    }

    #[test]
    fn rates_are_those_of_the_changes_not_of_the_visits() {
        let truth = Gap::exponential(2.0).unwrap();
        let waits = seen(&truth, &[1.0, 0.5], 5000, false, 1);
        let rate = rate_of(&waits).unwrap();
        assert!((rate / 2.0 - 1.0).abs() < 0.1, "{rate}");
        let always = [Wait {
            age: Age::Below(1.0),
            from: 0.0,
            to: 1.0,
        }; 20];
        assert!(rate_of(&always).unwrap().is_finite());
        assert_eq!(rate_of(&[]), None);
    }
}
