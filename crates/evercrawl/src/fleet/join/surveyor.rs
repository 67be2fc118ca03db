//! What a robot measures besides its work: how quickly its siblings answer, so that the quick ones answer for their group;
//! and, if it is a partitioner, how far the members of its groups are from servers that they do not ask, and by which ways.

use super::prober::Prober;
use crate::fleet::ask::{Ask, Traces};
use crate::fleet::groups::Groups;
use crate::fleet::office::{Member, Office};
use fleet::identity::{self, GroupId, RobotId};
use fleet::io::Input;
use fleet::robot::Wanted;
use robot::Sight;
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// Most blocks of addresses that are asked for at a time.
const AT_ONCE: usize = 64;
/// Most ways that are asked for at a time.
const TRACES: usize = 16;
/// Siblings that are timed at a time, and answers of each that count.
const SIBLINGS: usize = 8;
const ANSWERS: usize = 7;
/// While probes bring news, the next look comes this many times sooner.
const OFTENER: u32 = 8;
const LOOK: Duration = Duration::from_millis(200);

/// Asks until it is dropped.
pub struct Surveyor(Arc<AtomicBool>);

impl Drop for Surveyor {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Survey {
    robot: RobotId,
    office: Arc<Office>,
    sight: Sight,
    /// Nothing if there are to be no probes.
    prober: Option<Prober>,
    teller: Sender<Input>,
    responses: BTreeMap<RobotId, VecDeque<u32>>,
    round: usize,
}

impl Surveyor {
    pub fn start(
        robot: RobotId,
        (office, sight): (&Arc<Office>, &Sight),
        prober: Option<Prober>,
        teller: Sender<Input>,
        every: Duration,
    ) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut survey = Survey {
            robot,
            office: office.clone(),
            sight: sight.clone(),
            prober,
            teller,
            responses: BTreeMap::new(),
            round: 0,
        };
        let over = stop.clone();
        let thread = std::thread::Builder::new().name("surveyor".into());
        thread.spawn(move || {
            let mut next = Instant::now() + every;
            let (mut pause, mut probe) = (every / OFTENER, Instant::now());
            while !over.load(Ordering::Relaxed) {
                if Instant::now() >= next {
                    survey.round += 1;
                    survey.time_siblings();
                    survey.trace();
                    next = Instant::now() + every;
                }
                if Instant::now() >= probe {
                    // a division may wait for it; a robot that is silent is asked less and less often
                    let news = survey.probe();
                    pause = if news {
                        every / OFTENER
                    } else {
                        every.min(2 * pause)
                    };
                    probe = Instant::now() + pause;
                }
                std::thread::sleep(LOOK);
            }
        })?;
        Ok(Self(stop))
    }
}

impl Survey {
    /// Times some of the robots of the same group, others each time, and says how busy this machine is.
    fn time_siblings(&mut self) {
        let siblings = self.sight.look(|seam| {
            let plan = seam.protocol().plans().last().cloned();
            let seats = plan.iter().flat_map(|plan| &plan.0.seats);
            let robots = seats.filter_map(|seat| match seat.member {
                identity::Member::Robot(robot) if robot != self.robot => Some(robot),
                _ => None,
            });
            robots.collect::<Vec<_>>()
        });
        let siblings = siblings.unwrap_or_default();
        self.responses.retain(|robot, _| siblings.contains(robot));
        let turn = SIBLINGS * self.round % siblings.len().max(1);
        let turns = siblings.iter().cycle().skip(turn);
        for &robot in turns.take(SIBLINGS.min(siblings.len())) {
            let began = Instant::now();
            if self.office.ask::<bool>(robot, &Ask::Ping).is_some() {
                let known = self.responses.entry(robot).or_default();
                known.push_back(began.elapsed().as_millis() as u32);
                if known.len() > ANSWERS {
                    known.pop_front();
                }
            }
        }
        let medians = self.responses.iter().filter_map(|(robot, known)| {
            let mut known: Vec<u32> = known.iter().copied().collect();
            known.sort_unstable();
            Some((*robot, *known.get(known.len() / 2)?))
        });
        let measured = Input::Measured {
            load: load(),
            responses: medians.collect(),
        };
        // a robot that has ended hears nothing
        let _ = self.teller.send(measured);
    }

    /// Asks for distances that are not known, and takes those that are by now: whether there may soon be more.
    fn probe(&mut self) -> bool {
        let Some(prober) = self.prober.clone() else {
            return false;
        };
        let wanted = self.wanted(|protocol, group| protocol.unprobed(group, AT_ONCE));
        if wanted.is_empty() {
            // servers may become known, and to look costs nobody anything
            return true;
        }
        let measured = self.measure(wanted, AT_ONCE, |robot, servers| match robot {
            None => Some(prober.distances.of(&servers)),
            Some(robot) => self.office.ask(robot, &Ask::Probe { servers }),
        });
        let news = !measured.is_empty();
        for (server, (robot, path), micros) in measured {
            self.sight.probed(server, robot, path, micros);
        }
        news
    }

    /// The same for the ways to servers, which are found slowly.
    fn trace(&mut self) {
        let Some(prober) = self.prober.clone() else {
            return;
        };
        let wanted = self.wanted(|protocol, group| protocol.untraced(group, TRACES));
        let found = self.measure(wanted, TRACES, |robot, servers| match robot {
            None => Some(prober.traces.of(&servers)),
            Some(robot) => {
                let told: Option<Traces> = self.office.ask(robot, &Ask::Trace { servers });
                told.and_then(Traces::read)
            }
        });
        for (server, (robot, path), mut trace) in found {
            // a peer is not trusted
            trace.tidy(|router| prober.is_public(router));
            self.sight.traced(server, robot, path, trace);
        }
    }

    /// What is to be measured for all groups whose partitioner this robot is, by whom.
    fn wanted(
        &self,
        of: impl Fn(&fleet::robot::Robot, GroupId) -> Vec<Wanted>,
    ) -> BTreeMap<identity::Member, Vec<IpAddr>> {
        let wanted = self.sight.look(|seam| {
            let protocol = seam.protocol();
            let mut by: BTreeMap<identity::Member, Vec<IpAddr>> = BTreeMap::new();
            for wanted in protocol.above().flat_map(|group| of(protocol, group)) {
                for member in wanted.by {
                    by.entry(member).or_default().push(wanted.server);
                }
            }
            by
        });
        wanted.unwrap_or_default()
    }

    /// Asks a robot of each member, or this one; takes what is known by now, of what was asked for.
    fn measure<T>(
        &self,
        wanted: BTreeMap<identity::Member, Vec<IpAddr>>,
        most: usize,
        ask: impl Fn(Option<RobotId>, Vec<IpAddr>) -> Option<Vec<(IpAddr, T)>>,
    ) -> Vec<(IpAddr, (RobotId, Vec<GroupId>), T)> {
        let mut measured = Vec::new();
        if wanted.is_empty() {
            return measured;
        }
        let (Ok((_, groups)), Ok(robots)) = (self.office.groups(), self.office.robots()) else {
            return measured;
        };
        for (member, mut servers) in wanted {
            let Some((robot, path)) = self.choose(member, &groups, &robots) else {
                continue;
            };
            servers.sort_unstable();
            servers.dedup();
            servers.truncate(most);
            let told = ask(
                Some(robot).filter(|&robot| robot != self.robot),
                servers.clone(),
            );
            let told = told.into_iter().flatten().take(servers.len());
            for (server, found) in told.filter(|(server, _)| servers.contains(server)) {
                measured.push((server, (robot, path.clone()), found));
            }
        }
        measured
    }

    /// A robot of a member, another one each time, and the groups above it.
    fn choose(
        &self,
        member: identity::Member,
        groups: &Groups,
        robots: &[Member],
    ) -> Option<(RobotId, Vec<GroupId>)> {
        let of = robots.iter().filter_map(|robot| {
            let group = groups.named(&robot.group).ok()?;
            let path = groups.path(GroupId(group.id));
            let is_of = match member {
                identity::Member::Robot(id) => robot.id() == id,
                identity::Member::Group(group) => path.contains(&group),
            };
            is_of.then(|| (robot.id(), path))
        });
        let of: Vec<(RobotId, Vec<GroupId>)> = of.collect();
        of.get(self.round % of.len().max(1)).cloned()
    }
}

/// How busy the machine is, from 0 to 100: processes that want a core, of those that there are.
fn load() -> u8 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let wanted: Option<f64> = (text.split(' ').next()).and_then(|first| first.parse().ok());
    (100.0 * wanted.unwrap_or(0.0) / cores as f64).min(100.0) as u8
}
