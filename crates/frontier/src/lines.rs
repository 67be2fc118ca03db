//! The lines in which pages wait for their host's turn.
//!
//! # The life of a URL
//!
//! A URL that was admitted waits in its host's line of new pages. When it is the host's turn (its
//! address is known, its robots.txt too, nobody else is talking to the host or the address, and
//! the interval is over) the page is handed out; the host is busy until the request has `ended`.
//! From its first visit on the page belongs to the revisit policy, which puts it into the host's
//! line of due pages when a visit is worth its price. Where both lines wait, new pages have a fixed
//! share of the turns.

use crate::politeness::{Answer, Courtesy, Interval};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::net::IpAddr;

/// How turns are given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// The time between two requests to a host, and to an address.
    pub interval: Interval,
    /// Requests at a time to a host, and to an address.
    pub parallel: u16,
    /// The share of turns that new pages have where pages are due as well.
    pub share_of_new: f64,
    /// Requests per second in all; infinite without a limit.
    pub requests_per_second: f64,
    /// Bytes per second in all; infinite without a limit.
    pub bytes_per_second: f64,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            interval: Interval::default(),
            parallel: 1,
            share_of_new: 0.5,
            requests_per_second: f64::INFINITY,
            bytes_per_second: f64::INFINITY,
        }
    }
}

/// What is to be done now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Turn {
    /// Find the address of this host and say so with `resolved`.
    Resolve(u32),
    /// Fetch this host's robots.txt; say so with `set_robots` and `ended`.
    Robots {
        /// The host.
        host: u32,
        /// Where to connect to.
        address: IpAddr,
    },
    /// Do what was asked of this host for another's sake, then say so with `ended`.
    Errand {
        /// The host.
        host: u32,
        /// What was given to `push_errand`.
        errand: u32,
        /// Where to connect to.
        address: IpAddr,
    },
    /// Fetch this page, then say so with `ended`.
    Visit {
        /// The host.
        host: u32,
        /// The page.
        page: u32,
        /// Whether it came from the line of new pages.
        new: bool,
        /// Where to connect to.
        address: IpAddr,
    },
    /// Nothing before this instant, unless something is added.
    Wait(f64),
    /// Nothing waits; a request may still be under way.
    Idle,
}

/// What a host waits for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Waiting {
    /// No page waits.
    ForWork,
    /// A request to it is under way.
    ForAnswer,
    /// Its interval, or what it asked for, is not over.
    Until(f64),
    /// Its address is being asked for.
    ForAddress,
    /// Another host of the same address has the turn, or had it just now.
    ForNeighbours(IpAddr),
    /// Its robots.txt comes first.
    ForRobots,
    /// Nothing; it is next.
    ForNothing,
}

#[derive(Debug, Default)]
struct Line {
    new: VecDeque<u32>,
    due: VecDeque<u32>,
    errands: VecDeque<u32>,
    courtesy: Courtesy,
    address: Option<IpAddr>,
    address_until: f64,
    robots_until: f64,
    pages: u32,
    under_way: u16,
    credit: f32,
    resolving: bool,
    asking_robots: bool,
    queued: bool,
}

#[derive(Debug, Default)]
struct Neighbours {
    under_way: u16,
    not_before: f64,
    waiting: Vec<u32>,
}

/// All hosts' lines.
#[derive(Debug)]
pub struct Lines {
    rules: Rules,
    hosts: Vec<Line>,
    addresses: HashMap<IpAddr, Neighbours>,
    /// Hosts by the instant of their turn; of the same instant, in the order they asked for it.
    turns: BinaryHeap<Reverse<(i64, u64, u32)>>,
    asked: u64,
    /// Addresses nobody has talked to since the start wait until here.
    opening: f64,
    requests_at: f64,
    bytes_at: f64,
    new: usize,
    due: usize,
    errands: usize,
}

/// Instants as integers, in microseconds, to be sorted.
fn ticks(at: f64) -> i64 {
    (at * 1e6).ceil() as i64
}

/// Whether there is something to wait for: by the same measure by which turns are sorted, or one
/// that is due would be put off for ever.
fn is_later(at: f64, now: f64) -> bool {
    ticks(at) > ticks(now)
}

/// What an unused budget may catch up, in seconds.
const CREDIT: f64 = 1.0;

impl Lines {
    /// No host yet; `opening` is the instant from which on any address may be talked to.
    pub fn new(rules: Rules, opening: f64) -> Self {
        Self {
            rules,
            hosts: Vec::new(),
            addresses: HashMap::new(),
            turns: BinaryHeap::new(),
            asked: 0,
            opening,
            requests_at: 0.0,
            bytes_at: 0.0,
            new: 0,
            due: 0,
            errands: 0,
        }
    }

    /// Adds the next host: its standing, and until when its robots.txt is known.
    pub fn add_host(&mut self, courtesy: Courtesy, robots_until: f64) -> u32 {
        self.hosts.push(Line {
            courtesy,
            robots_until,
            ..Line::default()
        });
        self.hosts.len() as u32 - 1
    }

    /// Hosts added so far.
    pub fn hosts(&self) -> u32 {
        self.hosts.len() as u32
    }

    /// A page to be fetched for the first time.
    pub fn push_new(&mut self, host: u32, page: u32) {
        let line = &mut self.hosts[host as usize];
        line.new.push_back(page);
        line.pages += 1;
        self.new += 1;
        self.queue(host);
    }

    /// A page to be fetched again.
    pub fn push_due(&mut self, host: u32, page: u32) {
        self.hosts[host as usize].due.push_back(page);
        self.due += 1;
        self.queue(host);
    }

    /// A request that goes before all pages and needs no robots.txt, such as the next hop of a
    /// redirected robots.txt.
    pub fn push_errand(&mut self, host: u32, errand: u32) {
        self.hosts[host as usize].errands.push_back(errand);
        self.errands += 1;
        self.queue(host);
    }

    /// Takes back the errands to a host that cannot be reached.
    pub fn drop_errands(&mut self, host: u32) -> Vec<u32> {
        let errands = std::mem::take(&mut self.hosts[host as usize].errands);
        self.errands -= errands.len();
        errands.into()
    }

    /// Takes back all pages that wait for a host.
    pub fn take_pages(&mut self, host: u32) -> Vec<u32> {
        let line = &mut self.hosts[host as usize];
        self.new -= line.new.len();
        self.due -= line.due.len();
        line.new.drain(..).chain(line.due.drain(..)).collect()
    }

    /// A page known from before, which waits for nothing now.
    pub fn count_page(&mut self, host: u32) {
        self.hosts[host as usize].pages += 1;
    }

    /// New pages that wait.
    pub fn new_waiting(&self) -> usize {
        self.new
    }

    /// Due pages that wait.
    pub fn due_waiting(&self) -> usize {
        self.due
    }

    /// New and due pages that wait for this host.
    pub fn waiting_at(&self, host: u32) -> (usize, usize) {
        let line = &self.hosts[host as usize];
        (line.new.len(), line.due.len())
    }

    /// The host's standing.
    pub fn courtesy(&self, host: u32) -> &Courtesy {
        &self.hosts[host as usize].courtesy
    }

    /// Where the host was last found.
    pub fn address(&self, host: u32) -> Option<IpAddr> {
        self.hosts[host as usize].address
    }

    /// The time between two requests to this host, as things stand.
    pub fn interval(&self, host: u32) -> f64 {
        let line = &self.hosts[host as usize];
        line.courtesy.interval(self.rules.interval, line.pages)
    }

    /// When a host has its next turn; infinite while all that wait, wait for an answer.
    pub fn next_turn(&self) -> f64 {
        let next = self.turns.peek();
        next.map_or(f64::INFINITY, |Reverse((at, ..))| *at as f64 / 1e6)
    }

    /// What to do at `now`.
    pub fn next(&mut self, now: f64) -> Turn {
        let affordable = self.requests_at.max(self.bytes_at);
        if affordable > now {
            return if self.new + self.due + self.errands == 0 {
                Turn::Idle
            } else {
                Turn::Wait(affordable)
            };
        }
        while let Some(&Reverse((at, _, host))) = self.turns.peek() {
            if at > ticks(now) {
                return Turn::Wait(at as f64 / 1e6);
            }
            self.turns.pop();
            self.hosts[host as usize].queued = false;
            if let Some(turn) = self.turn_of(host, now) {
                return turn;
            }
        }
        Turn::Idle
    }

    /// The host's turn, unless it has to wait; then it is queued for when it may have it.
    fn turn_of(&mut self, host: u32, now: f64) -> Option<Turn> {
        let parallel = self.rules.parallel;
        let line = &mut self.hosts[host as usize];
        if line.is_empty()
            || line.resolving
            || line.asking_robots && line.errands.is_empty()
            || line.under_way >= parallel
        {
            return None; // queued again by whoever ends that
        }
        if is_later(line.courtesy.not_before, now) {
            let at = line.courtesy.not_before;
            self.queue_at(host, at);
            return None;
        }
        let Some(address) = line.address.filter(|_| line.address_until > now) else {
            line.resolving = true;
            return Some(Turn::Resolve(host));
        };
        let neighbours = self.addresses.entry(address).or_default();
        if neighbours.under_way >= parallel {
            neighbours.waiting.push(host);
            return None;
        }
        let at = neighbours.not_before.max(self.opening);
        if is_later(at, now) {
            self.queue_at(host, at);
            return None;
        }
        neighbours.under_way += 1;
        line.under_way += 1;
        self.requests_at =
            self.requests_at.max(now - CREDIT) + 1.0 / self.rules.requests_per_second;
        let turn = if let Some(errand) = line.errands.pop_front() {
            self.errands -= 1;
            Turn::Errand {
                host,
                errand,
                address,
            }
        } else if line.robots_until <= now {
            line.asking_robots = true;
            Turn::Robots { host, address }
        } else {
            let new = line.choose(self.rules.share_of_new);
            let from = if new { &mut line.new } else { &mut line.due };
            let page = from.pop_front().expect("a page waits");
            *(if new { &mut self.new } else { &mut self.due }) -= 1;
            Turn::Visit {
                host,
                page,
                new,
                address,
            }
        };
        // where a host takes several at a time, the others first: few connections serve all
        self.queue_at(host, now);
        Some(turn)
    }

    /// What came of a `Turn::Resolve`: the address and for how many seconds it holds; or in how many
    /// seconds it is worth asking again.
    pub fn resolved(&mut self, host: u32, now: f64, found: Result<(IpAddr, f64), f64>) {
        let line = &mut self.hosts[host as usize];
        line.resolving = false;
        match found {
            Ok((address, seconds)) => {
                line.address = Some(address);
                line.address_until = now + seconds;
            }
            Err(seconds) => line.courtesy.not_before = line.courtesy.not_before.max(now + seconds),
        }
        self.queue(host);
    }

    /// robots.txt, read just now, is known until then, and asks for this delay, which holds for
    /// the request after it too.
    pub fn set_robots(&mut self, host: u32, now: f64, until: f64, crawl_delay: f64) {
        let line = &mut self.hosts[host as usize];
        line.asking_robots = false;
        line.robots_until = until;
        line.courtesy.crawl_delay = crawl_delay;
        line.courtesy.not_before = line.courtesy.not_before.max(now + crawl_delay);
        self.queue(host);
    }

    /// A request to the host at that address ended.
    pub fn ended(&mut self, host: u32, address: IpAddr, now: f64, answer: Answer, bytes: u64) {
        let interval = self.rules.interval;
        let line = &mut self.hosts[host as usize];
        line.courtesy.ended(interval, line.pages, now, answer);
        let wait = line.courtesy.interval(interval, line.pages);
        self.bytes_at =
            self.bytes_at.max(now - CREDIT) + bytes as f64 / self.rules.bytes_per_second;
        self.release(host, address, now + wait);
    }

    /// The turn was given back: no request was made.
    pub fn unused(&mut self, host: u32, address: IpAddr) {
        self.release(host, address, 0.0);
    }

    fn release(&mut self, host: u32, address: IpAddr, not_before: f64) {
        self.hosts[host as usize].under_way -= 1;
        let waiting = match self.addresses.get_mut(&address) {
            Some(neighbours) => {
                neighbours.under_way -= 1;
                neighbours.not_before = neighbours.not_before.max(not_before);
                std::mem::take(&mut neighbours.waiting)
            }
            None => Vec::new(),
        };
        for other in waiting {
            self.queue(other);
        }
        self.queue(host);
    }

    /// No request to this host before then.
    pub fn hold(&mut self, host: u32, until: f64) {
        let courtesy = &mut self.hosts[host as usize].courtesy;
        courtesy.not_before = courtesy.not_before.max(until);
    }

    fn queue(&mut self, host: u32) {
        let line = &self.hosts[host as usize];
        let neighbours = line
            .address
            .and_then(|address| self.addresses.get(&address));
        let at = neighbours.map_or(0.0, |neighbours| neighbours.not_before);
        let at = at.max(line.courtesy.not_before).max(self.opening);
        self.queue_at(host, at);
    }

    fn queue_at(&mut self, host: u32, at: f64) {
        let line = &mut self.hosts[host as usize];
        if line.queued || line.is_empty() || line.under_way >= self.rules.parallel {
            return;
        }
        line.queued = true;
        self.asked += 1;
        self.turns.push(Reverse((ticks(at), self.asked, host)));
    }

    /// What the host waits for at `now`.
    pub fn waiting(&self, host: u32, now: f64) -> Waiting {
        let line = &self.hosts[host as usize];
        let neighbours = line
            .address
            .and_then(|address| self.addresses.get(&address));
        if line.is_empty() {
            Waiting::ForWork
        } else if line.resolving {
            Waiting::ForAddress
        } else if line.asking_robots {
            Waiting::ForRobots
        } else if line.under_way >= self.rules.parallel {
            Waiting::ForAnswer
        } else if line.courtesy.not_before > now {
            Waiting::Until(line.courtesy.not_before)
        } else if let (Some(address), Some(neighbours)) = (line.address, neighbours)
            && (neighbours.under_way >= self.rules.parallel || neighbours.not_before > now)
        {
            Waiting::ForNeighbours(address)
        } else if line.robots_until <= now {
            Waiting::ForRobots
        } else {
            Waiting::ForNothing
        }
    }
}

impl Line {
    fn is_empty(&self) -> bool {
        self.new.is_empty() && self.due.is_empty() && self.errands.is_empty()
    }

    /// Whether a new page has this turn.
    fn choose(&mut self, share_of_new: f64) -> bool {
        if self.due.is_empty() || self.new.is_empty() {
            return self.due.is_empty();
        }
        self.credit += share_of_new as f32;
        let new = self.credit >= 1.0;
        if new {
            self.credit -= 1.0;
        }
        new
    }
}

#[cfg(test)]
mod tests;
