//! Visits that are not worth making are not made, whatever the budget.

use super::super::*;

const DAY: f64 = 86_400.0;
const LIMITS: Limits = Limits {
    least_interval: 300.0,
    most_interval: 28.0 * DAY,
    least_chance: 0.05,
};

/// 500 pages that never change, and five on another host that change every minute: visits to
/// either in each day.
fn days(name: &str, days: usize) -> Vec<[usize; 2]> {
    let mut revisits = Revisits::with_any(name, 0.0, 1.0 / (7.0 * DAY), 1, None).unwrap();
    revisits.set_limits(LIMITS);
    revisits.set_budget(0.0, 0.5);
    for _ in 0..2 {
        revisits.add_host(0.0, Seconds(1.0));
    }
    for page in 0..505 {
        let host = HostId(u32::from(page >= 500));
        revisits.keep(0.0, PageId(page), host, 1.0, 0.0, None);
    }
    let mut visits = vec![[0; 2]; days];
    let mut last = vec![0.0; 505];
    let mut now = 0.0;
    while now < days as f64 * DAY {
        match revisits.next(now) {
            Next::Visit(page) => {
                let fast = page.0 >= 500;
                let since = now - std::mem::replace(&mut last[page.index()], now);
                assert!(
                    since >= LIMITS.least_interval * 0.999,
                    "{page:?} after {since}"
                );
                visits[(now / DAY) as usize][usize::from(fast)] += 1;
                let outcome = if fast {
                    Outcome::Changed
                } else {
                    Outcome::Unchanged
                };
                revisits.visited(page, now, outcome);
            }
            Next::Wait(at) => now = at.max(now.next_up()),
            Next::Idle => panic!("nothing to do"),
        }
    }
    visits
}

#[test]
fn a_static_site_costs_little_after_two_weeks_and_fast_pages_are_visited_as_closely_as_allowed() {
    let visits = days("default", 21);
    // pages that were found together come due together: one day has more than another
    let still: usize = visits[14..].iter().map(|[still, _]| still).sum();
    assert!(
        still < 7 * 200,
        "{still} visits in a week to pages that never change"
    );
    for (day, [_, fast]) in visits.iter().enumerate().skip(14) {
        let most = 5.0 * DAY / LIMITS.least_interval;
        assert!(
            *fast as f64 > 0.9 * most,
            "day {day}: {fast} visits to fast pages"
        );
    }
}

#[test]
fn nothing_is_left_alone_for_longer_than_the_longest_interval() {
    let visits = days("default", 60);
    let still: usize = visits[30..58].iter().map(|[still, _]| still).sum();
    assert!(still >= 500, "{still} visits in 28 days");
}

#[test]
fn other_policies_keep_the_least_interval_too() {
    for name in ["epochs", "memory", "fixed-interval"] {
        let visits = days(name, 4);
        let [still, fast] = visits[3];
        assert!(fast > 20 && still < 2000, "{name}: {visits:?}");
    }
}

/// Pages of one host that change all the time: visits to each in ten days, and the least and the most time between
/// two of them.
fn busy(pages: &[Rank]) -> Vec<(usize, f64, f64)> {
    let mut revisits = Revisits::new("default", 0.0, 1.0 / DAY, 1, None).unwrap();
    revisits.set_limits(LIMITS);
    revisits.set_budget(0.0, 1.0);
    revisits.add_host(0.0, Seconds(1.0));
    for (page, rank) in (0..).zip(pages) {
        revisits.keep(0.0, PageId(page), HostId(0), *rank, 0.0, None);
    }
    let mut seen = vec![(0, f64::INFINITY, 0.0f64); pages.len()];
    let mut last = vec![0.0; pages.len()];
    let mut now = 0.0;
    while now < 10.0 * DAY {
        match revisits.next(now) {
            Next::Visit(page) => {
                let since = now - std::mem::replace(&mut last[page.index()], now);
                let (visits, least, most) = &mut seen[page.index()];
                (*visits, *least, *most) = (*visits + 1, least.min(since), most.max(since));
                revisits.visited(page, now, Outcome::Changed);
            }
            Next::Wait(at) => now = at.max(now.next_up()),
            Next::Idle => panic!("nothing to do"),
        }
    }
    seen
}

#[test]
fn pages_may_have_limits_of_their_own() {
    let slow = Limits {
        least_interval: 6.0 * 3600.0,
        most_interval: 12.0 * 3600.0,
        least_chance: 0.0,
    };
    let rank = |page: usize| Rank {
        weight: 1.0,
        limits: (page % 2 == 1).then_some(slow),
        guess: None,
    };
    let pages: Vec<Rank> = (0..20).map(rank).collect();
    for (page, (visits, least, most)) in busy(&pages).into_iter().enumerate() {
        if page % 2 == 0 {
            assert!(visits > 2000 && least >= 299.0, "{page}: {visits} {least}");
        } else {
            assert!((19..=40).contains(&visits), "{page}: {visits}");
            let hours = (least / 3600.0, most / 3600.0);
            assert!(hours.0 > 5.99 && hours.1 < 12.1, "{page}: {hours:?}");
        }
    }
}

/// Visits in 60 days to one of 50 pages, of which the budget pays for one visit to each a day.
fn visits_to_one(weight: f64) -> usize {
    let rate = |page: PageId| 1.0 / (3600.0 * f64::from(1 + page.0 % 5));
    let mut revisits = Revisits::new("default", 0.0, 1.0 / DAY, 1, None).unwrap();
    revisits.set_budget(0.0, 50.0 / DAY);
    revisits.add_host(0.0, Seconds(1.0));
    for page in 0..50 {
        revisits.keep(0.0, PageId(page), HostId(0), 1.0, 0.0, None);
    }
    revisits.weigh(PageId(7), weight);
    revisits.weigh(PageId(99), weight);
    assert_eq!(revisits.weight(PageId(7)), Some(weight));
    let (mut count, mut now) = (0, 0.0);
    let mut last = [0.0; 50];
    while now < 60.0 * DAY {
        match revisits.next(now) {
            Next::Visit(page) => {
                count += usize::from(page.0 == 7);
                let since: f64 = now - std::mem::replace(&mut last[page.index()], now);
                let outcome = if since * rate(page) > 1.0 {
                    Outcome::Changed
                } else {
                    Outcome::Unchanged
                };
                revisits.visited(page, now, outcome);
            }
            Next::Wait(at) => now = at.max(now.next_up()),
            Next::Idle => panic!("nothing to do"),
        }
    }
    count
}

#[test]
fn a_page_that_matters_more_is_visited_more_often_from_then_on() {
    let (usual, heavy) = (visits_to_one(1.0), visits_to_one(20.0));
    assert!(
        2 * heavy > 3 * usual,
        "{heavy} visits, {usual} without the weight"
    );
}

/// When pages of two hosts are due after their first visit, beside `others` pages of a third host that never
/// change; of the second host's pages somebody guesses how often they change.
fn first_due(others: u32, guess: f64) -> [f64; 2] {
    let mut revisits = Revisits::new("default", 0.0, 1.0 / (7.0 * DAY), 1, None).unwrap();
    revisits.set_limits(Limits {
        least_interval: 1.0,
        ..LIMITS
    });
    revisits.set_budget(0.0, 1.0);
    for _ in 0..3 {
        revisits.add_host(0.0, Seconds(1.0));
    }
    for page in 0..others {
        revisits.keep(0.0, PageId(page), HostId(2), 1.0, 0.0, None);
        for visit in 1..=6 {
            revisits.visited(
                PageId(page),
                f64::from(visit) * 10.0 * DAY,
                Outcome::Unchanged,
            );
        }
    }
    let (now, guessed) = (
        61.0 * DAY,
        Rank {
            guess: Some(guess),
            ..Rank::from(1.0)
        },
    );
    revisits.keep(now, PageId(others), HostId(0), 1.0, now, None);
    revisits.keep(now, PageId(others + 1), HostId(1), guessed, now, None);
    let due = |page: u32| revisits.due(PageId(page)).expect("a time") - now;
    [due(others), due(others + 1)]
}

#[test]
fn pages_may_have_a_first_guess_of_their_own_which_others_do_not_outweigh() {
    for others in [0, 200] {
        let [usual, fast] = first_due(others, 24.0 / DAY);
        let [same, slow] = first_due(others, 1.0 / (365.0 * DAY));
        assert_eq!(usual, same, "no other page is touched");
        assert!(
            5.0 * fast < usual,
            "{others} others: {fast} s, {usual} s without it"
        );
        if others == 0 {
            assert!(slow > 5.0 * usual, "{slow} s, {usual} s without it");
        }
    }
}
