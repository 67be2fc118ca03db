//! Is the stated freshness true, and do stated intervals hold? Rows of CSV on standard output.
//! Arguments: `[--seed N] [--quick] [TRACE.csv.gz …]`.

use flate2::read::MultiGzDecoder;
use freshness::policy::{self, Knowledge, Setup};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use simulation::calibration::{CLASSES, Calibration, TESTED_AFTER, calibrate};
use simulation::world::{Changes, Observe, World};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};

const DEFAULT_GUESS: f64 = 1.0 / 7.0;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    println!(
        "world,guess,observe,visits_per_change,visits,known_stated,known_true,worst,rate5,rate10,rate20,rate40,foretold5,foretold10,foretold20,foretold40,by_visits"
    );
    if arguments.is_empty() {
        for decades in [(0.0, 5.0), (-3.0, 2.0)] {
            let world = generated(500, decades, 1);
            let mean = world.changes_in_test() / world.days() / 500.0;
            for guess in [DEFAULT_GUESS, mean * 1e5, mean * 1e-5] {
                for observe in [Observe::Bit, Observe::LastModified] {
                    row(
                        &format!("poisson {} {}", decades.0, decades.1),
                        &world,
                        observe,
                        guess,
                        0.25,
                    );
                }
            }
        }
        let world = generated(100, (864f64.log10(), 86400f64.log10()), 1);
        row("seconds", &short(world), Observe::Bit, DEFAULT_GUESS, 0.0);
    }
    for path in &arguments {
        let world = existing(recorded(path));
        let name = path.rsplit('/').next().unwrap_or(path);
        for observe in [Observe::Bit, Observe::LastModified] {
            for budget in [0.1, 0.25, 1.0] {
                row(name, &world, observe, DEFAULT_GUESS, budget);
            }
        }
    }
}

fn short(mut world: World) -> World {
    world.until = 120.0 / 86400.0;
    world
}

fn row(name: &str, world: &World, observe: Observe, guess: f64, budget: f64) {
    let per_day = if budget == 0.0 {
        86400.0 * world.pages() as f64
    } else {
        budget * world.changes_in_test() / world.days()
    };
    let setup = Setup {
        server: &world.server,
        weight: None,
        delay: &world.delay,
        budget: per_day,
        start: world.from,
        seed: 1,
        knowledge: Knowledge::Online { guess },
    };
    let policy = policy::build("default", &setup).expect("the default policy exists");
    let found = calibrate(world, policy, observe, guess, 1);
    print(name, guess, observe, budget, &found);
}

fn print(name: &str, guess: f64, observe: Observe, budget: f64, found: &Calibration) {
    let known = found.all_known();
    // tenths of the time, once nine pages of ten are known
    let tenth = found.known.len() / 10;
    let most = found
        .known
        .iter()
        .map(|look| look.looks)
        .fold(0.0, f64::max);
    let start = found
        .known
        .iter()
        .position(|look| look.looks >= 0.9 * most)
        .unwrap_or(0);
    let worst = found.known[start..]
        .chunks(tenth)
        .filter(|c| c.len() == tenth)
        .map(|chunk| {
            let sum = chunk
                .iter()
                .fold((0.0, 0.0), |s, l| (s.0 + l.stated - l.truth, s.1 + l.looks));
            sum.0 / sum.1
        })
        .fold(0.0, |a: f64, b: f64| if b.abs() > a.abs() { b } else { a });
    let shares: Vec<String> = found
        .rates
        .iter()
        .chain(&found.foretold)
        .map(|held| format!("{:.3}^{:.2}", held.share(), held.above / held.tested))
        .collect();
    let by: Vec<String> = CLASSES
        .iter()
        .zip(&found.by_visits)
        .map(|(from, s)| format!("{from}:{:+.3}/{:.3}", s.excess(), s.truth / s.looks))
        .collect();
    println!(
        "{name},{guess:.3e},{observe:?},{budget},{},{:.4},{:.4},{:+.4},{},{}",
        found.visits,
        known.stated / known.looks,
        known.truth / known.looks,
        worst,
        shares.join(","),
        by.join(" ")
    );
    let _ = TESTED_AFTER;
}

fn generated(pages: usize, (low, high): (f64, f64), seed: u64) -> World {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let rate: Vec<f64> = (0..pages)
        .map(|_| 10f64.powf(rng.random_range(low..high)))
        .collect();
    let mean = rate.iter().sum::<f64>() / pages as f64;
    World {
        server: (0..pages as u32).map(|page| page % 10).collect(),
        delay: vec![0.0; 10],
        weight: None,
        changes: Changes::Poisson(rate),
        from: 0.0,
        until: 400.0 / mean,
    }
}

/// The last third of the history, and the pages that were there before.
fn existing(world: World) -> World {
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
        ..world
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
