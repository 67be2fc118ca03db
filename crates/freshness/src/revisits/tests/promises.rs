//! Pages that come from elsewhere are due when they were to be.

use super::*;

/// A crawl that looked at its pages for a while, every `changing`-th of which changes with every visit.
fn lived(pages: u32, changing: u32, until: f64) -> (Revisits, HostId) {
    let mut revisits = revisits("default");
    let host = revisits.add_host(0.0, Seconds(0.01));
    for page in (0..pages).map(PageId) {
        revisits.keep(0.0, page, host, 1.0, 0.0, None);
    }
    let mut now = 0.0;
    while now < until {
        match revisits.next(now) {
            Next::Visit(page) if page.0.is_multiple_of(changing) => {
                revisits.visited(page, now, Outcome::Changed);
            }
            Next::Visit(page) => revisits.visited(page, now, Outcome::Unchanged),
            Next::Wait(at) => now = at.max(now + 1e-6),
            Next::Idle => now = until,
        }
    }
    (revisits, host)
}

#[test]
fn the_next_owner_keeps_to_what_was_promised_until_its_next_visit() {
    let (old, host) = lived(40, 3, 60.0);
    let dues = old.dues(&[host].into());
    assert_eq!(dues.len(), 40);
    let (mut new, _) = lived(400, 7, 60.0);
    let there = new.add_host(60.0, Seconds(0.01));
    let moved = |page: PageId| PageId(1000 + page.0);
    let mut without = 0;
    for &(page, due) in &dues {
        let mut memo = old.memo(page);
        new.keep(60.0, moved(page), there, 1.0, 0.0, Some(&memo));
        without += usize::from((new.due(moved(page)).unwrap() - due).abs() > 0.01 * due);
        new.drop_page(moved(page), 60.0);
        promise(&mut memo, due);
        // the longest that a store keeps of a page
        assert!(memo.len() <= 112, "{}", memo.len());
        new.keep(60.0, moved(page), there, 1.0, 0.0, Some(&memo));
        assert_eq!(new.due(moved(page)), Some(due));
        // what is written down of it says so as well
        assert_eq!(break_promise(&mut new.memo(moved(page))), Some(due));
    }
    assert!(without > 20, "both think alike: {without}");
    let (page, due) = dues[0];
    new.visited(moved(page), 61.0, Outcome::Unchanged);
    assert!(new.due(moved(page)).is_some_and(|at| at != due));
    assert_eq!(break_promise(&mut new.memo(moved(page))), None);
}

/// Somebody promises that a page need not be visited for a year: after a round we know better.
#[test]
fn a_promise_holds_for_a_round() {
    let (mut revisits, host) = lived(100, 5, 60.0);
    let page = PageId(7);
    let mut memo = revisits.memo(page);
    let far = 365.0 * 86_400.0;
    promise(&mut memo, far);
    revisits.drop_page(page, 60.0);
    revisits.keep(60.0, page, host, 1.0, 0.0, Some(&memo));
    assert_eq!(revisits.due(page), Some(far));
    let mut now = 60.0;
    let early = run(&mut revisits, &mut now, 65.0);
    assert_eq!(count(&early, page), 0);
    let late = run(&mut revisits, &mut now, 200.0);
    assert!(count(&late, page) > 0, "it is never visited again");
}

#[test]
fn what_is_no_memo_promises_nothing() {
    for bytes in [&[][..], &[4], &[4, 1, 2], &[3]] {
        let mut memo = bytes.to_vec();
        break_promise(&mut memo);
        promise(&mut memo, f64::NAN);
        let mut revisits = revisits("default");
        let host = revisits.add_host(0.0, Seconds(0.01));
        revisits.keep(0.0, PageId(1), host, 1.0, 0.0, Some(bytes));
        assert!(revisits.due(PageId(1)).is_some());
    }
}
