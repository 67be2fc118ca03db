//! Whether a record of requests is polite.

use super::record::Visit;
use std::collections::HashMap;

/// How far apart requests must be, in seconds of wall time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// Between the starts of two requests to a host.
    pub host_delay: f64,
    /// Between the starts of two requests to an address.
    pub address_delay: f64,
    /// The same for the hosts that ask for more, by name.
    pub crawl_delay: HashMap<String, f64>,
    /// How much the server's clock may be off: the time by which an operating system may delay one
    /// request more than the next.
    pub tolerance: f64,
}

/// A request that came too soon.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// The request, as an index into the record.
    pub visit: usize,
    /// The one before it, likewise.
    pub before: usize,
    /// What the two have in common: the name of a host, or an address.
    pub place: String,
    /// What is wrong.
    pub fault: Fault,
}

/// What is wrong with a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// It started too soon after the start of the one before.
    TooSoon {
        /// Seconds between the starts.
        gap: f64,
        /// Seconds there should have been.
        needed: f64,
    },
    /// It started while the one before was still running.
    Overlap,
}

/// Every request that started less than the delay after the start of another on its host or
/// address, or before that other had ended. A record without violations is polite.
pub fn check_politeness(visits: &[Visit], rules: &Rules) -> Vec<Violation> {
    let mut order: Vec<usize> = (0..visits.len()).collect();
    order.sort_by_key(|&number| visits[number].start);
    let mut violations = Vec::new();
    let mut by_host = HashMap::new();
    let mut by_address = HashMap::new();
    for number in order {
        let visit = &visits[number];
        let asked = rules.crawl_delay.get(&*visit.host).copied();
        let host_delay = rules.host_delay.max(asked.unwrap_or(0.0));
        let places = [
            (by_host.entry(&visit.host).or_default(), host_delay),
            (
                by_address.entry(visit.address).or_default(),
                rules.address_delay,
            ),
        ];
        for (k, (last, delay)) in places.into_iter().enumerate() {
            let mut report = |before: usize, fault: Fault| {
                let place = match k {
                    0 => visit.host.to_string(),
                    _ => visit.address.to_string(),
                };
                violations.push(Violation {
                    visit: number,
                    before,
                    place,
                    fault,
                });
            };
            check_place(last, visits, number, delay, rules.tolerance, &mut report);
        }
    }
    violations
}

/// The request to a place that started last and the one that will end last.
type Last = Option<(usize, usize)>;

fn check_place(
    last: &mut Last,
    visits: &[Visit],
    number: usize,
    delay: f64,
    tolerance: f64,
    report: &mut impl FnMut(usize, Fault),
) {
    let visit = &visits[number];
    let mut longest = number;
    if let Some((before, running)) = *last {
        let gap = visit.start - visits[before].start;
        if gap + micros(tolerance) < micros(delay) {
            let (gap, needed) = (gap as f64 * 1e-6, delay);
            report(before, Fault::TooSoon { gap, needed });
        }
        if visit.start + micros(tolerance) < visits[running].end {
            report(running, Fault::Overlap);
        }
        if visits[running].end > visit.end {
            longest = running;
        }
    }
    *last = Some((number, longest));
}

fn micros(seconds: f64) -> u64 {
    (seconds * 1e6).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn visit(host: &str, address: u8, start_ms: u64, end_ms: u64) -> Visit {
        Visit {
            start: start_ms * 1000,
            end: end_ms * 1000,
            host: host.into(),
            address: Ipv4Addr::new(127, 1, 0, address),
            client: Ipv4Addr::LOCALHOST,
            path: "/".into(),
            status: 200,
            bytes: 1,
            conditional: false,
            complete: true,
        }
    }

    fn rules() -> Rules {
        Rules {
            host_delay: 0.1,
            address_delay: 0.05,
            crawl_delay: [("slow".to_owned(), 1.0)].into(),
            tolerance: 0.002,
        }
    }

    fn check(visits: &[Visit], expected: &[(usize, usize, &str, &str)]) {
        let violations = check_politeness(visits, &rules());
        let found: Vec<(usize, usize, &str, &str)> = violations
            .iter()
            .map(|v| {
                let fault = match v.fault {
                    Fault::TooSoon { .. } => "soon",
                    Fault::Overlap => "overlap",
                };
                (v.visit, v.before, &*v.place, fault)
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_far_enough_apart_is_polite() {
        check(&[], &[]);
        check(&[visit("a", 1, 0, 10), visit("a", 1, 100, 110)], &[]);
        // within what the clock may be off
        check(&[visit("a", 1, 0, 100), visit("a", 1, 98, 110)], &[]);
        // hosts and addresses apart have nothing to do with each other
        check(&[visit("a", 1, 0, 500), visit("b", 2, 1, 2)], &[]);
    }

    #[test]
    fn hosts_addresses_and_crawl_delays_are_watched() {
        check(
            &[visit("a", 1, 0, 10), visit("a", 2, 90, 95)],
            &[(1, 0, "a", "soon")],
        );
        check(
            &[visit("a", 1, 0, 10), visit("b", 1, 40, 45)],
            &[(1, 0, "127.1.0.1", "soon")],
        );
        check(
            &[visit("slow", 1, 0, 10), visit("slow", 1, 900, 910)],
            &[(1, 0, "slow", "soon")],
        );
    }

    #[test]
    fn a_request_that_is_not_over_shuts_out_all_that_follow() {
        let running = visit("a", 1, 0, u64::MAX / 1000);
        check(
            &[running, visit("a", 1, 200, 210), visit("b", 1, 400, 410)],
            &[
                (1, 0, "a", "overlap"),
                (1, 0, "127.1.0.1", "overlap"),
                (2, 0, "127.1.0.1", "overlap"),
            ],
        );
    }

    #[test]
    fn the_order_of_the_record_does_not_matter() {
        check(
            &[visit("a", 2, 50, 60), visit("a", 1, 0, 10)],
            &[(0, 1, "a", "soon")],
        );
    }
}
