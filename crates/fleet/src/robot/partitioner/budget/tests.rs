use super::*;
use crate::identity::{RobotId, Session};
use crate::io::Input;
use crate::key::{Lease, Progress};
use crate::plan::Seat;
use crate::robot::Settings;
use std::collections::BTreeMap;

#[test]
fn shares_are_whole_and_never_more_than_there_is() {
    let demands: Vec<(Member, Curve)> = (1..12_u32)
        .map(|i| {
            let demand = Curve::of(|price| f64::from(i) / (1.0 + price));
            (Member::Robot(RobotId(i.into())), demand)
        })
        .collect();
    for total in [0, 1, 7, 50, 500, 5_000] {
        let shares = divide(total, &demands, 10.0);
        let given: u32 = shares.values().sum();
        let wanted: u32 = (1..12).map(|i| i * 10).sum();
        assert!(given <= total.min(wanted), "{given} of {total}");
        assert!(given + 1 >= total.min(wanted), "{given} of {total}");
    }
}

#[test]
fn robots_that_have_nothing_yet_may_begin() {
    let robot = |id| Member::Robot(RobotId(id));
    let mut demands: Vec<(Member, Curve)> = (1..=3).map(|i| (robot(i), Curve::default())).collect();
    let shares = divide(500, &demands, 10.0);
    assert!(shares.values().all(|&share| share == 166), "{shares:?}");
    // one that knows what it wants gets that, and leaves the rest
    demands[0].1 = Curve::of(|price| 10.0 / (1.0 + price));
    let shares = divide(500, &demands, 10.0);
    assert!(
        shares[&robot(1)].abs_diff(100) <= 1 && shares[&robot(2)] == 200,
        "{shares:?}"
    );
    // where everything is wanted nothing is left
    demands[0].1 = Curve::of(|price| 1_000.0 / (1.0 + price));
    assert_eq!(divide(500, &demands, 10.0)[&robot(2)], 0);
}

/// Whoever had nothing when the last round was made need not wait until the next one is due.
#[test]
fn who_comes_back_and_wants_something_has_a_round_at_once() {
    let (group, here) = (GroupId(1), |id| Member::Robot(RobotId(id)));
    let mut robot = Robot::new(Settings::new(RobotId(1), vec![group]), 1, 0, &[]);
    for (id, wanted) in [(1, 100.0), (2, 3.0)] {
        let lease = Lease {
            session: Session {
                robot: RobotId(id),
                incarnation: 1,
            },
            nonce: 1,
            sealed: false,
            leaving: false,
            capacity: 1,
            load: 0,
            responses: BTreeMap::new(),
            progress: Progress {
                demand: Curve::of(|price| wanted / (1.0 + price)),
                ..Progress::default()
            },
        };
        let key = Key {
            group,
            what: What::Lease(RobotId(id)),
        };
        let value = Value::Lease(lease);
        robot.handle(
            0,
            Input::Read {
                key,
                revision: 1,
                value,
            },
        );
    }
    let mut plan = Plan::founding(group, None);
    plan.seats = vec![Seat::new(here(1), 1, 1), Seat::new(here(2), 1, 1)];
    for seat in &mut plan.seats {
        seat.standing = Standing::Active;
    }
    robot.partitioner.granted_at.insert(group, 0);
    let after = |shares: [u32; 2]| Grant {
        round: 1,
        shares: BTreeMap::from([(here(1), shares[0]), (here(2), shares[1])]),
        ..Grant::default()
    };
    let next = robot.next_round(100, &plan, &after([100, 0]));
    assert!(next.is_some_and(|next| next.shares[&here(2)] > 0));
    // who has a little waits
    assert!(robot.next_round(100, &plan, &after([99, 1])).is_none());
}
