mod growth;
mod limits;
mod promises;
mod restart;

use super::conformance::steady;
use super::*;

fn revisits(policy: &str) -> Revisits {
    let mut revisits = Revisits::with_any(policy, 0.0, 1e-3, 1, None).unwrap();
    revisits.set_budget(0.0, 10.0);
    revisits
}

/// Visits handed out from `now` until `until`, each answered at once.
fn run(revisits: &mut Revisits, now: &mut f64, until: f64) -> Vec<PageId> {
    let mut visits = Vec::new();
    while *now < until {
        match revisits.next(*now) {
            Next::Visit(page) => {
                visits.push(page);
                revisits.visited(page, *now, Outcome::Unchanged);
            }
            Next::Wait(at) => *now = at.max(*now + 1e-6).min(until),
            Next::Idle => *now = until,
        }
    }
    visits
}

fn count(visits: &[PageId], page: PageId) -> usize {
    visits.iter().filter(|&&visited| visited == page).count()
}

/// Six pages vanish with visits under way; six others get their numbers. They used to be taken for
/// under way for ever.
#[test]
fn pages_that_take_over_the_numbers_of_vanished_ones_are_visited() {
    for name in steady() {
        let mut revisits = revisits(&name);
        let host = revisits.add_host(0.0, Seconds(0.01));
        for page in (0..7).map(PageId) {
            revisits.keep(0.0, page, host, 1.0, 0.0, None);
        }
        let (mut now, mut away) = (0.0, Vec::new());
        while away.len() < 7 && now < 100.0 {
            match revisits.next(now) {
                Next::Visit(page) => away.push(page),
                Next::Wait(at) => now = at.max(now + 1e-6),
                Next::Idle => break,
            }
        }
        for page in away {
            if page == PageId(0) {
                revisits.visited(page, now, Outcome::Unchanged);
            } else {
                revisits.drop_page(page, now);
            }
        }
        for page in (1..7).map(PageId) {
            revisits.drop_page(page, now);
            revisits.keep(now, PageId(100 + page.0), host, 1.0, now, None);
        }
        let until = now + 200.0;
        let visits = run(&mut revisits, &mut now, until);
        for page in (101..107).chain([0]).map(PageId) {
            let visited = count(&visits, page);
            assert!(visited > 3, "{name} visits {page:?} {visited} times");
        }
        assert!(
            visits.iter().all(|page| page.0 == 0 || page.0 > 100),
            "{name}"
        );
    }
}

#[test]
fn a_page_that_failed_is_nobody_elses_until_its_next_outcome() {
    for name in steady() {
        let mut revisits = revisits(&name);
        let host = revisits.add_host(0.0, Seconds(0.01));
        for page in (0..5).map(PageId) {
            revisits.keep(0.0, page, host, 1.0, 0.0, None);
        }
        let mut now = 0.0;
        run(&mut revisits, &mut now, 10.0);
        revisits.failed(PageId(3), now);
        let visits = run(&mut revisits, &mut now, 40.0);
        assert_eq!(count(&visits, PageId(3)), 0, "{name}");
        assert!(visits.len() > 100, "{name}: {}", visits.len());
        revisits.visited(PageId(3), now, Outcome::Changed);
        let visits = run(&mut revisits, &mut now, 200.0);
        assert!(count(&visits, PageId(3)) > 3, "{name}");
    }
}

#[test]
fn a_page_whose_visit_was_not_made_comes_again() {
    for name in steady() {
        let mut revisits = revisits(&name);
        let host = revisits.add_host(0.0, Seconds(0.01));
        for page in (0..5).map(PageId) {
            revisits.keep(0.0, page, host, 1.0, 0.0, None);
        }
        let (mut now, mut postponed) = (0.0, [0; 5]);
        while now < 100.0 {
            match revisits.next(now) {
                Next::Visit(page) => {
                    postponed[page.index()] += 1;
                    revisits.postponed(page, now);
                }
                Next::Wait(at) => now = at.max(now + 1e-6),
                Next::Idle => panic!("{name} has nothing to do"),
            }
        }
        assert!(
            postponed.iter().all(|&times| times > 3),
            "{name}: {postponed:?}"
        );
    }
}

#[test]
fn a_visit_that_somebody_else_asked_for_teaches_as_well() {
    let mut revisits = revisits("default");
    let host = revisits.add_host(0.0, Seconds(1.0));
    for page in (0..100).map(PageId) {
        revisits.keep(0.0, page, host, 1.0, 0.0, None);
    }
    for visit in 1..20 {
        revisits.visited(PageId(7), 5.0 * f64::from(visit), Outcome::Changed);
    }
    let rate = |page| revisits.belief(PageId(page)).unwrap().rate.median;
    assert!(rate(7) > 3.0 * rate(8), "{} {}", rate(7), rate(8));
    assert_eq!(revisits.belief(PageId(7)).unwrap().visits, 20);
    assert!(revisits.due(PageId(7)).unwrap() > 95.0);
    assert!(revisits.chance_fresh(PageId(7), 100.0) < revisits.chance_fresh(PageId(8), 100.0));
    let estimated = revisits.estimated(100.0, 1000);
    assert_eq!((estimated.copies, estimated.never_revisited), (100, 99));
}

#[test]
fn a_crawl_is_told_which_policies_it_may_use() {
    for name in ["per-page-cho", "halfway", "greedy", "nope"] {
        let refused = Revisits::new(name, 0.0, 1.0, 1, None).err().unwrap();
        let expected =
            format!("a crawl cannot use policy '{name}'; expected one of default, index");
        assert_eq!(refused.to_string(), expected);
    }
    for name in names() {
        assert!(Revisits::new(&name, 0.0, 1.0, 1, None).is_ok());
    }
}

#[test]
fn dates_that_a_page_cannot_have_are_left_out() {
    let mut revisits = revisits("default");
    let host = revisits.add_host(0.0, Seconds(1.0));
    for page in (0..4).map(PageId) {
        revisits.keep(0.0, page, host, 1.0, 0.0, None);
    }
    let outcomes = [
        Outcome::Changed,
        Outcome::LastModified(-5.0),
        Outcome::LastModified(1e9),
        Outcome::LastModified(f64::NAN),
    ];
    for (page, outcome) in (0..).map(PageId).zip(outcomes) {
        revisits.visited(page, 10.0, outcome);
    }
    // what visits found comes after version, number, last visit and visits; what is made of it depends
    // on the pages before, too
    let found = |page| revisits.memo(page)[17..41].to_vec();
    for page in (1..4).map(PageId) {
        assert_eq!(found(page), found(PageId(0)));
    }
}

#[test]
fn memos_bring_back_what_was_believed() {
    let mut before = revisits("default");
    let host = before.add_host(0.0, Seconds(0.1));
    for page in (0..20).map(PageId) {
        before.keep(0.0, page, host, 1.0, 0.0, None);
    }
    let mut now = 0.0;
    run(&mut before, &mut now, 100.0);
    let mut after = revisits("default");
    after.add_host(now, Seconds(0.1));
    for page in (0..20).map(PageId) {
        after.keep(now, page, host, 1.0, 0.0, Some(&before.memo(page)));
    }
    for page in (0..20).map(PageId) {
        let (old, new) = (before.belief(page).unwrap(), after.belief(page).unwrap());
        assert_eq!((old.visits, old.last_visit), (new.visits, new.last_visit));
        assert!((old.rate.median / new.rate.median - 1.0).abs() < 1e-6);
    }
}

/// Written by version 0.1.0 before findings were kept once: of a page visited thirteen times, the last time
/// at 168, by the default policy and by `index`.
#[test]
fn memos_of_the_version_before_are_read() {
    let both = "020100000000000000000065400d000000013fba8e42a7250540d4068e41d17c8f3f0000e0405b74553f\
                4b607a40ae19ae42828a8f0c";
    let of = [
        "6102000000000000000000f87ff74f6c402d4aa1423829413da04684416e95f63f4c032d4200000000000065\
         400000f0410000e0400000000000",
        "6902000000000000000000f87f0000000000fd16fa3c0000000000006540050a1c4074c16a42",
    ];
    for (name, own) in ["default", "index"].into_iter().zip(of) {
        let memo: Vec<u8> = format!("{both}{own}")
            .as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect();
        let mut revisits = revisits(name);
        let host = revisits.add_host(168.0, Seconds(0.1));
        revisits.keep(168.0, PageId(1), host, 1.0, 0.0, Some(&memo));
        let belief = revisits.belief(PageId(1)).unwrap();
        assert_eq!((belief.visits, belief.last_visit), (13, 168.0));
        // then it was 0.012 to 0.104, and the chance 0.653
        assert!(
            belief.rate.low < 0.045 && belief.rate.high > 0.045,
            "{belief:?}"
        );
        let fresh = revisits.chance_fresh(PageId(1), 178.0).unwrap();
        assert!((fresh - 0.653).abs() < 0.001, "{fresh}");
        // the policy's own part was understood, and both are written anew
        let again = revisits.memo(PageId(1));
        assert_eq!(again.len(), if name == "default" { 103 } else { 91 });
        let expected = if name == "default" { 3.692 } else { 2.438 };
        let events = match name {
            "default" => &again[66..70],
            _ => &again[83..87],
        };
        let events = f32::from_le_bytes(events.try_into().unwrap());
        assert!((events - expected).abs() < 0.001, "{name}: {events}");
    }
}
