//! Generated edits of encyclopedia articles, calibrated to a real history; and the numbers by which
//! the two are compared.

use anyhow::Result;
use desk::bad_input::BadInput;
use freshness::process::{Modulated, Process, ProcessError, Week};
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;
use simulation::run::derive;
use simulation::statistics::{mean, quantile};
use simulation::world::{Changes, World};
use std::f64::consts::TAU;

const DAYS: f64 = 365.0;
const MONTHS: usize = 12;
const HOUR: f64 = 1.0 / 24.0;

/// How bursty histories are, how they drift and how they follow the day.
#[derive(Clone, Copy, Debug)]
pub struct Burstiness {
    /// Mean number of changes of a page.
    pub changes: f64,
    /// Median over pages of the coefficient of variation of the gaps.
    pub variation: f64,
    /// Share of gaps under an hour.
    pub short: f64,
    /// Median over pages of the standard deviation of the logarithm of monthly counts.
    pub drift: f64,
    /// Length of the mean of the hours of the day as directions: 0 without a rhythm.
    pub rhythm: f64,
}

impl Burstiness {
    /// Measured on the articles with at least 300 changes in the last year of a public sample of
    /// 1,000 articles of the English Wikipedia (75 articles, to January 2008). Over all years and
    /// articles the median variation is 2.4 and 42 % of the gaps are short.
    pub const WIKIPEDIA: Self = Self {
        changes: 689.0,
        variation: 2.05,
        short: 0.53,
        drift: 0.52,
        rhythm: 0.23,
    };

    /// Of the test period of a world with instants.
    pub fn of(world: &World) -> Self {
        let (mut count, mut short, mut gaps_in_all) = (0.0, 0.0, 0.0);
        let (mut variation, mut drift) = (Vec::new(), Vec::new());
        let (mut east, mut north) = (0.0, 0.0);
        for page in 0..world.pages() {
            let changes: Vec<f64> = (world.instants(page).iter().copied())
                .filter(|&at| world.from < at && at <= world.until)
                .collect();
            let gaps: Vec<f64> = changes.windows(2).map(|pair| pair[1] - pair[0]).collect();
            count += changes.len() as f64;
            gaps_in_all += gaps.len() as f64;
            short += gaps.iter().filter(|&&gap| gap < HOUR).count() as f64;
            variation.push(deviation(&gaps) / mean(&gaps));
            let mut monthly = [0.5; MONTHS];
            for &at in &changes {
                let month = (at - world.from) / world.days() * MONTHS as f64;
                monthly[(month as usize).min(MONTHS - 1)] += 1.0;
                let (sin, cos) = (TAU * at).sin_cos();
                east += cos;
                north += sin;
            }
            drift.push(deviation(&monthly.map(f64::ln)));
        }
        Self {
            changes: count / world.pages() as f64,
            variation: quantile(&mut variation, 0.5),
            short: short / gaps_in_all,
            drift: quantile(&mut drift, 0.5),
            rhythm: east.hypot(north) / count,
        }
    }

    /// As people read it.
    pub fn words(&self) -> String {
        format!(
            "{:.0} changes a page, gap CV {:.2}, {:.0} % of gaps under 1 h, monthly drift {:.2}, \
             daily rhythm {:.2}",
            self.changes,
            self.variation,
            100.0 * self.short,
            self.drift,
            self.rhythm
        )
    }
}

fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    (squares / values.len() as f64).sqrt()
}

/// A year of articles on one server: edits come singly and in short bouts, at a rate that differs
/// from article to article and from month to month, and few at night.
pub fn articles(count: usize, seed: u64) -> Result<World> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(derive(seed, 0));
    let (mut offsets, mut at) = (vec![0], Vec::new());
    while offsets.len() <= count {
        let size: f64 = StandardNormal.sample(&mut rng);
        let yearly = 400.0 * (0.6 * size).exp();
        let changes = article(yearly, &mut rng)
            .map_err(|error| BadInput(format!("generated articles: {error}")))?;
        // as in the published experiment
        if changes.len() >= super::wikipedia::LEAST_CHANGES {
            at.extend(changes);
            offsets.push(at.len());
        }
    }
    Ok(World {
        server: vec![0; count],
        delay: vec![0.0],
        weight: None,
        changes: Changes::Instants { offsets, at },
        from: 0.0,
        until: DAYS,
    })
}

fn article(yearly: f64, rng: &mut Xoshiro256PlusPlus) -> Result<Vec<f64>, ProcessError> {
    // calm at night, by the hours of the day; every day alike
    let mut hours = [1.0; 24];
    hours[5..13].fill(0.4);
    let week = Week::new(1.0, &hours, &[1.0; 7])?;
    let month = DAYS / MONTHS as f64;
    let mut changes = Vec::new();
    for k in 0..MONTHS {
        let z: f64 = StandardNormal.sample(rng);
        let daily = yearly / DAYS * (SPREAD * z - SPREAD * SPREAD / 2.0).exp();
        let quiet = (1.0 - IN_BOUTS) * daily;
        // bouts are as many as it takes for their share of the changes
        let every = BOUT_CHANGES / (IN_BOUTS * daily);
        let busy = quiet + BOUT_CHANGES / BOUT_DAYS;
        let bouts = Process::Modulated(Modulated::new(quiet, busy, every, BOUT_DAYS)?);
        let from = k as f64 * month;
        changes.extend(Process::weekly(bouts, week.clone()).instants(from, from + month, rng));
    }
    Ok(changes)
}

/// Standard deviation of the logarithm of a month's rate.
const SPREAD: f64 = 0.35;
/// Share of changes in bouts, their mean length, and how many changes they hold on average.
const IN_BOUTS: f64 = 0.7;
const BOUT_DAYS: f64 = 0.06;
const BOUT_CHANGES: f64 = 4.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn articles_are_as_bursty_as_real_ones() {
        let found = Burstiness::of(&articles(75, 1).unwrap());
        let real = Burstiness::WIKIPEDIA;
        let near = |name: &str, found: f64, real: f64| {
            assert!(
                (found / real - 1.0).abs() < 0.2,
                "{name}: {found} for {real}"
            );
        };
        near("changes", found.changes, real.changes);
        near("variation", found.variation, real.variation);
        near("short", found.short, real.short);
        near("drift", found.drift, real.drift);
        near("rhythm", found.rhythm, real.rhythm);
    }

    #[test]
    fn poisson_articles_would_not_do() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let at = Process::poisson(2.0).unwrap().instants(0.0, DAYS, &mut rng);
        let world = World {
            server: vec![0],
            delay: vec![0.0],
            weight: None,
            changes: Changes::Instants {
                offsets: vec![0, at.len()],
                at,
            },
            from: 0.0,
            until: DAYS,
        };
        let found = Burstiness::of(&world);
        assert!((found.variation - 1.0).abs() < 0.15, "{found:?}");
        assert!((found.short - 2.0 * HOUR).abs() < 0.04, "{found:?}");
    }
}
