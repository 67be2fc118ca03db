//! Fleets that begin: nobody is waited for who cannot be there.

use fleet::identity::GroupId;

use super::scenario::FLEET;
use super::*;

/// As `fleet init` leaves it, with the limits of requests that crawls have by default: 160 s in all.
fn founded(seed: u64, paths: &[Vec<GroupId>]) -> Scenario {
    let mut scenario = Scenario::calm(seed, 0);
    scenario.robots = paths.to_vec();
    scenario.new = true;
    scenario.longest = 160_000;
    scenario.once = true;
    scenario
}

fn first_request(scenario: &Scenario) -> u64 {
    let outcome = well(scenario);
    assert_eq!(outcome.pages.len() as u64, outcome.report.pages);
    outcome.requests[0].0
}

#[test]
fn a_new_fleet_makes_its_first_request_within_twenty_seconds() {
    let shapes = [
        vec![vec![FLEET]; 1],
        vec![vec![FLEET]; 3],
        (0..4).map(|i| vec![FLEET, GroupId(10 + i % 2)]).collect(),
    ];
    for (shape, paths) in shapes.iter().enumerate() {
        for seed in 0..5 {
            let mut scenario = founded(seed, paths);
            let first = first_request(&scenario);
            assert!(first <= 20_000, "shape {shape}, seed {seed}: {first} ms");
            scenario.noisy = true;
            let noisy = first_request(&scenario);
            println!("shape {shape}, seed {seed}: {first} ms, {noisy} ms with noise");
        }
    }
}

/// Who was there before may have asked a moment ago: whoever comes then waits as long as a request may take.
#[test]
fn a_fleet_that_was_there_before_waits() {
    for seed in 0..3 {
        let mut scenario = founded(seed, &vec![vec![FLEET]; 3]);
        scenario.new = false;
        assert!(first_request(&scenario) > 160_000);
    }
}

/// The engine has the first plan again while robots are at work, and somebody who knows nothing comes at that moment.
/// That no server is asked too soon is checked in every step.
#[test]
fn whoever_comes_to_a_fleet_that_the_engine_forgot_hears_of_it_first() {
    for seed in 0..20 {
        let mut scenario = founded(seed, &vec![vec![FLEET]; 4]);
        scenario.once = false;
        scenario.longest = 10_000;
        scenario.newcomers = vec![3];
        scenario.visits = u32::MAX;
        scenario.lasts = Some(250_000);
        scenario.noisy = seed % 2 == 1;
        let forgets = 100_000 + 500 * seed;
        scenario.events = vec![
            (1, Fault::Amnesia(forgets)),
            (forgets + 40 * seed, Fault::Join(3)),
        ];
        let outcome = well(&scenario);
        let after = outcome.requests.iter().filter(|r| r.0 > forgets + 60_000);
        let robots: std::collections::BTreeSet<usize> = after.map(|r| r.1).collect();
        assert!(robots.contains(&3) && robots.len() > 2, "{robots:?}");
    }
}
