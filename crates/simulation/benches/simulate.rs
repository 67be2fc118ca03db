//! Visits per second of a simulated MERGE schedule on the published repository: 14.5 million pages
//! on 20,000 servers at 10 % of what 15 s of politeness allow. Takes the number of pages in
//! millions as an argument, for a quick look.

use freshness::{
    allocate::{Allocation, Pages, Problem, allocate},
    policy::schedule::Selection,
};
use simulation::{
    generate::{Parameters, generate},
    lanes::{lanes, scheduled},
    run::{Control, Options, run},
    world::{Changes, Start, World},
};
use std::{sync::atomic::AtomicBool, time::Instant};

const POLITENESS: f64 = 15.0 / 86_400.0;
const DAYS: f64 = 12.0;

fn main() {
    let millions = std::env::args().find_map(|argument| argument.parse::<f64>().ok());
    let published = Parameters::default();
    let share = millions.map_or(1.0, |millions| millions * 1e6 / published.pages as f64);
    let repository = generate(&Parameters {
        pages: (published.pages as f64 * share) as usize,
        servers: ((published.servers as f64 * share) as usize).max(1),
        ..published
    });
    let world = World {
        delay: vec![POLITENESS; repository.servers],
        server: repository.server,
        weight: repository.weight,
        changes: Changes::Poisson(repository.rate),
        from: 0.0,
        until: DAYS,
    };
    let budget = 0.1 * world.capacity();
    let clock = Instant::now();
    let frequency = {
        let Changes::Poisson(rate) = &world.changes else {
            unreachable!("made above")
        };
        let problem = Problem {
            pages: Pages { rate, weight: None },
            server: &world.server,
            caps: &vec![1.0 / POLITENESS; world.delay.len()],
            budget,
        };
        let plan = allocate(&problem, Allocation::OptPolite);
        plan.expect("a share of the capacity is within it")
            .frequency
    };
    println!("allocation {:.2} s", clock.elapsed().as_secs_f64());
    let clock = Instant::now();
    let lanes = scheduled(
        &world,
        &frequency,
        Selection::Merge,
        &lanes(&world.server),
        1,
    );
    println!(
        "{} lanes, built in {:.2} s",
        lanes.len(),
        clock.elapsed().as_secs_f64()
    );
    drop(frequency);
    let options = Options {
        start: Start::Stale,
        observe: None,
        seed: 1,
        early_stop: false,
        windows: 12,
        parallel: true,
    };
    let stop = AtomicBool::new(false);
    let control = Control {
        stop: &stop,
        progress: &|_| {},
    };
    let clock = Instant::now();
    let account = run(&world, lanes, &options, &control);
    let seconds = clock.elapsed().as_secs_f64();
    println!(
        "{} visits to {} pages in {seconds:.1} s: {:.2} million visits per second",
        account.visits,
        world.pages(),
        account.visits as f64 / seconds / 1e6
    );
    println!(
        "freshness {:.4}, at the end {:.4}; {:.0} ns per selection",
        account.freshness,
        account.series[account.series.len() - 1],
        account.ns_per_selection
    );
    println!("peak memory {}", peak_memory().unwrap_or_default());
}

fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().to_owned())
}
