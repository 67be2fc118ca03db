//! A robot in a bottle: the real keeper, lines, policy, archivist and store, in virtual time, on a
//! web that exists in memory.
//!
//! A run is decided by its seed: latencies, silence, pages that come and go, robots.txt that cannot
//! be had, hosts that move, kills that drop what is not committed, full disks, steps of the wall's clock. After
//! every step the servers' record is checked for politeness (W3, W4), the order of writes (W6) and
//! forbidden addresses (W11), and that hosts are left alone for as long as they asked; at the end, that no URL is
//! known twice (W2), that every page that can be had was had, that each of them is still being visited, and that
//! what is said of them, and how fresh they are, is true.

mod disk;
mod faults;
mod happening;
mod judge;
mod killable;
mod record;
mod requests;
mod web;

pub use faults::Flaw;
pub use web::{BottlePage, BottleWeb};

use frontier::politeness::Interval;
use frontier::scope::Scope;
use happening::{Happening, Timed};
use killable::Robot;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use record::Record;
use requests::UnderWay;
use robot::clock::Now;
use robot::config::{Config, Count, Revisit};
use robot::message::Event;
use robot::reading::Rules;
use std::collections::{BinaryHeap, HashMap};
use std::path::Path;
use std::sync::Arc;
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
    /// How often its disk is full in that part: it stops, and is started again when there is room.
    pub full_disks: u32,
    /// How often the wall's clock is set.
    pub clock_steps: u32,
    /// Seconds between two requests to a host or address.
    pub interval: f64,
    /// Requests at a time in all.
    pub connections: usize,
    /// How pages are revisited; every byte counts, because what is noise is not the question here.
    pub revisit: Revisit,
    /// When the robot is stopped and started again at once, in seconds from the start; as soon
    /// afterwards as nothing is under way for a while.
    pub restarts: Vec<f64>,
    /// Each time another robot, which knows nothing, takes all hosts over and goes on in its place.
    pub moves: bool,
    /// Something is wrong with the robot on purpose.
    pub flaw: Option<Flaw>,
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
    /// Those of them that were not visited since the storm, because they are not due yet.
    pub left: usize,
    /// The share of copies that are current at the end, by the web.
    pub fresh: f64,
    /// The same by the robot.
    pub stated: f64,
    /// The visits, in the order they were made: seconds from the start, and the page by the robot's
    /// number.
    pub visits: Vec<(f64, u32)>,
    /// When each page of the web was asked for; those of a host stand together, its home page
    /// first.
    pub by_page: HashMap<usize, Vec<f64>>,
    /// Requests that were given up because others waited.
    pub given_up: usize,
    /// Orderly restarts, or moves.
    pub restarts: usize,
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
    under_way: HashMap<u64, UnderWay>,
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
        config.seeds = vec![format!("http://{}/", Web::name(0)).into()];
        config.scope.suffixes = vec!["example".into()];
        config.politeness.interval = Interval::Fixed {
            seconds: spec.interval,
        };
        config.revisit = Revisit {
            count: Count::Body,
            ..spec.revisit.clone()
        };
        config.budget.connections = spec.connections;
        config.archive.enabled = false;
        config.state.synced = false;
        let seeds: Vec<Url> = config
            .seeds
            .iter()
            .filter_map(|seed| Url::parse(&seed.url).ok())
            .collect();
        let scope = Scope::new(&config.scope, &seeds).map_err(|error| error.to_string())?;
        let rules = Arc::new(Rules::new(&config, scope));
        let now = Now {
            at: START,
            wall: START,
        };
        // nothing was asked before the first start
        let flaw = spec.flaw.filter(|&flaw| flaw != Flaw::NoOpening);
        let robot = killable::open(&config, &rules, now, 0, flaw)?;
        let mut bottle = Self {
            config,
            rules,
            web,
            record: Record::default(),
            robot: Some(robot),
            happenings: BinaryHeap::new(),
            under_way: HashMap::new(),
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
                    Happening::Heard(event) => events.push(*event),
                    Happening::Ended(ticket, heard) => {
                        if self.end(ticket) {
                            events = heard;
                        }
                    }
                    Happening::Commit => events.extend(self.commit()?),
                    Happening::Kill => self.kill()?,
                    Happening::DiskFull => self.fill_disk()?,
                    Happening::Restart => self.restart()?,
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
        self.measure(&actions.measure);
        self.give_up(&actions.give_up);
        if self.robot().keeper.is_done() {
            return Err("the keeper has ended".into());
        }
        Ok(self.at + (actions.until - now.at).max(1e-6))
    }
}
