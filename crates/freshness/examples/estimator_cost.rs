//! Nanoseconds of the estimator's operations. No arguments.

use freshness::estimate::{Belief, Findings, Observation, Population};
use std::hint::black_box;
use std::time::Instant;

const PAGES: usize = 10_000;
const ROUNDS: usize = 20;

fn main() {
    let mut population = Population::new(1.0 / 7.0);
    let mut pages = vec![(Findings::default(), Belief::default()); PAGES];
    let rate = |page: usize| 10f64.powf((page * 7919 % PAGES) as f64 / PAGES as f64 * 5.0 - 3.0);
    let mut state = 1u64;
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut worst = 0.0f64;
    for round in 0..ROUNDS {
        let found: Vec<(f64, Observation)> = (0..PAGES)
            .map(|page| {
                let interval = 10f64.powf(random() * 2.0 - 1.0) / rate(page);
                let changed = random() > (-rate(page) * interval).exp();
                let seen = if changed {
                    Observation::Changed
                } else {
                    Observation::Unchanged
                };
                (interval, seen)
            })
            .collect();
        let clock = Instant::now();
        for (page, ((findings, belief), &(interval, seen))) in
            pages.iter_mut().zip(&found).enumerate()
        {
            findings.learn(interval, interval, seen);
            let changed = seen.changed(interval);
            population.observe(page % 100, black_box(belief), findings, interval, changed);
        }
        let ns = clock.elapsed().as_nanos() as f64 / PAGES as f64;
        worst = worst.max(ns);
        if round + 1 == ROUNDS {
            println!("observe {ns:.0} ns (first rounds up to {worst:.0})");
        }
    }
    let clock = Instant::now();
    let mut sum = 0.0;
    for (_, belief) in &pages {
        sum += population.chance_unchanged(belief, 1.0);
    }
    println!(
        "chance_unchanged {:.0} ns ({sum:.1})",
        clock.elapsed().as_nanos() as f64 / PAGES as f64
    );
    let posteriors: Vec<_> = pages
        .iter()
        .enumerate()
        .map(|(page, (findings, belief))| population.posterior(page % 100, belief, findings))
        .collect();
    let clock = Instant::now();
    sum = 0.0;
    for posterior in &posteriors {
        sum += posterior.chance_unchanged(1.0);
    }
    println!(
        "chance of a posterior {:.0} ns ({sum:.1})",
        clock.elapsed().as_nanos() as f64 / PAGES as f64
    );
    let clock = Instant::now();
    sum = 0.0;
    for posterior in &posteriors {
        sum += posterior.pace().chance_unchanged(1.0);
    }
    println!(
        "pace of a posterior {:.0} ns ({sum:.1})",
        clock.elapsed().as_nanos() as f64 / PAGES as f64
    );
    println!("a page {} bytes", size_of::<(Findings, Belief)>());
}
