use super::*;
use freshness::measure::score_changes;

fn rng() -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(3)
}

fn world(changes: Changes) -> World {
    let pages = match &changes {
        Changes::Poisson(rate) => rate.len(),
        Changes::Instants { offsets, .. } => offsets.len() - 1,
    };
    World {
        server: vec![0; pages],
        delay: vec![0.0],
        weight: None,
        changes,
        from: 10.0,
        until: 20.0,
    }
}

/// Scores one page visit by visit, with the account cut at every whole day.
fn score_in_windows(world: &World, visits: &[f64], start: Start) -> Score {
    let mut copies = Copies::new(world, 0..1, start);
    let mut sum = Score::default();
    let mut add = |score: Score| {
        sum.fresh += score.fresh;
        sum.age += score.age;
    };
    for day in 10..20 {
        let (a, b) = (f64::from(day), f64::from(day + 1));
        for &visit in visits.iter().filter(|&&visit| a <= visit && visit < b) {
            add(copies.score(0, a, visit));
            copies.refresh(0, visit);
        }
        add(copies.score(0, a, b));
    }
    sum
}

fn assert_close(found: Score, expected: Score) {
    assert!(
        (found.fresh - expected.fresh).abs() < 1e-9,
        "{found:?} {expected:?}"
    );
    assert!(
        (found.age - expected.age).abs() < 1e-9,
        "{found:?} {expected:?}"
    );
}

#[test]
fn windows_do_not_change_the_score() {
    let visits = [10.0, 10.3, 13.9, 14.0, 17.2];
    let instants = [3.0, 9.5, 10.2, 10.3, 11.0, 13.95, 16.0, 17.0, 18.5, 25.0];
    for start in [Start::Stale, Start::Fresh] {
        let fresh = start == Start::Fresh;
        for visits in [&visits[..], &visits[1..], &[]] {
            for rate in [1e-6, 0.3, 5.0, 1e3] {
                let poisson = world(Changes::Poisson(vec![rate]));
                assert_close(
                    score_in_windows(&poisson, visits, start),
                    score_poisson(rate, visits, 10.0, 20.0, fresh),
                );
            }
            let replay = world(Changes::Instants {
                offsets: vec![0, instants.len()],
                at: instants.to_vec(),
            });
            assert_close(
                score_in_windows(&replay, visits, start),
                score_changes(&instants, visits, 10.0, 20.0, fresh),
            );
        }
    }
}

#[test]
fn pages_that_do_not_change_in_the_test_are_always_fresh() {
    let outside = Changes::Instants {
        offsets: vec![0, 2],
        at: vec![3.0, 20.5],
    };
    for changes in [Changes::Poisson(vec![0.0]), outside] {
        let score = score_in_windows(&world(changes), &[], Start::Stale);
        assert_close(
            score,
            Score {
                fresh: 10.0,
                age: 0.0,
            },
        );
    }
}

#[test]
fn visits_to_a_replay_reveal_what_was_asked_for() {
    let replay = world(Changes::Instants {
        offsets: vec![0, 1, 6],
        at: vec![15.0, 8.0, 11.0, 12.0, 16.0, 21.0],
    });
    let mut rng = rng();
    let mut copies = Copies::new(&replay, 0..2, Start::Fresh);
    let mut see = |at: f64, observe| format!("{:?}", copies.visit(1, at, observe, &mut rng));
    assert_eq!(see(10.5, Observe::Bit), "Unchanged");
    assert_eq!(see(11.0, Observe::Bit), "Changed");
    assert_eq!(see(12.5, Observe::LastModified), "LastModified(12.0)");
    assert_eq!(see(13.0, Observe::LastModified), "Unchanged");
    assert_eq!(see(17.0, Observe::History), "History([16.0])");
    assert_eq!(see(18.0, Observe::History), "History([])");

    // a first visit has nothing to compare with
    let mut first = |observe, at: f64| {
        let mut copies = Copies::new(&replay, 0..2, Start::Stale);
        format!("{:?}", copies.visit(1, at, observe, &mut rng))
    };
    assert_eq!(first(Observe::Bit, 10.5), "Changed");
    assert_eq!(first(Observe::LastModified, 10.5), "LastModified(8.0)");
    assert_eq!(first(Observe::History, 13.0), "History([11.0, 12.0])");
}

/// Shares and means of what Poisson pages reveal, against their formulas.
#[test]
fn poisson_visits_reveal_draws_of_the_right_law() {
    let poisson = world(Changes::Poisson(vec![2.0]));
    let mut rng = rng();
    let mut copies = Copies::new(&poisson, 0..1, Start::Fresh);
    let (draws, step) = (100_000, 0.7);
    let (mut bits, mut dated, mut ages, mut counted) = (0, 0, 0.0, 0);
    let mut now = 10.0;
    for _ in 0..draws {
        now += step;
        bits += u32::from(copies.visit(0, now, Observe::Bit, &mut rng) == Outcome::Changed);
        now += step;
        if let Outcome::LastModified(at) = copies.visit(0, now, Observe::LastModified, &mut rng) {
            assert!(now - step <= at && at <= now);
            dated += 1;
            ages += now - at;
        }
        now += step;
        if let Outcome::History(all) = copies.visit(0, now, Observe::History, &mut rng) {
            assert!(all.is_sorted() && all.iter().all(|&at| now - step <= at && at <= now));
            counted += all.len();
        }
    }
    let r: f64 = 1.4;
    let changed = 1.0 - (-r).exp();
    let n = f64::from(draws);
    assert!((f64::from(bits) / n - changed).abs() < 0.006);
    assert!((f64::from(dated) / n - changed).abs() < 0.006);
    // mean of an exponential cut off at `step`
    let age = 0.5 - step * (-r).exp() / changed;
    assert!((ages / f64::from(dated) - age).abs() < 0.003);
    assert!((counted as f64 / n - r).abs() < 0.015);
}

#[test]
fn a_world_numbered_anew_has_the_same_pages() {
    let pages: [&[f64]; 4] = [&[11.0, 12.0], &[], &[13.0], &[9.0, 14.0, 15.0]];
    let world = World {
        server: vec![0, 1, 0, 2],
        weight: Some(vec![1.0, 2.0, 3.0, 4.0]),
        ..world(Changes::Instants {
            offsets: vec![0, 2, 2, 3, 6],
            at: pages.concat(),
        })
    };
    let all = |world: &World| {
        let mut all: Vec<(u32, Option<f64>, Vec<f64>)> = (0..world.pages())
            .map(|page| {
                let weight = world.weight.as_ref().map(|weight| weight[page]);
                (world.server[page], weight, world.instants(page).to_vec())
            })
            .collect();
        all.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
        all
    };
    let renumbered: Vec<World> = (0..8).map(|seed| world.renumbered(seed)).collect();
    assert!(renumbered.iter().all(|other| all(other) == all(&world)));
    assert!(renumbered.iter().any(|other| *other != world));
    assert_eq!(world.renumbered(5), world.renumbered(5));
}
