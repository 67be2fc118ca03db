use super::*;

/// Six hosts and two robots (6, 7).
fn pages() -> Vec<u64> {
    vec![1, 1, 1, 1, 1, 1, 0, 0]
}

fn links(rows: &[(Vertex, Vertex, f64)]) -> Graph {
    let mut builder = GraphBuilder::new(8);
    builder.robot(6).unwrap().robot(7).unwrap();
    for &(a, b, w) in rows {
        builder.link(a, b, w).unwrap();
    }
    builder.build().unwrap()
}

fn costs(unit: f64) -> Vec<Cost> {
    // hosts 0..3 are near robot 6, the others near 7
    (0..6)
        .flat_map(|host| {
            let (near, far) = if host < 3 { (6, 7) } else { (7, 6) };
            [(near, 10.0 + f64::from(host)), (far, 90.0)].map(|(robot, cost)| Cost {
                robot,
                host,
                cost: cost * unit,
            })
        })
        .collect()
}

fn solve(preferences: [f64; 2], unit: f64) -> Vec<u32> {
    let (near, rest) = from_costs(&pages(), &costs(unit)).unwrap();
    // links pair the hosts across
    let far = links(&[
        (0, 1, 9.0),
        (1, 5, 9.0),
        (0, 5, 9.0),
        (2, 3, 9.0),
        (3, 4, 9.0),
        (2, 4, 9.0),
        (0, 2, 1.0),
    ]);
    let objectives = [
        (&far, preferences[0], None),
        (&near, preferences[1], Some(rest)),
    ]
    .map(|(graph, preference, rest)| Objective {
        graph,
        preference,
        rest,
    });
    let balance = Balance::pages(0.0);
    let cuts = lone_cuts(&objectives, &[1.0; 2], balance, &[6, 7], 1).unwrap();
    let graph = combine(&objectives, &cuts).unwrap();
    let mut task = Task::new(&graph, &[1.0; 2], balance);
    task.robots = &[6, 7];
    multilevel::partition(&task).unwrap().part
}

#[test]
fn small_costs_make_heavy_edges() {
    let (graph, rest) = from_costs(&pages(), &costs(1.0)).unwrap();
    let part = [0, 0, 0, 1, 1, 1, 0, 1];
    let cost: f64 = (0..6).map(|host| 10.0 + f64::from(host)).sum();
    assert!((graph.cut(&part) as f64 * graph.unit() + rest - cost).abs() < 1e-9);
    let weight = |a: Vertex, b: Vertex| {
        graph
            .links(a)
            .iter()
            .find(|l| l.to == b)
            .map_or(0, |l| l.weight)
    };
    assert_eq!(weight(0, 6), 80);
    assert_eq!(weight(0, 7), 0);
    assert!(weight(0, 6) > weight(2, 6));
    let negative = Cost {
        robot: 6,
        host: 0,
        cost: -1.0,
    };
    assert!(from_costs(&pages(), &[negative]).is_err());
    assert!(combine(&[], &[]).is_err());
}

#[test]
fn preferences_decide_and_units_do_not() {
    for unit in [1.0, 0.001, 1000.0] {
        let near = solve([0.0, 1.0], unit);
        assert_eq!(near, [0, 0, 0, 1, 1, 1, 0, 1]);
        let linked = solve([1.0, 0.0], unit);
        assert!(linked[0] == linked[1] && linked[1] == linked[5]);
        assert!(linked[2] == linked[3] && linked[3] == linked[4]);
    }
}
