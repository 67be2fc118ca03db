//! The robot in a bottle: storms by seed, and flaws that must be found.

use std::sync::atomic::{AtomicU64, Ordering};

use simulation::bottle::{Bottle, BottleReport, BottleSpec, BottleWeb, Flaw};

fn storm(seed: u64) -> BottleSpec {
    BottleSpec {
        seed,
        web: BottleWeb {
            hosts: 6,
            pages: 14,
            change_every: (30.0, 3e6),
            turnover: 0.15,
            silent: 0.03,
            slowest: 2.0,
        },
        stormy: 6000.0,
        calm: 12_000.0,
        kills: 3,
        clock_steps: 2,
        interval: 2.0,
        budget: 0.3,
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
    let requests = AtomicU64::new(0);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds {
                        return;
                    }
                    let report = run(storm(seed));
                    let report = report.unwrap_or_else(|what| panic!("seed {seed}: {what}"));
                    assert!(
                        report.robots * 5 < report.requests,
                        "seed {seed}: {report:?}"
                    );
                    requests.fetch_add(report.requests, Ordering::Relaxed);
                }
            });
        }
    });
    println!("{seeds} storms, {} requests", requests.into_inner());
}

#[test]
fn a_month_of_ten_thousand_pages_takes_seconds() {
    let month = BottleSpec {
        web: BottleWeb {
            hosts: 20,
            pages: 500,
            change_every: (3600.0, 1e8),
            turnover: 0.01,
            silent: 0.001,
            slowest: 1.0,
        },
        stormy: 15.0 * 86_400.0,
        calm: 15.0 * 86_400.0,
        kills: 2,
        clock_steps: 1,
        interval: 5.0,
        budget: 0.05,
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
