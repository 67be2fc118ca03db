use super::*;
use crate::wire::{decode, encode};

fn plan(robots: &[u64]) -> Plan {
    let mut plan = Plan::new(
        GroupId(1),
        Version { number: 1, term: 1 },
        RobotId(robots[0]),
    );
    plan.seats = (robots.iter())
        .map(|&id| Seat::new(Member::Robot(RobotId(id)), 1, 1))
        .collect();
    plan
}

fn servers() -> impl Iterator<Item = Unit> {
    (0..2_000_u32).map(|n| Unit::Server(std::net::Ipv4Addr::from(n * 7919).into()))
}

#[test]
fn a_robot_that_leaves_moves_only_what_it_had() {
    let (before, after) = (plan(&[5, 9, 1, 7]), plan(&[5, 1, 7]));
    let gone = Member::Robot(RobotId(9));
    let mut moved = 0;
    for unit in servers() {
        let (old, new) = (before.owner(unit, None), after.owner(unit, None));
        assert!(old == new || old == Some(gone));
        moved += usize::from(old != new);
    }
    assert!((400..600).contains(&moved), "a quarter of 2,000: {moved}");
}

#[test]
fn tables_and_filters_come_before_the_ring_and_plans_are_total() {
    let mut plan = plan(&[1, 2, 3]);
    plan.table = vec![(
        Block("0.0.0.0/8".parse().unwrap()),
        Member::Robot(RobotId(2)),
    )];
    plan.seats[2].filter.ranges = vec![Block("192.0.2.0/24".parse().unwrap())];
    for unit in servers() {
        let owner = plan.owner(unit, None).expect("total");
        assert_ne!(owner, Member::Robot(RobotId(3)), "not in its ranges");
        let Unit::Server(std::net::IpAddr::V4(v4)) = unit else {
            unreachable!()
        };
        if v4.octets()[0] == 0 {
            assert_eq!(owner, Member::Robot(RobotId(2)));
        }
    }
    let back: Plan = decode(&encode(&plan)).unwrap();
    assert_eq!(back, plan);
    plan.seats[1].standing = Standing::Leaving;
    assert!(servers().all(|unit| plan.owner(unit, None) == Some(Member::Robot(RobotId(1)))));
    plan.seats.clear();
    assert_eq!(plan.owner(Unit::Register(3), None), None, "an empty group");
}
