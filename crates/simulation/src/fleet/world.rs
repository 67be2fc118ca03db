//! The world: one queue of events, in order of true time.

mod bus;
mod crawl;
mod faults;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use fleet::identity::{GroupId, Member, Millis, RobotId, Text, Unit};
use fleet::io::{Input, Output};
use fleet::key::{Charter, Key, Value, What};
use fleet::parcel::{Cargo, Subject};
use fleet::plan::{Plan, Seat};
use fleet::record::{Record, Shared, is_checkpoint};
use fleet::representatives;
use fleet::robot::{Robot, Settings};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::checks::{Broken, Checks, broken};
use super::engine::Engine;
use super::hands::Hands;
use super::process::{Clock, Process};
use super::report::{Failure, Report};
use super::scenario::{FLEET, Fault, Scenario, identity};
use super::web::{Page, Web};

/// What happens next.
#[derive(Clone, Debug)]
enum Event {
    /// A process's timer.
    Wake,
    /// A process hears of things.
    Hear(Vec<Input>),
    /// A wish of a process reaches the engine.
    Reach(Output),
    /// The disk has a commit.
    Written(u64),
    /// A process looks what it may fetch.
    Look,
    /// The bytes of a request leave.
    Bytes,
    /// An answer ended.
    Ended(Unit, Page),
    /// A process starts.
    Start,
    /// A queue is looked at again.
    Deliver(Subject),
    /// Something goes wrong.
    Fault(Fault),
    /// The engine's memory of now is what it falls back to.
    Forget(Box<Engine>),
    /// Is all found?
    Look4All,
}

/// Of no process in particular.
const NOBODY: usize = usize::MAX;

/// No run needs so many.
const MOST_STEPS: u64 = 5_000_000;

/// A run that ended well.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The figures.
    pub report: Report,
    /// Which robot has a page, and how often it was visited.
    pub pages: BTreeMap<Page, (RobotId, u32)>,
    /// Which servers a robot (its position) has in the end, and how many pages there.
    pub held: Vec<(usize, IpAddr, u64)>,
    /// All pages of the web.
    pub all: Vec<Page>,
    /// Every request: when, by which robot (its position), for which page.
    pub requests: Vec<(Millis, usize, Page)>,
    /// What became of whom, for pictures.
    pub moments: Vec<Moment>,
    /// Every plan that a robot took up: when, and which group's.
    pub adoptions: Vec<(Millis, GroupId)>,
    /// What each robot knows of the tree: members of the groups above it, and bytes.
    pub views: Vec<(usize, usize)>,
    /// Where pages link to.
    pub links: BTreeMap<Page, Vec<Page>>,
    /// The newest plan of the fleet that anybody knows.
    pub plan: Option<Shared<Plan>>,
    /// Objects that are stored though nobody who is there counts on them.
    pub left_behind: Vec<Text>,
}

impl Outcome {
    /// Distinct pairs of a robot and a URL of another robot that its pages link to.
    pub fn exchanged(&self) -> usize {
        let owner = |page: &Page| self.pages.get(page).map(|(owner, _)| *owner);
        let mut pairs = BTreeSet::new();
        for (page, links) in &self.links {
            let foreign = links.iter().filter(|to| owner(to) != owner(page));
            pairs.extend(foreign.map(|to| (owner(page), *to)));
        }
        pairs.len()
    }
}

/// Something that happened to a robot, or to all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// When.
    pub at: Millis,
    /// To whom, by position.
    pub robot: Option<usize>,
    /// What.
    pub what: Happening,
}

/// What may happen to a robot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// Its process starts.
    Starts,
    /// It dies, is over or has left.
    Ends,
    /// It does nothing until then.
    Sleeps(Millis),
    /// Nobody hears it until then.
    CutOff(Millis),
    /// It got a server, or a register of names.
    Opens,
    /// It gave one away.
    Hands,
    /// A group has another plan.
    Plan,
}

/// Everything there is.
pub(super) struct World<'a> {
    scenario: &'a Scenario,
    now: Millis,
    order: u64,
    queue: BinaryHeap<Reverse<(Millis, u64)>>,
    events: HashMap<u64, (usize, u32, Event)>,
    rng: Xoshiro256PlusPlus,
    engine: Engine,
    web: Web,
    processes: Vec<Process>,
    /// When a robot may look for the next way.
    traces_next: BTreeMap<usize, Millis>,
    checks: Checks,
    /// The engine has no leader until then; streams are full until then.
    gap_until: Millis,
    full_until: Millis,
    scheduled: BTreeSet<Subject>,
    hands: Hands,
    pairs: BTreeSet<(RobotId, Text, Text)>,
    requests: Vec<(Millis, usize, Page)>,
    moments: Vec<Moment>,
    adoptions: Vec<(Millis, GroupId)>,
    report: Report,
    story: Option<Vec<String>>,
    /// Objects that somebody wanted removed, and when.
    removing: BTreeMap<Text, Millis>,
    forgetful: bool,
    /// What the owners of groups want.
    charters: BTreeMap<GroupId, Charter>,
    seeded: bool,
    calm_from: Millis,
}

impl<'a> World<'a> {
    pub(super) fn new(scenario: &'a Scenario, tell: bool) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(scenario.seed);
        let web = match &scenario.graph {
            Some(graph) => Web::like(graph, &mut rng),
            None => Web::new(scenario.web, &mut rng),
        };
        let mut world = World {
            scenario,
            now: 0,
            order: 0,
            queue: BinaryHeap::new(),
            events: HashMap::new(),
            engine: Engine::default(),
            processes: Vec::new(),
            traces_next: BTreeMap::new(),
            checks: Checks::default(),
            gap_until: 0,
            full_until: 0,
            scheduled: BTreeSet::new(),
            hands: Hands::default(),
            pairs: BTreeSet::new(),
            requests: Vec::new(),
            moments: Vec::new(),
            adoptions: Vec::new(),
            report: Report {
                pages: web.len() as u64,
                ..Report::default()
            },
            web,
            story: tell.then(Vec::new),
            removing: BTreeMap::new(),
            forgetful: (scenario.events.iter()).any(|(_, f)| matches!(f, Fault::Amnesia(_))),
            charters: BTreeMap::new(),
            seeded: false,
            calm_from: scenario.events.last().map_or(0, |(at, _)| *at) + 90_000,
            rng,
        };
        for (position, path) in scenario.robots.iter().enumerate() {
            let mut settings = Settings::new(identity(position), path.clone());
            settings.piece = 64;
            settings.interval = scenario.interval;
            settings.longest = scenario.longest;
            settings.budget = scenario.budget;
            settings.division = scenario.division;
            settings.observe = 10_000;
            settings.snapshot = scenario.snapshot;
            settings.custody = scenario.custody.unwrap_or(settings.custody);
            let clock = Clock {
                origin: world.rng.random_range(0..1 << 40),
                fast: world.rng.random_range(-10_000..=10_000),
            };
            world.processes.push(Process::new(settings, clock));
            if !scenario.newcomers.contains(&position) {
                let at = world.rng.random_range(0..2_000);
                world.push(at, position, Event::Start);
            }
        }
        world.found();
        for (at, fault) in &scenario.events {
            world.push(*at, NOBODY, Event::Fault(*fault));
        }
        world.push(5_000, NOBODY, Event::Look4All);
        world
    }

    /// The first plans of all groups.
    fn found(&mut self) {
        let mut members: BTreeMap<GroupId, BTreeSet<Member>> = BTreeMap::new();
        let mut robots: BTreeMap<GroupId, Vec<RobotId>> = BTreeMap::new();
        for (position, path) in self.scenario.robots.iter().enumerate() {
            if self.scenario.newcomers.contains(&position) {
                continue;
            }
            let robot = identity(position);
            let below = path[1..].iter().map(|group| Member::Group(*group));
            for (group, member) in path.iter().zip(below.chain([Member::Robot(robot)])) {
                members.entry(*group).or_default().insert(member);
                robots.entry(*group).or_default().push(robot);
            }
        }
        let pairs = self.scenario.robots.iter().flat_map(|path| path.windows(2));
        let parents: BTreeMap<GroupId, GroupId> = pairs.map(|p| (p[1], p[0])).collect();
        let maker = |mut group: GroupId| loop {
            match members[&group].first().expect("groups have members") {
                Member::Robot(robot) => return *robot,
                Member::Group(first) => group = *first,
            }
        };
        // robots were here before
        let version = Plan::founding_again(FLEET, None).version;
        let plans: Vec<Plan> = (members.iter())
            .map(|(group, members)| {
                if self.scenario.new {
                    return Plan::founding(*group, parents.get(group).copied());
                }
                let mut plan = Plan::new(*group, version, maker(*group));
                plan.parent = parents.get(group).copied();
                plan.seats = (members.iter())
                    .map(|member| match member {
                        Member::Robot(_) => Seat::new(*member, 1, 1),
                        Member::Group(below) => {
                            let robots = &robots[below];
                            let mut seat = Seat::new(*member, 0, robots.len() as u32);
                            seat.representatives = representatives::first(robots);
                            seat
                        }
                    })
                    .collect();
                plan
            })
            .collect();
        let moves = |(_, fault): &(Millis, Fault)| {
            matches!(fault, Fault::Found(..) | Fault::Move(..) | Fault::Remove(_))
        };
        for mut plan in plans {
            if let Some(written) = &self.scenario.table
                && written.group == plan.group
            {
                plan.table.clone_from(&written.table);
            }
            if self.scenario.new || self.scenario.events.iter().any(moves) {
                let charter = self.charters.entry(plan.group).or_default();
                charter.parent = plan.parent;
                let groups = members[&plan.group].iter();
                let groups = groups.filter_map(|member| match member {
                    Member::Group(group) => Some(*group),
                    Member::Robot(_) => None,
                });
                charter.groups = groups.collect();
            }
            if self.scenario.new {
                self.put_charter(plan.group);
            }
            self.put_plan(plan);
        }
    }

    fn put_plan(&mut self, plan: Plan) {
        let key = Key {
            group: plan.group,
            what: What::Plan,
        };
        self.engine
            .swap(0, key, 0, Value::Plan(Shared(Arc::new(plan))));
    }

    /// What the owners want is written down with the founding.
    fn put_charter(&mut self, group: GroupId) {
        let charter = self.charters.entry(group).or_default();
        charter.number = 1;
        let (what, charter) = (What::Charter, charter.clone());
        self.engine
            .swap(0, Key { group, what }, 0, Value::Charter(charter));
    }

    fn push(&mut self, at: Millis, process: usize, event: Event) {
        self.order += 1;
        let life = self.processes.get(process).map_or(0, |p| p.life);
        self.events.insert(self.order, (process, life, event));
        self.queue.push(Reverse((at.max(self.now), self.order)));
    }

    fn note(&mut self, robot: Option<usize>, what: Happening) {
        let at = self.now;
        self.moments.push(Moment { at, robot, what });
    }

    fn tell(&mut self, line: impl FnOnce() -> String) {
        let now = self.now as f64 / 1_000.0;
        if let Some(story) = &mut self.story {
            story.push(format!("{now:10.3} {}", line()));
        }
    }

    pub(super) fn run(mut self) -> Result<Outcome, Failure> {
        match self.steps() {
            Ok(()) => Ok(self.outcome()),
            Err(Broken { rule, what }) => {
                self.search();
                let mut story = self.story.take().unwrap_or_default();
                let long = story.len().saturating_sub(160);
                Err(Failure {
                    seed: self.scenario.seed,
                    at: self.now,
                    rule,
                    what,
                    story: story.split_off(long),
                })
            }
        }
    }

    fn steps(&mut self) -> Result<(), Broken> {
        let end = self.calm_from + self.scenario.patience;
        while let Some(Reverse((at, order))) = self.queue.pop() {
            self.now = at;
            self.report.steps += 1;
            if self.report.steps > MOST_STEPS {
                return broken("liveness", "the world goes round in circles".into());
            }
            let (index, life, event) = self.events.remove(&order).expect("queued once");
            if let Some(process) = self.processes.get(index) {
                // what has left the process goes its way; what is for another life is void
                let outside = matches!(event, Event::Reach(_));
                if !outside && process.life != life {
                    continue;
                }
                if !outside && process.paused_until > at {
                    let until = process.paused_until;
                    self.push(until, index, event);
                    continue;
                }
            }
            if matches!(event, Event::Look4All) {
                if self.scenario.lasts.is_some_and(|lasts| at >= lasts) {
                    break;
                }
                match self.missing().or_else(|| self.not_quiet()) {
                    None => break,
                    Some(_) if self.scenario.lasts.is_some() => {
                        self.push(at + 5_000, NOBODY, Event::Look4All);
                    }
                    Some(missing) if at > end => return broken("W2 liveness", missing),
                    Some(_) => self.push(at + 5_000, NOBODY, Event::Look4All),
                }
                self.give_seed()?;
                self.write_charters()?;
                continue;
            }
            self.step(index, event)?;
        }
        self.report.took = self.now;
        Ok(())
    }

    fn step(&mut self, index: usize, event: Event) -> Result<(), Broken> {
        match event {
            Event::Wake => self.wake(index),
            Event::Hear(inputs) => {
                for input in inputs {
                    self.hear(index, input)?;
                }
                Ok(())
            }
            Event::Reach(output) => self.reach(index, output),
            Event::Written(number) => self.written(index, number),
            Event::Look => {
                self.look(index);
                Ok(())
            }
            Event::Bytes => self.bytes(index),
            Event::Ended(unit, page) => self.ended(index, unit, page),
            Event::Start => self.start(index),
            Event::Deliver(subject) => {
                self.scheduled.remove(&subject);
                self.deliver(subject);
                Ok(())
            }
            Event::Fault(fault) => self.fault(fault),
            Event::Forget(engine) => {
                self.tell(|| "the engine forgets".into());
                self.engine = *engine;
                for subject in self.engine.waiting().collect::<Vec<_>>() {
                    self.deliver(subject);
                }
                Ok(())
            }
            Event::Look4All => Ok(()),
        }
    }

    fn start(&mut self, index: usize) -> Result<(), Broken> {
        let (now, flaw) = (self.now, self.scenario.flaw);
        let boot = self.rng.random();
        let process = &mut self.processes[index];
        if process.robot.is_some() {
            return Ok(());
        }
        process.life += 1;
        process.restore();
        let local = process.clock.local(now);
        let robot = Robot::flawed(process.settings.clone(), boot, local, &process.disk, flaw);
        process.robot = Some(robot);
        let (id, commits) = (process.settings.robot, process.disk.len());
        self.note(Some(index), Happening::Starts);
        self.tell(|| format!("{id} starts with {commits} commits on disk"));
        self.wake(index)
    }

    fn wake(&mut self, index: usize) -> Result<(), Broken> {
        let visits = self.scenario.visits;
        let process = &mut self.processes[index];
        let empty = |subject| self.engine.depth(subject) == 0;
        let idle = process.idle(visits) && process.subjects.iter().all(|s| empty(*s));
        let waiting = process.rows.values().flatten();
        let wanted = waiting.filter(|(_, seen)| **seen < visits).count() as f64;
        let leave = process.leaving;
        self.hear(index, Input::Tick)?;
        if self.processes[index].robot.is_some() {
            // a page is worth less the more often it was visited
            let demand = fleet::demand::Curve::of(|price| wanted / (1.0 + price));
            self.hear(index, Input::Load { demand, idle })?;
        }
        if leave {
            self.hear(index, Input::Leave)?;
        }
        self.divide_by_links(index);
        let (now, process) = (self.now, &mut self.processes[index]);
        let Some(robot) = &process.robot else {
            return Ok(());
        };
        if robot.has_left() {
            let id = process.settings.robot;
            process.die();
            self.note(Some(index), Happening::Ends);
            self.tell(|| format!("{id} has left"));
            return Ok(());
        }
        process.subjects = robot.subjects();
        let at = process.clock.when(robot.deadline()).max(now + 1);
        let subjects = process.subjects.clone();
        self.push(at, index, Event::Wake);
        for subject in subjects {
            if self.engine.depth(subject) > 0 {
                self.deliver(subject);
            }
        }
        self.look(index);
        Ok(())
    }

    fn hear(&mut self, index: usize, input: Input) -> Result<(), Broken> {
        let process = &mut self.processes[index];
        let local = process.clock.local(self.now);
        let Some(robot) = &mut process.robot else {
            return Ok(());
        };
        let outputs = robot.handle(local, input);
        let (quiet, id) = (robot.quiet(), robot.session());
        self.perform(index, outputs)?;
        // what dies after the end is found again; what was never asked for is not
        let visits = self.scenario.visits;
        let asked = |page: &Page| self.web.fetched().get(page) >= Some(&visits);
        match quiet
            .then(|| self.web.pages().find(|page| !asked(page)))
            .flatten()
        {
            Some(page) => broken("quiet too early", format!("{id:?} says so; {page:?} waits")),
            None => Ok(()),
        }
    }

    /// A fleet that is to say when it has done everything, and has not yet.
    fn not_quiet(&self) -> Option<String> {
        let mut robots = self.processes.iter().filter_map(|p| p.robot.as_ref());
        let waits = self.scenario.once && !robots.any(Robot::quiet);
        waits.then(|| "all is found and nobody says so".into())
    }

    /// Whoever gives the seed gives it again until somebody has it on disk.
    fn give_seed(&mut self) -> Result<(), Broken> {
        let mut records =
            (self.processes.iter()).flat_map(|p| p.disk.iter().flat_map(|c| c.iter()));
        let admitted = records.any(|record| matches!(record, Record::Admit(_)));
        self.seeded |= admitted;
        if self.seeded {
            return Ok(());
        }
        let seed = self.web.parcel(self.web.pages().next().expect("a page"));
        self.hear(0, Input::Seeds(vec![seed]))
    }

    /// What is missing, if anything is.
    fn missing(&self) -> Option<String> {
        let leaves = |p: &&Process| p.leaving && p.robot.is_some();
        let leavers = self.processes.iter().filter(leaves).count();
        let leavers = (leavers > 0).then(|| format!("{leavers} robots want to leave"));
        self.missing_pages().or(leavers)
    }

    fn missing_pages(&self) -> Option<String> {
        let visits = self.scenario.visits;
        let mut best: BTreeMap<Page, u32> = BTreeMap::new();
        let rows = self.processes.iter().flat_map(|p| p.rows.values());
        for (page, seen) in rows.flatten() {
            let known = best.entry(*page).or_default();
            *known = seen.max(known).to_owned();
        }
        let unknown = self.web.pages().filter(|p| !best.contains_key(p)).count();
        let waiting = best.values().filter(|seen| **seen < visits).count();
        let total = self.web.len();
        (unknown + waiting > 0)
            .then(|| format!("{unknown} of {total} pages are nowhere, {waiting} wait"))
    }

    /// Tells where the first page that nobody has was last written of.
    fn search(&mut self) {
        for index in 0..self.processes.len() {
            let robot = self.processes[index].robot.as_ref();
            if let Some(standing) = robot.map(Robot::standing) {
                self.tell(|| standing);
            }
        }
        for subject in self.engine.waiting().collect::<Vec<_>>() {
            let depth = self.engine.depth(subject);
            let reads = |p: &&Process| p.robot.is_some() && p.subjects.contains(&subject);
            let readers: Vec<String> = (self.processes.iter().filter(reads))
                .map(|process| process.settings.robot.to_string())
                .collect();
            self.tell(|| format!("{depth} messages wait in {subject:?}, read by {readers:?}"));
        }
        let has = |page: &Page| {
            self.processes
                .iter()
                .any(|p| p.rows.values().any(|r| r.contains_key(page)))
        };
        let Some(page) = self.web.pages().find(|page| !has(page)) else {
            return;
        };
        let url = self.web.parcel(page);
        let mut lines = vec![format!("{page:?} is nowhere")];
        for process in &self.processes {
            let id = process.settings.robot;
            let records = process.disk.iter().flat_map(|commit| commit.iter());
            for record in records.filter(|record| mentions(record, &url)) {
                lines.push(format!("{id} has on disk {record:?}"));
                if let Record::Out(number, _) = record {
                    let mut all = process.disk.iter().flat_map(|commit| commit.iter());
                    let receipted = all.any(|r| matches!(r, Record::Receipted(n) if n == number));
                    lines.push(format!("  which has a receipt: {receipted}"));
                }
            }
        }
        lines.extend(self.engine.search(&|record| mentions(record, &url)));
        for line in lines {
            self.tell(|| line);
        }
    }

    fn outcome(mut self) -> Outcome {
        let mut pages: BTreeMap<Page, (RobotId, u32)> = BTreeMap::new();
        for process in &self.processes {
            for (page, seen) in process.rows.values().flatten() {
                let entry = pages
                    .entry(*page)
                    .or_insert((process.settings.robot, *seen));
                if *seen > entry.1 {
                    *entry = (process.settings.robot, *seen);
                }
            }
        }
        let held = self.processes.iter().enumerate().flat_map(|(at, process)| {
            (process.rows.iter()).filter_map(move |(unit, rows)| match unit {
                Unit::Server(server) => Some((at, *server, rows.len() as u64)),
                Unit::Register(_) => None,
            })
        });
        let held = held.collect();
        self.report.pairs = self.pairs.len() as u64;
        let fetched = self.web.fetched().values();
        let visits = self.scenario.visits;
        self.report.again = fetched.map(|n| u64::from(n.saturating_sub(visits))).sum();
        let views = (self.processes.iter().filter_map(|p| p.robot.as_ref()))
            .map(|robot| {
                let entries = robot.plans().map(|plan| plan.seats.len()).sum();
                let bytes = robot
                    .plans()
                    .map(|plan| fleet::wire::encode(plan).len())
                    .sum();
                (entries, bytes)
            })
            .collect();
        let robots = self.processes.iter().filter_map(|p| p.robot.as_ref());
        let plans = robots.filter_map(|robot| robot.plans().next());
        let robots = self.processes.iter().filter_map(|p| p.robot.as_ref());
        let known: BTreeSet<Text> = robots.flat_map(Robot::objects).collect();
        let left_behind = self.engine.objects();
        // those that are being removed at this moment aside
        let removed =
            |name: &Text| (self.removing.get(name)).is_some_and(|at| self.now < at + 1_000);
        let left_behind = left_behind.filter(|name| !known.contains(*name) && !removed(name));
        let left_behind: Vec<Text> = left_behind.cloned().collect();
        self.report.objects = self.engine.objects().count() as u64;
        Outcome {
            left_behind,
            plan: plans.max_by_key(|plan| plan.version).cloned(),
            links: self.web.all_links().clone(),
            views,
            adoptions: self.adoptions,
            report: self.report,
            pages,
            held,
            all: self.web.pages().collect(),
            requests: self.requests,
            moments: self.moments,
        }
    }

    fn note_sent(&mut self, robot: RobotId, records: &[Record]) {
        // a checkpoint says what was said before
        let records = records.iter().filter(|_| !is_checkpoint(records));
        for record in records {
            if let Record::Out(_, Cargo::Url(parcel)) = record {
                self.pairs
                    .insert((robot, parcel.name.clone(), parcel.url.clone()));
            }
        }
    }
}

/// Whether a record is about a URL.
fn mentions(record: &Record, url: &fleet::parcel::Parcel) -> bool {
    match record {
        Record::Admit(parcel) | Record::Waiting(parcel) | Record::Out(_, Cargo::Url(parcel)) => {
            (&parcel.name, &parcel.url) == (&url.name, &url.url)
        }
        Record::Bound(name, _) | Record::Dispatched(name) => *name == url.name,
        _ => false,
    }
}
