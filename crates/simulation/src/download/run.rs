//! The download itself, event by event.

use super::conditions::Conditions;
use super::divide::Assignment;
use super::internet::Internet;
use super::timeline::Timeline;
use super::web::{Address, Web};
use crate::run::Control;
use partition::solve::Robot;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::atomic::Ordering;

/// Whether to stop is asked, and progress told, once in so many downloads.
const STEP: usize = 1 << 14;
const NOBODY: u32 = u32::MAX;
const NANOSECONDS: f64 = 1e9;

/// One connection to a server.
#[derive(Clone, Debug, PartialEq)]
pub struct Visit {
    /// Who visits.
    pub robot: u32,
    /// Whom.
    pub server: u32,
    /// From when, in seconds.
    pub start: f64,
    /// Until when.
    pub end: f64,
    /// For how long the server is left alone afterwards.
    pub pause: f64,
    /// What was downloaded.
    pub pages: Vec<u32>,
}

/// What a robot did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RobotRecord {
    /// Pages downloaded.
    pub pages: u64,
    /// Seconds without any download under way, until all robots were done.
    pub idle: f64,
    /// Connection-seconds under way.
    pub busy: f64,
    /// Links found that are another robot's.
    pub handed_over: u64,
    /// When its last download ended.
    pub done: f64,
}

/// A download that is over.
#[derive(Clone, Debug, PartialEq)]
pub struct Download {
    /// Until the last page was there.
    pub seconds: f64,
    /// Pages downloaded.
    pub pages: u64,
    /// Links found that are another robot's.
    pub handed_over: u64,
    /// URLs sent for them: a robot sends a URL once.
    pub urls_sent: u64,
    /// Visits that began before their server's pause was over, or while another was under way.
    pub violations: u64,
    /// Mean pause after a visit.
    pub mean_pause: f64,
    /// Robot by robot.
    pub robots: Vec<RobotRecord>,
    /// Downloads over time.
    pub timeline: Timeline,
    /// Whether it was stopped before the end.
    pub partial: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A URL from another robot reaches its own.
    Arrive(u32),
    /// A server's visit ends.
    End(u32),
    /// A server may be asked again.
    Eligible(u32),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// May be asked, but no URL of it is known.
    Idle,
    /// In the queue of a robot.
    Waiting,
    Visited,
    /// Must not be asked.
    Pausing,
}

struct Server {
    stage: Stage,
    /// Known URLs in the order of their discovery, joined by `Fleet::next`.
    first: u32,
    last: u32,
    /// The visit under way: who, its pages, and since when.
    robot: u32,
    count: u32,
    start: u64,
    /// When it may be asked again, kept apart from the events to judge them.
    free_at: u64,
}

#[derive(Default)]
struct Worker {
    /// Servers that may be asked, longest first.
    waiting: VecDeque<u32>,
    under_way: u32,
    idle_since: u64,
    record: RobotRecord,
}

struct Fleet<'a> {
    web: &'a Web,
    internet: &'a Internet,
    assignment: &'a Assignment,
    conditions: &'a Conditions,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    sequence: u64,
    now: u64,
    servers: Vec<Server>,
    sizes: Vec<u64>,
    largest: u64,
    robots: Vec<Worker>,
    /// The URL after each in its server's queue.
    next: Vec<u32>,
    known: Vec<bool>,
    /// Who sent what already: a bit for each robot and page.
    sent: Vec<u64>,
    urls_sent: u64,
    visits: u64,
    pauses: f64,
    violations: u64,
    timeline: Timeline,
}

/// Downloads a whole Web from the home pages of all hosts; `witness` sees every visit.
pub fn run(
    web: &Web,
    internet: &Internet,
    assignment: &Assignment,
    conditions: &Conditions,
    control: &Control,
    witness: &mut dyn FnMut(Visit),
) -> Download {
    let mut fleet = Fleet::new(web, internet, assignment, conditions);
    for host in 0..web.hosts() as u32 {
        fleet.arrive(web.pages_of(host).start);
    }
    let (mut pages, mut told) = (0, 0);
    let mut partial = false;
    while let Some(Reverse((at, _, event))) = fleet.events.pop() {
        fleet.now = at;
        match event {
            Event::Arrive(page) => fleet.arrive(page),
            Event::Eligible(server) => fleet.eligible(server),
            Event::End(server) => pages += fleet.end(server, witness),
        }
        if pages >= told + STEP {
            (control.progress)(pages - told);
            told = pages;
            if control.stop.load(Ordering::Relaxed) {
                partial = true;
                break;
            }
        }
    }
    (control.progress)(pages - told);
    fleet.finish(pages as u64, partial)
}

fn nanoseconds(seconds: f64) -> u64 {
    // rounded up, so that no pause is cut short
    (seconds * NANOSECONDS).ceil() as u64
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / NANOSECONDS
}

impl<'a> Fleet<'a> {
    fn new(
        web: &'a Web,
        internet: &'a Internet,
        assignment: &'a Assignment,
        conditions: &'a Conditions,
    ) -> Self {
        let sizes = web.server_pages(conditions.unit);
        let servers = sizes
            .iter()
            .map(|_| Server {
                stage: Stage::Idle,
                first: NOBODY,
                last: NOBODY,
                robot: NOBODY,
                count: 0,
                start: 0,
                free_at: 0,
            })
            .collect();
        Self {
            web,
            internet,
            assignment,
            conditions,
            events: BinaryHeap::new(),
            sequence: 0,
            now: 0,
            servers,
            largest: sizes.iter().copied().max().unwrap_or(0),
            sizes,
            robots: (0..assignment.robots).map(|_| Worker::default()).collect(),
            next: vec![NOBODY; web.pages()],
            known: vec![false; web.pages()],
            sent: vec![0; (assignment.robots * web.pages()).div_ceil(64)],
            urls_sent: 0,
            visits: 0,
            pauses: 0.0,
            violations: 0,
            timeline: Timeline::new(assignment.robots),
        }
    }

    fn schedule(&mut self, after: u64, event: Event) {
        self.sequence += 1;
        let entry = (self.now + after, self.sequence, event);
        self.events.push(Reverse(entry));
    }

    /// A URL is with its robot.
    fn arrive(&mut self, page: u32) {
        if std::mem::replace(&mut self.known[page as usize], true) {
            return;
        }
        let host = self.web.host_of(page);
        let number = self.web.server_of(host, self.conditions.unit);
        let server = &mut self.servers[number as usize];
        if server.first == NOBODY {
            server.first = page;
        } else {
            self.next[server.last as usize] = page;
        }
        server.last = page;
        if server.stage == Stage::Idle {
            self.enqueue(number);
        }
    }

    fn eligible(&mut self, number: u32) {
        if self.servers[number as usize].first == NOBODY {
            self.servers[number as usize].stage = Stage::Idle;
        } else {
            self.enqueue(number);
        }
    }

    /// The robot of the URL that is known longest visits next. Where a server's URLs belong to
    /// several robots they take turns, as if a coordinator that costs nothing told them.
    fn enqueue(&mut self, number: u32) {
        let server = &mut self.servers[number as usize];
        server.stage = Stage::Waiting;
        let robot = self.assignment.of_page(server.first);
        self.robots[robot as usize].waiting.push_back(number);
        self.start_visits(robot);
    }

    fn start_visits(&mut self, robot: u32) {
        while self.robots[robot as usize].under_way < self.conditions.connections
            && let Some(number) = self.robots[robot as usize].waiting.pop_front()
        {
            self.start_visit(robot, number);
        }
    }

    fn start_visit(&mut self, robot: u32, number: u32) {
        let own = &mut self.robots[robot as usize];
        if own.under_way == 0 {
            own.record.idle += seconds(self.now - own.idle_since);
        }
        own.under_way += 1;
        let server = &mut self.servers[number as usize];
        if server.stage == Stage::Visited || self.now < server.free_at {
            self.violations += 1;
        }
        let (mut count, mut page) = (0, server.first);
        let mut address = Address(0);
        while page != NOBODY
            && count < self.conditions.pages_per_connection.max(1)
            && self.assignment.of_page(page) == robot
        {
            address = self.web.address_of(self.web.host_of(page));
            count += 1;
            page = self.next[page as usize];
        }
        server.stage = Stage::Visited;
        server.robot = robot;
        server.count = count;
        server.start = self.now;
        let rtt = self.internet.rtt(Robot(robot), address);
        let duration = nanoseconds(self.conditions.duration(rtt, count));
        self.schedule(duration, Event::End(number));
    }

    /// The pages of a visit are there: their links go on. Returns their number.
    fn end(&mut self, number: u32, witness: &mut dyn FnMut(Visit)) -> usize {
        let Server {
            robot,
            count,
            start,
            first,
            ..
        } = self.servers[number as usize];
        let mut pages = Vec::with_capacity(count as usize);
        let mut page = first;
        for _ in 0..count {
            pages.push(page);
            page = self.next[page as usize];
        }
        self.servers[number as usize].first = page;
        let duration = seconds(self.now - start);
        let size = self.sizes[number as usize];
        let pause = (self.conditions.politeness).interval(size, self.largest, duration);
        self.servers[number as usize].stage = Stage::Pausing;
        self.servers[number as usize].free_at = self.now + nanoseconds(pause);
        self.schedule(nanoseconds(pause), Event::Eligible(number));
        self.visits += 1;
        self.pauses += pause;
        self.timeline.note(robot, seconds(self.now), count);
        let own = &mut self.robots[robot as usize];
        own.under_way -= 1;
        own.record.pages += u64::from(count);
        own.record.busy += duration;
        own.record.done = seconds(self.now);
        if own.under_way == 0 {
            own.idle_since = self.now;
        }
        for &page in &pages {
            for &target in self.web.links_of(page) {
                self.send(robot, target);
            }
        }
        self.start_visits(robot);
        let downloaded = pages.len();
        witness(Visit {
            robot,
            server: number,
            start: seconds(start),
            end: seconds(self.now),
            pause,
            pages,
        });
        downloaded
    }

    /// A link found by `robot` goes to the robot that downloads its target.
    fn send(&mut self, robot: u32, page: u32) {
        let to = self.assignment.of_page(page);
        if to == robot {
            self.arrive(page);
            return;
        }
        self.robots[robot as usize].record.handed_over += 1;
        let bit = robot as usize * self.web.pages() + page as usize;
        let word = &mut self.sent[bit / 64];
        if *word >> (bit % 64) & 1 == 1 {
            return;
        }
        *word |= 1 << (bit % 64);
        self.urls_sent += 1;
        let transfer = self.conditions.url_bytes / self.conditions.bandwidth;
        let delay = self.internet.between(Robot(robot), Robot(to)) / 2.0 + transfer;
        self.schedule(nanoseconds(delay), Event::Arrive(page));
    }

    fn finish(mut self, pages: u64, partial: bool) -> Download {
        let done = self
            .robots
            .iter()
            .map(|r| r.record.done)
            .fold(0.0, f64::max);
        for robot in self.robots.iter_mut().filter(|robot| robot.under_way == 0) {
            robot.record.idle += (done - seconds(robot.idle_since)).max(0.0);
        }
        self.timeline.end(done);
        let robots: Vec<RobotRecord> = self.robots.iter().map(|robot| robot.record).collect();
        Download {
            seconds: done,
            pages,
            handed_over: robots.iter().map(|robot| robot.handed_over).sum(),
            urls_sent: self.urls_sent,
            violations: self.violations,
            mean_pause: self.pauses / self.visits.max(1) as f64,
            robots,
            timeline: self.timeline,
            partial,
        }
    }
}

#[cfg(test)]
mod tests;
