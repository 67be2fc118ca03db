//! Is the stated freshness true, and do stated intervals hold? Rows of CSV on standard output.
//! Arguments: recorded histories (`item_id,timestamp_seconds`, gzipped); without any, generated worlds. Numbers
//! among them are visits per change, in place of 0.25, 0.5 and 1.

use flate2::read::MultiGzDecoder;
use freshness::policy::{self, Knowledge, Setup};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use simulation::calibration::{
    CLASSES, Calibration, Held, Judged, Stated, TESTED_AFTER, calibrate,
};
use simulation::world::{Changes, Observe, World};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};

/// Changes a day: what a crawl guesses that was told nothing.
const DEFAULT_GUESS: f64 = 1.0 / 7.0;
/// Each with draws of its own; those of a recorded history number its pages anew.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=5;

const TENTHS: usize = 10;

fn main() {
    let (mut budgets, mut histories) = (Vec::new(), Vec::new());
    for argument in std::env::args().skip(1) {
        match argument.parse::<f64>() {
            Ok(budget) => budgets.push(budget),
            Err(_) => histories.push(argument),
        }
    }
    if budgets.is_empty() {
        budgets = vec![0.25, 0.5, 1.0];
    }
    let tests = |what: &str| TESTED_AFTER.map(|n| format!("{what}_{n}")).join(",");
    println!(
        "seed,world,guess,observe,visits_per_change,visits,stated,true,worst_tenth,{},{},by_visits,\
         instants,all_stated,all_true,half_width,within",
        tests("rate"),
        tests("foretold")
    );
    for seed in SEEDS {
        rows(seed, &histories, &budgets);
    }
}

fn rows(seed: u64, histories: &[String], budgets: &[f64]) {
    if histories.is_empty() {
        for (low, high) in [(0.0, 5.0), (-3.0, 2.0)] {
            let world = generated(seed, 500, (low, high), 400.0);
            let mean = world.changes_in_test() / world.days() / 500.0;
            for guess in [DEFAULT_GUESS, mean * 1e5, mean * 1e-5] {
                for observe in [Observe::Bit, Observe::LastModified] {
                    let name = format!("generated 10^{low}..10^{high}/day");
                    row(seed, &name, &world, observe, guess, 0.25);
                }
            }
        }
        // a change every second to every 100 s, a visit about every second
        let seconds = generated(seed, 100, (864f64.log10(), 86_400f64.log10()), 20.0);
        row(
            seed,
            "generated seconds",
            &seconds,
            Observe::Bit,
            DEFAULT_GUESS,
            5.0,
        );
    }
    for path in histories {
        let world = existing(&recorded(path));
        let name = path.rsplit('/').next().unwrap_or(path);
        for observe in [Observe::Bit, Observe::LastModified] {
            for &budget in budgets {
                row(seed, name, &world, observe, DEFAULT_GUESS, budget);
            }
        }
    }
}

fn row(seed: u64, name: &str, world: &World, observe: Observe, guess: f64, visits_per_change: f64) {
    let setup = Setup {
        server: &world.server,
        weight: None,
        delay: &world.delay,
        budget: visits_per_change * world.changes_in_test() / world.days(),
        start: world.from,
        seed,
        knowledge: Knowledge::Online { guess },
    };
    let policy = policy::build("default", &setup).expect("the default policy exists");
    let found = calibrate(world, policy, observe, guess, seed);
    let (known, whole) = (found.all_known(), Judged::new(&found.whole));
    let share = |held: &Held| format!("{:.3}", held.share());
    let tests: Vec<String> = found
        .rates
        .iter()
        .chain(&found.foretold)
        .map(share)
        .collect();
    let excess = |(from, stated): (&u32, &Stated)| format!("{from}+ {:+.3}", stated.excess());
    let by_visits: Vec<String> = CLASSES.iter().zip(&found.by_visits).map(excess).collect();
    println!(
        "{seed},{name},{guess:.3e},{observe:?},{visits_per_change},{},{:.4},{:.4},{:+.4},{},{},{},{:.4},{:.4},{:.4},{:.3}",
        found.visits,
        known.stated / known.looks,
        known.truth / known.looks,
        worst_tenth(&found),
        tests.join(","),
        by_visits.join(" "),
        whole.instants,
        whole.stated,
        whole.truth,
        whole.half_width,
        whole.within
    );
}

/// By how much the stated freshness was off over the worst tenth of the time since nine of the ten
/// pages that ever were had five visits.
fn worst_tenth(found: &Calibration) -> f64 {
    let most = found
        .known
        .iter()
        .map(|look| look.looks)
        .fold(0.0, f64::max);
    let enough = |look: &Stated| look.looks >= 0.9 * most;
    let start = found.known.iter().position(enough).unwrap_or(0);
    let tenths = found.known[start..].chunks_exact(found.known.len() / TENTHS);
    let excess = tenths.map(|tenth| {
        let sum = |of: fn(&Stated) -> f64| tenth.iter().map(of).sum::<f64>();
        (sum(|look| look.stated) - sum(|look| look.truth)) / sum(|look| look.looks)
    });
    excess.fold(0.0, |a: f64, b| if b.abs() > a.abs() { b } else { a })
}

/// Poisson pages whose rates are even over the logarithm, until the average page changed so often.
fn generated(seed: u64, pages: usize, (low, high): (f64, f64), changes: f64) -> World {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let draw = |_| 10f64.powf(rng.random_range(low..high));
    let rate: Vec<f64> = (0..pages).map(draw).collect();
    let mean = rate.iter().sum::<f64>() / pages as f64;
    World {
        server: (0..pages as u32).map(|page| page % 10).collect(),
        delay: vec![0.0; 10],
        weight: None,
        changes: Changes::Poisson(rate),
        from: 0.0,
        until: changes / mean,
    }
}

/// The last third of the history, and the pages that were there before.
fn existing(world: &World) -> World {
    let from = world.until - world.days() / 3.0;
    let mut offsets = vec![0];
    let mut all = Vec::new();
    for page in 0..world.pages() {
        let instants = world.instants(page);
        if instants.first().is_some_and(|&first| first <= from) {
            all.extend_from_slice(instants);
            offsets.push(all.len());
        }
    }
    World {
        server: vec![0; offsets.len() - 1],
        changes: Changes::Instants { offsets, at: all },
        from,
        delay: world.delay.clone(),
        weight: None,
        until: world.until,
    }
}

fn recorded(path: &str) -> World {
    let file = std::fs::File::open(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut items: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for line in BufReader::new(MultiGzDecoder::new(file)).lines().skip(1) {
        let line = line.expect("gzip of text");
        let (item, at) = line.split_once(',').expect("two columns");
        let at: f64 = at.parse().expect("seconds");
        items.entry(item.to_owned()).or_default().push(at / 86400.0);
    }
    let mut offsets = vec![0];
    let mut all = Vec::new();
    for instants in items.values_mut() {
        instants.sort_by(f64::total_cmp);
        all.extend_from_slice(instants);
        offsets.push(all.len());
    }
    let from = all.iter().copied().fold(f64::INFINITY, f64::min);
    let until = all.iter().copied().fold(0.0, f64::max);
    World {
        server: vec![0; items.len()],
        delay: vec![0.0],
        weight: None,
        changes: Changes::Instants { offsets, at: all },
        from,
        until,
    }
}
