use super::*;

#[test]
fn rows_are_folded() {
    let mut rows = GraphBuilder::new(3);
    for (a, b, w) in [
        (0, 1, 2.0),
        (1, 0, 3.0),
        (2, 2, 9.0),
        (1, 2, 1.0),
        (0, 1, 1.0),
    ] {
        rows.link(a, b, w).unwrap();
    }
    rows.pages(2, 7).unwrap();
    let graph = rows.build().unwrap();
    assert_eq!((graph.len(), graph.edges()), (3, 2));
    assert_eq!(graph.links(0), [Link { to: 1, weight: 6 }]);
    assert_eq!(graph.total_weight(), 7);
    assert_eq!(graph.load(1).traffic, 7);
    assert_eq!(graph.total_load().pages, 9);
    assert_eq!(graph.cut(&[0, 0, 1]), 1);
    assert_eq!(graph.exchange(&[0, 0, 1], 2), [1, 1]);
    assert_eq!(graph.unit(), 1.0);
}

#[test]
fn bad_rows_are_refused() {
    let mut rows = GraphBuilder::new(2);
    assert!(matches!(
        rows.link(0, 2, 1.0),
        Err(GraphError::UnknownVertex { vertex: 2, .. })
    ));
    assert!(matches!(
        rows.link(0, 1, -1.0),
        Err(GraphError::BadWeight { .. })
    ));
    assert!(rows.link(0, 1, f64::NAN).is_err());
    assert!(rows.pages(5, 1).is_err());
}

#[test]
fn fractions_and_giants_are_scaled_alike_in_both_directions() {
    let mut rows = GraphBuilder::new(4);
    for (a, b, w) in [(0, 1, 1e12), (1, 0, 0.1), (0, 1, 0.3), (2, 3, 1e-9)] {
        rows.link(a, b, w).unwrap();
    }
    let graph = rows.build().unwrap();
    assert_eq!(graph.links(0)[0].weight, graph.links(1)[0].weight);
    assert_eq!(graph.links(2), [Link { to: 3, weight: 1 }]);
    let back = f64::from(graph.links(0)[0].weight) * graph.unit();
    assert!((back / 1e12 - 1.0).abs() < 1e-6);
}
