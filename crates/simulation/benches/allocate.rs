//! How long allocations take on the published repository (14.5 million pages on 20,000 servers),
//! against one plain pass of `Σ w(1 − e^{−λ})` over the same arrays in the same run.
//!
//! `cargo bench -p simulation --bench allocate`; prints CSV rows, a summary on stderr.

use freshness::allocate::{Allocation, Pages, Problem, allocate, freshness};
use rayon::prelude::*;
use simulation::generate::{Parameters, PowerLaw, Repository, generate};
use std::hint::black_box;
use std::time::Instant;

/// Of a day, for one visit per 15 s.
const CAP: f64 = 86_400.0 / 15.0;
const REPETITIONS: usize = 5;
const CHUNK: usize = 1 << 14;

fn main() {
    println!("repository,work,budget_share,repetition,seconds,freshness");
    for (name, weights) in [
        ("unweighted", None),
        (
            "weighted",
            Some(PowerLaw {
                exponent: 1.0,
                least: 1.0,
                most: 1e4,
            }),
        ),
    ] {
        let repository = generate(&Parameters {
            weights,
            ..Parameters::default()
        });
        measure(name, &repository);
    }
}

fn measure(name: &str, repository: &Repository) {
    let weight = repository.weight.as_deref();
    // the pass reads weights as the allocation does: an array if there is one
    let one = report(name, "pass on one core", 0.0, || {
        single_pass(&repository.rate, weight)
    });
    let two = report(name, "pass on all cores", 0.0, || {
        parallel_pass(&repository.rate, weight)
    });
    let caps = vec![CAP; repository.servers];
    for share in [0.1, 0.9] {
        let problem = Problem {
            pages: Pages {
                rate: &repository.rate,
                weight,
            },
            server: &repository.server,
            caps: &caps,
            budget: share * CAP * repository.servers as f64,
        };
        for allocation in [Allocation::Cho, Allocation::OptPolite] {
            let plan = allocate(&problem, allocation).expect("the generated problem is sound");
            let value = freshness(problem.pages, &plan.frequency);
            drop(plan);
            let seconds = report(name, allocation.name(), share, || {
                let plan = allocate(&problem, allocation).expect("solved before");
                black_box(plan.frequency.len());
                value
            });
            eprintln!(
                "{name:10} {allocation:10} at {:2.0} %: {seconds:.3} s, {:.1} × the pass on one \
                 core, {:.1} × on all",
                share * 100.0,
                seconds / one,
                seconds / two,
            );
        }
    }
}

/// Prints a row for each repetition; returns the median time.
fn report(name: &str, work: &str, share: f64, mut run: impl FnMut() -> f64) -> f64 {
    let mut times: Vec<f64> = (0..REPETITIONS)
        .map(|repetition| {
            let start = Instant::now();
            let value = black_box(run());
            let seconds = start.elapsed().as_secs_f64();
            println!("{name},{work},{share},{repetition},{seconds},{value}");
            seconds
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[REPETITIONS / 2]
}

fn single_pass(rate: &[f64], weight: Option<&[f64]>) -> f64 {
    match weight {
        Some(weight) => rate
            .iter()
            .zip(weight)
            .map(|(rate, weight)| weight * (1.0 - (-rate).exp()))
            .sum(),
        None => rate.iter().map(|rate| 1.0 - (-rate).exp()).sum(),
    }
}

fn parallel_pass(rate: &[f64], weight: Option<&[f64]>) -> f64 {
    match weight {
        Some(weight) => rate
            .par_chunks(CHUNK)
            .zip(weight.par_chunks(CHUNK))
            .map(|(rate, weight)| single_pass(rate, Some(weight)))
            .sum(),
        None => rate
            .par_chunks(CHUNK)
            .map(|rate| single_pass(rate, None))
            .sum(),
    }
}
