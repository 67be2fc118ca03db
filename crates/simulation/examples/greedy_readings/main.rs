//! How fresh GREEDY keeps articles under different readings of its definition, beside RANDOM and
//! MERGE, as CSV to standard output.
//!
//! `cargo run --release -p simulation --example greedy_readings -- wikipedia1000.csv.gz`

mod formulas;
mod greedy;
mod reading;
mod worlds;

use freshness::PageId;
use freshness::gap::Gap;
use freshness::policy::{self, Change, Knowledge, Next, Outcome, Policy, Setup};
use greedy::Greedy;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use reading::READINGS;
use simulation::knowledge::Known;
use simulation::run::{Control, Lane, Options, WINDOWS, run};
use simulation::world::{Observe, Start, World};
use std::sync::{Arc, Mutex, atomic::AtomicBool};
use worlds::{articles, shuffled, world};

const SHARES: [f64; 5] = [0.2, 0.4, 0.6, 0.8, 1.0];
const RUNS: u64 = 5;

fn main() {
    let trace = std::env::args()
        .nth(1)
        .expect("expected the path of a change trace, gzipped CSV");
    let last = articles(&trace, 0.0);
    let worlds = [
        ("last year", world(&last, 1.0)),
        ("year before", world(&articles(&trace, 1.0), 1.0)),
        ("gaps shuffled", world(&shuffled(&last), 1.0)),
        ("twice the visits", world(&last, 2.0)),
    ];
    println!("world,reading,budget,freshness,minus_random,minus_merge,same_visits_evenly_spaced");
    for (name, world) in &worlds {
        for share in SHARES {
            compare(name, world, share);
        }
    }
}

/// All policies and readings at one budget, a row each.
fn compare(name: &str, world: &World, share: f64) {
    let known = Known::hindsight(world);
    let gaps = known.gaps.as_deref().expect("worlds of instants have gaps");
    let budget = share * world.capacity();
    let built = |policy: &str, seed| {
        let knowledge = Knowledge::Known {
            rate: &known.rate,
            gaps: Some(gaps),
        };
        let setup = Setup {
            server: &world.server,
            weight: None,
            delay: &world.delay,
            budget,
            start: world.from,
            seed,
            knowledge,
        };
        policy::build(policy, &setup).expect("the policy exists")
    };
    let measure = |policy: &str, observe| mean(world, gaps, observe, |seed| built(policy, seed));
    let merge = measure("merge-wolf", Observe::Bit);
    let random = measure("random-wolf", Observe::Bit);
    let row = |reading: &str, (fresh, even): (f64, f64)| {
        println!(
            "{name},{reading},{:.0} %,{fresh:.2},{:.2},{:.2},{even:.2}",
            100.0 * share,
            fresh - random.0,
            fresh - merge.0
        );
    };
    row("MERGE", merge);
    row("RANDOM", random);
    row("MERGE by CHO", measure("merge-cho", Observe::Bit));
    row("RANDOM by CHO", measure("random-cho", Observe::Bit));
    row("greedy", measure("greedy", Observe::LastModified));
    row(
        "greedy; visits show one bit",
        measure("greedy", Observe::Bit),
    );
    for reading in &READINGS {
        let pages = reading.pages(world, gaps);
        row(
            reading.name,
            mean(world, gaps, Observe::LastModified, |seed| {
                let offset = Xoshiro256PlusPlus::seed_from_u64(seed).random::<f64>();
                Box::new(Greedy::new(
                    reading,
                    Arc::clone(&pages),
                    (world.from, offset),
                    budget,
                ))
            }),
        );
    }
}

/// Mean freshness in points, and what the same number of visits to each article would be worth if
/// they were evenly spaced.
fn mean(
    world: &World,
    gaps: &[Vec<f64>],
    observe: Observe,
    policy: impl Fn(u64) -> Box<dyn Policy>,
) -> (f64, f64) {
    let options = |seed| Options {
        start: Start::Stale,
        observe: Some(observe),
        seed,
        early_stop: false,
        windows: WINDOWS,
        parallel: false,
    };
    let control = Control {
        stop: &AtomicBool::new(false),
        progress: &|_| {},
    };
    let mut sum = (0.0, 0.0);
    for seed in 1..=RUNS {
        let visits = Arc::new(Mutex::new(vec![0_u32; world.pages()]));
        let lane = Lane {
            pages: 0..world.pages(),
            policy: Box::new(Counted {
                policy: policy(seed),
                visits: Arc::clone(&visits),
            }),
        };
        sum.0 += run(world, vec![lane], &options(seed), &control).freshness;
        let visits = visits.lock().expect("nobody panicked");
        let even = |(gaps, &visits): (&Vec<f64>, &u32)| {
            let gap = Gap::empirical(gaps.clone()).expect("every article has gaps");
            gap.freshness(world.days() / f64::from(visits))
        };
        sum.1 += gaps.iter().zip(visits.iter()).map(even).sum::<f64>() / world.pages() as f64;
    }
    let points = 100.0 / RUNS as f64;
    (points * sum.0, points * sum.1)
}

/// Counts the visits that a policy makes.
struct Counted {
    policy: Box<dyn Policy>,
    visits: Arc<Mutex<Vec<u32>>>,
}

impl Policy for Counted {
    fn next(&mut self, now: f64) -> Next {
        let next = self.policy.next(now);
        if let Next::Visit(page) = next {
            self.visits.lock().expect("nobody panicked")[page.index()] += 1;
        }
        next
    }

    fn observe(&mut self, page: PageId, at: f64, outcome: Outcome<'_>) {
        self.policy.observe(page, at, outcome);
    }

    fn change(&mut self, now: f64, change: Change) {
        self.policy.change(now, change);
    }
}
