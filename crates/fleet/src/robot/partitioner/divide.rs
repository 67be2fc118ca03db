//! When a group is divided anew, what of, and what came of it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::super::Robot;
use crate::counts::Counts;
use crate::division::{Divided, Division, Placed, Terms};
use crate::identity::{GroupId, Member, Millis, Unit};
use crate::plan::{Plan, Seat, Standing, Version};

/// The last time that a group was divided.
#[derive(Debug, Default)]
pub(in crate::robot) struct Made {
    /// Among whom, with their capacities.
    members: Vec<(Member, u32)>,
    servers: usize,
    at: Millis,
    /// An answer is awaited for the plan of this version.
    under_way: Option<Version>,
    /// Somebody asked for it.
    wanted: bool,
    /// Servers that a table once placed, and those that were divided when their distances were not all known.
    listed: BTreeSet<IpAddr>,
    blind: BTreeMap<IpAddr, Insight>,
    /// Since when there are servers enough for the first division.
    enough: Option<Millis>,
    /// Divisions that ended, and what came of the last.
    ended: u64,
    last: Option<Told>,
}

/// How well the distances of a server are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Insight {
    /// Only by answers.
    Answers,
    /// It answers no probes, and its ways are not known.
    Silent,
    /// As well as they will be.
    All,
}

/// What came of a division.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The plan that it followed.
    pub version: Version,
    /// Servers that were divided, and their pages.
    pub servers: usize,
    /// See `servers`.
    pub pages: u64,
    /// Servers that change hands: from whom, and to whom.
    pub moves: Vec<(IpAddr, Member, Member)>,
    /// Their pages.
    pub moved: u64,
    /// Those of them that move beyond the promise: they were placed before anybody knew how far they are.
    pub late: u64,
    /// Servers that the table has no room for.
    pub unlisted: usize,
    /// Microseconds from a page to its robot, as a mean: as it was, and as it will be.
    pub delay: Option<(u32, u32)>,
}

/// Whether a group is divided when somebody asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Divides {
    /// As soon as everybody has settled the present plan.
    Soon,
    /// Another robot makes the group's plans.
    NotMine,
    /// The members share by the ring alone.
    ByRing,
    /// One member has everything.
    Alone,
}

impl Robot {
    /// The group is to be divided anew by its links, as soon as it is safe; few servers are no reason not to.
    pub fn divide_again(&mut self, group: GroupId) -> Divides {
        let depth = self.levels.iter().position(|level| level.group == group);
        let Some(depth) = depth.filter(|_| self.makes(group)) else {
            return Divides::NotMine;
        };
        let Some(plan) = self.levels[depth].plan.clone() else {
            return Divides::NotMine;
        };
        if self.settings.division.is_none()
            || self.charter(&plan).is_some_and(|charter| charter.ring)
        {
            return Divides::ByRing;
        }
        let active = plan.seats.iter().filter(|s| s.standing == Standing::Active);
        if active.count() < 2 {
            return Divides::Alone;
        }
        // what this robot read since it last told
        self.observing_at_once();
        self.partitioner.made.entry(group).or_default().wanted = true;
        Divides::Soon
    }

    /// Servers of a group that its partitioner, this robot, was told of.
    pub fn servers_told(&self, group: GroupId) -> usize {
        let depth = self.levels.iter().position(|level| level.group == group);
        depth.map_or(0, |depth| self.servers_of(depth).len())
    }

    /// How many divisions of a group ended here, and what came of the last.
    pub fn told_of_division(&self, group: GroupId) -> (u64, Option<&Told>) {
        let made = self.partitioner.made.get(&group);
        made.map_or((0, None), |made| (made.ended, made.last.as_ref()))
    }

    /// What is to be divided now, if anything is. Whoever asks computes it, here or elsewhere, and hands
    /// the answer to [`Robot::divided`].
    pub fn division(&mut self) -> Option<Division> {
        let terms = self.settings.division?;
        if !self.lease_valid(self.now) {
            return None;
        }
        for depth in 0..self.levels.len() {
            let Some(plan) = self.levels[depth].plan.clone() else {
                continue;
            };
            let made_here = plan.maker == self.settings.robot;
            let ring = self.charter(&plan).is_some_and(|charter| charter.ring);
            if !made_here || ring || !self.all_have(&plan, true, &[]) {
                continue;
            }
            if let Some(division) = self.divide_if_due(depth, &plan, terms) {
                return Some(division);
            }
        }
        None
    }

    fn divide_if_due(&mut self, depth: usize, plan: &Plan, terms: Terms) -> Option<Division> {
        let active = plan.seats.iter().filter(|s| s.standing == Standing::Active);
        let seats: Vec<Seat> = active.cloned().collect();
        let mut members: Vec<_> = seats.iter().map(|s| (s.member, s.capacity)).collect();
        members.sort_unstable();
        let servers = self.servers_of(depth);
        let now = self.now;
        let all: Vec<Member> = seats.iter().map(|seat| seat.member).collect();
        let probed = |server: &IpAddr| self.probing.knows(*server, &all);
        let traced = |server: &IpAddr| {
            let wanted = terms.routes && self.probing.is_silent(*server, &all);
            !wanted || self.tracing.knows(*server, &all)
        };
        let insight =
            |server: &IpAddr| match (terms.patience == 0 || probed(server), traced(server)) {
                (false, _) => Insight::Answers,
                (true, false) => Insight::Silent,
                (true, true) => Insight::All,
            };
        let sees_more = |(server, then): &(&IpAddr, &Insight)| insight(server) > **then;
        let made = self.partitioner.made.entry(plan.group).or_default();
        if made.members.is_empty() && !plan.table.is_empty() {
            // another divided it before us
            made.members.clone_from(&members);
            made.servers = servers.len();
            made.at = now;
        }
        let listed = |server: &&IpAddr| plan.lists(Unit::Server(**server));
        made.listed.extend(servers.iter().filter(listed));
        let first = made.members.is_empty();
        let told = made.blind.iter().filter(sees_more).count();
        let nearer = told > 0 && told as f64 >= servers.len() as f64 * terms.growth;
        let grown = servers.len() as f64 >= made.servers as f64 * (1.0 + terms.growth);
        let due = first || grown || nearer || made.members != members;
        let soon = made.at + self.settings.observe;
        let old = now >= made.at + terms.every;
        let least = if made.wanted { 0 } else { terms.least };
        let enough = seats.len() > 1 && servers.len() >= least.max(seats.len());
        let ready = made.under_way.is_none_or(|version| version < plan.version) && enough;
        if !ready || !(due && (first || now >= soon) || old || made.wanted) {
            return None;
        }
        let until = *made.enough.get_or_insert(now) + terms.patience;
        if first && !made.wanted && now < until {
            let known = servers.iter().filter(|server| probed(server)).count();
            if 10 * known < 9 * servers.len() {
                return None;
            }
        }
        let freed = made.blind.iter().filter(sees_more);
        let freed: BTreeSet<IpAddr> = freed.map(|(server, _)| *server).collect();
        let came = came(&made.members, &members);
        *made = Made {
            members,
            servers: servers.len(),
            at: now,
            under_way: Some(plan.version),
            wanted: false,
            listed: std::mem::take(&mut made.listed),
            blind: (servers.iter().map(|server| (*server, insight(server))))
                .filter(|(_, insight)| *insight < Insight::All)
                .collect(),
            enough: made.enough,
            ended: made.ended,
            last: made.last.take(),
        };
        let listed = &self.partitioner.made[&plan.group].listed;
        let seat_of = |server: IpAddr| {
            let owner = plan.owner(Unit::Server(server), self.flaw)?;
            seats.iter().position(|seat| seat.member == owner)
        };
        let collected = self.observing.collected.get(&plan.group);
        let placed = (servers.iter())
            .filter_map(|server| {
                Some(Placed {
                    server: *server,
                    counts: collected?.get(server)?.clone(),
                    before: listed.contains(server).then(|| seat_of(*server)).flatten(),
                    blind: freed.contains(server),
                    owner: seat_of(*server),
                    probes: self.probing.of(*server),
                    place: None,
                })
            })
            .collect();
        Some(Division {
            group: plan.group,
            version: plan.version,
            servers: placed,
            traces: self.tracing.all(),
            seats,
            came,
            promise: terms.promise,
        })
    }

    /// Servers that the groups above give to the group, as far as it was told of them.
    pub(in crate::robot) fn servers_of(&self, depth: usize) -> Vec<IpAddr> {
        let group = self.levels[depth].group;
        let ours = |server: &IpAddr| {
            self.levels[..depth].iter().all(|level| {
                let owner = level.plan.as_ref();
                let owner = owner.and_then(|p| p.owner(Unit::Server(*server), self.flaw));
                owner == Some(level.branch)
            })
        };
        let collected = self.observing.collected.get(&group);
        let servers = collected.into_iter().flat_map(|all| all.keys());
        servers.copied().filter(ours).collect()
    }

    /// The answer to [`Robot::division`]; nothing if there is none. It holds for the plan that it was
    /// made for: if members came or went since, the group is divided again.
    pub fn divided(&mut self, group: GroupId, divided: Option<Divided>) {
        let told = divided
            .as_ref()
            .and_then(|divided| self.tell_division(divided));
        let made = self.partitioner.made.entry(group).or_default();
        made.under_way = None;
        made.ended += 1;
        made.last = told;
        let Some(divided) = divided else { return };
        self.tally.divisions += 1;
        self.tally.unlisted = divided.unlisted as u64;
        self.tally.moved_late += divided.late;
        let answer = (Some(divided.version), divided.table);
        self.partitioner.tables.insert(group, answer);
    }

    /// What a new table changes.
    fn tell_division(&self, divided: &Divided) -> Option<Told> {
        let depth = (self.levels.iter()).position(|level| level.group == divided.group)?;
        let plan = self.levels[depth].plan.as_ref()?;
        let mut next = Plan::clone(plan);
        next.table.clone_from(&divided.table);
        let collected = self.observing.collected.get(&divided.group)?;
        let servers = self.servers_of(depth);
        let mut told = Told {
            version: divided.version,
            servers: servers.len(),
            pages: divided.pages,
            moves: Vec::new(),
            moved: 0,
            late: divided.late,
            unlisted: divided.unlisted,
            delay: divided.delay,
        };
        for server in servers {
            let unit = Unit::Server(server);
            let owners = (plan.owner(unit, self.flaw), next.owner(unit, self.flaw));
            if let (Some(from), Some(to)) = owners
                && from != to
            {
                told.moved += collected.get(&server).map_or(0, Counts::total);
                told.moves.push((server, from, to));
            }
        }
        Some(told)
    }
}

/// The share of all capacity that was not there before.
fn came(before: &[(Member, u32)], now: &[(Member, u32)]) -> f64 {
    let all: u32 = now.iter().map(|(_, capacity)| capacity).sum();
    let old = |member: Member| before.iter().find(|(m, _)| *m == member);
    let more = now.iter().map(|&(member, capacity)| {
        capacity.saturating_sub(old(member).map_or(0, |(_, capacity)| *capacity))
    });
    f64::from(more.sum::<u32>()) / f64::from(all.max(1))
}
