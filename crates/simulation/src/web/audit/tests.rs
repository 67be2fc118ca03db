//! Audits by hand and by brute force.

use super::*;
use crate::web::WebSpec;
use freshness::measure::{evenly_spaced, score_changes};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::time::UNIX_EPOCH;

/// A day of web time a second.
const CLOCK: Clock = Clock {
    epoch: UNIX_EPOCH,
    speed: 86_400.0,
};

fn visit(web: &Web, page: usize, at: f64, status: u16) -> Visit {
    let page = &web.pages()[page];
    let host = &web.hosts()[page.host];
    let micros = (at * 1e6).round() as u64;
    Visit {
        start: micros,
        client: std::net::Ipv4Addr::LOCALHOST,
        end: micros,
        host: (*host.name).into(),
        address: host.address,
        path: (*page.path).into(),
        status,
        bytes: 0,
        conditional: status == 304,
        complete: status == 200,
    }
}

/// A web of two pages whose changes are set by hand.
fn two_pages() -> Web {
    let spec = WebSpec {
        hosts: 1,
        largest: 2,
        ..WebSpec::plain()
    };
    let mut web = Web::new(&spec).unwrap();
    for (page, changes) in web.pages.iter_mut().zip([vec![2.0, 6.0], vec![]]) {
        page.changes = changes;
    }
    web.pages[0].kind = Kind::Poisson;
    web.pages[1].kind = Kind::Never;
    web
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-9, "{a} is not {b}");
}

#[test]
fn a_hand_made_case() {
    let web = two_pages();
    let visits = [
        visit(&web, 0, 1.0, 200),
        visit(&web, 0, 3.0, 200),
        visit(&web, 1, 5.0, 200),
        // says that nothing changed, which is a lie
        visit(&web, 0, 7.0, 304),
    ];
    let audit = Audit::new(&web, CLOCK, &visits);
    // page 0 is fresh in [1, 2) and [3, 6); page 1 from 5 on
    let truth = audit.freshness(0.0, 10.0);
    close(truth.freshness, (1.0 + 3.0 + 5.0) / 20.0);
    close(truth.by_kind[&Kind::Poisson].freshness, 0.4);
    close(truth.by_kind[&Kind::Never].freshness, 0.5);
    close(audit.freshness(4.0, 8.0).freshness, (2.0 + 3.0) / 8.0);
    for (at, expected) in [(0.5, 0.0), (1.5, 0.5), (2.5, 0.0), (5.5, 1.0), (8.0, 0.5)] {
        close(audit.freshness_at(at), expected);
    }
    assert_eq!(audit.requests(0.0, 10.0), 4);
    assert_eq!(audit.requests(3.0, 7.0), 2);
    assert_eq!(
        (audit.known(0.5), audit.known(4.0), audit.known(9.0)),
        (0, 1, 2)
    );
}

#[test]
fn pages_count_only_while_they_exist_and_may_be_fetched() {
    let mut web = two_pages();
    web.pages[0].gone_at = 4.0;
    web.pages[1].open_from = 8.0;
    let visits = [visit(&web, 0, 0.0, 200), visit(&web, 1, 9.0, 200)];
    let audit = Audit::new(&web, CLOCK, &visits);
    // page 0 counts in [0, 4) and is fresh for 2, page 1 in [8, 10) and is fresh for 1
    close(audit.freshness(0.0, 10.0).freshness, 0.5);
    assert_eq!(audit.freshness(5.0, 10.0).pages, 1);
    web.pages[0].allowed = false;
    let audit = Audit::new(&web, CLOCK, &visits);
    close(audit.freshness(0.0, 10.0).freshness, 0.5);
    assert_eq!(
        (audit.freshness(0.0, 10.0).pages, audit.requests(0.0, 10.0)),
        (1, 1)
    );
}

#[test]
fn brute_force_agrees() {
    let spec = WebSpec {
        hosts: 6,
        largest: 15,
        disallowed: 0.2,
        gone: 0.2,
        ..WebSpec::default()
    };
    let web = Web::new(&spec).unwrap();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
    let mut visits: Vec<Visit> = (0..400)
        .map(|_| {
            let page = rng.random_range(0..web.pages().len());
            let status = if rng.random::<f64>() < 0.3 { 304 } else { 200 };
            visit(&web, page, rng.random::<f64>() * 20.0, status)
        })
        .collect();
    visits.sort_by_key(|visit| visit.start);
    let audit = Audit::new(&web, CLOCK, &visits);
    let (from, until, steps) = (1.0, 19.0, 20_000);
    let (mut fresh, mut counted) = (0u32, 0u32);
    for step in 0..steps {
        let at = from + (until - from) * (f64::from(step) + 0.5) / f64::from(steps);
        for (number, page) in web.pages().iter().enumerate() {
            if page.allowed && page.open_from <= at && at < page.gone_at {
                counted += 1;
                let copy = audit.copies(number).iter().rfind(|&&copy| copy <= at);
                fresh += u32::from(copy.is_some_and(|&c| page.version(c) == page.version(at)));
            }
        }
    }
    let truth = audit.freshness(from, until).freshness;
    let counted = f64::from(fresh) / f64::from(counted);
    assert!((truth - counted).abs() < 2e-4, "{truth} against {counted}");
    assert!(truth > 0.2 && truth < 0.9, "{truth} proves little");
}

#[test]
fn fresh_time_is_that_of_the_measure() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    for _ in 0..200 {
        let mut ascending = |count: usize| {
            let mut times: Vec<f64> = (0..count).map(|_| rng.random::<f64>() * 10.0).collect();
            times.sort_by(f64::total_cmp);
            times
        };
        let (changes, copies) = (ascending(12), ascending(8));
        let mine = fresh_time(&changes, copies.iter().copied(), 0.0, 10.0);
        let theirs = score_changes(&changes, &copies, 0.0, 10.0, false).fresh;
        close(mine, theirs);
    }
}

#[test]
fn uniform_is_level_but_for_full_servers() {
    // three pages on a server that takes 3, one on a server that takes 9
    let frequency = uniform(&[0, 0, 0, 1], &[3.0, 9.0], 4.0);
    assert_eq!(frequency, [1.0; 4]);
    let frequency = uniform(&[0, 0, 0, 1], &[3.0, 9.0], 8.0);
    assert_eq!(frequency, [1.0, 1.0, 1.0, 5.0]);
    let frequency = uniform(&[0, 0, 2], &[f64::INFINITY, 7.0, 1.0], 10.0);
    assert_eq!(frequency, [4.5, 4.5, 1.0]);
}

#[test]
fn the_bounds_are_those_of_poisson_pages() {
    let spec = WebSpec {
        hosts: 4,
        largest: 400,
        days: 60.0,
        rates: (0.1, 10.0),
        kinds: [(Kind::Poisson, 1.0)].into(),
        ..WebSpec::plain()
    };
    let web = Web::new(&spec).unwrap();
    let audit = Audit::new(&web, CLOCK, &[]);
    let free = Rules::default();
    let budget = 2.0 * web.pages().len() as f64;
    let bounds = audit.bounds(0.0, 60.0, budget, &free).unwrap();
    close(bounds.impolite, bounds.polite);
    let rates = web.pages().iter().map(|page| evenly_spaced(page.rate, 2.0));
    let expected = rates.sum::<f64>() / web.pages().len() as f64;
    assert!(
        (bounds.uniform - expected).abs() < 0.01,
        "{} against {expected}",
        bounds.uniform
    );
    assert!(bounds.uniform < bounds.polite);
    // the largest host takes less than its pages would get, all together more than the budget
    let strict = Rules {
        address_delay: 1.0 / 500.0,
        ..free
    };
    let capped = audit.bounds(0.0, 60.0, budget, &strict).unwrap();
    close(capped.impolite, bounds.impolite);
    assert!(capped.polite < bounds.polite - 0.01);
    assert!(capped.uniform < capped.polite);
}

#[test]
fn visits_that_are_made_uniformly_are_worth_what_uniform_says() {
    let web = Web::new(&WebSpec::default()).unwrap();
    let (days, gap) = (40.0, 0.8);
    let mut visits = Vec::new();
    for number in 0..web.pages().len() {
        let first = gap * (number as f64 * 0.37).fract();
        let times = (0..(days / gap) as u32).map(|k| first + f64::from(k) * gap);
        visits.extend(times.map(|at| visit(&web, number, at, 200)));
    }
    let audit = Audit::new(&web, CLOCK, &visits);
    let truth = audit.freshness(10.0, days);
    let budget = truth.pages as f64 / gap;
    let bounds = audit.bounds(10.0, days, budget, &Rules::default());
    let uniform = bounds.unwrap().uniform;
    assert!(
        (truth.freshness - uniform).abs() < 0.01,
        "{} against {uniform}",
        truth.freshness
    );
}

#[test]
fn an_address_takes_what_it_and_its_hosts_allow() {
    let spec = WebSpec {
        hosts: 3,
        largest: 3,
        size_exponent: 0.0,
        shared_addresses: 1.0,
        ..WebSpec::plain()
    };
    let web = Web::new(&spec).unwrap();
    let audit = Audit::new(&web, CLOCK, &[]);
    let pages: Vec<&Page> = web.pages().iter().collect();
    let cap = |host_delay, address_delay| {
        let rules = Rules {
            host_delay,
            address_delay,
            crawl_delay: [("h002.demo.test".to_owned(), 0.5)].into(),
            tolerance: 0.0,
        };
        let (server, caps) = audit.servers(&pages, &rules);
        assert!(server.iter().all(|&server| server == 0));
        caps
    };
    // a day is a second here
    close(cap(0.1, 0.1)[0], 10.0);
    close(cap(0.4, 0.1)[0], 2.5 + 2.0 + 2.5);
    assert_eq!(cap(0.0, 0.0)[0], f64::INFINITY);
}

#[test]
fn a_feed_counts_once_it_is_copied() {
    let mut web = two_pages();
    web.hosts[0].feed = true;
    let feed = |at, complete| Visit {
        path: "/feed.xml".into(),
        complete,
        ..visit(&web, 0, at, 200)
    };
    let page = visit(&web, 1, 0.5, 200);
    let without = [page.clone(), feed(1.0, false)];
    close(
        Audit::new(&web, CLOCK, &without).freshness_at(1.5),
        1.0 / 2.0,
    );
    let with = [page, feed(1.0, true)];
    let audit = Audit::new(&web, CLOCK, &with);
    close(audit.freshness_at(1.5), 2.0 / 3.0);
    // the first page changes at 2, and with it the feed
    close(audit.freshness_at(2.5), 1.0 / 3.0);
    assert_eq!(audit.find(&web.hosts[0].name, "/feed.xml"), Some(2));
}
