mod budget;
mod dated;

use super::*;
use crate::allocate::{self, Pages, Problem};
use crate::estimate::Evidence;
use crate::measure::score_poisson;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A repository with servers of very different sizes, weights, and some pages that never change.
pub(super) struct Repository {
    rate: Vec<f64>,
    weight: Vec<f64>,
    server: Vec<u32>,
    delay: Vec<f64>,
    budget: f64,
}

impl Repository {
    pub(super) fn random(seed: u64, sizes: &[usize], weighted: bool, budget_share: f64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut repository = Self {
            rate: Vec::new(),
            weight: Vec::new(),
            server: Vec::new(),
            delay: Vec::new(),
            budget: 0.0,
        };
        for (s, &size) in sizes.iter().enumerate() {
            for _ in 0..size {
                let still = rng.random::<f64>() < 0.1;
                repository.rate.push(if still {
                    0.0
                } else {
                    10f64.powf(rng.random_range(-2.0..1.0))
                });
                repository.weight.push(if weighted {
                    10f64.powf(rng.random_range(-1.0..1.0))
                } else {
                    1.0
                });
                repository.server.push(s as u32);
            }
            // large servers can be asked a few times a day for each page, tiny ones likewise
            repository
                .delay
                .push(1.0 / (rng.random_range(0.2..3.0) * size as f64));
        }
        repository.budget = budget_share * repository.delay.iter().map(|d| 1.0 / d).sum::<f64>();
        repository
    }

    pub(super) fn setup(&self, seed: u64) -> Setup<'_> {
        Setup {
            server: &self.server,
            weight: Some(&self.weight),
            delay: &self.delay,
            budget: self.budget,
            start: 0.0,
            seed,
            knowledge: Knowledge::Known {
                rate: &self.rate,
                gaps: None,
            },
        }
    }

    pub(super) fn bounds(&self) -> (f64, f64) {
        let caps: Vec<f64> = self.delay.iter().map(|d| 1.0 / d).collect();
        allocate::bounds(&Problem {
            pages: Pages {
                rate: &self.rate,
                weight: Some(&self.weight),
            },
            server: &self.server,
            caps: &caps,
            budget: self.budget,
        })
        .unwrap()
    }

    /// Weighted freshness of `visits` over the later part of `[0, until)`, in exact expectation.
    pub(super) fn freshness(&self, visits: &[Vec<f64>], from: f64, until: f64) -> f64 {
        let (mut fresh, mut total) = (0.0, 0.0);
        for (page, visits) in visits.iter().enumerate() {
            let weight = self.weight[page];
            total += weight;
            if self.rate[page] == 0.0 {
                fresh += weight;
                continue;
            }
            // begin at the last visit before `from`, so that no edge is favoured
            let first = visits.partition_point(|&t| t < from);
            let Some(begin) = first.checked_sub(1).map(|k| visits[k]) else {
                continue;
            };
            let score = score_poisson(self.rate[page], &visits[first..], begin, until, true);
            fresh += weight * score.fresh / (until - begin);
        }
        fresh / total
    }
}

/// Runs a policy and returns the visits of each page; checks politeness on the way.
pub(super) fn drive(
    policy: &mut dyn Policy,
    repository: &Repository,
    until: f64,
    polite: bool,
) -> Vec<Vec<f64>> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(99);
    let mut visits: Vec<Vec<f64>> = vec![Vec::new(); repository.rate.len()];
    let mut asked = vec![f64::NEG_INFINITY; repository.delay.len()];
    let mut now = 0.0;
    loop {
        match policy.next(now) {
            Next::Idle => break,
            Next::Wait(at) => {
                assert!(at > now, "waiting for {at} at {now}");
                now = at;
            }
            Next::Visit(page) => {
                let s = repository.server[page.index()] as usize;
                let gap = now - asked[s];
                let least = repository.delay[s] * (1.0 - 1e-9);
                assert!(!polite || gap >= least, "server {s} asked after {gap}");
                asked[s] = now;
                let rate = repository.rate[page.index()];
                let outcome = match visits[page.index()].last() {
                    Some(&last) if rng.random::<f64>() < (-rate * (now - last)).exp() => {
                        Outcome::Unchanged
                    }
                    _ => Outcome::Changed,
                };
                visits[page.index()].push(now);
                policy.observe(page, now, outcome);
            }
        }
        if now >= until {
            break;
        }
    }
    visits
}

fn count(visits: &[Vec<f64>]) -> f64 {
    visits.iter().map(Vec::len).sum::<usize>() as f64
}

pub(super) const REPOSITORIES: [(u64, &[usize], bool, f64); 5] = [
    (1, &[300], false, 0.5),
    (2, &[400, 100, 10, 1, 1], true, 0.3),
    (3, &[50; 20], false, 0.9),
    (4, &[1; 100], true, 0.5),
    (5, &[1000, 2], true, 0.05),
];

#[test]
fn policies_keep_what_they_promise_of_the_bound() {
    for (seed, sizes, weighted, share) in REPOSITORIES {
        let repository = Repository::random(seed, sizes, weighted, share);
        let (_, bound) = repository.bounds();
        // slow pages take long to show their mean
        let until = 400.0;
        let reached = |name: &str, polite: bool| {
            let mut policy = build(name, &repository.setup(seed)).unwrap();
            let visits = drive(policy.as_mut(), &repository, until, polite);
            let spent = count(&visits) / (repository.budget * until);
            assert!(
                (0.95..1.01).contains(&spent),
                "{name} on {seed} spent {spent}"
            );
            repository.freshness(&visits, until / 4.0, until) / bound
        };
        let per_page = reached("per-page-opt-polite", false);
        let delayed = reached("delayed-opt-polite", true);
        let merge = reached("merge-opt-polite", true);
        let random = reached("random-opt-polite", true);
        let index = reached("index", true);
        println!(
            "{seed}: per-page {per_page:.4} delayed {delayed:.4} merge {merge:.4} random {random:.4} index {index:.4}"
        );
        assert!(
            (per_page - 1.0).abs() < 0.005,
            "per-page on {seed}: {per_page}"
        );
        assert!(
            delayed > 0.97 && delayed < 1.005,
            "delayed on {seed}: {delayed}"
        );
        assert!(merge > 0.927 && merge < 1.005, "merge on {seed}: {merge}");
        assert!(
            random > 0.77 && random < 1.005,
            "random on {seed}: {random}"
        );
        assert!(index > 0.97 && index < 1.005, "index on {seed}: {index}");
    }
}
/// Runs through a life with all that can change while a policy runs, and counts visits a phase.
fn live(name: &str, knowledge: Knowledge) -> [[usize; 6]; 4] {
    let server = [0, 0, 0, 1];
    let setup = Setup {
        server: &server,
        weight: None,
        delay: &[0.01, 0.01],
        budget: 20.0,
        start: 0.0,
        seed: 3,
        knowledge,
    };
    let mut policy = build(name, &setup).unwrap();
    let mut visits = [[0; 6]; 4];
    let mut now: f64 = 0.0;
    let mut asked = [f64::NEG_INFINITY; 3];
    let mut server_of = [0, 0, 0, 1, 2, 0];
    let mut delay = [0.01, 0.01, 0.01];
    for (phase, visits) in visits.iter_mut().enumerate() {
        let until = (phase + 1) as f64 * 50.0;
        match phase {
            1 => {
                policy.change(
                    now,
                    Change::Delay {
                        server: ServerId(2),
                        delay: delay[2],
                    },
                );
                let (page, server) = (PageId(4), ServerId(2));
                policy.change(
                    now,
                    Change::AddPage {
                        page,
                        server,
                        weight: 1.0,
                        known: Some(Evidence::new(8.0, 8.0)),
                        visited: None,
                    },
                );
                policy.change(now, Change::RemovePage(PageId(1)));
            }
            2 => policy.change(now, Change::Budget(40.0)),
            3 => {
                delay[0] = 0.2;
                policy.change(
                    now,
                    Change::Delay {
                        server: ServerId(0),
                        delay: delay[0],
                    },
                );
                // the removed page comes back on another server
                server_of[1] = 2;
                let (page, server) = (PageId(1), ServerId(2));
                policy.change(
                    now,
                    Change::AddPage {
                        page,
                        server,
                        weight: 1.0,
                        known: Some(Evidence::new(8.0, 8.0)),
                        visited: None,
                    },
                );
                policy.change(now, Change::Signal(PageId(0)));
            }
            _ => {}
        }
        while now < until {
            match policy.next(now) {
                Next::Visit(page) => {
                    let s = server_of[page.index()];
                    assert!(
                        now - asked[s] >= delay[s] * (1.0 - 1e-9) || name.starts_with("per-page"),
                        "{name}"
                    );
                    asked[s] = now;
                    visits[page.index()] += 1;
                    let outcome = if visits[page.index()] % 7 == 0 {
                        Outcome::Failed
                    } else {
                        Outcome::Changed
                    };
                    policy.observe(page, now, outcome);
                }
                Next::Wait(at) => {
                    assert!(at > now, "{name} waits for {at} at {now}");
                    now = at.min(until);
                }
                Next::Idle => panic!("{name} has nothing to do at {now}"),
            }
        }
    }
    visits
}

#[test]
fn pages_budget_and_delays_may_change_while_running() {
    for name in names() {
        let visits = live(
            &name,
            Knowledge::Known {
                rate: &[0.5, 0.5, 1.0, 1.0],
                gaps: None,
            },
        );
        check_life(&name, visits);
    }
}

#[test]
fn learners_live_through_the_same_changes() {
    for name in names() {
        check_life(&name, live(&name, Knowledge::Online { guess: 1.0 }));
    }
}

fn check_life(name: &str, visits: [[usize; 6]; 4]) {
    let totals: Vec<usize> = visits.iter().map(|phase| phase.iter().sum()).collect();
    assert!(visits[0][1] > 0, "{name} never visits page 1: {visits:?}");
    assert_eq!(
        visits[1][1] + visits[2][1],
        0,
        "{name} visits a removed page"
    );
    assert!(
        visits[1][4] > 0,
        "{name} never visits the new page: {visits:?}"
    );
    assert!(
        visits[3][1] > 0,
        "{name} never visits the page that came back: {visits:?}"
    );
    let adaptive = ["multiplicative", "halfway"].contains(&name);
    if !adaptive {
        assert!((900..1020).contains(&totals[0]), "{name} spends {totals:?}");
        assert!(
            (1700..2040).contains(&totals[2]),
            "{name} spends {totals:?}"
        );
    }
}

#[test]
fn unknown_names_are_refused_with_what_is_known() {
    let Err(error) = build("merge-chow", &REPOSITORY_OF_ONE) else {
        panic!("refused")
    };
    let message = error.to_string();
    assert!(
        message.contains("merge-chow") && message.contains("opt-polite"),
        "{message}"
    );
}

const REPOSITORY_OF_ONE: Setup = Setup {
    server: &[0],
    weight: None,
    delay: &[0.0],
    budget: 1.0,
    start: 0.0,
    seed: 1,
    knowledge: Knowledge::Online { guess: 1.0 },
};

#[test]
fn the_default_does_no_harm_where_changes_are_poisson() {
    // on the second all servers are small and at their caps, where even known rates lose 0.3 %
    for (number, least) in [(0, 0.99), (2, 0.985)] {
        let (seed, sizes, weighted, share) = REPOSITORIES[number];
        let repository = Repository::random(seed, sizes, weighted, share);
        let (_, bound) = repository.bounds();
        let guess = repository.budget / repository.rate.len() as f64;
        let setup = Setup {
            knowledge: Knowledge::Online { guess },
            ..repository.setup(seed)
        };
        let until = 2000.0;
        let mut policy = build("default", &setup).unwrap();
        let visits = drive(policy.as_mut(), &repository, until, true);
        let reached = repository.freshness(&visits, until / 2.0, until) / bound;
        println!("{seed}: default {reached:.4} of the bound");
        assert!(reached > least, "default on {seed}: {reached}");
    }
}

/// A live crawl begins with nothing: hosts and pages are found as it goes, and a page is handed
/// over after its first visit. It must not be visited again at once, and not be forgotten.
#[test]
fn policies_may_start_with_nothing() {
    for name in names() {
        let setup = Setup {
            server: &[],
            weight: None,
            delay: &[],
            budget: 10.0,
            start: 0.0,
            seed: 1,
            knowledge: Knowledge::Online { guess: 1.0 },
        };
        let mut policy = build(&name, &setup).unwrap();
        assert!(!matches!(policy.next(0.0), Next::Visit(_)), "{name}");
        let mut visits = [0; 40];
        let mut now = 0.0;
        for page in 0..40u32 {
            let server = ServerId(page / 10);
            if page % 10 == 0 {
                let delay = Change::Delay {
                    server,
                    delay: 0.01,
                };
                policy.change(now, delay);
            }
            let visited = (page % 2 == 0).then_some(now);
            let added = Change::AddPage {
                page: PageId(page),
                server,
                weight: 1.0,
                known: None,
                visited,
            };
            policy.change(now, added);
            now += 0.1;
        }
        while now < 100.0 {
            match policy.next(now) {
                Next::Visit(page) => {
                    visits[page.index()] += 1;
                    let modified = (now - (1.0 + page.index() as f64) / 10.0).max(0.0);
                    policy.observe(page, now, Outcome::LastModified(modified));
                }
                Next::Wait(at) => now = at.max(now + 1e-6),
                Next::Idle => panic!("{name} has nothing to do at {now}"),
            }
        }
        // who draws at random may leave a page out for long
        let missed = visits.iter().filter(|&&visits| visits == 0).count();
        assert!(
            missed <= if name.contains("random") { 2 } else { 0 },
            "{name}: {visits:?}"
        );
    }
}
