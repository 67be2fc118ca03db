use proptest::prelude::*;

use super::*;
use crate::graph::{Graph, GraphBuilder};
use crate::limits::Balance;
use crate::sample_graphs::communities;
use crate::single_level;
use crate::task::{NOWHERE, Previous};

fn strict() -> Balance {
    Balance {
        pages: Some(0.03),
        servers: Some(0.1),
        traffic: Some(0.3),
    }
}

#[test]
fn all_three_limits_hold_and_single_level_is_beaten() {
    let graph = communities(4000, 20_000, 1);
    for parts in [2, 5, 16] {
        let capacities = vec![1.0; parts];
        let task = Task::new(&graph, &capacities, strict());
        let ours = partition(&task).unwrap();
        assert!(ours.balanced, "{parts}: {:?}", ours.loads);
        assert_eq!(ours.cut, graph.cut(&ours.part));
        let plain = single_level::partition(&task).unwrap();
        assert!(plain.balanced);
        assert!(ours.cut < plain.cut, "{parts}: {} {}", ours.cut, plain.cut);
    }
}

#[test]
fn same_seed_same_answer_whatever_the_threads() {
    let graph = communities(2000, 10_000, 2);
    let task = Task::new(&graph, &[1.0; 7], strict());
    let one = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    let two = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap();
    let first = one.install(|| partition(&task).unwrap());
    let second = two.install(|| partition(&task).unwrap());
    assert_eq!(first, second);
    let mut other = task.clone();
    other.seed = 99;
    assert_ne!(partition(&other).unwrap().part, first.part);
}

#[test]
fn parts_weigh_in_proportion_to_capacities() {
    let graph = communities(3000, 15_000, 3);
    let capacities = [1.0, 2.0, 5.0];
    let answer = partition(&Task::new(&graph, &capacities, Balance::pages(0.03))).unwrap();
    let total = graph.total_load().pages as f64;
    assert!(answer.balanced);
    for (load, capacity) in answer.loads.iter().zip(capacities) {
        let ratio = load.pages as f64 / (total * capacity / 8.0);
        assert!((0.8..=1.031).contains(&ratio), "{ratio}");
    }
}

/// The vertices of `graph`, then one robot a part, each linked to hosts drawn for it.
fn with_robots(graph: &Graph, robots: u32, weight: f64) -> (Graph, Vec<u32>) {
    let hosts = graph.len() as u32;
    let mut rows = GraphBuilder::new((hosts + robots) as usize);
    for v in graph.vertices() {
        rows.pages(v, graph.load(v).pages).unwrap();
        for link in graph.links(v).iter().filter(|link| v < link.to) {
            rows.link(v, link.to, f64::from(link.weight)).unwrap();
        }
        rows.link(v, hosts + v * robots / hosts, weight).unwrap();
    }
    for robot in hosts..hosts + robots {
        rows.robot(robot).unwrap();
    }
    (rows.build().unwrap(), (hosts..hosts + robots).collect())
}

#[test]
fn each_robot_is_in_its_own_part_and_pulls() {
    let hosts = communities(2000, 8_000, 4);
    let (graph, robots) = with_robots(&hosts, 5, 1000.0);
    let mut task = Task::new(&graph, &[1.0; 5], strict());
    task.robots = &robots;
    let answer = partition(&task).unwrap();
    assert!(answer.balanced);
    for (part, &robot) in (0..).zip(&robots) {
        assert_eq!(answer.part[robot as usize], part);
    }
    let plain = single_level::partition(&task).unwrap();
    assert!(answer.cut < plain.cut, "{} {}", answer.cut, plain.cut);
    let shares = crate::hash::Shares::new(&[1.0; 5]).unwrap();
    let mut hashed: Vec<u32> = (0..2000)
        .map(|v| shares.of_host(&format!("h{v}")))
        .collect();
    hashed.extend(0..5);
    assert!(answer.cut * 2 < graph.cut(&hashed));
    let near = (0..2000)
        .filter(|&v| answer.part[v] == v as u32 * 5 / 2000)
        .count();
    assert!(near > 1800, "{near} hosts of 2000 are with their robot");
}

#[test]
fn a_host_larger_than_a_part_overfills_it_alone() {
    let mut rows = GraphBuilder::new(101);
    rows.pages(100, 1000).unwrap();
    for v in 0..100 {
        rows.link(v, (v + 1) % 100, 5.0).unwrap();
        rows.link(v, 100, 1.0).unwrap();
    }
    let graph = rows.build().unwrap();
    let answer = partition(&Task::new(&graph, &[1.0; 4], Balance::pages(0.05))).unwrap();
    let giant = answer.part[100];
    assert_eq!(answer.part.iter().filter(|&&p| p == giant).count(), 1);
    assert!(answer.balanced, "{:?} {:?}", answer.loads, answer.limits);
}

#[test]
fn hubs_without_communities_share_a_part() {
    // twenty hubs, all linked to each other; every leaf to three of them: the best cut leaves the
    // hubs together and cuts what it must
    let mut rows = GraphBuilder::new(2020);
    for hub in 0..20 {
        for other in 0..hub {
            rows.link(hub, other, 500.0).unwrap();
        }
    }
    for leaf in 20..2020 {
        for k in 0..3 {
            rows.link(leaf, (leaf * 7 + k * 5) % 20, 1.0).unwrap();
        }
    }
    let graph = rows.build().unwrap();
    let answer = partition(&Task::new(&graph, &[1.0; 4], Balance::pages(0.03))).unwrap();
    assert!((1..20).all(|hub| answer.part[hub] == answer.part[0]));
    assert!(answer.balanced);
}

#[test]
fn a_prohibitive_price_keeps_everything_where_it_was() {
    let graph = communities(1000, 5_000, 5);
    let before = partition(&Task::new(&graph, &[1.0; 4], strict())).unwrap();
    let mut shuffled = before.part.clone();
    shuffled[17] = NOWHERE;
    let mut task = Task::new(&graph, &[1.0; 4], strict());
    task.previous = Some(Previous {
        part: &shuffled,
        price: 1e6,
    });
    task.seed = 8;
    let after = partition(&task).unwrap();
    let moved = (0..1000)
        .filter(|&v| v != 17 && after.part[v] != before.part[v])
        .count();
    assert_eq!(moved, 0);
}

#[test]
fn bad_tasks_are_refused() {
    let graph = communities(10, 20, 6);
    let refuse = |capacities: &[f64], robots: &[u32], previous: Option<&[u32]>| {
        let mut task = Task::new(&graph, capacities, strict());
        task.robots = robots;
        task.previous = previous.map(|part| Previous { part, price: 1.0 });
        partition(&task).unwrap_err()
    };
    assert_eq!(refuse(&[], &[], None), PartitionError::NoRobots);
    assert!(matches!(
        refuse(&[1.0, 0.0], &[], None),
        PartitionError::BadCapacity { robot: 1, .. }
    ));
    assert!(matches!(
        refuse(&[1.0; 11], &[], None),
        PartitionError::MoreRobotsThanHosts { .. }
    ));
    for robots in [&[3][..], &[3, 3], &[3, 77]] {
        assert!(matches!(
            refuse(&[1.0; 2], robots, None),
            PartitionError::RobotVertices { .. }
        ));
    }
    for previous in [&[0; 9][..], &[5; 10]] {
        assert!(matches!(
            refuse(&[1.0; 2], &[], Some(previous)),
            PartitionError::Previous(_)
        ));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Unit hosts can always be packed: then the limits hold whatever the links.
    #[test]
    fn limits_hold_on_any_graph(
        hosts in 8_u32..120,
        parts in 1_usize..8,
        links in proptest::collection::vec((any::<u32>(), any::<u32>(), 0_u32..100), 0..400),
        seed in any::<u64>(),
    ) {
        let mut rows = GraphBuilder::new(hosts as usize);
        for (a, b, weight) in links {
            rows.link(a % hosts, b % hosts, f64::from(weight)).unwrap();
        }
        let graph = rows.build().unwrap();
        let capacities = vec![1.0; parts];
        let mut task = Task::new(&graph, &capacities, Balance { traffic: None, ..strict() });
        task.seed = seed;
        let answer = partition(&task).unwrap();
        prop_assert!(answer.balanced, "{:?} {:?}", answer.loads, answer.limits);
        prop_assert_eq!(answer.cut, graph.cut(&answer.part));
    }
}
