//! The robot in a bottle: storms by seed, and flaws that must be found.

use std::sync::atomic::{AtomicU64, Ordering};

use robot::config::Revisit;
use simulation::bottle::{Bottle, BottleReport, BottleSpec, BottleWeb, Flaw};

/// Revisits by the second, however little a visit is worth.
fn eager(budget: &str) -> Revisit {
    Revisit {
        budget: budget.into(),
        least_interval: "0".into(),
        least_chance: 0.0,
        ..Revisit::default()
    }
}

fn storm(seed: u64) -> BottleSpec {
    BottleSpec {
        seed,
        web: BottleWeb {
            hosts: 6,
            pages: 14,
            change_every: (30.0, 3e6),
            home_changes_every: None,
            turnover: 0.15,
            silent: 0.03,
            slowest: 2.0,
            patience: None,
        },
        stormy: 6000.0,
        calm: 12_000.0,
        kills: 3,
        clock_steps: 2,
        interval: 2.0,
        connections: 64,
        revisit: eager("0.3/second"),
        restarts: Vec::new(),
        moves: false,
        flaw: None,
    }
}

fn run(spec: BottleSpec) -> Result<BottleReport, String> {
    let directory = tempfile::tempdir().unwrap();
    Bottle::new(spec, directory.path())?.run()
}

#[test]
fn storms_are_weathered() {
    let seeds = std::env::var("EVERCRAWL_BOTTLE_SEEDS").ok();
    let seeds: u64 = seeds.and_then(|seeds| seeds.parse().ok()).unwrap_or(60);
    let next = AtomicU64::new(0);
    let (requests, given_up) = (AtomicU64::new(0), AtomicU64::new(0));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds {
                        return;
                    }
                    let mut spec = storm(seed);
                    if seed.is_multiple_of(3) {
                        // few connections, and answers that take their time
                        spec.connections = 3;
                        spec.web.slowest = 40.0;
                    }
                    let report = run(spec);
                    let report = report.unwrap_or_else(|what| panic!("seed {seed}: {what}"));
                    assert!(
                        report.robots * 5 < report.requests,
                        "seed {seed}: {report:?}"
                    );
                    requests.fetch_add(report.requests, Ordering::Relaxed);
                    given_up.fetch_add(report.given_up as u64, Ordering::Relaxed);
                }
            });
        }
    });
    let (requests, given_up) = (requests.into_inner(), given_up.into_inner());
    println!("{seeds} storms, {requests} requests, {given_up} given up");
    assert!(given_up > 0);
}

#[test]
fn a_month_of_ten_thousand_pages_takes_seconds() {
    let month = BottleSpec {
        web: BottleWeb {
            hosts: 20,
            pages: 500,
            change_every: (3600.0, 1e8),
            home_changes_every: None,
            turnover: 0.01,
            silent: 0.001,
            slowest: 1.0,
            patience: None,
        },
        stormy: 15.0 * 86_400.0,
        calm: 15.0 * 86_400.0,
        kills: 2,
        clock_steps: 1,
        interval: 5.0,
        revisit: eager("0.05/second"),
        ..storm(1)
    };
    let began = std::time::Instant::now();
    let report = run(month).unwrap();
    println!(
        "{} pages, {} requests in {:.1?}; {:.1} % fresh, {:.1} % stated",
        report.live,
        report.requests,
        began.elapsed(),
        100.0 * report.fresh,
        100.0 * report.stated
    );
    assert!(report.live > 8000 && report.requests > 50_000, "{report:?}");
    assert!(
        (report.fresh - report.stated).abs() < 0.05,
        "{} {}",
        report.fresh,
        report.stated
    );
}

#[test]
fn every_flaw_is_found() {
    for flaw in [
        Flaw::WallClock,
        Flaw::NoMemos,
        Flaw::StoredTooSoon,
        Flaw::NoOpening,
        Flaw::AnyAddress,
    ] {
        let found = (0..20).find_map(|seed| {
            let flaw = Some(flaw);
            run(BottleSpec {
                flaw,
                ..storm(seed)
            })
            .err()
        });
        let found = found.unwrap_or_else(|| panic!("{flaw:?} was not found"));
        println!("{flaw:?}: {found}");
    }
}
