mod always;
mod hostile;
mod world;

use super::*;

fn address(last: u8) -> IpAddr {
    IpAddr::from([127, 0, 0, last])
}

fn fine() -> Answer {
    Answer::Fine { seconds: 0.0 }
}

fn fixed(seconds: f64) -> Rules {
    Rules {
        interval: Interval::Fixed { seconds },
        ..Rules::default()
    }
}

/// A host whose address and robots.txt are known for ever.
fn open_host(lines: &mut Lines, at: IpAddr) -> HostId {
    let name = format!("h{}.test", lines.hosts().count());
    let host = lines.add_host(&name, Courtesy::default(), f64::INFINITY);
    lines.resolved(host, 0.0, Some((at, Seconds(f64::INFINITY))));
    host
}

fn visit(turn: Turn) -> (HostId, u32) {
    match turn {
        Turn::Visit { host, page, .. } => (host, page.0),
        other => panic!("a visit was expected, not {other:?}"),
    }
}

#[test]
fn a_host_is_resolved_then_its_robots_are_read_then_its_pages() {
    let mut lines = Lines::new(fixed(10.0), 0.0);
    let host = lines.add_host("a.test", Courtesy::default(), 0.0);
    assert_eq!(lines.next(1.0), Turn::Idle);
    lines.push_new(host, PageId(7));
    assert_eq!(lines.next(1.0), Turn::Resolve(host));
    assert_eq!(lines.next(1.0), Turn::Idle);
    assert_eq!(lines.waiting(host, 1.0), Waiting::ForAddress);
    lines.resolved(host, 1.0, Some((address(1), Seconds(60.0))));
    let robots = Turn::Robots {
        host,
        address: address(1),
    };
    assert_eq!(lines.next(1.0), robots);
    assert_eq!(lines.next(1.5), Turn::Idle);
    lines.set_robots(host, 2.0, 1e9, Seconds(0.0));
    lines.ended(host, address(1), 2.0, fine(), 0);
    assert_eq!(lines.next(2.0), Turn::Wait(12.0));
    assert_eq!(lines.waiting(host, 2.0), Waiting::Until(12.0));
    assert_eq!(visit(lines.next(12.0)), (host, 7));
    lines.ended(host, address(1), 12.5, fine(), 0);
    assert_eq!(lines.next(100.0), Turn::Idle);
}

#[test]
fn a_barred_host_waits_and_lets_others_pass() {
    let mut lines = Lines::new(fixed(5.0), 0.0);
    let one = open_host(&mut lines, address(1));
    let other = open_host(&mut lines, address(1));
    lines.push_new(one, PageId(0));
    lines.push_new(other, PageId(1));
    lines.bar(one);
    assert_eq!(visit(lines.next(0.0)), (other, 1));
    assert_eq!(lines.waiting(one, 0.0), Waiting::ForOwner);
    lines.ended(other, address(1), 0.0, fine(), 0);
    assert_eq!(lines.next(100.0), Turn::Idle);
    assert_eq!(lines.new_waiting(), 1);
    lines.unbar(one, 120.0);
    assert_eq!(lines.next(100.0), Turn::Wait(120.0));
    assert_eq!(visit(lines.next(120.0)), (one, 0));
}

#[test]
fn a_name_without_address_is_asked_for_again_later() {
    let mut lines = Lines::new(fixed(1.0), 0.0);
    let host = lines.add_host("a.test", Courtesy::default(), 1e9);
    lines.push_new(host, PageId(0));
    assert_eq!(lines.next(0.0), Turn::Resolve(host));
    lines.resolved(host, 0.0, None);
    assert_eq!(lines.next(0.0), Turn::Wait(300.0));
    assert_eq!(lines.next(300.0), Turn::Resolve(host));
}

#[test]
fn hosts_of_one_address_take_turns() {
    let mut lines = Lines::new(fixed(5.0), 0.0);
    let one = open_host(&mut lines, address(1));
    let other = open_host(&mut lines, address(1));
    lines.push_new(one, PageId(0));
    lines.push_new(other, PageId(1));
    let (first, _) = visit(lines.next(0.0));
    assert_eq!(lines.next(0.0), Turn::Idle);
    lines.ended(first, address(1), 1.0, fine(), 0);
    assert_eq!(lines.next(1.0), Turn::Wait(6.0));
    let (second, _) = visit(lines.next(6.0));
    assert_ne!(first, second);
}

#[test]
fn a_crawl_delay_holds_from_the_request_that_told_it() {
    let mut lines = Lines::new(fixed(1.0), 0.0);
    let host = lines.add_host("a.test", Courtesy::default(), 0.0);
    lines.resolved(host, 0.0, Some((address(1), Seconds(60.0))));
    lines.push_new(host, PageId(1));
    assert!(matches!(lines.next(0.0), Turn::Robots { .. }));
    lines.ended(host, address(1), 2.0, fine(), 0);
    lines.set_robots(host, 2.0, 1e9, Seconds(20.0));
    assert_eq!(lines.next(3.0), Turn::Wait(22.0));
}

#[test]
fn several_at_a_time_are_spread_over_the_hosts() {
    let rules = Rules {
        parallel: 4,
        ..fixed(0.0)
    };
    let mut lines = Lines::new(rules, 0.0);
    for last in 1..=3 {
        let host = open_host(&mut lines, address(last));
        for page in 0..10 {
            lines.push_new(host, PageId(page));
        }
    }
    let hosts: Vec<u32> = (0..6).map(|_| visit(lines.next(1.0)).0.0).collect();
    assert_eq!(hosts, [0, 1, 2, 0, 1, 2]);
}

#[test]
fn an_errand_goes_first_and_needs_no_robots() {
    let mut lines = Lines::new(fixed(1.0), 0.0);
    let host = lines.add_host("a.test", Courtesy::default(), 0.0);
    lines.push_new(host, PageId(1));
    lines.push_errand(host, 9);
    assert_eq!(lines.next(0.0), Turn::Resolve(host));
    lines.resolved(host, 0.0, Some((address(1), Seconds(60.0))));
    let errand = Turn::Errand {
        host,
        errand: 9,
        address: address(1),
    };
    assert_eq!(lines.next(0.0), errand);
    lines.ended(host, address(1), 0.0, fine(), 0);
    assert_eq!(lines.next(0.5), Turn::Wait(1.0));
    assert!(matches!(lines.next(1.0), Turn::Robots { .. }));
}

#[test]
fn new_and_due_pages_share_the_turns() {
    let rules = Rules {
        share_of_new: 0.25,
        ..fixed(0.0)
    };
    let mut lines = Lines::new(rules, 0.0);
    let host = open_host(&mut lines, address(1));
    for page in 0..100 {
        lines.push_new(host, PageId(page));
        lines.push_due(host, PageId(1000 + page));
    }
    let mut new = 0;
    for _ in 0..40 {
        let (_, page) = visit(lines.next(1.0));
        new += u32::from(page < 1000);
        lines.ended(host, address(1), 1.0, fine(), 0);
    }
    assert_eq!(new, 10);
    assert_eq!((lines.new_waiting(), lines.due_waiting()), (90, 70));
}

#[test]
fn the_budget_holds_in_requests_and_in_bytes() {
    let rules = Rules {
        requests_per_second: 2.0,
        bytes_per_second: 1000.0,
        ..fixed(0.0)
    };
    let mut lines = Lines::new(rules, 0.0);
    let host = open_host(&mut lines, address(1));
    for page in 0..100 {
        lines.push_new(host, PageId(page));
    }
    let mut now = 10.0;
    let mut visits = 0;
    while now < 20.0 {
        match lines.next(now) {
            Turn::Visit { .. } => {
                visits += 1;
                lines.ended(host, address(1), now, fine(), 10);
            }
            Turn::Wait(until) => now = until,
            other => panic!("{other:?}"),
        }
    }
    assert!((20..=22).contains(&visits), "{visits} in ten seconds");
    while !matches!(lines.next(now), Turn::Visit { .. }) {
        now += 0.1;
    }
    lines.ended(host, address(1), now, fine(), 5000);
    assert!(matches!(lines.next(now), Turn::Wait(until) if until > now + 3.0));
}

#[test]
fn a_turn_within_the_same_microsecond_has_come() {
    // as far apart as seconds since the epoch can be told
    let now = 1_790_000_000.123_456_2;
    let then = now + 2.4e-7;
    assert!(now < then && ticks(now) == ticks(then));
    let mut lines = Lines::new(fixed(10.0), then);
    let host = open_host(&mut lines, address(1));
    lines.push_new(host, PageId(1));
    lines.hold(host, then);
    assert_eq!(visit(lines.next(now)), (host, 1));
}

/// Under `density` a host would look larger with every failure, and be asked faster.
#[test]
fn a_page_that_is_tried_again_counts_once() {
    let interval = Interval::Density {
        longest: 15.0,
        pages_of_largest: 100.0,
    };
    let rules = Rules {
        interval,
        ..Rules::default()
    };
    let mut lines = Lines::new(rules, 0.0);
    let host = open_host(&mut lines, address(1));
    (0..3).for_each(|page| lines.push_new(host, PageId(page)));
    let before = lines.interval(host);
    let mut now = 0.0;
    for _ in 0..50 {
        now += 1e6;
        let (_, page) = visit(lines.next(now));
        lines.ended(host, address(1), now, Answer::Silent, 0);
        lines.push_again(host, PageId(page));
    }
    let extra = lines.courtesy(host).extra;
    assert!((lines.interval(host) - extra - before).abs() < 1e-9);
}

#[test]
fn a_closed_host_waits_for_its_hours_and_keeps_nobody_waiting() {
    let mut lines = Lines::new(fixed(1.0), 0.0);
    let shop = lines.add_host("shop.test", Courtesy::default(), f64::INFINITY);
    let manners = Manners {
        interval: Interval::Fixed { seconds: 0.5 },
        parallel: 1,
        hours: 1,
    };
    lines.set_manners(shop, manners);
    lines.close(1, 100.0);
    lines.resolved(shop, 0.0, Some((address(1), Seconds(f64::INFINITY))));
    let other = open_host(&mut lines, address(2));
    lines.push_new(shop, PageId(1));
    lines.push_due(shop, PageId(2));
    lines.push_due(other, PageId(3));
    assert_eq!((lines.due_waiting(), lines.due_soon(5.0)), (2, 1));
    assert_eq!(visit(lines.next(5.0)), (other, 3));
    lines.ended(other, address(2), 5.0, fine(), 0);
    assert_eq!(lines.waiting(shop, 5.0), Waiting::ForHours(100.0));
    assert_eq!(lines.next(6.0), Turn::Wait(100.0));
    // it is closed for longer than was said: a clock was set
    lines.close(1, 150.0);
    assert_eq!(lines.next(100.0), Turn::Wait(150.0));
    lines.close(1, f64::NEG_INFINITY);
    assert_eq!(lines.due_soon(150.0), 1);
    assert_eq!(visit(lines.next(150.0)).0, shop);
    lines.ended(shop, address(1), 150.0, fine(), 0);
    // its own interval; and then its hours are over
    assert_eq!(lines.next(150.2), Turn::Wait(150.5));
    lines.close(1, 200.0);
    assert_eq!(lines.next(150.5), Turn::Wait(200.0));
    assert_eq!(visit(lines.next(200.0)).0, shop);
}

#[test]
fn parts_of_pages_come_with_them_and_keep_none_waiting() {
    let mut lines = Lines::new(fixed(1.0), 0.0);
    let host = open_host(&mut lines, address(1));
    (0..6).for_each(|page| lines.push_new(host, PageId(page)));
    (90..93).for_each(|part| lines.push_part(host, PageId(part)));
    assert_eq!(lines.waiting_at(host), (9, 0));
    let mut order = Vec::new();
    for second in 0..9 {
        let now = f64::from(second);
        order.push(visit(lines.next(now)).1);
        lines.ended(host, address(1), now, fine(), 0);
    }
    assert_eq!(order, [90, 0, 91, 1, 92, 2, 3, 4, 5]);
    assert_eq!(lines.new_waiting(), 0);
}

#[test]
fn pages_of_hosts_that_do_not_move_are_not_due_soon() {
    let mut lines = Lines::new(fixed(1.0), 0.0);
    let patient = open_host(&mut lines, address(1));
    let moves = open_host(&mut lines, address(2));
    let neighbours: Vec<HostId> = (0..50).map(|_| open_host(&mut lines, address(3))).collect();
    assert_eq!(lines.due_soon(0.0), 0);
    for page in 0..100 {
        lines.push_due(patient, PageId(page));
    }
    // it can be asked for one page at a time
    assert_eq!((lines.due_waiting(), lines.due_soon(0.0)), (100, 4));
    lines.push_due(moves, PageId(200));
    for &host in &neighbours {
        lines.push_due(host, PageId(300 + host.0));
    }
    // of those who share an address, one has the next turn
    assert_eq!(lines.due_soon(1.0), 6);
    assert_eq!(visit(lines.next(1.0)).0, patient);
    let busy = Answer::Slower {
        retry_after: Some(86_400.0),
    };
    lines.ended(patient, address(1), 1.0, busy, 0);
    assert_eq!(lines.due_soon(1.0), 2);
    lines.push_due(patient, PageId(101));
    assert_eq!((lines.due_waiting(), lines.due_soon(2.0)), (151, 2));
    // nobody waits for a host that was taken away
    lines.bar(moves);
    assert_eq!(lines.due_soon(2.0), 1);
    lines.unbar(moves, 2.0);
    assert_eq!(lines.take_pages(neighbours[49]).len(), 1);
    // the day is over
    assert_eq!(lines.due_soon(86_402.0), 6);
    assert_eq!(lines.take_pages(patient).len(), 100);
    assert_eq!(lines.due_soon(86_402.0), 2);
}

#[test]
fn new_pages_can_use_what_their_hosts_allow() {
    let mut lines = Lines::new(fixed(2.0), 0.0);
    let one = open_host(&mut lines, address(1));
    let neighbour = open_host(&mut lines, address(1));
    let other = open_host(&mut lines, address(2));
    let known = open_host(&mut lines, address(3));
    let at = |lines: &mut Lines, now: f64| {
        lines.due_soon(now);
        lines.allowed_to_new()
    };
    lines.push_due(known, PageId(0));
    assert_eq!(at(&mut lines, 0.0), 0.0);
    lines.push_new(one, PageId(1));
    lines.push_new(one, PageId(2));
    assert_eq!(at(&mut lines, 0.0), 0.5);
    lines.push_part(neighbour, PageId(3));
    assert_eq!(at(&mut lines, 0.0), 0.5, "of one address");
    lines.push_new(other, PageId(4));
    assert_eq!(at(&mut lines, 0.0), 1.0);
    // what is under way waits no more
    let begun: Vec<_> = (0..3).map(|_| visit(lines.next(1.0))).collect();
    assert_eq!(begun, [(known, 0), (one, 1), (other, 4)]);
    assert_eq!(at(&mut lines, 1.0), 0.5);
    // whoever asks for a day has nothing to use
    lines.take_pages(neighbour);
    let busy = Answer::Slower {
        retry_after: Some(86_400.0),
    };
    lines.ended(one, address(1), 2.0, busy, 0);
    assert_eq!((lines.new_waiting(), at(&mut lines, 3.0)), (1, 0.0));
    assert!(lines.allowed_per_second() > 0.5);
    assert!(at(&mut lines, 86_402.0) > 0.0);
}

#[test]
fn an_address_puts_up_with_what_its_most_delicate_host_does() {
    let mut lines = Lines::new(fixed(0.0), 0.0);
    let bold = |lines: &mut Lines, at: IpAddr| {
        let host = lines.add_host("own.test", Courtesy::default(), f64::INFINITY);
        let manners = Manners {
            interval: Interval::Fixed { seconds: 0.0 },
            parallel: 3,
            hours: 0,
        };
        lines.set_manners(host, manners);
        lines.resolved(host, 0.0, Some((at, Seconds(f64::INFINITY))));
        for page in 0..5 {
            lines.push_new(host, PageId(page));
        }
        host
    };
    let at_once = |lines: &mut Lines| {
        let mut count = 0;
        while let Turn::Visit { .. } = lines.next(1.0) {
            count += 1;
        }
        count
    };
    bold(&mut lines, address(1));
    assert_eq!(at_once(&mut lines), 3);
    let mut shared = Lines::new(fixed(0.0), 0.0);
    open_host(&mut shared, address(1));
    bold(&mut shared, address(1));
    assert_eq!(at_once(&mut shared), 1);
}
