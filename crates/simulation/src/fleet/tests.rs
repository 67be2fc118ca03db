use fleet::flaw::Flaw;

use super::*;

/// Seeds that are run with every change.
const SEEDS: u64 = 100;

fn well(scenario: &Scenario) -> Outcome {
    finish(scenario).unwrap_or_else(|failure| panic!("{failure}\n{:?}", scenario.events))
}

#[test]
fn whatever_goes_wrong_every_page_is_found_and_every_rule_holds() {
    let mut evicted = 0;
    for seed in 0..SEEDS {
        let report = well(&Scenario::random(seed)).report;
        assert!(report.late <= report.pauses_at_gate, "{report:?}");
        assert!(report.most_hops <= 4, "levels + 2: {report:?}");
        evicted += report.evicted;
    }
    assert!(evicted > SEEDS / 4, "the faults do something: {evicted}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let scenario = Scenario::random(11);
    assert_eq!(well(&scenario).report, well(&scenario).report);
    assert_ne!(
        well(&scenario).report.steps,
        well(&Scenario::random(12)).report.steps
    );
}

#[test]
fn planted_mistakes_are_found() {
    for flaw in Flaw::ALL {
        let found = (0..SEEDS).find_map(|seed| {
            let mut scenario = Scenario::random(seed);
            scenario.flaw = Some(flaw);
            run(&scenario).err()
        });
        let failure = found.unwrap_or_else(|| panic!("nobody sees {flaw:?}"));
        assert!(!failure.story.is_empty());
        println!("{flaw:?}: seed {}: {}", failure.seed, failure.rule);
    }
}

#[test]
fn a_robot_that_leaves_changes_nothing_but_the_owner() {
    for seed in 0..5 {
        let mut scenario = Scenario::calm(seed, 5);
        let before = well(&scenario).pages;
        scenario.events = vec![(60_000, Fault::Leave(2))];
        let after = well(&scenario);
        assert!(before.keys().eq(after.pages.keys()));
        let gone = scenario::identity(2);
        assert!(after.pages.values().all(|(owner, _)| *owner != gone));
        assert_eq!(after.report.again, 0, "nothing is fetched twice");
    }
}

#[test]
fn a_destroyed_disk_costs_few_requests() {
    let (mut again, mut requests) = (0, 0);
    for seed in 0..20 {
        let mut scenario = Scenario::calm(seed, 5);
        let robot = seed as usize % 5;
        scenario.events = vec![(30_000 + seed * 3_000, Fault::DiskLoss(robot, 20_000))];
        let report = well(&scenario).report;
        again += report.again;
        requests += report.requests;
    }
    assert!(
        again * 20 < requests,
        "{again} of {requests} requests were for known pages"
    );
}

#[test]
fn sleepers_make_at_most_one_late_request_per_pause() {
    let mut late = 0;
    for seed in 0..20 {
        let mut scenario = Scenario::calm(seed, 4);
        let robot = seed as usize % 4;
        scenario.events = vec![(40_000, Fault::PauseAtGate(robot, 62_000))];
        let report = well(&scenario).report;
        assert!(report.late <= report.pauses_at_gate);
        late += report.late;
    }
    assert!(late > 0, "nobody slept at the gate");
}

#[test]
fn urls_are_sent_once() {
    for seed in 0..3 {
        let mut scenario = Scenario::calm(seed, 5);
        scenario.visits = 20;
        scenario.patience = 6_000_000;
        let report = well(&scenario).report;
        assert!(report.entries <= report.pairs * 11 / 10, "{report:?}");
    }
}

#[test]
fn the_budget_is_kept_in_every_window() {
    for seed in 0..5 {
        let mut scenario = Scenario::calm(seed, 5);
        scenario.budget = Some(6);
        scenario.interval = 2_000;
        scenario.events = vec![(50_000, Fault::Kill(1, 50_000))];
        let outcome = well(&scenario);
        assert!(outcome.report.requests > 20);
    }
}

/// Found, told, and not yet understood: the protocol loses or strands pages in these. Whoever mends
/// one of them is told to move it to those that must go well.
#[test]
fn seeds_that_still_fail() {
    let fails = |seed: &u64| run(&Scenario::random(*seed)).is_err();
    let failing: Vec<u64> = [214, 246, 249].into_iter().filter(fails).collect();
    assert_eq!(failing, [214, 246, 249]);
}

/// An eviction once stopped after the lease was sealed.
#[test]
fn seeds_that_once_failed() {
    well(&Scenario::random(106));
}
