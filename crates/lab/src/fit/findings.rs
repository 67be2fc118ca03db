//! What a history shows.

use super::watched::Watched;
use crate::simulate::Trace;
use freshness::fit::{Family, Fits, fit_all};
use ground::quantity::DAY;
use serde::Serialize;
use simulation::statistics::{mean, quantile};
use std::f64::consts::TAU;

/// A family is rejected at this level.
const LEVEL: f64 = 0.01;
/// A change within so many seconds of the one before belongs to a bout.
const BOUT: f64 = 3600.0;
/// Items fitted of each class of rates: enough for a share of tests, and no more time than that.
const MOST_FITTED: usize = 200;

/// Everything found.
#[derive(Debug, Serialize)]
pub struct Findings {
    pub items: usize,
    /// Items that changed at all.
    pub changing: usize,
    pub changes: usize,
    pub days: f64,
    /// Changes a day of the items that change.
    pub rates: Rates,
    /// Items by how often they change, the rarest first.
    pub classes: Vec<Class>,
    /// Where changes concentrate: items, and servers where there are several.
    pub concentration: Vec<Concentration>,
    pub rhythm: Rhythm,
    /// Where changes are known by visits only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watched: Option<Watched>,
}

/// The law of rates.
#[derive(Debug, Serialize)]
pub struct Rates {
    pub mean: f64,
    pub median: f64,
    pub p10: f64,
    pub p90: f64,
    /// Standard deviation of the logarithm, as of a log-normal law.
    pub log_deviation: f64,
    /// Of the upper tenth: `P(rate > x) ∝ x^−exponent` (Hill).
    pub tail_exponent: f64,
    /// Rates in order, for a picture; thinned out.
    #[serde(skip)]
    pub curve: Vec<(f64, f64)>,
}

/// Items of similar rates.
#[derive(Debug, Serialize)]
pub struct Class {
    /// Changes of an item, from and below.
    pub from: usize,
    pub below: usize,
    pub items: usize,
    pub fitted: usize,
    /// Median coefficient of variation of the gaps: 1 for Poisson changes, more for bursty ones.
    pub variation: f64,
    /// Share of gaps under an hour; none where they cannot be seen.
    pub within_hour: f64,
    pub models: Vec<Model>,
}

/// A family over the items fitted.
#[derive(Debug, Serialize)]
pub struct Model {
    pub family: String,
    /// Share of items for which it is rejected at 1 % (Kolmogorov–Smirnov), or cannot be fitted.
    pub rejected: f64,
    /// Share of items for which it is the best by Akaike's criterion.
    pub best: f64,
}

/// Whose changes they are.
#[derive(Debug, Serialize)]
pub struct Concentration {
    pub of: &'static str,
    pub count: usize,
    /// Share of all changes by the most active hundredth and tenth.
    pub top_hundredth: f64,
    pub top_tenth: f64,
    /// 0: all alike; 1: all changes are of one.
    pub gini: f64,
}

/// Hours and days, UTC.
#[derive(Debug, Serialize)]
pub struct Rhythm {
    /// Share of changes in each hour of the day.
    pub hours: Vec<f64>,
    /// Share of changes on each day, Monday first.
    pub weekdays: Vec<f64>,
    /// Length of the mean of the hours as directions: 0 without a rhythm, 1 if all come at one time.
    pub daily: f64,
}

impl Findings {
    pub fn of(trace: &Trace, least: usize) -> Self {
        let counts: Vec<usize> = (0..trace.ids.len())
            .map(|i| trace.changes(i).len())
            .collect();
        let first = trace.seconds.iter().copied().fold(f64::INFINITY, f64::min);
        let last = trace.seconds.iter().copied().fold(0.0, f64::max);
        let days = ((last - first) / DAY).max(f64::MIN_POSITIVE);
        let mut concentration = vec![Concentration::of("items", counts.clone())];
        if trace.servers > 1 {
            let mut servers = vec![0; trace.servers];
            for (&server, count) in trace.server.iter().zip(&counts) {
                servers[server as usize] += count;
            }
            concentration.push(Concentration::of("servers", servers));
        }
        Self {
            items: counts.len(),
            changing: counts.iter().filter(|&&count| count > 0).count(),
            changes: trace.seconds.len(),
            days,
            rates: Rates::of(each_day(&counts, days)),
            classes: of_classes(&counts, least, |own, from, below| {
                Class::of(trace, own, from, below)
            }),
            concentration,
            rhythm: Rhythm::of(&trace.seconds),
            watched: None,
        }
    }
}

/// Changes a day of those that change.
fn each_day(counts: &[usize], days: f64) -> Vec<f64> {
    let changing = counts.iter().filter(|&&count| count > 0);
    changing.map(|&count| count as f64 / days).collect()
}

impl Rates {
    /// Of the items that change, of which there is one.
    pub fn of(mut rates: Vec<f64>) -> Self {
        rates.sort_by(f64::total_cmp);
        let logs: Vec<f64> = rates.iter().map(|rate| rate.ln()).collect();
        let middle = mean(&logs);
        let squares: Vec<f64> = logs.iter().map(|log| (log - middle).powi(2)).collect();
        let tail = &logs[logs.len() - logs.len().div_ceil(10)..];
        let excess: Vec<f64> = tail.iter().map(|log| log - tail[0]).collect();
        let step = rates.len().div_ceil(200);
        let above = |k: usize| (rates.len() - k) as f64 / rates.len() as f64;
        Self {
            mean: mean(&rates),
            median: quantile(&mut rates.clone(), 0.5),
            p10: quantile(&mut rates.clone(), 0.1),
            p90: quantile(&mut rates.clone(), 0.9),
            log_deviation: mean(&squares).sqrt(),
            tail_exponent: 1.0 / mean(&excess),
            curve: (0..rates.len())
                .step_by(step)
                .map(|k| (rates[k], above(k)))
                .collect(),
        }
    }
}

/// Items by the number of their changes: from `least` on, each class four times the one before.
pub fn of_classes(
    counts: &[usize],
    least: usize,
    class: impl Fn(&[usize], usize, usize) -> Class,
) -> Vec<Class> {
    let most = counts.iter().copied().max().unwrap_or(0);
    let mut classes = Vec::new();
    let mut from = least;
    while from <= most {
        let below = from * 4;
        let own: Vec<usize> = (0..counts.len())
            .filter(|&item| (from..below).contains(&counts[item]))
            .collect();
        if !own.is_empty() {
            classes.push(class(&own, from, below));
        }
        from = below;
    }
    classes
}

impl Class {
    fn of(trace: &Trace, own: &[usize], from: usize, below: usize) -> Self {
        let gaps = |item: usize| -> Vec<f64> {
            let instants = trace.changes(item).windows(2);
            instants.map(|pair| pair[1] - pair[0]).collect()
        };
        let (mut within, mut all) = (0, 0);
        for &item in own {
            let gaps = gaps(item);
            within += gaps.iter().filter(|&&gap| gap < BOUT).count();
            all += gaps.len();
        }
        Self {
            within_hour: f64::from(within as u32) / f64::from(all.max(1) as u32),
            ..Self::fitted(own, (from, below), &Family::ALL, |item| {
                fit_all(&gaps(item)).ok()
            })
        }
    }

    /// Of some items, each of which may be fitted; of gaps under an hour nothing is known.
    pub fn fitted(
        own: &[usize],
        (from, below): (usize, usize),
        families: &[Family],
        fit: impl Fn(usize) -> Option<Fits>,
    ) -> Self {
        // evenly through the class
        let chosen = own.iter().step_by(own.len().div_ceil(MOST_FITTED));
        let fits: Vec<Fits> = chosen.filter_map(|&item| fit(item)).collect();
        let mut variation: Vec<f64> = fits.iter().map(|f| f.coefficient_of_variation).collect();
        variation.retain(|variation| variation.is_finite());
        Self {
            from,
            below,
            items: own.len(),
            fitted: fits.len(),
            variation: if variation.is_empty() {
                f64::NAN
            } else {
                quantile(&mut variation, 0.5)
            },
            within_hour: f64::NAN,
            models: Model::all(families, &fits, LEVEL),
        }
    }
}

impl Model {
    /// How these families did over the items fitted.
    fn all(families: &[Family], fits: &[Fits], level: f64) -> Vec<Self> {
        let share = |is: &dyn Fn(&Fits) -> bool| {
            let count = fits.iter().filter(|fit| is(fit)).count();
            count as f64 / fits.len().max(1) as f64
        };
        let one = |&family: &Family| Self {
            family: family.to_string(),
            rejected: share(&|fit| {
                fit.of(family)
                    .is_none_or(|report| report.ks_p_value < level)
            }),
            best: share(&|fit| (fit.reports.first()).is_some_and(|best| best.family == family)),
        };
        families.iter().map(one).collect()
    }
}

impl Concentration {
    pub fn of(of: &'static str, mut counts: Vec<usize>) -> Self {
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let total = counts.iter().sum::<usize>().max(1) as f64;
        let top = |part: usize| {
            let some = counts.len().div_ceil(part);
            counts[..some].iter().sum::<usize>() as f64 / total
        };
        // the mean rank, weighted by changes
        let ranks: f64 = (1..)
            .zip(&counts)
            .map(|(rank, &c)| f64::from(rank) * c as f64)
            .sum();
        let count = counts.len() as f64;
        Self {
            of,
            count: counts.len(),
            top_hundredth: top(100),
            top_tenth: top(10),
            gini: (count + 1.0 - 2.0 * ranks / total) / count,
        }
    }
}

impl Rhythm {
    pub fn of(seconds: &[f64]) -> Self {
        let (mut hours, mut weekdays) = (vec![0.0; 24], vec![0.0; 7]);
        let (mut east, mut north) = (0.0, 0.0);
        let one = 1.0 / seconds.len().max(1) as f64;
        for &at in seconds {
            let day = (at / DAY).floor();
            hours[((at - day * DAY) / 3600.0) as usize % 24] += one;
            // 1970-01-01 was a Thursday
            weekdays[(day as i64 + 3).rem_euclid(7) as usize] += one;
            let (sin, cos) = (TAU * at / DAY).sin_cos();
            east += cos * one;
            north += sin * one;
        }
        Self {
            hours,
            weekdays,
            daily: east.hypot(north),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn concentration_is_known_at_its_ends() {
        let even = Concentration::of("items", vec![5; 100]);
        assert!(even.gini.abs() < 1e-9, "{}", even.gini);
        assert!((even.top_tenth - 0.1).abs() < 1e-9);
        let mut one = vec![0; 100];
        one[7] = 50;
        let one = Concentration::of("items", one);
        assert!((one.gini - 0.99).abs() < 1e-9, "{}", one.gini);
        assert_eq!(one.top_hundredth, 1.0);
    }

    #[test]
    fn the_rhythm_is_that_of_the_calendar() {
        // Monday 2026-11-16, 03:15:42 UTC
        let rhythm = Rhythm::of(&[1_794_798_942.0; 4]);
        assert_eq!(rhythm.hours[3], 1.0);
        assert_eq!(rhythm.weekdays[0], 1.0);
        assert!((rhythm.daily - 1.0).abs() < 1e-9);
        let hourly: Vec<f64> = (0..240).map(|hour| f64::from(hour) * 3600.0).collect();
        assert!(Rhythm::of(&hourly).daily < 1e-9);
    }

    #[test]
    fn the_law_of_rates_is_found() {
        // quantiles of a Pareto law with exponent 1.5
        let counts: Vec<usize> = (1..=2000)
            .map(|k| (20.0 * (f64::from(k) / 2001.0).powf(-1.0 / 1.5)) as usize)
            .collect();
        let rates = Rates::of(each_day(&counts, 10.0));
        assert!(
            (rates.tail_exponent - 1.5).abs() < 0.15,
            "{}",
            rates.tail_exponent
        );
        assert!((rates.median - 3.17).abs() < 0.1, "{}", rates.median);
    }
}
