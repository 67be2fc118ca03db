use super::super::{Belief, Findings, Observation};
use super::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const PAGES: usize = 500;
const ROUNDS: usize = 40;
/// Rounds after which pages are known well enough to be judged.
const FIRST: usize = 10;
/// Looks in a round.
const LOOKS: usize = 5;

/// How pages change.
#[derive(Clone, Copy)]
enum Change {
    Apart,
    /// At the moments when a whole host is published, each page with such a chance.
    Together(f64),
}

/// A page with a copy.
#[derive(Clone, Copy, Default)]
struct Page {
    findings: Findings,
    belief: Belief,
    last: f64,
    changed: f64,
}

/// What came of the looks: shares of those at which the truth lay within, with the width now and with that
/// of pages that change apart.
#[derive(Debug)]
struct Held {
    within: f64,
    wider: f64,
    within_apart: f64,
}

/// Pages on so many hosts are visited in turn, once in a unit of time.
fn held(change: Change, hosts: usize, seed: u64) -> Held {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut population = Population::new(1.0);
    let mut pages = vec![Page::default(); PAGES];
    let (mut within, mut wider, mut apart, mut looks) = (0.0, 0.0, 0.0, 0.0);
    let step = 1.0 / PAGES as f64;
    for visit in 0..ROUNDS * PAGES {
        let (now, number) = ((visit + 1) as f64 * step, visit % PAGES);
        match change {
            // every second page a time in a round, the others a fourth of it
            Change::Apart => {
                for (k, page) in pages.iter_mut().enumerate() {
                    let rate = if k % 2 == 0 { 1.0 } else { 0.25 };
                    if rng.random::<f64>() < rate * step {
                        page.changed = now;
                    }
                }
            }
            Change::Together(share) => {
                for host in 0..hosts {
                    if rng.random::<f64>() < 0.8 * step {
                        for page in pages.iter_mut().skip(host).step_by(hosts) {
                            if rng.random::<f64>() < share {
                                page.changed = now;
                            }
                        }
                    }
                }
            }
        }
        let page = &mut pages[number];
        let (interval, changed) = (now - page.last, page.changed > page.last);
        if visit >= PAGES {
            let told = if changed {
                Observation::Changed
            } else {
                Observation::Unchanged
            };
            page.findings.learn(1.0, interval, told);
            population.observe(
                number % hosts,
                &mut page.belief,
                &page.findings,
                interval,
                changed,
            );
        }
        page.last = now;
        if visit >= FIRST * PAGES && visit % (PAGES / LOOKS) == 0 {
            let mut overall = Overall::default();
            for page in &pages {
                overall.add(
                    population.chance_unchanged(&page.belief, now - page.last),
                    true,
                );
            }
            let fresh = pages.iter().filter(|page| page.changed <= page.last);
            let truth = fresh.count() as f64 / PAGES as f64;
            let (low, high) = overall.interval(&population);
            let alone = Z95 * overall.chance.sqrt() / PAGES as f64;
            let holds = |holds: bool| f64::from(u8::from(holds));
            within += holds(low <= truth && truth <= high);
            apart += holds((truth - overall.freshness()).abs() <= alone);
            wider += (high - low) / (2.0 * alone);
            looks += 1.0;
        }
    }
    Held {
        within: within / looks,
        wider: wider / looks,
        within_apart: apart / looks,
    }
}

#[test]
fn pages_that_change_apart_leave_the_interval_about_as_it_was() {
    for seed in 1..=3 {
        let held = held(Change::Apart, 5, seed);
        assert!(held.within >= 0.9, "{held:?}");
        assert!(held.wider < 1.5, "{held:?}");
    }
}

/// The interval that takes pages to change apart does not hold it for half of the time.
#[test]
fn the_truth_lies_within_where_pages_change_together() {
    for seed in 1..=3 {
        for share in [0.3, 1.0] {
            let held = held(Change::Together(share), 1, seed);
            assert!(held.within >= 0.85, "{share}: {held:?}");
            assert!(held.within_apart < 0.5, "{share}: {held:?}");
        }
    }
}

/// Ten hosts that are published one by one swing less than one, and the interval knows.
#[test]
fn hosts_that_are_published_apart_make_the_interval_narrower() {
    for seed in 1..=3 {
        let (one, ten) = (
            held(Change::Together(1.0), 1, seed),
            held(Change::Together(1.0), 10, seed),
        );
        assert!(ten.within >= 0.85, "{ten:?}");
        assert!(ten.wider < 0.7 * one.wider, "{ten:?} {one:?}");
    }
}
