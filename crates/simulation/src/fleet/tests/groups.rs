//! Groups that move, are founded, die out and are removed.

use super::*;

/// A fleet whose robots are in these groups.
pub(super) fn fleet_of(robots: &[&[u64]]) -> Scenario {
    let mut scenario = Scenario::calm(1, 0);
    let path = |path: &&[u64]| path.iter().map(|g| fleet::identity::GroupId(*g)).collect();
    scenario.robots = robots.iter().map(path).collect();
    scenario.once = true;
    scenario.visits = 2;
    scenario.patience = 3_000_000;
    scenario
}

fn owners(outcome: &Outcome) -> std::collections::BTreeSet<u64> {
    outcome.pages.values().map(|(owner, _)| owner.0).collect()
}

/// A site with three robots goes from one region to another while it works, and another is founded
/// and populated. All of them have a share in the end, and nothing is fetched more often than it should be.
#[test]
fn a_populated_group_moves_and_a_new_one_is_founded() {
    use fleet::identity::GroupId;
    let mut scenario = fleet_of(&[
        &[1, 5, 10],
        &[1, 5, 10],
        &[1, 6, 11],
        &[1, 6, 12],
        &[1, 6, 12],
        &[1, 6, 12],
        &[1, 5, 13],
    ]);
    scenario.newcomers = vec![6];
    scenario.events = vec![
        (40_000, Fault::Move(GroupId(12), GroupId(5))),
        (60_000, Fault::Found(GroupId(13), GroupId(5))),
        (70_000, Fault::Join(6)),
    ];
    let outcome = well(&scenario);
    assert_eq!(outcome.report.again, 0, "{:?}", outcome.report);
    let owners = owners(&outcome);
    // those who moved, and whoever came
    for robot in 3..7 {
        let id = scenario::identity(robot).0;
        assert!(
            owners.contains(&id),
            "robot {robot} has no share: {owners:?}"
        );
    }
}

/// A whole region dies with its disks and never comes back: the rest of the fleet takes over.
#[test]
fn a_region_that_dies_out_is_taken_over() {
    for seed in 0..5 {
        let mut scenario = fleet_of(&[
            &[1, 5, 10],
            &[1, 5, 10],
            &[1, 6, 11],
            &[1, 6, 11],
            &[1, 6, 12],
        ]);
        scenario.seed = seed;
        scenario.events = (2..5)
            .map(|robot| (50_000 + seed * 7_000, Fault::DiskLoss(robot, 100_000_000)))
            .collect();
        let outcome = well(&scenario);
        let left = [scenario::identity(0).0, scenario::identity(1).0];
        assert!(owners(&outcome).iter().all(|owner| left.contains(owner)));
    }
}

/// A region is removed: its robots stay, and have no share any more.
#[test]
fn a_group_that_is_removed_hands_everything_over() {
    use fleet::identity::GroupId;
    let mut scenario = fleet_of(&[&[1, 10], &[1, 10], &[1, 11], &[1, 11]]);
    scenario.events = vec![(60_000, Fault::Remove(GroupId(11)))];
    let outcome = well(&scenario);
    assert_eq!(outcome.report.again, 0);
    let left = [scenario::identity(0).0, scenario::identity(1).0];
    assert!(owners(&outcome).iter().all(|owner| left.contains(owner)));
}

/// What groups said of themselves is counted anew when the engine lost it: nobody takes them for dead until they have
/// said it as often as before, and makes their plans in turn with them.
#[test]
fn groups_are_alive_after_the_engine_forgot_how_often_they_said_so() {
    for seed in 0..3 {
        let mut scenario = fleet_of(&[&[1, 5], &[1, 5], &[1, 6], &[1, 6]]);
        scenario.seed = seed;
        scenario.once = false;
        scenario.visits = u32::MAX;
        scenario.lasts = Some(900_000);
        let forgets = 600_000;
        scenario.events = vec![(1, Fault::Amnesia(forgets))];
        let outcome = well(&scenario);
        let after = (outcome.adoptions.iter()).filter(|(at, _)| *at > forgets + 60_000);
        assert!(after.count() < 20, "plans are made for ever");
    }
}
