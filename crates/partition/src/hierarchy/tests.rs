use super::*;
use crate::limits::{Balance, balanced};
use crate::multilevel;
use crate::sample_graphs::communities;
use crate::task::{PartitionError, Task};

#[test]
fn trees_number_their_robots_from_left_to_right() {
    let site = Member::Group(vec![Member::Robot(1.0), Member::Robot(2.0)]);
    let tree = Tree::new(&Member::Group(vec![site, Member::Robot(4.0)])).unwrap();
    assert_eq!((tree.robots(), tree.levels()), (3, 2));
    assert_eq!(tree.path(1), [0, 1]);
    assert_eq!(tree.path(2), [1]);
    assert_eq!(tree.robots_of(&[0]), 0..2);
    assert_eq!(tree.member_capacities(&[]), [3.0, 4.0]);
    let empty = Tree::new(&Member::Group(vec![Member::Group(vec![])]));
    assert_eq!(empty.unwrap_err(), PartitionError::NoRobots);
    assert!(Tree::new(&Member::Robot(-1.0)).is_err());
}

#[test]
fn two_levels_keep_more_within_groups_than_a_flat_partition() {
    let graph = communities(4000, 20_000, 7);
    let tree = Tree::new(&Member::two_levels(4, 4)).unwrap();
    let division = Division {
        graph: &graph,
        balance: Balance::pages(0.05),
        robots: &[],
        fixed: &[],
        previous: None,
        seed: 1,
    };
    let part = partition(&tree, &division).unwrap();
    let limits = Balance::pages(0.05).limits(graph.total_load(), &[1.0; 16]);
    assert!(balanced(&graph, &part, &limits));
    let flat = multilevel::partition(&Task::new(&graph, &[1.0; 16], Balance::pages(0.05))).unwrap();
    let between = |part: &[u32]| {
        let groups: Vec<u32> = part.iter().map(|robot| robot / 4).collect();
        graph.cut(&groups)
    };
    assert!(between(&part) < between(&flat.part));
}
