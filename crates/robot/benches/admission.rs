//! What the whole admission costs on one machine: from links that were found to committed pages, with traps, scope
//! already judged. `cargo bench -p robot --bench admission -- [URLs]`. It uses only what was there before robots had a
//! fleet, so that the same file runs with the code of that time.

use std::time::{Duration, Instant};

use frontier::trap::{TrapConfig, Traps};
use robot::archivist::Archivist;
use robot::message::{Found, Write};
use storage::{Store, StoreOptions};
use url::Url;

const HOSTS: u64 = 1000;
const AT_ONCE: u64 = 4000;
const NOW: i64 = 1_790_000_000_000;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let count = arguments.find_map(|a| a.parse().ok()).unwrap_or(1_000_000);
    let directory = tempfile::tempdir().expect("a directory");
    let store = Store::open(directory.path(), StoreOptions::default()).expect("a store");
    // none of these URLs is a trap, but each is looked at
    let mut archivist = Archivist::new(store, None, Traps::new(TrapConfig::default()));
    let (mut new, mut trapped, mut wanted) = (0, 0, 0);
    let (mut spent, mut used) = (Duration::ZERO, 0.0);
    let mut start = 0;
    while start < count {
        let end = (start + AT_ONCE).min(count);
        let links: Vec<Found> = (start..end).map(|n| found(number(n))).collect();
        let fresh = (start..end).filter(|n| !is_known(*n)).count();
        wanted += fresh;
        let (clock, processor) = (Instant::now(), processor_time());
        let stored = archivist.write(vec![Write::Links(links)]).expect("written");
        spent += clock.elapsed();
        used += processor_time() - processor;
        new += stored.pages.len();
        trapped += stored.trapped;
        start = end;
    }
    assert_eq!((new, trapped), (wanted, 0), "new is what is new");
    println!(
        "admitted {count} URLs, {new} of them new: {:.0} a second, committed every {AT_ONCE}; {:.3} µs CPU each",
        count as f64 / spent.as_secs_f64(),
        used * 1e6 / count as f64
    );
}

/// Of five candidates one was there before.
fn is_known(n: u64) -> bool {
    n % 5 == 4
}

fn number(n: u64) -> u64 {
    if is_known(n) {
        n.wrapping_mul(0xd134_2543_de82_ef95) % (n - n / 5 - 1)
    } else {
        n - n / 5
    }
}

fn found(n: u64) -> Found {
    let mixed = n
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(29)
        .wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let host = (mixed >> 40 & 1023) % HOSTS;
    let text = format!(
        "https://www.site-{host:03}.example.org/section-{}/article-{n}.html",
        mixed & 0xff
    );
    Found {
        url: Url::parse(&text).expect("a URL"),
        key: text,
        depth: 3,
        from: None,
        changed: None,
        at: NOW,
    }
}

/// Seconds of processor time of all threads. Ticks would be too coarse for one commit.
fn processor_time() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task");
    let tasks = tasks.into_iter().flatten().flatten();
    let nanoseconds = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    });
    nanoseconds.sum::<f64>() / 1e9
}
