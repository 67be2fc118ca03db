//! Policies that use more than rates, where visits tell when the content appeared.

use super::*;
use crate::gap::Gap;
use crate::measure::score_changes;

/// Pages of one family of gaps: what was seen of them before, and what they do from zero on.
struct World {
    repository: Repository,
    seen: Vec<Vec<f64>>,
    changes: Vec<Vec<f64>>,
    until: f64,
}

impl World {
    /// `gap` makes the distribution of a page from its rate.
    fn new(seed: u64, sizes: &[usize], budget_share: f64, gap: impl Fn(f64) -> Gap) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let repository = Repository::random(seed, sizes, false, budget_share);
        let until = 200.0;
        let (mut seen, mut changes) = (Vec::new(), Vec::new());
        for &rate in &repository.rate {
            let (mut gaps, mut instants) = (Vec::new(), Vec::new());
            if rate > 0.0 {
                let gap = gap(rate);
                gaps.extend((0..200).map(|_| gap.sample(&mut rng)));
                let mut at = gap.sample_residual(&mut rng) - 20.0 / rate;
                while at < until {
                    instants.push(at);
                    at += gap.sample(&mut rng);
                }
            }
            seen.push(gaps);
            changes.push(instants);
        }
        Self {
            repository,
            seen,
            changes,
            until,
        }
    }

    fn setup(&self, gaps: bool) -> Setup<'_> {
        Setup {
            knowledge: Knowledge::Known {
                rate: &self.repository.rate,
                gaps: gaps.then_some(&self.seen),
            },
            ..self.repository.setup(1)
        }
    }

    /// Runs a policy that is told when contents appeared; the visits of each page.
    fn visits(&self, name: &str, gaps: bool) -> Vec<Vec<f64>> {
        let mut policy = build(name, &self.setup(gaps)).unwrap();
        let mut visits = vec![Vec::new(); self.changes.len()];
        let mut now = 0.0;
        while now < self.until {
            match policy.next(now) {
                Next::Idle => break,
                Next::Wait(at) => now = at,
                Next::Visit(page) => {
                    let changes = &self.changes[page.index()];
                    visits[page.index()].push(now);
                    let outcome = match changes.partition_point(|&at| at <= now) {
                        0 => Outcome::Changed,
                        n => Outcome::LastModified(changes[n - 1]),
                    };
                    policy.observe(page, now, outcome);
                }
            }
        }
        let spent = count(&visits) / (self.repository.budget * self.until);
        assert!((0.95..1.01).contains(&spent), "{name} spent {spent}");
        visits
    }

    /// Mean freshness over the later part of the run.
    fn freshness(&self, name: &str, gaps: bool) -> f64 {
        let visits = self.visits(name, gaps);
        let from = self.until / 4.0;
        let fresh = self.changes.iter().zip(&visits).map(|(changes, visits)| {
            let first = visits.partition_point(|&at| at < from);
            match first.checked_sub(1).map(|k| visits[k]) {
                _ if changes.is_empty() => 1.0,
                None => 0.0,
                Some(begin) => {
                    let changes = &changes[changes.partition_point(|&at| at <= begin)..];
                    let score = score_changes(changes, &visits[first..], begin, self.until, true);
                    score.fresh / (self.until - begin)
                }
            }
        });
        fresh.sum::<f64>() / self.changes.len() as f64
    }
}

const SIZES: [usize; 3] = [200, 60, 5];

fn poisson(rate: f64) -> Gap {
    Gap::exponential(rate).unwrap()
}

/// Nearly periodic.
fn regular(rate: f64) -> Gap {
    Gap::gamma(16.0, 1.0 / (16.0 * rate)).unwrap()
}

fn bursty(rate: f64) -> Gap {
    Gap::gamma(0.2, 5.0 / rate).unwrap()
}

#[test]
fn greedy_is_near_random_with_gaps_and_without() {
    for share in [0.1, 0.5] {
        let world = World::new(7, &SIZES, share, poisson);
        let random = world.freshness("random-opt-polite", false);
        for gaps in [false, true] {
            let greedy = world.freshness("greedy", gaps);
            println!("{share} gaps {gaps}: greedy {greedy:.4} random {random:.4}");
            assert!(greedy > random - 0.05, "greedy {greedy}, random {random}");
        }
    }
}

#[test]
fn pages_that_fall_silent_do_not_hold_up_the_others() {
    let mut world = World::new(8, &SIZES, 0.2, regular);
    let silent: Vec<usize> = (0..world.changes.len()).step_by(10).collect();
    for &page in &silent {
        world.changes[page].truncate(1);
    }
    for name in ["greedy", "memory"] {
        let visits = world.visits(name, true);
        let wasted: usize = silent.iter().map(|&page| visits[page].len()).sum();
        let share = wasted as f64 / count(&visits);
        println!("{name}: {share:.3} of the visits go to silent pages");
        assert!(share < 0.3, "{name} spends {share} on silent pages");
    }
}

#[test]
fn memory_pays_where_gaps_are_not_exponential() {
    for (family, gap, gain) in [
        ("regular", regular as fn(f64) -> Gap, 0.05),
        ("bursty", bursty, 0.01),
    ] {
        let world = World::new(9, &SIZES, 0.3, gap);
        let memory = world.freshness("memory", true);
        let merge = world.freshness("merge-opt-polite", true);
        let wolf = world.freshness("merge-wolf", true);
        let index = world.freshness("index", true);
        println!(
            "{family}: memory {memory:.4} merge-opt-polite {merge:.4} merge-wolf {wolf:.4} index {index:.4}"
        );
        assert!(memory > merge + gain, "{family}: {memory} against {merge}");
    }
}

#[test]
fn memory_equals_the_index_under_poisson_changes() {
    let world = World::new(10, &SIZES, 0.3, poisson);
    let index = world.freshness("index", true);
    for gaps in [false, true] {
        let memory = world.freshness("memory", gaps);
        println!("gaps {gaps}: memory {memory:.4} index {index:.4}");
        assert!((memory / index - 1.0).abs() < 0.02, "{memory} and {index}");
    }
}
