//! What a visit costs does not grow with the pages.

use super::*;
use std::time::Instant;

/// Visits timed together, and how often: other programs disturb few of so short a time.
const TOGETHER: u32 = 200;
const TIMES: u32 = 30;

/// Seconds that a visit takes, its answer, and a delay of its host that changes with each.
fn cost(pages: u32, hosts: u32) -> f64 {
    let mut revisits = Revisits::new("default", 0.0, 1e-5, 1, None).unwrap();
    let unit = 100.0 / f64::from(pages / hosts);
    for _ in 0..hosts {
        revisits.add_host(0.0, Seconds(0.6 * unit));
    }
    revisits.set_budget(0.0, 0.5 * f64::from(hosts) / unit);
    for page in 0..pages {
        let host = HostId(page % hosts);
        revisits.keep(0.0, PageId(page), host, 1.0, -f64::from(page), None);
    }
    let (mut now, mut answers) = (0.0, 0u32);
    let mut visit = || loop {
        match revisits.next(now) {
            Next::Visit(page) => {
                answers += 1;
                let share =
                    f64::from(answers.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24);
                let outcome = [Outcome::Unchanged, Outcome::Changed][usize::from(share < 0.3)];
                revisits.visited(page, now, outcome);
                let delay = Seconds(unit * (0.2 + 0.8 * share));
                return revisits.set_delay(now, HostId(page.0 % hosts), delay);
            }
            Next::Wait(at) => now = at.max(now.next_up()),
            Next::Idle => panic!("nothing to do"),
        }
    };
    (0..2000).for_each(|_| visit());
    let times = (0..TIMES).map(|_| {
        let begun = Instant::now();
        (0..TOGETHER).for_each(|_| visit());
        begun.elapsed().as_secs_f64() / f64::from(TOGETHER)
    });
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 4]
}

/// Everything was judged anew when a delay changed: at every answer.
#[test]
fn an_answer_costs_as_much_with_thirty_times_the_pages() {
    for (few, many) in [((2000, 20), (64_000, 640)), ((2000, 1), (64_000, 1))] {
        let (few, many) = (cost(few.0, few.1), cost(many.0, many.1));
        println!("{:.1} and {:.1} µs a visit", 1e6 * few, 1e6 * many);
        assert!(many < 6.0 * few, "{many} s instead of {few}");
    }
}
