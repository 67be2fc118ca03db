//! The partitioner's part: it sees members come, go and die, and writes the group's next plan.

mod budget;
mod summary;

use std::collections::BTreeMap;

use super::{Robot, Task};
use crate::filter::Block;
use crate::identity::{GroupId, Member, Millis, Session};
use crate::io::{Outcome, Output};
use crate::key::{Key, Lease, Value, What};
use crate::plan::{Plan, Seat, Standing};
use crate::record::Shared;

/// What a partitioner remembers.
#[derive(Debug, Default)]
pub(super) struct Partitioner {
    making: bool,
    granting: bool,
    summing: bool,
    summed_at: Millis,
    evictions: BTreeMap<Session, Eviction>,
    tables: BTreeMap<GroupId, Vec<(Block, Member)>>,
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
            Task::Grant => self.granting = false,
            _ => self.summing = false,
        }
    }
}

impl Robot {
    /// A new table for a group, to be used as soon as the present plan is settled.
    pub fn divide(&mut self, group: GroupId, table: Vec<(Block, Member)>) {
        self.partitioner.tables.insert(group, table);
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
                self.make(&plan);
                self.grant(depth, &plan);
                self.summarise(depth, &plan);
                if depth == 0 {
                    self.ask(&plan);
                }
            } else {
                self.write_plan(plan.successor(self.settings.robot), &plan);
            }
        }
    }

    fn expect_members(&mut self, plan: &Plan) {
        let now = self.now;
        for session in sessions(plan) {
            self.observer.expect(session, now);
        }
    }

    /// Of a group of robots the partitioner is the one who is, unless it expired: then the first
    /// of the others. Of a group of groups it is the partitioner of its first member.
    fn is_responsible(&self, depth: usize, plan: &Plan) -> bool {
        let me = self.settings.robot;
        if depth + 1 < self.levels.len() {
            let first = plan.seats.iter().map(|seat| seat.member).min();
            return first == Some(self.levels[depth].branch)
                && self.makes(self.levels[depth + 1].group);
        }
        if plan.maker == me {
            return true;
        }
        // nobody hears of itself
        let alive = |session: &Session| {
            Some(*session) == self.session || !self.observer.expired(*session, self.now)
        };
        let maker_alive = sessions(plan).any(|s| s.robot == plan.maker && alive(&s));
        let seated = sessions(plan).filter(alive).map(|s| s.robot).min();
        // all lost their disks: then whoever comes first
        let anybody = || {
            let leases = self.seen.values().filter_map(|(_, value)| match value {
                Value::Lease(lease) if !lease.sealed && alive(&lease.session) => {
                    Some(lease.session.robot)
                }
                _ => None,
            });
            leases.min()
        };
        !maker_alive && seated.or_else(anybody) == Some(me)
    }

    fn evict(&mut self, plan: &Plan) {
        let mine = self.session;
        let expired: Vec<Session> = sessions(plan)
            .filter(|s| Some(*s) != mine && self.observer.expired(*s, self.now))
            .collect();
        // whoever is heard of again is not evicted; other groups' members are not judged here
        let renewed =
            |s: &Session| sessions(plan).any(|seated| seated == *s) && !expired.contains(s);
        (self.partitioner.evictions)
            .retain(|session, step| *step == Eviction::Done || !renewed(session));
        for session in expired {
            let key = Key {
                group: plan.group,
                what: What::Lease(session.robot),
            };
            let step = self.partitioner.evictions.get(&session).copied();
            match (step, self.seen.get(&key)) {
                (None, Some((revision, Value::Lease(lease))))
                    if lease.session == session && !lease.sealed =>
                {
                    let (revision, sealed) = (*revision, sealed(lease));
                    self.partitioner.evictions.insert(session, Eviction::Lease);
                    let token = self.token(Task::SealLease(session));
                    self.swap(token, key, revision, Value::Lease(sealed));
                }
                // sealed before, or another life of the robot has the key: this one cannot renew
                (None, Some((_, Value::Lease(lease)))) if lease.session >= session => {
                    self.partitioner.evictions.insert(session, Eviction::Log);
                }
                // it never had a lease: nobody else can make one for it once there is a sealed one
                (None, _) => {
                    let lease = never_came(session);
                    self.partitioner.evictions.insert(session, Eviction::Lease);
                    let token = self.token(Task::SealLease(session));
                    self.swap(token, key, 0, Value::Lease(lease));
                }
                (Some(Eviction::Log), _) => {
                    self.partitioner
                        .evictions
                        .insert(session, Eviction::Sealing);
                    let token = self.token(Task::SealLog(session));
                    self.outputs.push(Output::Seal(token, session));
                }
                _ => {}
            }
        }
    }

    pub(super) fn on_lease_sealed(&mut self, session: Session, outcome: Outcome) {
        if let Outcome::Done(_) = outcome {
            self.partitioner.evictions.insert(session, Eviction::Log);
        } else {
            // renewed, or unknown: looked at again
            self.partitioner.evictions.remove(&session);
            self.poll_at = self.now;
        }
    }

    pub(super) fn on_log_sealed(&mut self, session: Session, outcome: Outcome) {
        let step = match outcome {
            Outcome::Done(_) => Eviction::Done,
            _ => Eviction::Log,
        };
        self.partitioner.evictions.insert(session, step);
    }

    fn make(&mut self, plan: &Shared<Plan>) {
        let me = self.settings.robot;
        let done =
            |session: &Session| self.partitioner.evictions.get(session) == Some(&Eviction::Done);
        let dead: Vec<Session> = sessions(plan).filter(done).collect();
        let mut next = plan.successor(me);
        if dead.is_empty() {
            if !self.all_have(plan, true, &[]) {
                return;
            }
            // where nobody had a share nobody took over: that is for those who come next
            if plan.has_active() {
                next.dead.clear();
            }
            self.change(&mut next);
        } else {
            next.seats.retain(|seat| {
                let gone = |session: &&Session| {
                    seat.member == Member::Robot(session.robot)
                        && seat.incarnation == session.incarnation
                };
                dead.iter().find(gone).is_none()
            });
            next.dead.extend(dead);
        }
        let same = (&next.seats, &next.dead, &next.table) == (&plan.seats, &plan.dead, &plan.table);
        if !same {
            self.write_plan(next, plan);
        }
    }

    /// Members that come and go of their own will, and a new table.
    fn change(&self, next: &mut Plan) {
        next.seats.retain(|seat| seat.standing == Standing::Active);
        let leases = (self.seen.iter()).filter_map(|(key, (_, value))| match value {
            Value::Lease(lease) if key.group == next.group => Some(lease),
            _ => None,
        });
        for lease in leases.filter(|lease| !lease.sealed) {
            let member = Member::Robot(lease.session.robot);
            if let Some(seat) = next.seats.iter_mut().find(|seat| seat.member == member) {
                if lease.leaving && seat.incarnation == lease.session.incarnation {
                    seat.standing = Standing::Leaving;
                }
                continue;
            }
            // whoever joins is at least as far as we are: what the group has said of its
            // progress stays true
            let knows_all = self.levels.iter().all(|level| {
                let adopted = lease.progress.adopted.get(&level.group);
                adopted.is_some_and(|adopted| *adopted >= level.durable)
            });
            let alive = !self.observer.expired(lease.session, self.now);
            if knows_all && alive && !lease.leaving {
                let seat = Seat::new(member, lease.session.incarnation, lease.capacity);
                next.seats.push(seat);
            }
        }
        if !next
            .seats
            .iter()
            .any(|s| s.member == Member::Robot(next.maker))
        {
            // a partitioner that left
            let robots = next.seats.iter().filter_map(|seat| match seat.member {
                Member::Robot(robot) if seat.standing == Standing::Active => Some(robot),
                _ => None,
            });
            if let Some(heir) = robots.min().filter(|_| self.is_home(next.group)) {
                next.version.term += 1;
                next.maker = heir;
            }
        }
        for seat in &mut next.seats {
            if let Member::Group(group) = seat.member
                && let Some(summary) = self.summary_of(next.group, group)
            {
                seat.representatives.clone_from(&summary.representatives);
            }
        }
        if let Some(table) = self.partitioner.tables.get(&next.group) {
            next.table.clone_from(table);
        }
        let seats = &next.seats;
        next.table
            .retain(|(_, member)| seats.iter().any(|seat| seat.member == *member));
    }

    fn is_home(&self, group: GroupId) -> bool {
        self.settings.path.last() == Some(&group)
    }

    /// At most two versions are alive: the next one only when every live member has this one.
    fn all_have(&self, plan: &Plan, settled: bool, but: &[Session]) -> bool {
        plan.seats.iter().all(|seat| {
            let out = |session: &&Session| {
                seat.member == Member::Robot(session.robot)
                    && seat.incarnation == session.incarnation
            };
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
        let gone: Vec<Session> = (sessions(plan))
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

/// The robots with a seat.
fn sessions(plan: &Plan) -> impl Iterator<Item = Session> + '_ {
    plan.seats.iter().filter_map(|seat| match seat.member {
        Member::Robot(robot) => Some(Session {
            robot,
            incarnation: seat.incarnation,
        }),
        Member::Group(_) => None,
    })
}

fn sealed(lease: &Lease) -> Lease {
    Lease {
        sealed: true,
        ..lease.clone()
    }
}

/// The end of a session that never wrote its key.
fn never_came(session: Session) -> Lease {
    Lease {
        session,
        nonce: 0,
        sealed: true,
        leaving: false,
        capacity: 1,
        progress: crate::key::Progress::default(),
    }
}
