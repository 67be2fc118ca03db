//! A robot in a bottle: the real keeper, lines, policy, archivist and store, in virtual time, on a
//! web that exists in memory.
//!
//! A run is decided by its seed: latencies, silence, pages that come and go, robots.txt that cannot
//! be had, hosts that move, kills that drop what is not committed, steps of the wall's clock. After
//! every step the servers' record is checked for politeness (W3, W4), the order of writes (W6) and
//! forbidden addresses (W11); at the end, that no URL is known twice (W2), that every page that can
//! be had was had, and that each of them is still being visited.

mod record;
mod web;

pub use web::{BottlePage, BottleWeb};

use fetch::AddressRules;
use frontier::politeness::{Answer, Interval};
use frontier::robots::{Fetched, Standing};
use frontier::scope::Scope;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use record::Record;
use robot::archivist::Archivist;
use robot::clock::{Clock, Now};
use robot::config::{Config, Count};
use robot::keeper::Keeper;
use robot::message::{Event, Found, Job, Stored, Task, Visit, Write};
use robot::reading::{Rules, Standpoint};
use robot::{Intake, Losses, Until, cause, offline, state_directory};
use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashSet};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use storage::{Durability, PageId, Reader, Store, StoreOptions};
use url::Url;
use web::Web;

/// The wall's time at the start, as any would do.
const START: f64 = 1_800_000_000.0;
/// Seconds between two commits; and of one in ten, while there are faults.
const COMMITS: f64 = 0.05;
const SLOW_COMMITS: f64 = 30.0;

/// A run.
#[derive(Clone, Debug)]
pub struct BottleSpec {
    /// Decides everything.
    pub seed: u64,
    /// The web.
    pub web: BottleWeb,
    /// Virtual seconds with faults.
    pub stormy: f64,
    /// Virtual seconds without faults afterwards.
    pub calm: f64,
    /// How often the robot is killed in the stormy part.
    pub kills: u32,
    /// How often the wall's clock is set.
    pub clock_steps: u32,
    /// Seconds between two requests to a host or address.
    pub interval: f64,
    /// Revisits per second.
    pub budget: f64,
    /// Something is wrong with the robot on purpose.
    pub flaw: Option<Flaw>,
}

/// What can be wrong on purpose; each of them once was, or could be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// The keeper waits by the wall's clock.
    WallClock,
    /// What was learnt of pages is not in their rows.
    NoMemos,
    /// The keeper hears that something is stored before it is.
    StoredTooSoon,
    /// After a restart no host is left alone.
    NoOpening,
    /// DNS is believed whatever it says.
    AnyAddress,
}

/// What came of a run.
#[derive(Clone, Debug, Default)]
pub struct BottleReport {
    /// Requests in all.
    pub requests: u64,
    /// Those for robots.txt.
    pub robots: u64,
    /// Pages that could be had at the end.
    pub live: usize,
    /// The share of copies that are current at the end, by the web.
    pub fresh: f64,
    /// The same by the robot.
    pub stated: f64,
    /// In the order they were made: the pages visited.
    pub visits: Vec<u32>,
}

/// Something that happens.
enum Happening {
    Heard(Event),
    /// A request ends at this host and address, and this is heard.
    Ended(usize, IpAddr, Vec<Event>),
    Commit,
    Kill,
    ClockStep(f64),
}

struct Timed(f64, u64, Happening);

impl PartialEq for Timed {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Timed {}
impl PartialOrd for Timed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Timed {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.total_cmp(&self.0).then(other.1.cmp(&self.1))
    }
}

/// The robot as far as a kill takes it.
struct Robot {
    keeper: Keeper,
    archivist: Archivist,
    reader: Reader,
    intake: Intake,
    /// What the archivist has not written yet.
    writes: Vec<Write>,
    /// Pages whose visits are among that.
    unwritten: HashSet<u32>,
}

/// A run under way.
pub struct Bottle {
    spec: BottleSpec,
    config: Config,
    rules: Arc<Rules>,
    web: Web,
    record: Record,
    random: Xoshiro256PlusPlus,
    /// None only while it is dead.
    robot: Option<Robot>,
    happenings: BinaryHeap<Timed>,
    number: u64,
    at: f64,
    /// The wall's clock against ours.
    wall: f64,
    boot: u32,
    report: BottleReport,
}

impl Bottle {
    /// Puts the robot into the bottle; its data go into an empty directory.
    pub fn new(spec: BottleSpec, directory: &Path) -> Result<Self, String> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(spec.seed);
        let calm = START + spec.stormy;
        let web = Web::new(&spec.web, (START, calm, calm + spec.calm), &mut random);
        let mut config = Config::default();
        directory.clone_into(&mut config.data.0);
        config.seeds = vec![format!("http://{}/", Web::name(0))];
        config.scope.suffixes = vec!["example".into()];
        config.politeness.interval = Interval::Fixed {
            seconds: spec.interval,
        };
        config.revisit.budget = format!("{}/second", spec.budget);
        // every byte counts: what is noise is not the question here
        config.revisit.count = Count::Body;
        config.archive.enabled = false;
        config.state.synced = false;
        let seeds: Vec<Url> = config
            .seeds
            .iter()
            .filter_map(|s| Url::parse(s).ok())
            .collect();
        let scope = Scope::new(&config.scope, &seeds).map_err(|error| error.to_string())?;
        let rules = Arc::new(Rules::new(&config, scope));
        let now = Now {
            at: START,
            wall: START,
        };
        let robot = open(&config, &rules, now, 0, None)?;
        let mut bottle = Self {
            config,
            rules,
            web,
            record: Record::default(),
            robot: Some(robot),
            happenings: BinaryHeap::new(),
            number: 0,
            at: START,
            wall: 0.0,
            boot: 0,
            report: BottleReport::default(),
            random,
            spec,
        };
        bottle.plan_faults();
        bottle.happen(START + COMMITS, Happening::Commit);
        Ok(bottle)
    }

    fn robot(&mut self) -> &mut Robot {
        self.robot
            .as_mut()
            .expect("it is dead only while it is killed")
    }

    fn plan_faults(&mut self) {
        for _ in 0..self.spec.kills {
            let at = START + self.random.random::<f64>() * self.spec.stormy;
            self.happen(at, Happening::Kill);
        }
        for _ in 0..self.spec.clock_steps {
            let at = START + self.random.random::<f64>() * self.spec.stormy;
            let step = (self.random.random::<f64>() - 0.3) * 2000.0;
            self.happen(at, Happening::ClockStep(step));
        }
    }

    fn happen(&mut self, at: f64, happening: Happening) {
        self.number += 1;
        self.happenings.push(Timed(at, self.number, happening));
    }

    fn now(&self) -> Now {
        let wall = self.at + self.wall;
        let at = if self.spec.flaw == Some(Flaw::WallClock) {
            wall
        } else {
            self.at
        };
        Now { at, wall }
    }

    /// Runs to the end; what went wrong, if something did.
    pub fn run(mut self) -> Result<BottleReport, String> {
        let end = START + self.spec.stormy + self.spec.calm;
        let mut until = self.step(Vec::new())?;
        while self.at < end {
            let next = self
                .happenings
                .peek()
                .map_or(f64::INFINITY, |timed| timed.0);
            let mut events = Vec::new();
            if next <= until {
                let Some(Timed(at, _, happening)) = self.happenings.pop() else {
                    break;
                };
                self.at = self.at.max(at);
                match happening {
                    Happening::Heard(event) => events.push(event),
                    Happening::Ended(host, ip, heard) => {
                        self.record.end(host, ip, self.at);
                        events = heard;
                    }
                    Happening::Commit => events.extend(self.commit()?),
                    Happening::Kill => self.kill()?,
                    Happening::ClockStep(step) => self.wall += step,
                }
            } else {
                self.at = until.max(self.at);
            }
            until = self.step(events)?;
        }
        self.judge(end)
    }

    /// Lets the keeper think; returns when it wants to be asked again, on our clock.
    fn step(&mut self, events: Vec<Event>) -> Result<f64, String> {
        let now = self.now();
        let actions = self.robot().keeper.step(now, events);
        for job in actions.jobs {
            self.begin(job)?;
        }
        for write in actions.writes {
            self.pass_on(write);
        }
        if self.robot().keeper.is_done() {
            return Err("the keeper has ended".into());
        }
        Ok(self.at + (actions.until - now.at).max(1e-6))
    }

    fn pass_on(&mut self, mut write: Write) {
        if let Write::Visited(visited) = &mut write {
            let page = visited.done.page;
            self.robot().unwritten.insert(page.0);
            match (self.spec.flaw, &mut visited.row) {
                (Some(Flaw::NoMemos), Some(row)) => row.memo.clear(),
                (Some(Flaw::StoredTooSoon), _) => {
                    let visits = vec![page];
                    let stored = Event::Stored(Stored {
                        visits,
                        ..Stored::default()
                    });
                    self.happen(self.at, Happening::Heard(stored));
                }
                _ => {}
            }
        }
        if self.robot().writes.is_empty() {
            let slow = self.at < self.web.calm && self.random.random::<f64>() < 0.1;
            let wait = if slow { SLOW_COMMITS } else { COMMITS };
            self.happen(self.at + wait, Happening::Commit);
        }
        self.robot().writes.push(write);
    }

    fn commit(&mut self) -> Result<Option<Event>, String> {
        let writes = std::mem::take(&mut self.robot().writes);
        if writes.is_empty() {
            return Ok(None);
        }
        self.robot().unwritten.clear();
        let stored = self.robot().archivist.write(writes);
        let mut stored = stored.map_err(|error| error.to_string())?;
        if self.spec.flaw == Some(Flaw::StoredTooSoon) {
            stored.visits.clear();
        }
        Ok(Some(Event::Stored(stored)))
    }

    /// A job begins; it ends after a while.
    fn begin(&mut self, job: Job) -> Result<(), String> {
        let Job { ticket, task } = job;
        let took = self.web.spec.slowest * self.random.random::<f64>().powi(2);
        let silent = self.at < self.web.calm && self.random.random::<f64>() < self.web.spec.silent;
        match task {
            Task::Resolve { name } => {
                let host = Web::host_of(&name).ok_or("a name that does not exist")?;
                let address = self.web.address(host, self.at);
                let permitted = AddressRules::default().permits(address)
                    || self.spec.flaw == Some(Flaw::AnyAddress);
                let found = if silent {
                    Err(11)
                } else if permitted {
                    Ok((address, 600.0))
                } else {
                    Err(cause::ADDRESS)
                };
                let event = Event::Resolved { ticket, found };
                self.happen(self.at + took, Happening::Heard(event));
            }
            Task::Robots {
                url,
                address,
                previous,
                ..
            } => {
                let host = self.request(&url, address)?;
                self.record.robots += 1;
                let (status, body) = self.web.robots(host, self.at);
                let fetched = if silent {
                    Fetched::Failure
                } else {
                    Fetched::Answer { status, body }
                };
                let at = self.now().at + took;
                let standing = Standing::after(previous.as_deref(), fetched, None, at);
                let robots = Event::Robots {
                    ticket,
                    standing: Arc::new(standing),
                    failure: silent.then_some(51),
                };
                self.end(
                    took,
                    host,
                    address,
                    vec![ended(ticket, silent, took), robots],
                );
            }
            Task::Visit(visit) => self.visit(ticket, &visit, took, silent)?,
        }
        Ok(())
    }

    fn visit(&mut self, ticket: u64, visit: &Visit, took: f64, silent: bool) -> Result<(), String> {
        let now = self.now();
        let page = visit.page.0;
        if self.robot().unwritten.contains(&page) {
            return Err(format!(
                "W6: page {page} is asked for before its last visit is on disk"
            ));
        }
        let row = self
            .robot()
            .reader
            .page(visit.page)
            .map_err(|e| e.to_string())?;
        let row = row.unwrap_or_default();
        let known = self
            .robot()
            .reader
            .address(visit.page)
            .map_err(|e| e.to_string())?;
        let url = match self.robot().intake.judge(visit, &known, &row, now) {
            Ok(url) => url,
            Err(visited) => {
                let unused = Event::Ended {
                    ticket,
                    answer: None,
                    bytes: 0,
                };
                self.happen(self.at, Happening::Heard(unused));
                self.happen(
                    self.at,
                    Happening::Heard(Event::Visited { ticket, visited }),
                );
                return Ok(());
            }
        };
        let host = self.request(&url, visit.address)?;
        self.report.visits.push(page);
        let number = self.web.find(host, url.path());
        if let Some(number) = number {
            if self.web.pages[number].forbidden && self.web.robots(host, self.at).0 == 200 {
                return Err(format!("robots.txt forbids {url}"));
            }
            self.record.visits.entry(number).or_default().push(self.at);
        }
        let validators = Intake::validators(visit, &row);
        let visited = if silent {
            self.robot().intake.failed(visit, now, row, 51)
        } else {
            let etag = validators.as_ref().and_then(|v| v.etag.as_deref());
            let exchange = self.web.answer(number, self.at, etag, visit.address);
            let from = Standpoint {
                page: visit.page,
                url: &url,
                depth: known.depth,
                at: (now.wall * 1e3) as i64,
            };
            let conditional = validators.is_some();
            self.robot()
                .intake
                .take_in(visit, from, now, row, &exchange, conditional)
        };
        let visited = Box::new(visited);
        let heard = vec![
            ended(ticket, silent, took),
            Event::Visited { ticket, visited },
        ];
        self.end(took, host, visit.address, heard);
        Ok(())
    }

    /// A request begins, and is checked.
    fn request(&mut self, url: &Url, address: IpAddr) -> Result<usize, String> {
        if !AddressRules::default().permits(address) {
            return Err(format!("W11: {address} is contacted"));
        }
        let host = url.host_str().and_then(Web::host_of);
        let host = host.ok_or_else(|| format!("{url} is nowhere"))?;
        let begun = self
            .record
            .begin(host, address, self.at, self.spec.interval);
        begun.map_err(|what| format!("{:.3} s: {what}", self.at - START))?;
        Ok(host)
    }

    fn end(&mut self, took: f64, host: usize, ip: IpAddr, heard: Vec<Event>) {
        self.happen(self.at + took, Happening::Ended(host, ip, heard));
    }

    /// The robot dies, and is started again after a while.
    fn kill(&mut self) -> Result<(), String> {
        self.record.hang_up(self.at);
        let faults = std::mem::take(&mut self.happenings).into_iter();
        self.happenings = faults
            .filter(|timed| matches!(timed.2, Happening::Kill | Happening::ClockStep(_)))
            .collect();
        // what is not on disk has taught something about all pages
        let nothing_lost = self.robot().writes.is_empty();
        let before = self.beliefs();
        // closes its store
        self.robot = None;
        self.at += self.random.random::<f64>().powi(3) * 10.0;
        self.boot += u32::from(self.random.random::<f64>() < 0.3);
        let robot = open(
            &self.config,
            &self.rules,
            self.now(),
            self.boot,
            self.spec.flaw,
        )?;
        self.robot = Some(robot);
        self.happen(self.at + COMMITS, Happening::Commit);
        let after = self.beliefs();
        for (page, (rate, again)) in before.into_iter().zip(after).enumerate() {
            if let (Some(rate), Some(again)) = (rate, again)
                && nothing_lost
                && !(0.7..1.4).contains(&(again / rate))
            {
                return Err(format!(
                    "page {page} was believed to change {rate:.3} times a day, after a restart \
                     {again:.3} times"
                ));
            }
        }
        Ok(())
    }

    /// How often pages are believed to change.
    fn beliefs(&mut self) -> Vec<Option<f64>> {
        let now = self.now();
        let robot = self.robot();
        let pages = robot.reader.page_count().unwrap_or(0);
        let belief = |page: u32| {
            let wait = robot.keeper.page(now, PageId(page));
            wait.changes_per_day
        };
        (0..pages).map(belief).collect()
    }

    /// Whether what should happen has happened.
    fn judge(mut self, end: f64) -> Result<BottleReport, String> {
        let reader = Reader::open(&state_directory(&self.config.data.0));
        let reader = reader.map_err(|error| error.to_string())?;
        let mut keys = HashSet::new();
        for page in 0..reader.page_count().map_err(|e| e.to_string())? {
            let url = reader.address(PageId(page)).map_err(|e| e.to_string())?.url;
            if !keys.insert(url.clone()) {
                return Err(format!("W2: {url} is known twice"));
            }
        }
        let now = self.now();
        let status = self.robot().keeper.status_at(now).clone();
        let mut fresh = 0;
        for (number, page) in self.web.pages.iter().enumerate() {
            let open = !page.forbidden || self.web.robots(page.host, end).0 == 404;
            if !page.is_alive(end) || !open {
                continue;
            }
            let visits = self
                .record
                .visits
                .get(&number)
                .map_or(&[][..], Vec::as_slice);
            let name = format!("http://{}{}", Web::name(page.host), page.path);
            let Some(&last) = visits.last() else {
                return Err(format!("{name} was never visited: {status:#?}"));
            };
            if visits.len() < 2 || last < START + self.spec.stormy {
                return Err(format!(
                    "{name} was visited {} times, last {:.0} s before the end: {status:#?}",
                    visits.len(),
                    end - last
                ));
            }
            self.report.live += 1;
            fresh += usize::from(
                page.redirect.is_some()
                    || self.web.state(number, end) == self.web.state(number, last),
            );
        }
        self.report.fresh = fresh as f64 / self.report.live.max(1) as f64;
        self.report.stated = status.estimated_freshness.unwrap_or(0.0);
        self.report.requests = self.record.requests;
        self.report.robots = self.record.robots;
        Ok(self.report)
    }
}

fn ended(ticket: u64, silent: bool, took: f64) -> Event {
    let answer = if silent {
        Answer::Silent
    } else {
        Answer::Fine { seconds: took }
    };
    Event::Ended {
        ticket,
        answer: Some(answer),
        bytes: 1000,
    }
}

/// Starts the robot on what its store has.
fn open(
    config: &Config,
    rules: &Arc<Rules>,
    now: Now,
    boot: u32,
    flaw: Option<Flaw>,
) -> Result<Robot, String> {
    let told = |error: storage::Error| error.to_string();
    let state = state_directory(&config.data.0);
    let options = StoreOptions {
        durability: Durability::Buffered,
        ..StoreOptions::default()
    };
    let store = Store::open(&state, options).map_err(told)?;
    let learnt = Some(store.learnt()).filter(|record| !record.is_empty());
    let before = Now {
        at: now.at
            - if flaw == Some(Flaw::NoOpening) {
                1e6
            } else {
                0.0
            },
        ..now
    };
    let mut keeper = Keeper::new(
        config.clone(),
        Until::Stopped,
        rules.clone(),
        Clock::virtually(&boot.to_string()),
        before,
        learnt,
    )
    .map_err(|error| error.to_string())?;
    keeper
        .restore(before, &store, &mut Losses::default())
        .map_err(told)?;
    let traps = offline::traps(config, store.reader(), None, |_| {}).map_err(told)?;
    let canonical = config.keys.canonical();
    let seeds = config.seeds.iter().filter_map(|seed| Url::parse(seed).ok());
    let seeds = seeds.map(|url| Found {
        key: canonical.key(&url),
        url,
        depth: 0,
        from: None,
        changed: None,
        at: (now.wall * 1e3) as i64,
    });
    Ok(Robot {
        keeper,
        archivist: Archivist::new(store, None, traps),
        reader: Reader::open(&state).map_err(told)?,
        intake: Intake::new(config, rules.clone()),
        writes: vec![Write::Links(seeds.collect())],
        unwritten: HashSet::new(),
    })
}
