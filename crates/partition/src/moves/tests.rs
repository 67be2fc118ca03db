use super::*;
use crate::limits::Balance;
use crate::multilevel;
use crate::sample_graphs::communities;
use crate::task::{Partition, Previous, Task};

fn repartition(graph: &Graph, robots: usize, before: Option<&[u32]>) -> Partition {
    let capacities = vec![1.0; robots];
    let mut task = Task::new(graph, &capacities, Balance::default());
    task.previous = before.map(|part| Previous {
        part,
        price: fair_price(graph, 1.0),
    });
    multilevel::partition(&task).unwrap()
}

#[test]
fn a_ninth_robot_moves_little_more_than_it_receives() {
    for seed in 0..3 {
        let graph = communities(6000, 30_000, seed);
        let before = repartition(&graph, 8, None);
        let after = repartition(&graph, 9, Some(&before.part));
        assert!(after.balanced);
        let received = after.loads[8].pages;
        let moved = moved_pages(&graph, &before.part, &after.part);
        assert!(
            moved * 2 <= received * 3,
            "moved {moved}, received {received}"
        );
        let anew = repartition(&graph, 9, None);
        assert!(after.cut * 10 < anew.cut * 13, "{} {}", after.cut, anew.cut);
    }
}

#[test]
fn a_robot_that_leaves_moves_its_own_pages() {
    for seed in 0..3 {
        let graph = communities(6000, 30_000, seed);
        let before = repartition(&graph, 8, None);
        let orphans = without_robot(&before.part, 2);
        let own = before.loads[2].pages;
        let after = repartition(&graph, 7, Some(&orphans));
        assert!(after.balanced);
        let moved = moved_pages(&graph, &orphans, &after.part);
        assert!(moved >= own);
        assert!(moved * 100 <= own * 105, "moved {moved}, its own {own}");
    }
}

#[test]
fn moves_by_hand() {
    assert_eq!(
        without_robot(&[0, 1, 2, NOWHERE], 1),
        [0, NOWHERE, 1, NOWHERE]
    );
    let step = Move {
        vertex: 1,
        from: 0,
        to: 2,
    };
    assert_eq!(moves(&[0, 0], &[0, 2]), [step]);
}
