//! How far members are from servers that they do not ask: the partitioner says who is to measure what, and is told.
//!
//! One server of a block of addresses stands for all. What was measured is kept in memory only: robots that measured it
//! know it, and tell the next partitioner.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::Robot;
use crate::counts::{Answered, block, is_of};
use crate::identity::{GroupId, Member, Millis, RobotId, Unit};
use crate::plan::Standing;

/// Members that measure how far a block is: about five, well spread, tell as much as many.
pub(super) const PROBERS: usize = 5;
/// Most blocks of which it is known.
const MOST: usize = 1 << 16;
/// Then it is measured again.
const LASTS: Millis = 24 * 3_600_000;

/// What was measured.
#[derive(Debug, Default)]
pub(super) struct Probing(BTreeMap<IpAddr, BTreeMap<RobotId, Probe>>);

#[derive(Debug)]
struct Probe {
    path: Vec<GroupId>,
    /// Nothing if the server did not answer.
    micros: Option<u32>,
    at: Millis,
}

/// A server that is to be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Which.
    pub server: IpAddr,
    /// By a robot of each of these.
    pub by: Vec<Member>,
}

impl Probing {
    /// Of a server's block.
    pub(super) fn of(&self, server: IpAddr) -> Vec<Answered> {
        let probes = self.0.get(&block(server)).into_iter().flatten();
        let answered = probes.filter_map(|(robot, probe)| {
            Some(Answered {
                robot: *robot,
                path: probe.path.clone(),
                micros: probe.micros?,
            })
        });
        answered.collect()
    }

    /// Whether as many members as are asked for it have said how far a server's block is, or that it is silent.
    pub(super) fn knows(&self, server: IpAddr, members: &[Member]) -> bool {
        let probes = self.0.get(&block(server));
        let of = |member: Member| {
            let mut probes = probes.into_iter().flatten();
            probes.any(|(robot, probe)| is_of(member, *robot, &probe.path))
        };
        let known = members.iter().filter(|member| of(**member)).count();
        known >= PROBERS.min(members.len())
    }

    /// Whether as many members as are asked for it got no answer from a server's block, and nobody did.
    pub(super) fn is_silent(&self, server: IpAddr, members: &[Member]) -> bool {
        let mut probes = self.0.get(&block(server)).into_iter().flatten();
        self.knows(server, members) && probes.all(|(_, probe)| probe.micros.is_none())
    }

    fn has(&self, block: IpAddr, member: Member, now: Millis) -> bool {
        let mut probes = self.0.get(&block).into_iter().flatten();
        probes.any(|(robot, probe)| {
            is_of(member, *robot, &probe.path) && now < probe.at.saturating_add(LASTS)
        })
    }
}

impl Robot {
    /// What is to be probed for a group whose partitioner this robot is, the blocks with most pages first.
    pub fn unprobed(&self, group: GroupId, most: usize) -> Vec<Wanted> {
        let members = self.members_of(group);
        let room = |server: IpAddr| {
            self.probing.0.len() < MOST || self.probing.0.contains_key(&block(server))
        };
        let wanted = self.wanted(group, &members);
        let wanted = wanted.filter(|wanted| room(wanted.server));
        let wanted = wanted.filter_map(|mut wanted| {
            let block = block(wanted.server);
            let known = |member: &Member| self.probing.has(block, *member, self.now);
            wanted.by.retain(|member| !known(member));
            (!wanted.by.is_empty()).then_some(wanted)
        });
        wanted.take(most).collect()
    }

    /// Those who measure distances for a group: nobody if another one is its partitioner, or if it is not divided.
    pub(super) fn members_of(&self, group: GroupId) -> Vec<Member> {
        let level = self.levels.iter().find(|level| level.group == group);
        let plan = level.and_then(|level| level.plan.as_ref());
        let Some(plan) = plan.filter(|_| self.makes(group)) else {
            return Vec::new();
        };
        let active = plan.seats.iter().filter(|s| s.standing == Standing::Active);
        let members: Vec<Member> = active.map(|seat| seat.member).collect();
        let by_ring = self.charter(plan).is_some_and(|charter| charter.ring);
        if members.len() < 2 || by_ring || self.settings.division.is_none() {
            return Vec::new();
        }
        members
    }

    /// A server of each block of a group, those with most pages first, and who is to measure it.
    pub(super) fn wanted<'a>(
        &'a self,
        group: GroupId,
        members: &'a [Member],
    ) -> impl Iterator<Item = Wanted> + 'a {
        let depth = self.levels.iter().position(|level| level.group == group);
        let depth = depth.filter(|_| !members.is_empty());
        let mut blocks: BTreeMap<IpAddr, (u64, IpAddr)> = BTreeMap::new();
        let collected = self.observing.collected.get(&group);
        for server in depth.map_or_else(Vec::new, |depth| self.servers_of(depth)) {
            let counts = collected.and_then(|collected| collected.get(&server));
            let pages = counts.map_or(0, crate::counts::Counts::total);
            let known = blocks.entry(block(server)).or_insert((0, server));
            known.0 += pages;
        }
        let mut blocks: Vec<(IpAddr, (u64, IpAddr))> = blocks.into_iter().collect();
        blocks.sort_by_key(|(_, (pages, _))| std::cmp::Reverse(*pages));
        let plan = depth.and_then(|depth| self.levels[depth].plan.as_ref());
        blocks.into_iter().map(move |(block, (_, server))| {
            let owner = plan.and_then(|plan| plan.owner(Unit::Server(server), self.flaw));
            let by = probers(block, members, owner);
            Wanted { server, by }
        })
    }

    /// How many answers to probes are known.
    pub fn probes(&self) -> usize {
        let probes = self.probing.0.values().flat_map(BTreeMap::values);
        probes.filter(|probe| probe.micros.is_some()).count()
    }

    /// A robot measured how far a server is, in microseconds; nothing if the server does not answer probes.
    pub fn probed(
        &mut self,
        server: IpAddr,
        robot: RobotId,
        path: Vec<GroupId>,
        micros: Option<u32>,
    ) {
        let at = self.now;
        let block = self.probing.0.entry(block(server)).or_default();
        block.insert(robot, Probe { path, micros, at });
    }
}

/// Whoever has the server, whose answers are known too, and others by turns: another few for each block.
fn probers(block: IpAddr, members: &[Member], owner: Option<Member>) -> Vec<Member> {
    let turn = |member: &Member| {
        let text = format!("{block} {}", member.identity());
        (
            Some(*member) != owner,
            partition::hash::stable_hash(text.as_bytes()),
        )
    };
    let mut members = members.to_vec();
    members.sort_by_cached_key(turn);
    members.truncate(PROBERS);
    members
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_probe_each_block_and_all_some() {
        let members: Vec<Member> = (1..=12).map(|id| Member::Robot(RobotId(id))).collect();
        let mut times = BTreeMap::new();
        for block in 0..100u32 {
            let block = std::net::Ipv4Addr::from(block << 8).into();
            let owner = members[3];
            let by = probers(block, &members, Some(owner));
            assert_eq!((by.len(), by[0]), (PROBERS, owner));
            for member in by {
                *times.entry(member).or_insert(0) += 1;
            }
        }
        assert_eq!(times.len(), members.len());
        assert!(times.values().all(|&times| times > 15), "{times:?}");
    }
}
