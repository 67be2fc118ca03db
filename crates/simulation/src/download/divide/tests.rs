use super::*;
use crate::download::algebra::{evaluate, redistribution};
use crate::download::conditions::Conditions;
use crate::download::shape::Shape;

/// Links handed over, and download seconds by formula.
fn worth(web: &Web, internet: &Internet, method: Method, pages: f64) -> (u64, f64) {
    let wishes = Wishes {
        nearness: Nearness::Both,
        balance: Balance {
            pages: Some(pages),
            ..Balance::default()
        },
        ..Wishes::new(method, 1)
    };
    let assignment = divide(web, internet, &wishes, None).unwrap();
    let algebra = evaluate(web, internet, &assignment, &Conditions::published());
    (algebra.handed_over, algebra.download_seconds())
}

#[test]
fn three_objectives_beat_single_level_and_every_hash_in_exchanges_and_in_time() {
    for seed in 1..4 {
        let shape = Shape::published(seed).scaled(0.1);
        let web = shape.web();
        let internet = shape.internet(&web, 8);
        // robots are held nearer to their fair share than the others could be
        let ours = worth(&web, &internet, Method::Graph, 0.01);
        for method in Method::ALL.into_iter().skip(1) {
            let other = worth(&web, &internet, method, 0.03);
            assert!(ours.0 < other.0, "{method}: {ours:?}, {other:?}");
            assert!(ours.1 < other.1, "{method}: {ours:?}, {other:?}");
        }
    }
}

#[test]
fn a_newcomer_costs_less_than_with_a_hash() {
    let shape = Shape::published(1).scaled(0.05);
    let web = shape.web();
    let (seven, eight) = (shape.internet(&web, 7), shape.internet(&web, 8));
    let seconds = |method: Method| {
        let wishes = Wishes::new(method, 1);
        let before = divide(&web, &seven, &wishes, None).unwrap();
        let after = divide(&web, &eight, &wishes, Some(&before)).unwrap();
        redistribution(&web, &eight, &before, &after, &Conditions::published())
    };
    assert!(seconds(Method::Graph) < 0.5 * seconds(Method::HashHost));
    // and the whole of each host goes to one robot
    let wishes = Wishes::new(Method::Graph, 1);
    let part = divide(&web, &eight, &wishes, None).unwrap();
    for host in 0..web.hosts() as u32 {
        let robot = part.of_page(web.pages_of(host).start);
        assert!(web.pages_of(host).all(|page| part.of_page(page) == robot));
    }
}
