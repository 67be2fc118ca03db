use crate::identity::{GroupId, Member, RobotId};
use crate::io::{Input, Output};
use crate::key::{Key, Value, What};
use crate::plan::{Plan, Seat, Version};
use crate::record::Shared;
use crate::robot::{Robot, Settings};

/// The plan of the group at that depth of a tree, each group with one more member beside the branch.
fn plan(depth: u64, levels: u64) -> Plan {
    let group = GroupId(depth + 1);
    let mut plan = Plan::founding(group, (depth > 0).then_some(GroupId(depth)));
    plan.version = Version { number: 3, term: 1 };
    let branch = if depth + 1 == levels {
        Member::Robot(RobotId(9))
    } else {
        Member::Group(GroupId(depth + 2))
    };
    let beside = Member::Robot(RobotId(100 + depth));
    plan.seats = vec![Seat::new(branch, 1, 1), Seat::new(beside, 1, 1)];
    plan
}

/// A newcomer that knows its own group alone learns of all groups above it and their members, one level a round.
#[test]
fn a_newcomer_knows_its_ancestors_after_as_many_rounds_as_levels() {
    for levels in 1..=6 {
        let mut robot = Robot::new(Settings::new(RobotId(8), vec![GroupId(levels)]), 1, 0, &[]);
        let mut asked = robot.handle(0, Input::Tick);
        let mut rounds = 0;
        while (robot.plans().count() as u64) < levels {
            rounds += 1;
            assert!(rounds <= levels, "it takes too long");
            let polled: Vec<GroupId> = (asked.drain(..))
                .filter_map(|output| match output {
                    Output::Poll(group) => Some(group),
                    _ => None,
                })
                .collect();
            for group in polled {
                let key = Key {
                    group,
                    what: What::Plan,
                };
                let read = Input::Read {
                    key,
                    revision: 1,
                    value: Value::Plan(Shared(plan(group.0 - 1, levels).into())),
                };
                asked.extend(robot.handle(rounds, read));
                asked.extend(robot.handle(rounds, Input::Polled(group)));
            }
        }
        assert_eq!(rounds, levels);
        let known: usize = robot.plans().map(|plan| plan.seats.len()).sum();
        assert_eq!(known as u64, 2 * levels);
    }
}
