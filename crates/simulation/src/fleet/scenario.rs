//! What happens in a run: who is there, what the web is like, and what goes wrong when.

use std::net::IpAddr;

use fleet::division::Terms;
use fleet::flaw::Flaw;
use fleet::identity::{GroupId, Millis, RobotId};
use fleet::table::Written;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::graph::HostGraph;
use super::web::Size;

/// The group at the top.
pub const FLEET: GroupId = GroupId(1);

/// Something that goes wrong, or changes. Robots by position; times in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The process is killed and comes back after so long.
    Kill(usize, Millis),
    /// As `Kill`, but when a write is under way.
    KillInCommit(usize, Millis),
    /// The disk is destroyed with the process.
    DiskLoss(usize, Millis),
    /// As `DiskLoss`, when a row was logged or is about to be.
    DiskLossInPump(usize, Millis),
    /// The process sleeps.
    Pause(usize, Millis),
    /// It falls asleep between the gate and the request's bytes.
    PauseAtGate(usize, Millis),
    /// It is cut off from the engine.
    Partition(usize, Millis),
    /// As `Partition`, just after a renewal whose answer was lost for a while.
    LateAnswer(usize, Millis),
    /// Writing takes up to this long.
    SlowDisk(usize, Millis),
    /// The engine has no leader.
    Gap(Millis),
    /// The engine forgets what it acknowledged in the last so many milliseconds.
    Amnesia(Millis),
    /// Streams are full: publications are refused.
    Full(Millis),
    /// A robot that is not a member starts.
    Join(usize),
    /// A robot leaves in order.
    Leave(usize),
    /// The partitioner has a new table.
    Divide(u64),
    /// A group is founded below another; nobody is in it yet.
    Found(GroupId, GroupId),
    /// A group goes below another, with all that it has.
    Move(GroupId, GroupId),
    /// A group is to have no share any more.
    Remove(GroupId),
}

/// Routers, with microseconds to each and back.
pub type Hops = Vec<(IpAddr, u32)>;

/// A run.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// For everything that is drawn.
    pub seed: u64,
    /// The path of groups above each robot, the fleet first.
    pub robots: Vec<Vec<GroupId>>,
    /// One way to the engine, by robot; nothing where it is missing.
    pub delays: Vec<Millis>,
    /// Those that are not members at the start.
    pub newcomers: Vec<usize>,
    /// The fleet was founded a moment ago: nobody has a seat, and nobody ever had one.
    pub new: bool,
    /// The web.
    pub web: Size,
    /// A host graph that the web is to be like, in place of the size.
    pub graph: Option<HostGraph>,
    /// When what happens.
    pub events: Vec<(Millis, Fault)>,
    /// Whether messages are lost, late and doubled.
    pub noisy: bool,
    /// Most messages in a group's stream: more are refused.
    pub stream: Option<usize>,
    /// Requests of the fleet in ten seconds.
    pub budget: Option<u32>,
    /// Whether the run ends when the fleet itself says that nothing is left to do.
    pub once: bool,
    /// Times that each page is visited.
    pub visits: u32,
    /// A crawl without end is looked at after this.
    pub lasts: Option<Millis>,
    /// Between two requests to a server.
    pub interval: Millis,
    /// No request lasts longer, as robots are told.
    pub longest: Millis,
    /// Every fifth server once asks to be left alone for so long (`Retry-After`).
    pub retry_after: Option<Millis>,
    /// When groups are divided by their links; by the ring alone if nothing is said.
    pub division: Option<Terms>,
    /// Microseconds that a server takes to answer a robot; nobody times answers if nothing is said.
    pub distance: Option<fn(usize, IpAddr) -> u32>,
    /// From then on probes of servers are answered, by `distance`; nobody probes if nothing is said.
    pub probes: Option<Millis>,
    /// Servers that answer no probes.
    pub silent: Option<fn(IpAddr) -> bool>,
    /// The routers between a robot and a server, with microseconds to each and back; nobody traces routes if nothing is said.
    pub routers: Option<fn(usize, IpAddr) -> Hops>,
    /// Entries of a log after which a snapshot is made.
    pub snapshot: Option<u64>,
    /// Of what waits for others long so much is kept in memory.
    pub custody: Option<usize>,
    /// The table that the fleet begins with.
    pub table: Option<Written>,
    /// After the last event, all has to be found within this.
    pub patience: Millis,
    /// The mistake under test.
    pub flaw: Option<Flaw>,
}

/// Robot identities: not in the order of positions, and not dense.
pub fn identity(position: usize) -> RobotId {
    RobotId((position as u64 * 7 + 3) % 1_009 + 1)
}

impl Scenario {
    /// A calm run of `robots` robots in one group.
    pub fn calm(seed: u64, robots: usize) -> Self {
        Self {
            seed,
            robots: vec![vec![FLEET]; robots],
            delays: Vec::new(),
            newcomers: Vec::new(),
            new: false,
            web: Size {
                hosts: 24,
                servers: 14,
                pages: 5,
                links: 3,
                blocks: 1,
            },
            graph: None,
            events: Vec::new(),
            noisy: false,
            stream: None,
            budget: None,
            once: false,
            visits: 1,
            lasts: None,
            interval: 15_000,
            longest: 10_000,
            retry_after: None,
            division: None,
            distance: None,
            probes: None,
            silent: None,
            routers: None,
            table: None,
            snapshot: None,
            custody: None,
            patience: 1_500_000,
            flaw: None,
        }
    }

    /// Robots in groups of ten, those in groups of ten, up to three levels; one more joins a site
    /// after twenty seconds, and after forty-five it is over.
    pub fn tree(robots: u64, levels: usize, seed: u64) -> Self {
        let mut scenario = Self::calm(seed, 0);
        let (region, site) = (
            |robot| GroupId(10 + robot / 100),
            |robot| GroupId(100 + robot / 10),
        );
        scenario.robots = (0..robots)
            .map(|robot| match levels {
                1 => vec![FLEET],
                2 => vec![FLEET, site(robot)],
                _ => vec![FLEET, region(robot), site(robot)],
            })
            .collect();
        let newcomer = scenario.robots.len();
        let beside = seed as usize % newcomer;
        scenario.robots.push(scenario.robots[beside].clone());
        scenario.newcomers = vec![newcomer];
        scenario.events = vec![(20_000, Fault::Join(newcomer))];
        scenario.visits = u32::MAX;
        scenario.lasts = Some(45_000);
        scenario
    }

    /// Sites that are founded, moved, removed, left by everybody and killed whole, among the usual
    /// faults.
    pub fn reorganised(seed: u64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x7ee5);
        let mut scenario = Self::calm(seed, 0);
        let deep = rng.random_range(0..2) == 0;
        let mut paths: Vec<Vec<GroupId>> = (0..rng.random_range(2..=4_u64))
            .map(|site| {
                let region = deep.then_some(GroupId(5 + site % 2));
                let above = [FLEET].into_iter().chain(region);
                above.chain([GroupId(10 + site)]).collect()
            })
            .collect();
        for path in &paths {
            let robots = rng.random_range(1..=3);
            scenario.robots.extend(vec![path.clone(); robots]);
        }
        scenario.once = true;
        scenario.noisy = rng.random_range(0..4) > 0;
        for _ in 0..rng.random_range(1..=4) {
            let at = rng.random_range(15_000..260_000);
            let robot = rng.random_range(0..scenario.robots.len());
            // the first site stays: somebody has to
            let site = rng.random_range(1..paths.len());
            let group = *paths[site].last().expect("a site");
            let inside: Vec<usize> = (0..scenario.robots.len())
                .filter(|&robot| scenario.robots[robot].last() == Some(&group))
                .collect();
            let mut all = |fault: &dyn Fn(usize) -> Fault| {
                let events = inside.iter().map(|&robot| (at, fault(robot)));
                scenario.events.extend(events);
            };
            let down = rng.random_range(1_000..80_000);
            match rng.random_range(0..8) {
                0 => all(&|robot| Fault::DiskLoss(robot, 10_000_000)),
                1 => all(&|robot| Fault::Kill(robot, 2_000 * down / 500)),
                2 => all(&Fault::Leave),
                3 => scenario.events.push((at, Fault::Remove(group))),
                4 if deep => {
                    let to = GroupId(5 + rng.random_range(0..2));
                    scenario.events.push((at, Fault::Move(group, to)));
                }
                4 | 5 => {
                    let new = GroupId(20 + scenario.robots.len() as u64);
                    let mut path = paths[site].clone();
                    *path.last_mut().expect("a site") = new;
                    let above = path[path.len() - 2];
                    scenario.events.push((at, Fault::Found(new, above)));
                    for _ in 0..rng.random_range(1..=2) {
                        let newcomer = scenario.robots.len();
                        scenario.robots.push(path.clone());
                        scenario.newcomers.push(newcomer);
                        let later = at + rng.random_range(0..30_000);
                        scenario.events.push((later, Fault::Join(newcomer)));
                    }
                    paths.push(path);
                }
                6 => scenario.events.push((at, Fault::Pause(robot, down))),
                _ => scenario.events.push((at, Fault::Divide(rng.random()))),
            }
        }
        scenario.events.sort_by_key(|event| event.0);
        scenario
    }

    /// Anything that may go wrong. In every third run groups are divided by their links as well, as soon as
    /// a few are known; in every other one logs are cut behind snapshots; every fifth fleet is new.
    pub fn random(seed: u64) -> Self {
        let mut scenario = Self::undivided(seed);
        if seed % 3 == 1 {
            scenario.division = Some(Terms {
                least: 6,
                ..Terms::default()
            });
        }
        if seed % 10 == 3 {
            // while there is still much to fetch
            let robot = seed as usize % scenario.robots.len();
            let at = 25_000 + seed * 7_919 % 50_000;
            let late = (at, Fault::LateAnswer(robot, 60_000));
            scenario.events.push(late);
            scenario.events.sort_by_key(|event| event.0);
        }
        // logs are short here
        scenario.snapshot = (seed % 4 < 2).then_some(6);
        scenario.new = seed % 5 == 4;
        scenario.custody = (seed % 7 == 3).then_some(1);
        scenario
    }

    /// As [`Scenario::random`], by the ring alone, with logs that are kept whole.
    pub fn undivided(seed: u64) -> Self {
        if seed % 8 == 7 {
            return Self::reorganised(seed);
        }
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0xf1ee7);
        let mut scenario = Self::calm(seed, 0);
        let shape = rng.random_range(0..10);
        scenario.robots = match shape {
            0..7 => vec![vec![FLEET]; rng.random_range(3..=7)],
            7..9 => {
                let sites = rng.random_range(2..=3_u64);
                let size = rng.random_range(2..=4);
                (0..sites)
                    .flat_map(|site| vec![vec![FLEET, GroupId(10 + site)]; size])
                    .collect()
            }
            _ => vec![vec![FLEET]; rng.random_range(10..=24)],
        };
        scenario.once = true;
        scenario.noisy = rng.random_range(0..4) > 0;
        let robots = scenario.robots.len();
        let forgetful = rng.random_range(0..3) == 0;
        let mut leavers = 0;
        for _ in 0..rng.random_range(1..=6) {
            let robot = rng.random_range(0..robots);
            let down = rng.random_range(1_000..80_000);
            let fault = match rng.random_range(0..20) {
                0 => Fault::Kill(robot, down),
                1 | 2 => Fault::KillInCommit(robot, down),
                3 if !forgetful => Fault::DiskLoss(robot, down),
                4 | 5 if !forgetful => Fault::DiskLossInPump(robot, down),
                6 => Fault::Pause(robot, down),
                7 => Fault::PauseAtGate(robot, down),
                8 => Fault::Partition(robot, down),
                9 => Fault::LateAnswer(robot, 60_000),
                10 | 11 => Fault::SlowDisk(robot, 4_000),
                12 => Fault::Gap(rng.random_range(6_000..10_000)),
                3..=5 | 13 if forgetful => Fault::Amnesia(rng.random_range(500..4_000)),
                14 => Fault::Full(rng.random_range(3_000..20_000)),
                15 | 16 => {
                    // sites keep at least two of their own
                    let path = scenario.robots[robot].clone();
                    scenario.robots.push(path);
                    let newcomer = scenario.robots.len() - 1;
                    scenario.newcomers.push(newcomer);
                    Fault::Join(newcomer)
                }
                17 if leavers == 0 && robot > 0 => {
                    leavers += 1;
                    Fault::Leave(robot)
                }
                _ => Fault::Divide(rng.random()),
            };
            scenario
                .events
                .push((rng.random_range(15_000..260_000), fault));
        }
        scenario.events.sort_by_key(|event| event.0);
        scenario
    }
}
