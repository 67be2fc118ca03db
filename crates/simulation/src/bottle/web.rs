//! A web that exists in memory: what each URL answers at each instant, and a record of who asked.

use fetch::Exchange;
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};

/// What a bottle's web is like.
#[derive(Clone, Debug)]
pub struct BottleWeb {
    /// Hosts; every third shares an address with the one before it.
    pub hosts: usize,
    /// Pages on each host.
    pub pages: usize,
    /// Seconds between the changes of pages on the average, the shortest and the longest. They
    /// change at random.
    pub change_every: (f64, f64),
    /// The same of home pages, if they are different.
    pub home_changes_every: Option<f64>,
    /// The share of pages that vanish, and of pages that appear, in the course of the run.
    pub turnover: f64,
    /// The share of requests that nobody answers while there are faults.
    pub silent: f64,
    /// The longest time an answer takes.
    pub slowest: f64,
    /// From so many seconds after the start on, the first host answers every request with 503, and asks for so
    /// many seconds of patience.
    pub patience: Option<(f64, f64)>,
    /// For so many seconds robots.txt holds, if not for a day.
    pub robots_hold: Option<f64>,
    /// So many hosts more, all of one site, to which the first page leads; they take their time for every answer.
    pub crowd: usize,
}

/// The first of the crowd, by number.
const CROWD: usize = 10_000;
/// Seconds that each of their answers takes.
const CROWD_TAKES: f64 = 40.0;

/// A page: where it is, when it lives, and when it changes.
#[derive(Clone, Debug)]
pub struct BottlePage {
    /// Its host.
    pub host: usize,
    /// Its path.
    pub path: String,
    /// From when on it is there, and until when.
    pub lives: (f64, f64),
    /// The instants of its changes.
    changes: Vec<f64>,
    /// It says that it is elsewhere.
    pub redirect: Option<String>,
    /// robots.txt forbids it.
    pub forbidden: bool,
}

impl BottlePage {
    /// Whether it is there.
    pub fn is_alive(&self, at: f64) -> bool {
        self.lives.0 <= at && at < self.lives.1
    }

    /// How often it has changed.
    pub fn version(&self, at: f64) -> u64 {
        self.changes.partition_point(|&change| change <= at) as u64
    }
}

/// Instants at random, so far apart on the average.
fn changes(every: f64, (start, end): (f64, f64), random: &mut Xoshiro256PlusPlus) -> Vec<f64> {
    let mut changes = Vec::new();
    let mut at = start;
    loop {
        at -= every * (1.0 - random.random::<f64>()).ln();
        if at >= end {
            return changes;
        }
        changes.push(at);
    }
}

/// The web and its record.
pub(super) struct Web {
    pub spec: BottleWeb,
    pub pages: Vec<BottlePage>,
    by_url: HashMap<(usize, String), usize>,
    /// Faults are over from here on.
    pub calm: f64,
}

impl Web {
    pub fn new(
        spec: &BottleWeb,
        (start, calm, end): (f64, f64, f64),
        random: &mut Xoshiro256PlusPlus,
    ) -> Self {
        let mut pages = Vec::new();
        let (shortest, longest) = spec.change_every;
        for host in (0..spec.hosts).chain(CROWD..CROWD + spec.crowd) {
            for number in 0..spec.pages {
                let at = |share: f64| start + share * (calm - start);
                let lot: f64 = random.random();
                let lives = match number {
                    0 => (start, f64::INFINITY),
                    _ if lot < spec.turnover => (start, at(0.2 + 0.7 * random.random::<f64>())),
                    _ if lot < 2.0 * spec.turnover => {
                        (at(0.2 + 0.7 * random.random::<f64>()), f64::INFINITY)
                    }
                    _ => (start, f64::INFINITY),
                };
                let exponent: f64 = random.random();
                let every = shortest * (longest / shortest).powf(exponent);
                let home = spec.home_changes_every.filter(|_| number == 0);
                pages.push(BottlePage {
                    host,
                    path: match number {
                        0 => "/".into(),
                        _ if number % 11 == 5 => format!("/private/{number}"),
                        _ => format!("/page/{number}"),
                    },
                    lives,
                    changes: changes(home.unwrap_or(every), (start, end), random),
                    redirect: (number % 13 == 7).then(|| "/".into()),
                    forbidden: number % 11 == 5,
                });
            }
        }
        let by_url = pages.iter().enumerate();
        let by_url = by_url.map(|(page, known)| ((known.host, known.path.clone()), page));
        Self {
            spec: spec.clone(),
            by_url: by_url.collect(),
            pages,
            calm,
        }
    }

    pub fn name(host: usize) -> String {
        if host >= CROWD {
            return format!("h{host}.crowd.example");
        }
        format!("h{host}.bottle{}.example", host % 7)
    }

    /// Whether a host is one of the crowd.
    pub fn is_crowd(host: usize) -> bool {
        host >= CROWD
    }

    /// Seconds that an answer takes, by a lot.
    pub fn takes(&self, host: Option<usize>, lot: f64) -> f64 {
        match host {
            Some(host) if Self::is_crowd(host) => CROWD_TAKES,
            _ => self.spec.slowest * lot.powi(2),
        }
    }

    /// The pages of a host, its home page first.
    fn pages_of(&self, host: usize) -> &[BottlePage] {
        let place = if host >= CROWD {
            self.spec.hosts + host - CROWD
        } else {
            host
        };
        let first = place * self.spec.pages;
        &self.pages[first..first + self.spec.pages]
    }

    pub fn host_of(name: &str) -> Option<usize> {
        name.strip_prefix('h')?.split('.').next()?.parse().ok()
    }

    /// What DNS says: hosts move once, and one name leads to where nobody may go.
    pub fn address(&self, host: usize, at: f64) -> IpAddr {
        let shared = if host % 3 == 2 { host - 1 } else { host };
        let moved = u8::from(at > self.calm - 1000.0 && host.is_multiple_of(5));
        if host == self.spec.hosts - 1 && at < self.calm {
            return IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
        }
        let number = shared as u32 + 1;
        IpAddr::V4(Ipv4Addr::new(
            93,
            (number >> 8) as u8,
            (number & 255) as u8,
            1 + moved,
        ))
    }

    /// robots.txt: out of order for a while on some hosts, then with rules.
    pub fn robots(&self, host: usize, at: f64) -> (u16, &'static [u8]) {
        match host % 4 {
            1 if at < self.calm - 2000.0 => (503, b""),
            3 => (404, b""),
            _ => (200, b"User-agent: *\nDisallow: /private/\n"),
        }
    }

    /// What the host asks for in place of an answer: to be left alone for so many seconds.
    pub fn patience(&self, host: usize, at: f64) -> Option<f64> {
        let (from, seconds) = self.spec.patience.filter(|_| host == 0)?;
        (at >= super::START + from).then_some(seconds)
    }

    /// The page of a URL.
    pub fn find(&self, host: usize, path: &str) -> Option<usize> {
        self.by_url.get(&(host, path.to_owned())).copied()
    }

    /// What the page answers.
    pub fn answer(&self, page: Option<usize>, at: f64, etag: Option<&str>, ip: IpAddr) -> Exchange {
        let alive = page.filter(|&page| self.pages[page].is_alive(at));
        let asks = page.and_then(|page| self.patience(self.pages[page].host, at));
        if let Some(seconds) = asks {
            let head = format!("HTTP/1.1 503 Busy\r\nRetry-After: {seconds}\r\n\r\n");
            return Exchange::kept(head.into(), Vec::new().into(), ip).expect("a head of our own");
        }
        let (head, body) = match alive.map(|page| (page, &self.pages[page])) {
            None => ("HTTP/1.1 404 Not Found\r\n\r\n".to_owned(), String::new()),
            Some((
                _,
                BottlePage {
                    redirect: Some(to), ..
                },
            )) => (
                format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\n\r\n"),
                String::new(),
            ),
            Some((number, _)) => {
                let (version, links) = self.state(number, at);
                let tag = format!("\"{number}-{version}-{links}\"");
                if etag == Some(&tag) {
                    (
                        format!("HTTP/1.1 304 Not Modified\r\nETag: {tag}\r\n\r\n"),
                        String::new(),
                    )
                } else {
                    let head = format!(
                        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nETag: {tag}\r\n\r\n"
                    );
                    (head, self.body(number, at))
                }
            }
        };
        Exchange::kept(head.into(), body.into(), ip).expect("a head of our own")
    }

    /// What tells a copy of one time from one of another: its text, and its links.
    pub fn state(&self, number: usize, at: f64) -> (u64, u64) {
        let page = &self.pages[number];
        let links = self.pages_of(page.host).iter().fold(0u64, |links, other| {
            links.rotate_left(1) ^ u64::from(other.is_alive(at))
        });
        let is_home = page.path == "/";
        (page.version(at), if is_home { links } else { 0 })
    }

    /// The home page links to all pages of its host that are there, and to the next home page.
    fn body(&self, number: usize, at: f64) -> String {
        let page = &self.pages[number];
        let version = page.version(at);
        let mut body = format!(
            "<html><body><main><h1>Page {number}</h1><p>This is the text of the page in its \
             version number {version}, which was written by hand.</p>"
        );
        if page.path == "/" {
            for other in self.pages_of(page.host) {
                if other.is_alive(at) {
                    let _ = write!(body, "<a href=\"{}\">page</a>", other.path);
                }
            }
            let next = Self::name((page.host + 1) % self.spec.hosts);
            let _ = write!(body, "<a href=\"http://{next}/\">next</a>");
            let crowd = CROWD..CROWD + self.spec.crowd;
            for one in crowd.filter(|_| page.host == 0).map(Self::name) {
                let _ = write!(body, "<a href=\"http://{one}/\">one of many</a>");
            }
        }
        body + "</main></body></html>"
    }
}
