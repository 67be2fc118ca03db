//! What holds whatever happens: politeness, and that everything is visited in time.

use super::super::*;
use super::fixed;
use super::world::{LOOKUP, Server, World};
use proptest::prelude::*;

/// Seconds within which all must be done: at every moment a request or a question is under way, or
/// the interval after one, or a site waits to earn a host. Every fetch of robots.txt is followed
/// by a visit, and every request takes one question for an address at the most.
fn bound(world: &World, pages: usize, opening: f64) -> f64 {
    let hosts = world.servers.len();
    let slowest = |of: fn(&Server) -> f64| world.servers.iter().map(of).fold(0.0, f64::max);
    let interval = world.lines.rules.interval.seconds(1, 0.0);
    let request = slowest(|server| server.takes) + interval.max(slowest(|s| s.crawl_delay));
    let requests = (2 * pages + hosts) as f64;
    opening + requests * (request + LOOKUP) + hosts as f64 * (LOOKUP + 5.0)
}

fn server() -> impl Strategy<Value = Server> {
    let address = (0u8..3, 1u8..4).prop_map(|(net, last)| IpAddr::from([127, 0, net, last]));
    (
        (0..4, 0..30),
        proptest::collection::vec(address, 1..3),
        (0.0..20.0f64, 0.0..60.0f64),
        prop_oneof![Just(0.0), 0.0..9.0f64],
        0.0..3.0f64,
    )
        .prop_map(
            |((site, host), addresses, holds, crawl_delay, takes)| Server {
                name: format!("h{host}.s{site}.test"),
                addresses,
                address_holds: holds.0,
                robots_hold: holds.1,
                crawl_delay,
                takes,
            },
        )
}

proptest! {
    /// W3 and W4: starts are an interval after the last end, on every host and every address; and
    /// liveness: everything is visited once, within a bound.
    #[test]
    fn all_is_visited_politely_and_in_time(
        interval in 0.0..5.0f64,
        (parallel, connections) in (1u16..3, 1usize..6),
        servers in proptest::collection::vec(server(), 1..12),
        work in proptest::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 1..60),
    ) {
        let rules = Rules { parallel, connections, ..fixed(interval) };
        let mut world = World::new(rules, 0.5);
        let mut hosts = Vec::new();
        for server in servers {
            hosts.push(world.add(server));
        }
        for (page, (host, new)) in (0..).map(PageId).zip(&work) {
            let host = *host.get(&hosts);
            if *new { world.lines.push_new(host, page) } else { world.lines.push_due(host, page) }
        }
        let until = bound(&world, work.len(), 0.5);
        let steps = 100 * (work.len() + hosts.len()) + 10_000;
        prop_assert_eq!(world.run(until, steps, |_, _, _| {}), Ok(()));
        let mut visited: Vec<PageId> = world.visits.iter().flatten().map(|&(_, page)| page).collect();
        visited.sort_unstable();
        let all: Vec<PageId> = (0..work.len() as u32).map(PageId).collect();
        prop_assert_eq!(visited, all, "at {} of {}", world.now, until);
        prop_assert_eq!((world.lines.under_way(), world.lines.unopened()), (0, 0));
        let (visits, robots) = world.totals();
        prop_assert!(robots <= visits);
    }

    /// What politeness allows is the sum over addresses, however it came about.
    #[test]
    fn allowed_is_the_sum_over_addresses(
        interval in 0.1..5.0f64,
        servers in proptest::collection::vec(server(), 1..8),
        seconds in 1.0..200.0f64,
    ) {
        let mut world = World::new(fixed(interval), 0.0);
        for server in servers {
            let host = world.add(server);
            for page in 0..20 {
                world.lines.push_new(host, PageId(page));
            }
        }
        prop_assert_eq!(world.run(seconds, 100_000, |_, _, _| {}), Ok(()));
        let lines = &world.lines;
        let mut rates: HashMap<IpAddr, (f64, f64, f64)> = HashMap::new();
        let mut sum = 0.0;
        for host in lines.hosts().filter(|&host| lines.hosts[host.index()].trust != Trust::Unopened) {
            let response = lines.courtesy(host).response;
            let rate = 1.0 / (lines.interval(host) + response);
            match lines.address(host) {
                None => sum += rate,
                Some(address) => {
                    let at = rates.entry(address).or_default();
                    *at = (at.0 + 1.0, at.1 + rate, at.2 + interval + response);
                }
            }
        }
        sum += rates.values().map(|&(hosts, rate, gap)| rate.min(hosts / gap)).sum::<f64>();
        prop_assert!((lines.allowed_per_second() / sum - 1.0).abs() < 1e-9 || sum == 0.0);
    }
}

/// So many hosts on one address, with pages without end.
fn crowd(hosts: usize, interval: f64, robots_hold: f64, takes: f64) -> World {
    let mut world = World::new(fixed(interval), 0.0);
    for number in 0..hosts {
        let host = world.add(Server {
            robots_hold,
            takes,
            ..Server::new(&format!("www.site{number}.test"), [127, 0, 0, 1])
        });
        for page in 0..100 {
            world.lines.push_new(host, PageId(page));
        }
    }
    world
}

#[test]
fn robots_that_expire_while_their_host_waits_do_not_starve_visits() {
    let mut world = crowd(6, 4.2, 30.0, 1.5);
    world
        .run(86_400.0 / 4.0, 100_000, |_, _, _| {})
        .expect("polite");
    let (visits, robots) = world.totals();
    assert_eq!(visits, 600, "and {robots} requests for robots.txt");
    assert!(3 * robots <= visits, "{robots} for {visits} visits");
}

#[test]
fn nor_do_those_of_more_hosts_than_can_be_asked_in_a_day() {
    // 5,000 hosts, one request in 25 s: 1.4 days for one each
    let mut world = crowd(5_000, 25.0, 86_400.0, 0.02);
    world
        .run(10.0 * 86_400.0, 1_000_000, |_, _, _| {})
        .expect("polite");
    let (visits, robots) = world.totals();
    assert!(visits + robots > 34_000, "{visits} and {robots}");
    assert!(3 * robots <= visits, "{robots} for {visits} visits");
    assert!(
        world.visits.iter().all(|visits| !visits.is_empty()),
        "in 10 days"
    );
}

#[test]
fn a_neighbours_wishes_are_its_own() {
    let mut world = World::new(fixed(1.0), 0.0);
    let patient = world.add(Server {
        crawl_delay: 3600.0,
        ..Server::new("patient.test", [127, 0, 0, 1])
    });
    let other = world.add(Server::new("other.test", [127, 0, 0, 1]));
    for page in 0..2000 {
        world.lines.push_new(patient, PageId(page));
        world.lines.push_new(other, PageId(page));
    }
    world.run(1000.0, 10_000, |_, _, _| {}).expect("polite");
    assert!(world.visits[1].len() > 900, "{}", world.visits[1].len());
    assert!(world.visits[0].len() <= 1);
}
