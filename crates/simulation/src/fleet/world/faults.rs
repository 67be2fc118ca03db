//! What goes wrong.

use std::net::IpAddr;

use fleet::filter::Block;
use fleet::identity::{GroupId, Member, Millis};
use fleet::key::{Charter, Key, Value, What};
use fleet::plan::{Plan, Standing};
use fleet::robot::{Robot, Settings, Wanted};
use fleet::trace::Trace;
use partition::routing::Prefix;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::super::checks::Broken;
use super::super::process::Process;
use super::super::scenario::Fault;
use super::{Event, Happening, NOBODY, World};

/// The way to a silent server takes a robot so long: three packets, a second each, to five hops that say nothing.
const TRACE: Millis = 15_000;

impl World<'_> {
    pub(super) fn fault(&mut self, fault: Fault) -> Result<(), Broken> {
        let now = self.now;
        self.tell(|| format!("{fault:?}"));
        match fault {
            Fault::Kill(index, down) => self.kill(index, false, down),
            Fault::DiskLoss(index, down) => self.kill(index, true, down),
            Fault::KillInCommit(index, down) => self.processes[index].doomed = Some((false, down)),
            Fault::DiskLossInPump(index, down) => {
                // while nothing can be published rows wait for their links
                self.gap_until = now + 4_000;
                let at = now + self.rng.random_range(4_000..4_600);
                self.push(at, NOBODY, Event::Fault(Fault::DiskLoss(index, down)));
            }
            Fault::Pause(index, long) => self.pause(index, long),
            Fault::PauseAtGate(index, long) => self.processes[index].sleepy = Some(long),
            Fault::Partition(index, long) => {
                self.processes[index].cut_until = now + long;
                self.note(Some(index), Happening::CutOff(now + long));
            }
            Fault::LateAnswer(index, long) => {
                let late = now + self.rng.random_range(9_000..20_000);
                self.processes[index].late_until = late;
                let cut = Fault::Partition(index, long);
                self.push(late + 100, NOBODY, Event::Fault(cut));
            }
            Fault::SlowDisk(index, slow) => self.processes[index].slow = slow,
            Fault::Gap(long) => self.gap_until = now + long,
            Fault::Amnesia(long) => {
                let memory = Box::new(self.engine.clone());
                self.push(now + long, NOBODY, Event::Forget(memory));
            }
            Fault::Full(long) => self.full_until = now + long,
            Fault::Join(index) => self.start(index)?,
            Fault::Leave(index) => self.processes[index].leaving = true,
            Fault::Divide(seed) => self.divide(seed),
            Fault::Found(group, above) => {
                self.put_plan(Plan::founding(group, Some(above)));
                self.charter(group, |charter| charter.parent = Some(above));
                self.charter(above, |charter| charter.groups.push(group));
            }
            Fault::Move(group, to) => {
                let from = self.charters.get(&group).and_then(|charter| charter.parent);
                self.charter(group, |charter| charter.parent = Some(to));
                if let Some(above) = from {
                    self.charter(above, |charter| charter.groups.retain(|g| *g != group));
                }
                self.charter(to, |charter| charter.groups.push(group));
            }
            Fault::Remove(group) => {
                let from = self.charters.get(&group).and_then(|charter| charter.parent);
                if let Some(above) = from {
                    self.charter(above, |charter| charter.groups.retain(|g| *g != group));
                }
            }
        }
        Ok(())
    }

    /// The owners of a group want something else.
    fn charter(&mut self, group: GroupId, change: impl FnOnce(&mut Charter)) {
        let charter = self.charters.entry(group).or_default();
        charter.number += 1;
        change(charter);
        charter.groups.sort_unstable();
        charter.groups.dedup();
    }

    /// Owners write what they want, and again when the engine forgot it.
    pub(super) fn write_charters(&mut self) -> Result<(), Broken> {
        for (group, charter) in self.charters.clone() {
            let key = Key {
                group,
                what: What::Charter,
            };
            let (revision, number) = match self.engine.get(&key) {
                Some((revision, Value::Charter(known))) => (revision, known.number),
                _ => (0, 0),
            };
            if number < charter.number {
                self.swap(key, revision, &Value::Charter(charter))?;
            }
        }
        Ok(())
    }

    pub(super) fn kill(&mut self, index: usize, disk: bool, down: Millis) {
        let robot = self.processes[index].settings.robot;
        let lost = self.processes[index].unwritten.len();
        let with = if disk { "and its disk " } else { "" };
        self.tell(|| format!("{robot} {with}dies, {lost} commits unwritten"));
        let process = &mut self.processes[index];
        if let Some(session) = process.robot.as_ref().and_then(Robot::session) {
            for (_, records) in &process.unwritten {
                self.checks.died(session, records);
            }
        }
        process.die();
        self.note(Some(index), Happening::Ends);
        let process = &mut self.processes[index];
        if disk {
            process.wipe();
            self.checks.wiped(index);
        }
        // another boot, another origin of the clock
        let process = &mut self.processes[index];
        process.clock.origin = self.rng.random_range(0..1 << 40);
        process.paused_until = 0;
        let at = self.now + down;
        self.push(at, index, Event::Start);
    }

    pub(super) fn pause(&mut self, index: usize, long: Millis) {
        let until = self.now + long;
        let process = &mut self.processes[index];
        process.paused_until = process.paused_until.max(until);
        let robot = process.settings.robot;
        self.note(Some(index), Happening::Sleeps(until));
        self.tell(|| format!("{robot} sleeps for {long} ms"));
    }

    /// What a partitioner wants computed is computed.
    pub(super) fn divide_by_links(&mut self, index: usize) {
        self.measure(index);
        let robot = self.processes[index].robot.as_mut();
        let Some(division) = robot.and_then(Robot::division) else {
            return;
        };
        let divided = division.solve().ok();
        self.report.divisions += 1;
        self.tell(|| format!("{} is divided: {divided:?}", division.group));
        if let Some(robot) = &mut self.processes[index].robot {
            robot.divided(division.group, divided);
        }
    }

    /// Whatever a partitioner wants measured is, by the first robot of each member.
    fn measure(&mut self, index: usize) {
        let (Some(from), Some(distance)) = (self.scenario.probes, self.scenario.distance) else {
            return;
        };
        if self.now < from {
            return;
        }
        let silent = |server| self.scenario.silent.is_some_and(|silent| silent(server));
        for (server, prober) in self.wanted(index, Robot::unprobed) {
            let Settings { robot, path, .. } = self.processes[prober].settings.clone();
            let micros = (!silent(server)).then(|| distance(prober, server));
            if let Some(partitioner) = &mut self.processes[index].robot {
                partitioner.probed(server, robot, path, micros);
            }
        }
        let Some(routers) = self.scenario.routers else {
            return;
        };
        for (server, tracer) in self.wanted(index, Robot::untraced) {
            let next = self.traces_next.entry(tracer).or_default();
            if self.now < *next {
                continue;
            }
            *next = self.now + TRACE;
            let Settings { robot, path, .. } = self.processes[tracer].settings.clone();
            let trace = Trace {
                hops: routers(tracer, server),
                end: (!silent(server)).then(|| distance(tracer, server)),
            };
            if let Some(partitioner) = &mut self.processes[index].robot {
                partitioner.traced(server, robot, path, trace);
            }
        }
    }

    /// Servers, and the first robot of each member that is to measure them.
    fn wanted(
        &self,
        index: usize,
        of: fn(&Robot, GroupId, usize) -> Vec<Wanted>,
    ) -> Vec<(IpAddr, usize)> {
        let Some(robot) = &self.processes[index].robot else {
            return Vec::new();
        };
        let is_of = |process: &Process, member| match member {
            Member::Robot(robot) => process.settings.robot == robot,
            Member::Group(group) => process.settings.path.contains(&group),
        };
        let wanted = robot.above().flat_map(|group| of(robot, group, usize::MAX));
        let by = wanted.flat_map(|wanted| wanted.by.into_iter().map(move |by| (wanted.server, by)));
        let found = by.filter_map(|(server, member)| {
            let mut processes = self.processes.iter();
            Some((
                server,
                processes.position(|process| is_of(process, member))?,
            ))
        });
        found.collect()
    }

    /// A new table for the fleet, from wherever its partitioner is.
    fn divide(&mut self, seed: u64) {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let addresses: Vec<IpAddr> = self.web.addresses();
        for process in &mut self.processes {
            let group = process.settings.path[0];
            let Some(robot) = process.robot.as_mut().filter(|r| r.makes(group)) else {
                continue;
            };
            let plan = robot.plans().find(|plan| plan.group == group);
            let members: Vec<Member> = (plan.into_iter())
                .flat_map(|plan| plan.seats.iter())
                .filter(|seat| seat.standing == Standing::Active)
                .map(|seat| seat.member)
                .collect();
            if members.is_empty() {
                continue;
            }
            let table = (addresses.iter())
                .filter_map(|&address| {
                    let member = members[rng.random_range(0..members.len())];
                    let listed = rng.random_range(0..3) > 0;
                    listed.then(|| (Block(Prefix::host(address)), member))
                })
                .collect();
            robot.divide(group, table);
        }
    }
}
