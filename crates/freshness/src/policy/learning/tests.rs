use super::fresh_time;
use crate::policy::tests::{REPOSITORIES, Repository, drive};
use crate::policy::{Knowledge, Next, Outcome, Setup, build};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const LEARNERS: [&str; 2] = ["q-learning", "epochs"];

fn visits(name: &str, repository: &Repository, seed: u64, until: f64) -> Vec<Vec<f64>> {
    let mut setup = repository.setup(seed);
    setup.knowledge = Knowledge::Online { guess: 1.0 };
    let mut policy = build(name, &setup).unwrap();
    drive(policy.as_mut(), repository, until, true)
}

/// The share of the bound POLITE that a policy which knows nothing reaches in the last third.
fn reached(name: &str, repository: &Repository, seed: u64) -> f64 {
    let until = 600.0;
    let visits = visits(name, repository, seed, until);
    repository.freshness(&visits, until * 2.0 / 3.0, until) / repository.bounds().1
}

#[test]
fn learners_do_better_than_who_learns_nothing() {
    for (seed, sizes, weighted, share) in REPOSITORIES {
        let repository = Repository::random(seed, sizes, weighted, share);
        let [q, epochs] = LEARNERS.map(|name| reached(name, &repository, seed));
        let [random, merge] =
            ["random-uniform", "merge-uniform"].map(|name| reached(name, &repository, seed));
        println!(
            "{seed}: random-uniform {random:.3} merge-uniform {merge:.3} q-learning {q:.3} \
             epochs {epochs:.3}"
        );
        for (name, share) in LEARNERS.iter().zip([q, epochs]) {
            assert!(share > random + 0.03, "{name} on {seed}: {share}, {random}");
            assert!(share > merge, "{name} on {seed}: {share}, {merge}");
            assert!(share < 1.005, "{name} on {seed}: {share}");
        }
        if !weighted {
            assert!(epochs > 0.97, "epochs on {seed}: {epochs}");
        }
    }
}

#[test]
fn the_seed_decides_everything() {
    let (_, sizes, weighted, share) = REPOSITORIES[1];
    let repository = Repository::random(2, sizes, weighted, share);
    for name in LEARNERS {
        let run = |seed| visits(name, &repository, seed, 30.0);
        assert_eq!(run(7), run(7), "{name}");
    }
    let explored = |seed| visits("q-learning", &repository, seed, 30.0);
    assert_ne!(explored(7), explored(8));
}

#[test]
fn known_rates_serve_for_no_more_than_a_guess() {
    let rates = [[0.1, 1.9], [1.9, 0.1]];
    let runs = rates.map(|rate| {
        let repository = Repository::random(1, &[2], false, 0.5);
        let mut policy = build(
            "q-learning",
            &Setup {
                knowledge: Knowledge::Known {
                    rate: &rate,
                    gaps: None,
                },
                ..repository.setup(1)
            },
        )
        .unwrap();
        drive(policy.as_mut(), &repository, 50.0, true)
    });
    assert_eq!(runs[0], runs[1]);
}

#[test]
fn whatever_comes_of_visits_the_learners_go_on() {
    for name in LEARNERS {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
        let setup = Setup {
            server: &[0, 0, 1, 1, 1],
            weight: Some(&[1e-6, 1.0, 1e6, 1.0, 1.0]),
            delay: &[0.0, 0.01],
            budget: 10.0,
            start: 0.0,
            seed: 1,
            knowledge: Knowledge::Online { guess: 1e-9 },
        };
        let mut policy = build(name, &setup).unwrap();
        let (mut now, mut seen) = (0.0, [0; 5]);
        while now < 500.0 {
            match policy.next(now) {
                Next::Idle => panic!("{name} idles at {now}"),
                Next::Wait(at) => {
                    assert!(
                        at > now && at < now + 10.0,
                        "{name} waits for {at} at {now}"
                    );
                    now = at;
                }
                Next::Visit(page) => {
                    seen[page.index()] += 1;
                    let ago = now - rng.random_range(0.0..5.0);
                    let outcome = match rng.random_range(0..7) {
                        0 => Outcome::Failed,
                        1 => Outcome::Unchanged,
                        2 => Outcome::Changed,
                        3 => Outcome::LastModified(ago),
                        4 => Outcome::LastModified(now + 1.0),
                        5 => Outcome::History(&[]),
                        _ => Outcome::History(&[ago]),
                    };
                    policy.observe(page, now, outcome);
                }
            }
        }
        let total: usize = seen.iter().sum();
        assert!((4900..5020).contains(&total), "{name}: {seen:?}");
        assert!(seen.iter().all(|&visits| visits > 3), "{name}: {seen:?}");
    }
}

#[test]
fn fresh_time_is_what_is_known_or_expected_of_it() {
    let check = |outcome, fresh: f64, changed| {
        let seen = fresh_time(outcome, 10.0, 14.0, 0.5).unwrap();
        assert!(
            (seen.0 - fresh).abs() < 1e-12 && seen.1 == changed,
            "{seen:?}"
        );
    };
    check(Outcome::Unchanged, 4.0, false);
    check(Outcome::History(&[]), 4.0, false);
    check(Outcome::History(&[11.0, 13.0]), 1.0, true);
    check(Outcome::LastModified(9.0), 4.0, false);
    // ∫₀³ e^{−t/2} dt: the last change is the first one unless others came before it
    check(
        Outcome::LastModified(13.0),
        2.0 * (1.0 - (-1.5_f64).exp()),
        true,
    );
    // E[T | T < 4] = 1/λ − 4/(e^{4λ} − 1)
    check(Outcome::Changed, 2.0 - 4.0 / (2.0_f64.exp() - 1.0), true);
    assert_eq!(fresh_time(Outcome::Failed, 10.0, 14.0, 0.5), None);
    // the two forms of the expectation meet
    let at = |rate| fresh_time(Outcome::Changed, 0.0, 1.0, rate).unwrap().0;
    assert!((at(0.000_999) - at(0.001_001)).abs() < 1e-6);
}
