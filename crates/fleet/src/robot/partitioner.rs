//! The partitioner's part: it sees members come, go and die, and writes the group's next plan.

mod budget;
mod burial;
pub(super) mod divide;
mod evict;
mod members;
mod summary;

use std::collections::{BTreeMap, BTreeSet};

use super::{Robot, Task};
use crate::filter::Block;
use crate::identity::{GroupId, Member, Millis, Session};
use crate::io::Output;
use crate::key::{Key, Value, What};
use crate::plan::{NOBODY, Plan, Version};
use crate::record::Shared;

/// A table as plans have it.
type Blocks = Vec<(Block, Member)>;

/// What a partitioner remembers.
#[derive(Debug, Default)]
pub(super) struct Partitioner {
    making: bool,
    burying: bool,
    granting: bool,
    /// Summaries under way, and when they were last written.
    summing: BTreeSet<GroupId>,
    summed_at: BTreeMap<GroupId, Millis>,
    evictions: BTreeMap<Session, Eviction>,
    /// Tables to be used; those that were computed hold for the plan of that version.
    tables: BTreeMap<GroupId, (Option<Version>, Blocks)>,
    made: BTreeMap<GroupId, divide::Made>,
    /// When everybody was first seen to keep to a round.
    kept_since: BTreeMap<GroupId, (u64, Millis)>,
    granted_at: BTreeMap<GroupId, Millis>,
}

/// How far the end of a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Eviction {
    /// Its lease is being marked, so that it cannot be renewed.
    Lease,
    /// Its log is to be sealed, so that nothing can be appended.
    Log,
    Sealing,
    /// Others may take over.
    Done,
}

impl Partitioner {
    pub(super) fn answered(&mut self, task: &Task) {
        match task {
            Task::Make => self.making = false,
            Task::Bury => self.burying = false,
            Task::Grant => self.granting = false,
            Task::Summary(group) => {
                self.summing.remove(group);
            }
            _ => {}
        }
    }
}

impl Robot {
    /// A new table for a group, to be used as soon as the present plan is settled.
    pub fn divide(&mut self, group: GroupId, table: Vec<(Block, Member)>) {
        self.partitioner.tables.insert(group, (None, table));
    }

    /// Whether the group's partitioner is this robot.
    pub fn makes(&self, group: GroupId) -> bool {
        self.levels.iter().any(|level| {
            let made_here = |plan: &Shared<Plan>| plan.maker == self.settings.robot;
            level.group == group && level.plan.as_ref().is_some_and(made_here)
        })
    }

    pub(super) fn advance_partitioner(&mut self) {
        if !self.lease_valid(self.now) {
            return;
        }
        self.guests.clear();
        for depth in (0..self.levels.len()).rev() {
            let Some(plan) = self.levels[depth].plan.clone() else {
                continue;
            };
            self.expect_members(&plan);
            if !self.is_responsible(depth, &plan) {
                continue;
            }
            if plan.maker == self.settings.robot {
                self.evict(&plan);
                self.make(depth, &plan);
                self.grant(depth, &plan);
                self.summarise(depth, &plan);
                if depth == 0 {
                    self.ask(&plan);
                }
            } else {
                let mut next = plan.successor(self.settings.robot);
                if plan.maker == NOBODY {
                    // nobody has to agree: the first plan has those who are there
                    self.change(depth, &mut next, true);
                }
                self.write_plan(next, &plan);
            }
        }
    }

    fn expect_members(&mut self, plan: &Plan) {
        let now = self.now;
        for session in plan.sessions() {
            self.observer.expect(session, now);
        }
        for seat in plan.asked() {
            if let Member::Group(group) = seat.member {
                self.groups.expect((plan.group, group), now);
            }
        }
    }

    /// Whether the robot is to speak for a group: of robots the partitioner that is, unless it
    /// expired, then the first of the others; of groups the partitioner of the first that lives.
    /// Robots come before groups, and members before those who wait for a seat.
    fn is_responsible(&self, depth: usize, plan: &Plan) -> bool {
        let me = self.settings.robot;
        let level = &self.levels[depth];
        let home = depth + 1 == self.levels.len();
        if home && plan.maker == me {
            return true;
        }
        let robots = || plan.sessions().filter(|s| self.lives(*s)).map(|s| s.robot);
        if let Some(first) = robots().min() {
            return home && first == me && !robots().any(|robot| robot == plan.maker);
        }
        let groups = plan.asked().filter_map(|seat| match seat.member {
            Member::Group(group) => Some(group),
            Member::Robot(_) => None,
        });
        let first = (groups.filter(|group| self.group_lives(level.group, *group)))
            .min()
            .map(Member::Group)
            .or_else(|| self.first_who_waits(level.group));
        match first {
            Some(Member::Robot(first)) => home && first == me,
            Some(group) => group == level.branch && self.makes(self.levels[depth + 1].group),
            None => false,
        }
    }

    /// Of those without a seat the first: all who had one have died or left.
    fn first_who_waits(&self, group: GroupId) -> Option<Member> {
        let here = self.seen.iter().filter(|(key, _)| key.group == group);
        let members = here.filter_map(|(key, (_, value))| match (key.what, value) {
            (_, Value::Lease(lease)) if !lease.sealed && self.lives(lease.session) => {
                Some(Member::Robot(lease.session.robot))
            }
            (What::Summary(below), Value::Summary(_)) if self.group_lives(group, below) => {
                Some(Member::Group(below))
            }
            _ => None,
        });
        members.min()
    }

    /// Nobody hears of itself.
    pub(in crate::robot) fn lives(&self, session: Session) -> bool {
        Some(session) == self.session || !self.observer.expired(session, self.now)
    }

    /// Whether somebody speaks for a group in the one above it.
    pub(in crate::robot) fn group_lives(&self, above: GroupId, group: GroupId) -> bool {
        let own = self.levels.iter().any(|level| level.group == group);
        own || !self.groups.expired((above, group), self.now)
    }

    fn make(&mut self, depth: usize, plan: &Shared<Plan>) {
        let used = |(version, table): &(Option<Version>, Blocks)| {
            version.is_some_and(|version| version < plan.version) || *table == plan.table
        };
        if self.partitioner.tables.get(&plan.group).is_some_and(used) {
            self.partitioner.tables.remove(&plan.group);
        }
        let done =
            |session: &Session| self.partitioner.evictions.get(session) == Some(&Eviction::Done);
        let dead: Vec<Session> = plan.sessions().filter(done).collect();
        let mut next = plan.successor(self.settings.robot);
        let buried = self.bury_members(plan, &mut next);
        next.seats.retain(|seat| {
            let gone = |session: &Session| {
                seat.member == Member::Robot(session.robot)
                    && seat.incarnation == session.incarnation
            };
            !dead.iter().any(gone)
        });
        if dead.is_empty() && !buried {
            let settled = self.all_have(plan, true, &[]);
            // nobody has a share: whoever comes, or wanted to go, takes it
            if !settled && plan.has_active() {
                return;
            }
            // where nobody had a share nobody took over: that is for those who come next
            if settled && plan.has_active() {
                next.dead.clear();
            }
            self.change(depth, &mut next, settled);
            if !settled {
                self.recall(depth, &mut next);
            }
        } else {
            self.recall(depth, &mut next);
        }
        next.dead.extend(dead);
        let said = |plan: &Plan| {
            let lists = (plan.seats.clone(), plan.dead.clone(), plan.table.clone());
            (lists, plan.parent, plan.charter, plan.buried)
        };
        if said(&next) != said(plan) {
            self.write_plan(next, plan);
        }
    }

    fn is_home(&self, group: GroupId) -> bool {
        self.home() == group
    }

    /// At most two versions are alive: the next one only when every live member has this one.
    fn all_have(&self, plan: &Plan, settled: bool, but: &[Session]) -> bool {
        plan.asked().all(|seat| {
            let out = |session: &&Session| {
                seat.member == Member::Robot(session.robot)
                    && seat.incarnation == session.incarnation
            };
            if let Member::Group(group) = seat.member
                && !settled
                && !self.group_lives(plan.group, group)
            {
                return true;
            }
            let own = self.has(seat);
            let level = self.levels.iter().find(|level| level.group == plan.group);
            let progress = self.progress_of(plan.group, seat.member, seat.incarnation);
            let version = match (own, level, progress) {
                (true, Some(level), _) if settled => Some(level.settled),
                (true, Some(level), _) => Some(level.durable),
                (false, _, Some(progress)) if settled => progress.settled.get(&plan.group).copied(),
                (false, _, Some(progress)) => progress.adopted.get(&plan.group).copied(),
                _ => None,
            };
            but.iter().any(|session| out(&session)) || version >= Some(plan.version)
        })
    }

    fn write_plan(&mut self, next: Plan, plan: &Plan) {
        let gone: Vec<Session> = plan
            .sessions()
            .filter(|session| {
                next.dead.contains(session) || self.observer.expired(*session, self.now)
            })
            .collect();
        let key = Key {
            group: plan.group,
            what: What::Plan,
        };
        let Some((revision, Value::Plan(stored))) = self.seen.get(&key) else {
            return;
        };
        let stale = stored.version != plan.version;
        if self.partitioner.making || stale || !self.all_have(plan, false, &gone) {
            return;
        }
        let revision = *revision;
        self.partitioner.making = true;
        let token = self.token(Task::Make);
        self.swap(token, key, revision, Value::Plan(Shared(next.into())));
        self.outputs.push(Output::Poll(plan.group));
    }
}
