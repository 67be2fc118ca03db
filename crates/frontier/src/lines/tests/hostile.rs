//! Sites that would have everything for themselves.

use super::super::*;
use super::world::{Server, World};
use super::{address, fine, fixed, open_host, visit};

const SUBDOMAINS: u32 = 5_000;
const ADDRESSES: u32 = 200;
const SECONDS: f64 = 60.0;

fn network_and_last(number: u32) -> [u8; 4] {
    [127, 1, number as u8, 1]
}

/// Visits to an honest host within a minute, beside a site one page of which links 5,000 of its
/// subdomains, or none. Every page of theirs takes `takes` seconds.
fn honest_visits(subdomains: u32, interval: f64, takes: f64) -> usize {
    let rules = Rules {
        connections: 64,
        ..fixed(interval)
    };
    let mut world = World::new(rules, 0.0);
    let honest = world.add(Server::new("www.honest.test", [127, 0, 0, 1]));
    let home = world.add(Server::new("www.hostile.test", [127, 0, 1, 1]));
    for number in 0..subdomains {
        world.add(Server {
            takes,
            ..Server::new(
                &format!("s{number}.hostile.test"),
                network_and_last(number % ADDRESSES),
            )
        });
    }
    for page in 0..20 {
        world.lines.push_new(honest, PageId(page));
    }
    world.lines.push_new(home, PageId(0));
    let follow = |lines: &mut Lines, host: HostId, page: PageId| {
        // a page more for each that was fetched; the first of theirs links all subdomains
        if host == home {
            for number in 0..subdomains {
                for page in 0..5 {
                    lines.push_new(HostId(home.0 + 1 + number), PageId(page));
                }
            }
        } else {
            lines.push_new(host, PageId(page.0 + 20));
        }
    };
    world.run(SECONDS, 2_000_000, follow).expect("polite");
    world.visits[honest.index()].len()
}

fn honest_keeps_its_visits(interval: f64, takes: f64) {
    let alone = honest_visits(0, interval, takes);
    let beside = honest_visits(SUBDOMAINS, interval, takes);
    assert!(alone as f64 > 0.8 * SECONDS / (interval + 0.02));
    assert!(
        beside as f64 >= 0.8 * alone as f64,
        "{beside} of {alone} at an interval of {interval} s"
    );
}

#[test]
fn subdomains_without_end_take_nothing_from_others() {
    // as fast as the honest host, then so that 200 addresses could fill 64 connections, then slow
    for takes in [0.02, 0.5, 3.0, 20.0] {
        honest_keeps_its_visits(0.05, takes);
        honest_keeps_its_visits(1.0, takes);
    }
}

#[test]
fn hosts_are_opened_as_their_site_earns_it() {
    let rules = Rules {
        connections: 1000,
        ..fixed(0.0)
    };
    let mut lines = Lines::new(rules, 0.0);
    for number in 0..100 {
        let name = format!("h{number}.one.test");
        let host = lines.add_host(&name, Courtesy::default(), f64::INFINITY);
        lines.push_new(host, PageId(0));
    }
    assert_eq!(lines.unopened(), 100);
    // requests begin, but no answer comes
    let left = |lines: &mut Lines, now: f64| loop {
        match lines.next(now) {
            Turn::Resolve(host) => {
                lines.resolved(host, now, Some((address(host.0 as u8), Seconds(1e9))));
            }
            Turn::Visit { .. } => {}
            _ => return lines.unopened(),
        }
    };
    assert_eq!(left(&mut lines, 0.0), 92, "a few on trust");
    assert_eq!(lines.waiting(HostId(50), 0.0), Waiting::ForOpening(92));
    assert_eq!(left(&mut lines, 10.0), 90, "one in five seconds");
    lines.ended(HostId(3), address(3), 10.0, fine(), 0);
    assert_eq!(left(&mut lines, 10.0), 88, "two for a page");
    lines.push_new(HostId(3), PageId(1));
    assert_eq!(left(&mut lines, 10.0), 88);
    lines.ended(HostId(3), address(3), 10.0, fine(), 0);
    assert_eq!(left(&mut lines, 10.0), 88, "for the first page");
    assert_eq!(
        left(&mut lines, 1e6),
        80,
        "a rest earns no more than at first"
    );
}

#[test]
fn a_name_without_address_costs_its_site_nothing() {
    let mut lines = Lines::new(fixed(0.0), 0.0);
    for number in 0..100 {
        let name = format!("h{number}.one.test");
        let host = lines.add_host(&name, Courtesy::default(), f64::INFINITY);
        lines.push_new(host, PageId(0));
    }
    for _ in 0..100 {
        let Turn::Resolve(host) = lines.next(1.0) else {
            panic!("{} are left", lines.unopened());
        };
        lines.resolved(host, 1.0, None);
    }
    assert_eq!(lines.unopened(), 0);
}

#[test]
fn whoever_holds_too_much_is_named_only_while_others_wait() {
    let rules = Rules {
        connections: 16,
        ..fixed(0.0)
    };
    let mut lines = Lines::new(rules, 0.0);
    let greedy: Vec<HostId> = (0..20)
        .map(|number| {
            let name = format!("h{number}.greedy.test");
            let host = lines.add_host(
                &name,
                Courtesy {
                    response: 0.1,
                    ..Courtesy::default()
                },
                1e9,
            );
            lines.resolved(host, 0.0, Some((address(number), Seconds(1e9))));
            lines.push_new(host, PageId(0));
            host
        })
        .collect();
    for _ in 0..16 {
        visit(lines.next(1.0));
    }
    // alone it may have all
    assert_eq!((lines.next(1.0), lines.under_way()), (Turn::Idle, 16));
    assert_eq!(lines.greediest(1.0), None);
    let honest = open_host(&mut lines, IpAddr::from([127, 0, 9, 1]));
    assert_eq!(lines.greediest(1.0), None);
    lines.push_new(honest, PageId(0));
    let greediest = lines.greediest(1.0).expect("somebody waits");
    assert_eq!((greediest.hosts.len(), greediest.too_many), (16, 1));
    assert!(greediest.hosts.iter().all(|host| greedy.contains(host)));
    // what it gives up is the other's
    lines.ended(
        greediest.hosts[0],
        address(greediest.hosts[0].0 as u8),
        1.0,
        fine(),
        0,
    );
    assert_eq!(visit(lines.next(1.0)).0, honest);
    assert_eq!(lines.greediest(1.0), None, "nobody else waits");
    // some connections are left for those below their share
    for &host in &greediest.hosts[1..4] {
        lines.ended(host, address(host.0 as u8), 1.0, fine(), 0);
    }
    visit(lines.next(1.0));
    assert_eq!((lines.next(1.0), lines.under_way()), (Turn::Idle, 14));
    let waits = greedy
        .iter()
        .find(|&&host| lines.waiting(host, 1.0) == Waiting::ForShare);
    assert!(waits.is_some());
}

#[test]
fn sites_of_one_address_take_turns_however_many_hosts_they_have() {
    let mut world = World::new(fixed(1.0), 0.0);
    let honest = world.add(Server::new("honest.test", [127, 0, 0, 1]));
    for number in 0..50 {
        let host = world.add(Server::new(&format!("h{number}.many.test"), [127, 0, 0, 1]));
        (0..100).for_each(|page| world.lines.push_new(host, PageId(page)));
    }
    (0..1000).for_each(|page| world.lines.push_new(honest, PageId(page)));
    world.run(1000.0, 10_000, |_, _, _| {}).expect("polite");
    let visits = world.visits[honest.index()].len();
    assert!(visits > 400, "{visits} of about 980");
}

#[test]
fn a_hundred_slow_sites_do_not_get_every_connection_twice() {
    let mut lines = Lines::new(fixed(0.0), 0.0);
    let slow: Vec<HostId> = (0..100)
        .map(|number| {
            let name = format!("www.slow{number}.test");
            let host = lines.add_host(&name, Courtesy::default(), f64::INFINITY);
            let at = IpAddr::from([127, 2, number, 1]);
            lines.resolved(host, 0.0, Some((at, Seconds(f64::INFINITY))));
            (0..9).for_each(|page| lines.push_new(host, PageId(page)));
            host
        })
        .collect();
    let honest = open_host(&mut lines, address(1));
    let mut begun = Vec::new();
    let mut begin = |lines: &mut Lines, now: f64| {
        while let Turn::Visit { host, address, .. } = lines.next(now) {
            begun.push((host, address));
        }
        std::mem::take(&mut begun)
    };
    // nobody knows them: each may have its share, which is one; but not the last connections
    let all = begin(&mut lines, 1.0);
    assert_eq!(all.len(), 56);
    lines.push_new(honest, PageId(0));
    assert_eq!(lines.next(1.0), Turn::Idle, "nobody knows it either");
    let greedy = lines.greediest(1.0).expect("somebody waits");
    assert!(!greedy.above_share);
    assert_eq!(greedy.too_many, 45, "44 more sites and the honest host");
    assert!(greedy.hosts.iter().all(|host| slow.contains(host)));
    for (host, address) in all {
        lines.ended(host, address, 30.0, Answer::Silent, 0);
    }
    let again = begin(&mut lines, 31.0);
    assert_eq!(again.len(), 45);
    assert!(again.contains(&(honest, address(1))));
    for (host, address) in again {
        let fast = Answer::Fine { seconds: 0.1 };
        let answer = if host == honest { fast } else { Answer::Silent };
        lines.ended(host, address, 32.0, answer, 0);
    }
    // now they are known: they wait for each other, and take nothing from others
    assert_eq!(begin(&mut lines, 61.0).len(), 56);
    assert_eq!(lines.next(61.0), Turn::Idle, "the rest is kept");
    assert_eq!(lines.greediest(61.0), None);
    lines.push_new(honest, PageId(1));
    assert_eq!(visit(lines.next(61.0)).0, honest);
}
