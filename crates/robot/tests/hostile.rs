//! Sites that would have the robot for themselves, over real sockets: an honest host keeps its pages,
//! by the servers' own record.

use frontier::politeness::Interval;
use robot::config::Config;
use robot::view::Status;
use robot::{Until, start};
use simulation::web::{Clock, Framing, Manner, Request, Response, Server, Site};
use std::fmt::Write;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

/// Seconds between two requests to a host or address.
const INTERVAL: f64 = 0.2;
const SECONDS: u64 = 25;
const HONEST: &str = "www.honest.test";
const HOSTILE: &str = "www.hostile.test";

/// Beside the honest host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Others {
    Nobody,
    /// A page links 5,000 subdomains, at 200 addresses.
    Subdomains,
    /// A page links 100 sites, each with an address and a network of its own, that send 300 bytes a
    /// second.
    Slow,
}

/// A web of the honest host and others; each has a part of 127.0.0.0/8 for itself.
struct Neighbours {
    others: Others,
    part: u8,
}

impl Neighbours {
    fn names(&self) -> Vec<String> {
        match self.others {
            Others::Nobody => Vec::new(),
            Others::Subdomains => (0..5000).map(|n| format!("s{n}.hostile.test")).collect(),
            Others::Slow => (0..100).map(|n| format!("www.slow{n}.test")).collect(),
        }
    }
}

fn page(status: u16, body: String, manner: Manner) -> Response {
    Response {
        status,
        headers: vec![("Content-Type", "text/html".into())],
        body: body.into(),
        framing: Framing::Length,
        manner,
        wait: Duration::from_millis(10),
    }
}

impl Site for Neighbours {
    fn hosts(&self) -> Vec<(String, Ipv4Addr)> {
        let at = |network: u8| Ipv4Addr::new(127, self.part, network, 1);
        let others = (0..).zip(self.names());
        let others = others.map(|(n, name)| (name, at(10 + (n % 200) as u8)));
        let first = [(HONEST.into(), at(1)), (HOSTILE.into(), at(2))];
        first.into_iter().chain(others).collect()
    }

    fn respond(&self, request: &Request, _: f64, _: &Clock) -> Response {
        let (host, path) = (request.host, request.path());
        if path == "/robots.txt" {
            return page(404, String::new(), Manner::Plain);
        }
        let number: u64 = path.trim_start_matches('/').parse().unwrap_or(0);
        let mut body = format!("<p>Page {number} of {host}.</p>");
        if host == HOSTILE {
            for name in self.names() {
                let _ = write!(body, "<a href=\"http://{name}:{}/\">one</a>", request.port);
            }
        } else {
            // pages without end
            for next in 3 * number + 1..=3 * number + 3 {
                let _ = write!(body, "<a href=\"/{next}\">next</a>");
            }
        }
        if self.others == Others::Slow && host.starts_with("www.slow") {
            body.extend(std::iter::repeat_n(' ', 60_000));
            let pause = Duration::from_millis(100);
            return page(200, body, Manner::Drip { piece: 30, pause });
        }
        page(200, body, Manner::Plain)
    }
}

/// Pages that the honest host served, and what the robot says.
fn crawl(others: Others, part: u8) -> (usize, Status) {
    let site = Arc::new(Neighbours { others, part });
    let running = Server::start(site, Clock::starting_now(1.0)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let url = |host| format!("http://{host}:{}/", running.port);
    let mut config = Config {
        seeds: vec![url(HONEST).into(), url(HOSTILE).into()],
        ..Config::default()
    };
    config.data.0 = directory.path().into();
    config.scope.suffixes = vec!["test".into()];
    config.politeness.interval = Interval::Fixed { seconds: INTERVAL };
    config.fetch.allow_networks = vec!["127.0.0.0/8".into()];
    let hosts = running.addresses.iter();
    config.fetch.hosts = hosts.map(|(name, &at)| (name.clone(), vec![at])).collect();
    let crawl = start(&config, Until::Stopped).unwrap();
    std::thread::sleep(Duration::from_secs(SECONDS));
    let visits = running.record.visits();
    crawl.stop();
    let status = crawl.wait().unwrap();
    let honest = (visits.iter()).filter(|visit| &*visit.host == HONEST && visit.complete);
    (honest.count(), status)
}

/// Both at the same time, so that what else the machine does slows both.
fn compare(others: Others, part: u8) -> Status {
    let alone = std::thread::spawn(move || crawl(Others::Nobody, part));
    let (beside, status) = crawl(others, part + 1);
    let (alone, _) = alone.join().unwrap();
    println!("{others:?}: {beside} pages of the honest host, {alone} without them; {status:?}");
    assert!(alone > 40, "{alone} pages in {SECONDS} s");
    assert!(beside as f64 >= 0.8 * alone as f64, "{beside} of {alone}");
    status
}

#[test]
fn subdomains_without_end_take_nothing_from_others() {
    let status = compare(Others::Subdomains, 60);
    assert!(status.hosts > 4900, "{} hosts were found", status.hosts);
    // the others wait until their site has earned it
    assert!(status.unopened_hosts > 2000, "{}", status.unopened_hosts);
}

#[test]
fn slow_bodies_take_nothing_from_others() {
    let status = compare(Others::Slow, 70);
    let given_up = status.failures.get("given-up").copied().unwrap_or(0);
    // they hold each other up: most have had their turn
    assert!(given_up > 30, "{given_up} were given up: {status:?}");
}
