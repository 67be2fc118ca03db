use super::*;
use crate::download::divide::{Nearness, Wishes, divide};
use crate::download::politeness::{LATENCY, Politeness};
use crate::download::shape::Shape;
use crate::download::web::{Address, Host, Unit};
use ground::Point;
use partition::method::Method;
use proptest::prelude::*;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::atomic::AtomicBool;

fn simulate(
    web: &Web,
    internet: &Internet,
    assignment: &Assignment,
    conditions: &Conditions,
) -> (Download, Vec<Visit>) {
    let mut visits = Vec::new();
    let stop = AtomicBool::new(false);
    let control = Control {
        stop: &stop,
        progress: &|_| {},
    };
    let download = run(
        web,
        internet,
        assignment,
        conditions,
        &control,
        &mut |visit| visits.push(visit),
    );
    (download, visits)
}

/// Every page once; no server asked twice at once or before its pause is over; no more
/// connections than allowed: read from the visits alone.
fn check(web: &Web, conditions: &Conditions, download: &Download, visits: &[Visit]) {
    let mut downloaded = vec![0; web.pages()];
    for visit in visits {
        assert!(visit.pages.len() <= conditions.pages_per_connection as usize);
        for &page in &visit.pages {
            downloaded[page as usize] += 1;
            let server = web.server_of(web.host_of(page), conditions.unit);
            assert_eq!(server, visit.server);
        }
    }
    assert!(downloaded.iter().all(|&times| times == 1));
    assert_eq!(download.pages as usize, web.pages());
    assert_eq!(download.violations, 0);
    let mut free_at = vec![0.0; web.servers(conditions.unit)];
    let mut by_start: Vec<&Visit> = visits.iter().collect();
    by_start.sort_by(|a, b| a.start.total_cmp(&b.start));
    for visit in &by_start {
        let free_at = &mut free_at[visit.server as usize];
        assert!(visit.start >= *free_at - 1e-9, "{visit:?} before {free_at}");
        *free_at = visit.end + visit.pause;
        if let Politeness::Fixed(pause) = conditions.politeness {
            assert_eq!(visit.pause, pause);
        }
    }
    for robot in 0..download.robots.len() as u32 {
        let mut changes: Vec<(f64, i64)> = visits
            .iter()
            .filter(|visit| visit.robot == robot)
            .flat_map(|visit| [(visit.start, 1), (visit.end, -1)])
            .collect();
        changes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut under_way = 0;
        for (_, change) in changes {
            under_way += change;
            assert!(under_way <= i64::from(conditions.connections));
        }
    }
    let timeline = download.timeline.downloads.iter().flatten();
    assert_eq!(timeline.map(|&n| u64::from(n)).sum::<u64>(), download.pages);
    for robot in &download.robots {
        assert!((0.0..=download.seconds + 1e-9).contains(&robot.idle));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn every_page_comes_once_and_no_server_is_hurried(
        share in 0.0005..0.004_f64,
        robots in 1..7_usize,
        method in 0..6_usize,
        politeness in 0..3_usize,
        addresses in any::<bool>(),
        connections in 1..5_u32,
        together in 1..4_u32,
        seed in 0..1000_u64,
    ) {
        let shape = Shape::published(seed).scaled(share);
        let web = shape.web();
        let robots = robots.min(web.addresses());
        let internet = shape.internet(&web, robots);
        let unit = if addresses { Unit::Addresses } else { Unit::Hosts };
        let wishes = Wishes { unit, ..Wishes::new(Method::ALL[method], seed) };
        let assignment = divide(&web, &internet, &wishes, None).unwrap();
        let conditions = Conditions {
            unit,
            politeness: [
                Politeness::Fixed(3.0),
                Politeness::Density(15.0),
                LATENCY,
            ][politeness],
            connections,
            pages_per_connection: together,
            ..Conditions::published()
        };
        let (download, visits) = simulate(&web, &internet, &assignment, &conditions);
        check(&web, &conditions, &download, &visits);
        let algebra = crate::download::algebra::evaluate(&web, &internet, &assignment, &conditions);
        prop_assert_eq!(algebra.handed_over, download.handed_over);
        prop_assert!(download.urls_sent <= download.handed_over);
    }
}

fn one_host(pages: u32) -> (Web, Internet) {
    let host = Host {
        name: "a.example".to_owned(),
        pages,
        address: 0,
    };
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let web = Web::new(vec![host], &[], &[], &mut rng);
    let here = Point {
        latitude: 40.0,
        longitude: -8.0,
    };
    (web, Internet::from_places(&[here], &[here], 1))
}

#[test]
fn one_server_takes_its_pages_times_its_interval() {
    let (web, internet) = one_host(100);
    let assignment = Assignment::by_host(&web, 1, |_| 0);
    let conditions = Conditions::published();
    let (download, visits) = simulate(&web, &internet, &assignment, &conditions);
    let each = 2.0 * internet.rtt(Robot(0), Address(0)) + 0.1;
    let expected = 100.0 * each + 99.0 * 15.0;
    assert!((download.seconds - expected).abs() < 1e-5);
    assert!((download.robots[0].idle - 99.0 * 15.0).abs() < 1e-5);
    assert!((download.robots[0].busy - 100.0 * each).abs() < 1e-5);
    assert_eq!(visits.len(), 100);
    assert!((download.mean_pause - 15.0).abs() < 1e-12);
    let algebra = crate::download::algebra::evaluate(&web, &internet, &assignment, &conditions);
    // by formula all connections share the work, whatever politeness says
    let by_formula = 100.0 * (each + 15.0) / 50.0;
    assert!((algebra.download_seconds() - by_formula).abs() < 1e-6);
}

#[test]
fn latency_politeness_waits_ten_downloads() {
    let (web, internet) = one_host(10);
    let assignment = Assignment::by_host(&web, 1, |_| 0);
    let conditions = Conditions {
        politeness: LATENCY,
        ..Conditions::published()
    };
    let (download, _) = simulate(&web, &internet, &assignment, &conditions);
    let each = 2.0 * internet.rtt(Robot(0), Address(0)) + 0.1;
    assert!((download.seconds - (10.0 + 90.0) * each).abs() < 1e-5);
}

#[test]
fn a_robot_that_cannot_keep_up_is_never_idle() {
    let shape = Shape::published(1).scaled(0.005);
    let web = shape.web();
    let internet = shape.internet(&web, 1);
    let assignment = Assignment::by_host(&web, 1, |_| 0);
    let conditions = Conditions {
        connections: 1,
        politeness: Politeness::Fixed(0.0),
        ..Conditions::published()
    };
    let (download, _) = simulate(&web, &internet, &assignment, &conditions);
    assert!(download.robots[0].idle < 1e-6);
    assert!((download.robots[0].busy - download.seconds).abs() < 1e-3);
    assert_eq!(download.handed_over, 0);
}

#[test]
fn stopping_leaves_a_partial_result() {
    let shape = Shape::published(1).scaled(0.05);
    let web = shape.web();
    let internet = shape.internet(&web, 2);
    let wishes = Wishes {
        nearness: Nearness::Neither,
        ..Wishes::new(Method::HashHost, 1)
    };
    let assignment = divide(&web, &internet, &wishes, None).unwrap();
    let stop = AtomicBool::new(true);
    let control = Control {
        stop: &stop,
        progress: &|_| {},
    };
    let conditions = Conditions::published();
    let part = run(
        &web,
        &internet,
        &assignment,
        &conditions,
        &control,
        &mut |_| {},
    );
    assert!(part.partial);
    assert!((part.pages as usize) < web.pages());
}
