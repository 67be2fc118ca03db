//! The map on disk: what goes in comes out, and politeness survives a restart.

use super::*;
use crate::place::Heuristic;
use crate::probe::Hop;
use crate::wire::Method;

fn address(last: u8) -> IpAddr {
    IpAddr::from([192, 0, 2, last])
}

fn measured(samples: &[Option<f64>]) -> Measured {
    Measured {
        method: Method::Icmp,
        samples: samples.to_vec(),
    }
}

#[test]
fn what_goes_in_comes_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map.db");
    let mut store = Store::open(&path).unwrap();
    let source = store.source("robot-1", Point::new(41.55, -8.42)).unwrap();
    assert_eq!(store.source("robot-1", None).unwrap(), source);
    store.name("www.example.com", address(9)).unwrap();
    store.name("www.example.com", address(9)).unwrap();
    let first = measured(&[Some(9.0), None, Some(7.0)]);
    store.keep_rtt(source, address(9), 100.0, &first).unwrap();
    let second = measured(&[Some(5.0); 7]);
    store.keep_rtt(source, address(9), 200.0, &second).unwrap();
    store
        .keep_rtt(source, address(8), 200.0, &measured(&[None]))
        .unwrap();
    let hop = |limit, address, rtt_ms| Hop {
        limit,
        address,
        rtt_ms,
    };
    let route = Route {
        target: address(9),
        method: Method::Udp,
        reached: true,
        hops: vec![
            hop(1, Some(address(1)), Some(1.5)),
            hop(2, None, None),
            hop(3, Some(address(9)), Some(5.5)),
        ],
    };
    store.keep_route(source, 300.0, &route).unwrap();
    let place = Place {
        heuristic: Heuristic::Airport,
        point: Point::new(50.0, 8.5).unwrap(),
        city: Some("Frankfurt am Main".to_owned()),
        country: Some("DE".to_owned()),
    };
    for at in [1.0, 2.0] {
        store
            .keep_places(address(9), at, std::slice::from_ref(&place))
            .unwrap();
    }
    let entry = AsEntry {
        number: 64496,
        organisation: Some("Example".to_owned()),
        block: "192.0.2.0/24".to_owned(),
    };
    store.keep_as(address(9), &entry).unwrap();
    drop(store);

    let store = Store::open_read_only(&path).unwrap();
    let found = store.measurements(0.0).unwrap();
    assert_eq!(
        found.len(),
        1,
        "the newest, and only of those that answered"
    );
    assert_eq!((found[0].rtt_ms, found[0].answered), (5.0, 7));
    // 9, 7 and seven times 5, over both results
    let found = store.measurements(100.0).unwrap();
    assert_eq!((found[0].rtt_ms, found[0].sent), (5.0, 10));
    assert_eq!((found[0].answered, found[0].at), (9, 200.0));
    let mut answers = store.answers().unwrap();
    answers[0].truncate(3);
    assert_eq!(answers, [[9.0, 7.0, 5.0]]);
    let routes = store.routes().unwrap();
    assert_eq!(routes.len(), 1);
    assert_eq!(routes[0].hops, [(address(1), 1.5), (address(9), 5.5)]);
    let located = store.located().unwrap();
    let nine = located.iter().find(|l| l.address == address(9)).unwrap();
    assert_eq!(nine.names, ["www.example.com"]);
    assert_eq!(nine.places, [place]);
    assert_eq!(
        store.address_of("www.example.com").unwrap(),
        Some(address(9))
    );
    assert_eq!(store.sources().unwrap()[0].0, "robot-1");
    let answer = store
        .ask("SELECT prefix, autonomous_system FROM address_blocks")
        .unwrap();
    assert_eq!(answer.columns, ["prefix", "autonomous_system"]);
    assert_eq!(
        answer.rows,
        [[Some("192.0.2.0/24".to_owned()), Some("64496".to_owned())]]
    );
}

#[test]
fn a_target_is_left_alone_even_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map.db");
    let claim = |kind, source: &str, at| {
        let mut store = Store::open(&path).unwrap();
        let source = store.source(source, None).unwrap();
        store.claim(kind, source, address(1), at, 60.0).unwrap()
    };
    assert!(claim(Kind::Probe, "a", 1000.0));
    assert!(!claim(Kind::Probe, "a", 1059.0));
    assert!(claim(Kind::Trace, "a", 1059.0), "a route is another matter");
    assert!(claim(Kind::Probe, "b", 1059.0), "and so is another robot");
    assert!(claim(Kind::Probe, "a", 1060.0));
    assert!(
        !claim(Kind::Probe, "a", 1119.0),
        "counted from the last time"
    );
}

#[test]
fn questions_cannot_change_the_map_and_other_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map.db");
    let store = Store::open(&path).unwrap();
    for sql in [
        "DELETE FROM hosts",
        "DROP TABLE hosts",
        "PRAGMA user_version = 3",
    ] {
        assert!(
            matches!(store.ask(sql), Err(Error::NotReadOnly(_))),
            "{sql}"
        );
    }
    assert!(store.ask("SELECT nonsense FROM nowhere").is_err());
    assert!(matches!(store.ask(" ;\n"), Err(Error::Empty)));
    let bytes = store.ask("SELECT x'00ff'").unwrap();
    assert_eq!(bytes.rows, [[Some("X'00FF'".to_owned())]]);
    let other = folder.path().join("other.db");
    let foreign = Connection::open(&other).unwrap();
    foreign.execute_batch("CREATE TABLE mine (x)").unwrap();
    assert!(matches!(Store::open(&other), Err(Error::Foreign)));
    assert!(matches!(Store::open_read_only(&other), Err(Error::Foreign)));
    let text = folder.path().join("text");
    std::fs::write(
        &text,
        "no database at all, but long enough to be read as one".repeat(40),
    )
    .unwrap();
    assert!(Store::open(&text).is_err());
    assert!(Store::open_read_only(&folder.path().join("absent")).is_err());
}

/// Two robots that have measured, each into a map of its own.
fn two_maps(folder: &Path) -> [std::path::PathBuf; 2] {
    ["a", "b"].map(|robot| {
        let path = folder.join(robot);
        let mut store = Store::open(&path).unwrap();
        // the same ids mean different things in the two
        let lasts: &[u8] = if robot == "a" { &[1, 2] } else { &[9, 2, 1] };
        let source = store.source(robot, Point::new(1.0, 2.0)).unwrap();
        for &last in lasts {
            let rtt = f64::from(last) + f64::from(u8::from(robot == "b")) / 2.0;
            store
                .claim(Kind::Probe, source, address(last), 50.0, 1.0)
                .unwrap();
            store
                .keep_rtt(source, address(last), 50.0, &measured(&[Some(rtt), None]))
                .unwrap();
            store
                .name(&format!("host{last}.example"), address(last))
                .unwrap();
        }
        let hops = lasts.iter().map(|&last| Hop {
            limit: last,
            address: Some(address(last)),
            rtt_ms: Some(1.0),
        });
        let route = Route {
            target: address(lasts[0]),
            method: Method::Udp,
            reached: false,
            hops: hops.collect(),
        };
        store.keep_route(source, 60.0, &route).unwrap();
        let entry = AsEntry {
            number: 64496,
            organisation: None,
            block: "192.0.2.0/24".to_owned(),
        };
        store.keep_as(address(lasts[0]), &entry).unwrap();
        path
    })
}

#[test]
fn maps_of_two_robots_become_one_and_merging_again_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = two_maps(folder.path());
    let mut store = Store::open(&a).unwrap();
    for _ in 0..2 {
        store.merge(&b).unwrap();
        let found = store.measurements(0.0).unwrap();
        let found: Vec<(&str, IpAddr, f64)> = found
            .iter()
            .map(|m| (m.source.as_str(), m.address, m.rtt_ms))
            .collect();
        let expected = [
            ("a", address(1), 1.0),
            ("a", address(2), 2.0),
            ("b", address(1), 1.5),
            ("b", address(2), 2.5),
            ("b", address(9), 9.5),
        ];
        assert_eq!(found, expected);
        let routes = store.routes().unwrap();
        assert_eq!(routes.len(), 2);
        assert_eq!(routes[1].target, address(9));
        // hops are ordered by their place in the route
        let hops: Vec<IpAddr> = routes[1].hops.iter().map(|hop| hop.0).collect();
        assert_eq!(hops, [1, 2, 9].map(address));
        let located = store.located().unwrap();
        let nine = located.iter().find(|l| l.address == address(9)).unwrap();
        assert_eq!(nine.names, ["host9.example"]);
        let count = |sql: &str| store.ask(sql).unwrap().rows[0][0].clone().unwrap();
        assert_eq!(count("SELECT count(*) FROM rtt_samples"), "10");
        assert_eq!(count("SELECT count(*) FROM attempts"), "5");
        assert_eq!(
            count("SELECT count(*) FROM addresses WHERE block IS NOT NULL"),
            "2"
        );
        assert_eq!(count("SELECT count(*) FROM address_blocks"), "1");
    }
    assert!(store.merge(&folder.path().join("absent")).is_err());
    assert!(
        store.merge(&b).is_ok(),
        "a failed merge leaves nothing attached"
    );
}

#[test]
fn a_claim_that_was_not_used_can_be_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("map.db")).unwrap();
    let source = store.source("a", None).unwrap();
    for _ in 0..2 {
        assert!(
            store
                .claim(Kind::Probe, source, address(1), 5.0, 60.0)
                .unwrap()
        );
        store.release(Kind::Probe, source, address(1)).unwrap();
    }
}

#[test]
fn one_slow_survey_does_not_rule_the_median_of_a_window() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("map.db")).unwrap();
    let source = store.source("robot-1", None).unwrap();
    for (at, rtt) in [(0.0, 500.0), (100.0, 20.0), (200.0, 21.0), (300.0, 90.0)] {
        let result = measured(&[Some(rtt); 7]);
        store.keep_rtt(source, address(9), at, &result).unwrap();
    }
    // another way of asking is another time
    let tcp = Measured {
        method: Method::Tcp,
        ..measured(&[Some(70.0); 70])
    };
    store.keep_rtt(source, address(9), 250.0, &tcp).unwrap();
    let median = |window| store.measurements(window).unwrap()[0].rtt_ms;
    assert_eq!(median(0.0), 90.0);
    assert_eq!(median(200.0), 21.0);
    assert_eq!(median(1e9), 55.5);
}

#[test]
fn a_country_without_a_city_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("map.db")).unwrap();
    let place = Place {
        heuristic: Heuristic::Registry,
        point: Point::new(38.72, -9.13).unwrap(),
        city: None,
        country: Some("PT".to_owned()),
    };
    store
        .keep_places(address(3), 1.0, std::slice::from_ref(&place))
        .unwrap();
    assert_eq!(store.located().unwrap()[0].places, [place]);
}
