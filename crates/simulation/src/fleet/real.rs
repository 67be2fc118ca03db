//! Real robots in virtual time: the keeper, lines, policy, archivist and store of each robot as they are,
//! on the model of the messaging engine and a web in memory. A kill drops what is not committed.
//!
//! After every step the truth is asked: one owner and one request at a time for a server (W1, W3, W4), the
//! budget (W5), a visit on disk before the page is asked for again (W6), addresses (W11), the order of publishing and
//! logging (W13), versions (W14), leases (W15); at the end, that every page was had (W2, W12).

mod bus;
mod crawl;
mod judge;
mod machine;
mod web;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fleet::flaw::Flaw;
use fleet::identity::{GroupId, Member, RobotId, Text};
use fleet::io::{Input, Output};
use fleet::key::{Key, Value, What};
use fleet::parcel::{Message, Subject};
use fleet::plan::{Plan, Seat};
use fleet::record::Shared;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use robot::Until;
use robot::message::Event as Told;

use super::checks::{Broken, Checks, broken};
use super::engine::Engine;
use super::hands::Hands;
use super::web::{Page, Size};
use judge::Ledger;
use machine::Machine;
use web::RealWeb;

/// The wall's time at the start, as any would do.
const START: f64 = 1_800_000_000.0;
/// No run needs so many.
const MOST_STEPS: u64 = 3_000_000;
/// Everybody is in one group.
const GROUP: GroupId = GroupId(1);

/// Something that goes wrong, with the position of the robot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RealFault {
    /// Dies, and comes back after so many seconds.
    Kill(usize, f64),
    /// The same, without its disk.
    DiskLoss(usize, f64),
    /// Sleeps for so many seconds.
    Pause(usize, f64),
    /// Nobody hears it for so many seconds.
    Cut(usize, f64),
    /// The engine has no leader for so many seconds.
    Gap(f64),
    /// Another table.
    Divide(u64),
    /// Leaves in order.
    Leave(usize),
    /// All servers go to one robot.
    All(usize),
    /// What everybody knows is noted.
    Note,
}

/// What a robot knows of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noted {
    /// Which robot, by position.
    pub owner: usize,
    /// Answers so far.
    pub visits: u32,
}

/// A run.
#[derive(Clone, Debug)]
pub struct RealSpec {
    /// Decides everything.
    pub seed: u64,
    /// How many robots there are.
    pub robots: usize,
    /// The web.
    pub web: Size,
    /// Seconds between two requests to a host or server.
    pub interval: f64,
    /// Requests of the fleet in ten seconds.
    pub budget: Option<u32>,
    /// Messages get lost, come twice and late.
    pub noisy: bool,
    /// What goes wrong, and when, in seconds from the start.
    pub faults: Vec<(f64, RealFault)>,
    /// Whether every page is fetched once, or visited again and again.
    pub until: Until,
    /// Seconds after the last fault in which all must be had; or, with revisits, that the run goes on.
    pub patience: f64,
    /// Every third host once answers "unavailable" and asks for so many seconds of peace.
    pub retry_after: Option<f64>,
    /// Every fourth page of a host is gone after so many seconds.
    pub vanish: Option<f64>,
    /// The gate is not asked, to see whether that is found.
    pub no_gate: bool,
    /// Entries of a log after which a snapshot is made.
    pub snapshot: Option<u64>,
    /// The mistake under test.
    pub flaw: Option<Flaw>,
    /// Lines that are told of a run that fails.
    pub story: usize,
}

impl RealSpec {
    /// Nothing goes wrong.
    pub fn calm(seed: u64, robots: usize) -> Self {
        Self {
            seed,
            robots,
            web: Size {
                hosts: 8,
                servers: 6,
                pages: 6,
                links: 2,
                blocks: 1,
            },
            interval: 2.0,
            budget: None,
            noisy: false,
            faults: Vec::new(),
            until: Until::FetchedOnce,
            patience: 3000.0,
            retry_after: None,
            vanish: None,
            no_gate: false,
            snapshot: None,
            flaw: None,
            story: 120,
        }
    }

    /// Whatever may go wrong.
    pub fn stormy(seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x5ea);
        let robots = 3;
        let mut faults: Vec<(f64, RealFault)> = (0..random.random_range(1..5))
            .map(|_| {
                let at = random.random_range(5.0..240.0);
                let robot = random.random_range(0..robots);
                let long = match random.random_range(0..3) {
                    0 => random.random_range(1.0..10.0),
                    1 => random.random_range(10.0..40.0),
                    _ => random.random_range(60.0..120.0),
                };
                let fault = match random.random_range(0..7) {
                    0 => RealFault::Kill(robot, long),
                    1 => RealFault::DiskLoss(robot, long),
                    2 => RealFault::Pause(robot, long),
                    3 => RealFault::Cut(robot, long),
                    4 => RealFault::Gap(long.min(10.0)),
                    _ => RealFault::Divide(random.random_range(0..100)),
                };
                (at, fault)
            })
            .collect();
        faults.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self {
            noisy: random.random(),
            snapshot: (seed % 2 == 1).then_some(12),
            faults,
            ..Self::calm(seed, robots)
        }
    }
}

/// What came of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RealReport {
    /// Pages of the web.
    pub pages: usize,
    /// Requests in all.
    pub requests: u64,
    /// Those for robots.txt.
    pub robots: u64,
    /// Requests for pages that had been had, by whomever.
    pub again: u64,
    /// Of these, conditional ones.
    pub conditional: u64,
    /// URLs that were published.
    pub entries: u64,
    /// Distinct pairs of robot and URL that were published.
    pub pairs: usize,
    /// First requests for pages after they moved, and the conditional ones among those whose rows have what
    /// that takes.
    pub moved_again: u64,
    /// See `moved_again`.
    pub moved_conditional: u64,
    /// Rows that came in packages and were what their last owner had, bit for bit; those of pages that are gone,
    /// and those with failures.
    pub same_rows: u64,
    /// See `same_rows`.
    pub same_gone: u64,
    /// See `same_rows`.
    pub same_failed: u64,
    /// How far the due times of pages that came in packages are off those that their last owners had, as shares
    /// of the times since their last visits.
    pub dues_off: Vec<f64>,
    /// Times that a host asked for peace.
    pub peace: u64,
    /// What was noted, page by page.
    pub notes: Vec<BTreeMap<String, Noted>>,
    /// Servers that were handed over, and taken over from the dead.
    pub handed: u64,
    /// See `handed`.
    pub taken_over: u64,
    /// Entries of logs that were cut behind snapshots.
    pub purged: u64,
    /// Sessions that were ended by others.
    pub evicted: u64,
    /// URLs and rows that were refused.
    pub refused: u64,
    /// Pages that moved without what was learnt of them.
    pub unlearnt: u64,
    /// Redirects that were ends of chains, and other traps.
    pub trapped: u64,
    /// robots.txt files fetched for other robots.
    pub errands: u64,
    /// Requests that the gate let not pass.
    pub stopped: u64,
    /// Steps of the simulation.
    pub steps: u64,
    /// Seconds until all was done.
    pub took: f64,
}

enum Event {
    Wake,
    Hear(Vec<Input>),
    Told(Vec<Told>),
    Ended(u64, Vec<Told>),
    Reach(Output),
    Commit,
    Start,
    Deliver(Subject),
    Fault(RealFault),
    Look,
}

/// Of nobody in particular.
const NOBODY: usize = usize::MAX;

/// A run under way.
pub struct Real {
    spec: RealSpec,
    now: f64,
    order: u64,
    queue: BinaryHeap<Reverse<(u64, u64)>>,
    events: HashMap<u64, (usize, u32, Event)>,
    random: Xoshiro256PlusPlus,
    engine: Engine,
    web: RealWeb,
    ledger: Ledger,
    checks: Checks,
    machines: Vec<Machine>,
    gap_until: f64,
    calm_from: f64,
    hands: Hands,
    scheduled: BTreeSet<Subject>,
    pairs: BTreeSet<(RobotId, Text)>,
    /// When pages were due as their servers were closed.
    dues: HashMap<String, f64>,
    report: RealReport,
    story: Vec<String>,
}

fn identity(position: usize) -> RobotId {
    RobotId(position as u64 + 1)
}

impl Real {
    /// Robots with their data in folders of an empty directory.
    pub fn new(spec: RealSpec, directory: &Path) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(spec.seed);
        let web = RealWeb::new(spec.web, &mut random);
        let calm_from = spec.faults.last().map_or(0.0, |(at, _)| *at) + 120.0;
        let mut real = Self {
            now: 0.0,
            order: 0,
            queue: BinaryHeap::new(),
            events: HashMap::new(),
            engine: Engine::default(),
            ledger: Ledger::default(),
            checks: Checks::default(),
            machines: Vec::new(),
            gap_until: 0.0,
            calm_from,
            hands: Hands::default(),
            scheduled: BTreeSet::new(),
            pairs: BTreeSet::new(),
            dues: HashMap::new(),
            report: RealReport {
                pages: web.pages().count(),
                ..RealReport::default()
            },
            story: Vec::new(),
            web,
            random,
            spec,
        };
        real.found();
        for position in 0..real.spec.robots {
            let place: PathBuf = directory.join(format!("robot-{position}"));
            let drift = real.random.random_range(-1e-4..1e-4);
            let machine = Machine::new(&real.spec, position, place, drift);
            real.machines.push(machine);
            let at = real.random.random_range(0.0..2.0);
            real.push(at, position, Event::Start);
        }
        for (at, fault) in real.spec.faults.clone() {
            real.push(at, NOBODY, Event::Fault(fault));
        }
        real.push(5.0, NOBODY, Event::Look);
        real
    }

    /// The first plan.
    fn found(&mut self) {
        // robots were here before
        let version = Plan::founding_again(GROUP, None).version;
        let mut plan = Plan::new(GROUP, version, identity(0));
        plan.seats = (0..self.spec.robots)
            .map(|position| Seat::new(Member::Robot(identity(position)), 1, 1))
            .collect();
        let key = Key {
            group: GROUP,
            what: What::Plan,
        };
        let plan = Value::Plan(Shared(Arc::new(plan)));
        self.engine.swap(0, key, 0, plan);
    }

    fn push(&mut self, at: f64, machine: usize, event: Event) {
        self.order += 1;
        let life = self
            .machines
            .get(machine)
            .map_or(0, |machine| machine.lives);
        self.events.insert(self.order, (machine, life, event));
        let ticks = (at.max(self.now) * 1e6).ceil() as u64;
        self.queue.push(Reverse((ticks, self.order)));
    }

    fn tell(&mut self, line: impl FnOnce() -> String) {
        if self.story.len() > 100_000 {
            self.story.drain(..50_000);
        }
        self.story.push(format!("{:10.3} {}", self.now, line()));
    }

    /// Runs to the end; what went wrong, if something did, with what happened before.
    pub fn run(mut self) -> Result<RealReport, String> {
        match self.steps() {
            Ok(()) => Ok(self.finish()),
            Err(Broken { rule, what }) => {
                let standing: Vec<String> = (self.machines.iter())
                    .filter_map(|machine| machine.standing(self.now))
                    .collect();
                let tail = self.story.len().saturating_sub(self.spec.story);
                Err(format!(
                    "seed {}: {:.3} s: {rule}: {what}\n{}\n{}\n{:?}",
                    self.spec.seed,
                    self.now,
                    self.story[tail..].join("\n"),
                    standing.join("\n"),
                    self.spec.faults,
                ))
            }
        }
    }

    fn finish(mut self) -> RealReport {
        self.report.took = self.now;
        self.report.pairs = self.pairs.len();
        for machine in &self.machines {
            if let Some(life) = &machine.life {
                let tally = life.seam().protocol().tally();
                self.report.taken_over += tally.taken_over;
                self.report.handed += tally.handed;
            }
        }
        self.report
    }

    fn steps(&mut self) -> Result<(), Broken> {
        while let Some(Reverse((at, order))) = self.queue.pop() {
            self.now = at as f64 / 1e6;
            self.report.steps += 1;
            if self.report.steps > MOST_STEPS {
                return broken("liveness", "the world goes round in circles".into());
            }
            let (index, life, event) = self.events.remove(&order).expect("queued once");
            if let Some(machine) = self.machines.get(index) {
                let outside = matches!(event, Event::Reach(_));
                if !outside && machine.lives != life {
                    continue;
                }
                if !outside && machine.paused_until > self.now {
                    let until = machine.paused_until;
                    // the server sees the end of an answer, whoever sleeps
                    if let Event::Ended(ticket, heard) = event {
                        self.end_request(index, ticket);
                        self.push(until, index, Event::Told(heard));
                    } else {
                        self.push(until, index, event);
                    }
                    continue;
                }
            }
            if matches!(event, Event::Look) {
                if self.is_over()? {
                    return Ok(());
                }
                self.give_seed()?;
                self.push(self.now + 5.0, NOBODY, Event::Look);
                continue;
            }
            self.step(index, event)?;
        }
        Ok(())
    }

    fn step(&mut self, index: usize, event: Event) -> Result<(), Broken> {
        match event {
            Event::Wake => self.wake(index),
            Event::Hear(inputs) => {
                for input in inputs {
                    self.hear(index, input);
                }
                self.drive(index, Vec::new())
            }
            Event::Told(events) => self.drive(index, events),
            Event::Ended(ticket, events) => {
                if self.end_request(index, ticket) {
                    return self.drive(index, events);
                }
                Ok(())
            }
            Event::Reach(output) => self.reach(index, &output),
            Event::Commit => self.commit(index),
            Event::Start => self.start(index),
            Event::Deliver(subject) => {
                self.scheduled.remove(&subject);
                self.deliver(subject);
                Ok(())
            }
            Event::Fault(fault) => {
                self.fault(fault);
                Ok(())
            }
            Event::Look => Ok(()),
        }
    }

    /// Whether all that was to be had was had.
    fn is_over(&self) -> Result<bool, Broken> {
        let end = self.calm_from + self.spec.patience;
        if self.spec.until == Until::Stopped {
            return if self.now >= end {
                self.all_had().map(|()| true)
            } else {
                Ok(false)
            };
        }
        let lives = || {
            self.machines
                .iter()
                .filter_map(|machine| machine.life.as_ref())
        };
        let quiet = lives().any(|life| life.seam().protocol().quiet());
        let expected = |machine: &Machine| !machine.leaving || machine.life.is_none();
        if quiet && self.now >= self.calm_from && self.machines.iter().all(expected) {
            return self.all_had().map(|()| true);
        }
        if self.now >= end {
            self.all_had()?;
            broken("liveness", "all is had and nobody says so".into())?;
        }
        Ok(false)
    }

    /// W2, W12: every page was had, and no URL is known twice to a robot.
    fn all_had(&self) -> Result<(), Broken> {
        for machine in &self.machines {
            if let Some(life) = &machine.life {
                life.keys_are_unique()?;
            }
        }
        let visits = if self.spec.until == Until::Stopped {
            2
        } else {
            1
        };
        let missing: Vec<Page> = (self.web.pages())
            .filter(|page| self.ledger.visits(*page) < visits)
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let mut what = format!("{} pages were not had: {missing:?}", missing.len());
        for machine in &self.machines {
            if let Some(life) = &machine.life {
                what += &life.knows(&RealWeb::url(missing[0]));
            }
        }
        broken("W2, W12 every page", what)
    }

    /// Whoever gives the seed gives it again until somebody has it on disk.
    fn give_seed(&mut self) -> Result<(), Broken> {
        let has_pages = |machine: &Machine| machine.life.as_ref().is_some_and(|l| l.pages() > 0);
        if self.report.requests > 0 || self.machines.iter().any(has_pages) {
            return Ok(());
        }
        let first = self.web.pages().next().expect("a page");
        let seed = self.machines[0].seed(&RealWeb::url(first), self.now);
        self.drive(0, vec![seed])
    }
}

#[cfg(test)]
mod tests;
