//! What a turn costs, from asking for it to its end, at 10^3 to 10^6 hosts that all have something to
//! do: `cargo bench -p frontier --bench lines`.

use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use frontier::lines::{Lines, Rules, Turn};
use frontier::politeness::{Answer, Courtesy, Interval};
use ground::{PageId, Seconds};

/// Who shares what.
#[derive(Clone, Copy)]
enum Crowd {
    /// Every host its own site and address.
    Strangers,
    /// All of one site.
    OneSite,
    /// A thousand hosts at each address.
    Hosting,
}

/// A budget of time for each measurement.
const PATIENCE: Duration = Duration::from_secs(2);
/// Turns a second of virtual time.
const RATE: f64 = 1000.0;

fn main() {
    println!(
        "{:>8} {:>12} {:>12} {:>12}",
        "hosts", "strangers", "one site", "hosting"
    );
    for hosts in [1_000, 10_000, 100_000, 1_000_000] {
        let cost = |crowd| format!("{:.0} ns", nanoseconds(hosts, crowd));
        println!(
            "{hosts:>8} {:>12} {:>12} {:>12}",
            cost(Crowd::Strangers),
            cost(Crowd::OneSite),
            cost(Crowd::Hosting)
        );
    }
}

fn nanoseconds(hosts: u32, crowd: Crowd) -> f64 {
    let an_address = if matches!(crowd, Crowd::Hosting) {
        1000
    } else {
        1
    };
    let rules = Rules {
        // each host, or address, once in the time in which all are asked
        interval: Interval::Fixed {
            seconds: f64::from(hosts / an_address) / RATE,
        },
        ..Rules::default()
    };
    let mut lines = Lines::new(rules, 0.0);
    let known = Courtesy {
        response: 0.1,
        ..Courtesy::default()
    };
    for number in 0..hosts {
        let name = match crowd {
            Crowd::OneSite => format!("h{number}.example.org"),
            Crowd::Strangers | Crowd::Hosting => format!("www.h{number}.org"),
        };
        let host = lines.add_host(&name, known, f64::INFINITY);
        let address = IpAddr::from(Ipv4Addr::from_bits((10 << 24) + number / an_address));
        lines.resolved(host, 0.0, Some((address, Seconds(f64::INFINITY))));
        lines.push_due(host, PageId(number));
    }
    let mut now = 1.0;
    // all once, so that each waits for another instant
    turns(&mut lines, &mut now, hosts.min(200_000), Duration::MAX);
    let begun = Instant::now();
    let done = turns(&mut lines, &mut now, 500_000, PATIENCE);
    begun.elapsed().as_nanos() as f64 / f64::from(done)
}

/// So many turns, one after the other, unless it takes too long.
fn turns(lines: &mut Lines, now: &mut f64, most: u32, patience: Duration) -> u32 {
    let begun = Instant::now();
    let mut done = 0;
    while done < most && (!done.is_multiple_of(64) || begun.elapsed() < patience) {
        match lines.next(*now) {
            Turn::Visit {
                host,
                page,
                address,
                ..
            } => {
                lines.ended(host, address, *now, Answer::Fine { seconds: 0.1 }, 1000);
                lines.push_due(host, page);
                done += 1;
                *now += 1.0 / RATE;
            }
            Turn::Wait(then) => *now = then,
            other => panic!("{other:?}"),
        }
    }
    done
}
