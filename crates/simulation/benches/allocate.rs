//! How long allocations take on the published repository (14.5 million pages on 20,000 servers),
//! against one plain pass of `Σ w(1 − e^{−λ})` over the same arrays in the same run.
//!
//! `cargo bench -p simulation --bench allocate`; prints CSV rows, a summary on stderr.

use freshness::allocate::{Allocation, Pages, Problem, allocate};
use rayon::prelude::*;
use simulation::generate::{Parameters, PowerLaw, Repository, generate};
use std::hint::black_box;
use std::time::Instant;

/// Visits per day that a server takes with 15 s between them.
const CAP: f64 = 86_400.0 / 15.0;
const REPETITIONS: usize = 9;
const CHUNK: usize = 1 << 14;

fn main() {
    println!("repository,allocation,budget_share,repetition,one_core_pass,all_cores_pass,seconds");
    let weights = PowerLaw {
        exponent: 1.0,
        least: 1.0,
        most: 1e4,
    };
    for (name, weights) in [("unweighted", None), ("weighted", Some(weights))] {
        let repository = generate(&Parameters {
            weights,
            ..Parameters::default()
        });
        for share in [0.1, 0.9] {
            for allocation in [Allocation::Cho, Allocation::OptPolite] {
                measure(name, &repository, share, allocation);
            }
        }
    }
}

/// Times both passes beside each allocation, so that other work on the machine slows all alike.
fn measure(name: &str, repository: &Repository, share: f64, allocation: Allocation) {
    let (rate, weight) = (&repository.rate[..], repository.weight.as_deref());
    let caps = vec![CAP; repository.servers];
    let problem = Problem {
        pages: Pages { rate, weight },
        server: &repository.server,
        caps: &caps,
        budget: share * CAP * repository.servers as f64,
    };
    let rows: Vec<[f64; 3]> = (0..REPETITIONS)
        .map(|repetition| {
            let one = seconds(|| single_pass(rate, weight));
            let all = seconds(|| parallel_pass(rate, weight));
            let plan = seconds(|| allocate(&problem, allocation).expect("a sound problem"));
            println!("{name},{allocation},{share},{repetition},{one},{all},{plan}");
            [one, all, plan]
        })
        .collect();
    let fastest = |column: usize| rows.iter().map(|r| r[column]).fold(f64::INFINITY, f64::min);
    eprintln!(
        "{name:10} {:10} at {:2.0} %: median {:.2} s; × the pass on one core: median {:.1}; on all \
         cores: median {:.1}, worst {:.1}, fastest to fastest {:.1}",
        allocation.name(),
        share * 100.0,
        median(rows.iter().map(|r| r[2])),
        median(rows.iter().map(|r| r[2] / r[0])),
        median(rows.iter().map(|r| r[2] / r[1])),
        rows.iter().map(|r| r[2] / r[1]).fold(0.0, f64::max),
        fastest(2) / fastest(1),
    );
}

fn seconds<T>(run: impl FnOnce() -> T) -> f64 {
    let start = Instant::now();
    let outcome = black_box(run());
    let seconds = start.elapsed().as_secs_f64();
    drop(outcome);
    seconds
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
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
