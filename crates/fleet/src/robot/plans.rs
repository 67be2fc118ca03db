//! Plans as a robot keeps them: the newest of each group above it, never a lower one.

use super::{Robot, Task};
use crate::flaw::Flaw;
use crate::identity::{GroupId, Member, Session, Unit};
use crate::io::{Output, Token};
use crate::key::{Key, Progress, Value, What};
use crate::parcel::{Subject, To};
use crate::plan::{Plan, Seat, Version};
use crate::record::{Record, Shared};

/// A group above the robot.
#[derive(Debug)]
pub(super) struct Level {
    /// Which.
    pub group: GroupId,
    /// The member of it that is, or holds, this robot.
    pub branch: Member,
    /// The newest plan heard of.
    pub plan: Option<Shared<Plan>>,
    /// The newest that is on disk.
    pub durable: Version,
    /// The newest of which all is done.
    pub settled: Version,
    /// Dead sessions of the present plan, taken over and logged, or asked for.
    pub taken: Vec<Session>,
    pub asked: Vec<Session>,
}

impl Level {
    pub(super) fn all(settings: &super::Settings) -> Vec<Self> {
        let below = settings.path[1..].iter().map(|&group| Member::Group(group));
        let branches = below.chain([Member::Robot(settings.robot)]);
        (settings.path.iter().zip(branches))
            .map(|(&group, branch)| Self {
                group,
                branch,
                plan: None,
                durable: Version::default(),
                settled: Version::default(),
                taken: Vec::new(),
                asked: Vec::new(),
            })
            .collect()
    }
}

/// Where a unit belongs, as far as a robot can see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// To this robot.
    Mine,
    /// To another member of a group above it.
    To(Subject),
    /// To nobody: no member takes it.
    Refused,
    /// A plan is missing, or a group has nobody at present.
    Unknown,
}

impl Robot {
    /// Where a unit belongs.
    pub fn route(&self, unit: Unit) -> Route {
        self.route_from(0, unit)
    }

    /// As [`Robot::route`], if the group of that level had everything.
    pub(super) fn route_from(&self, level: usize, unit: Unit) -> Route {
        for level in &self.levels[level..] {
            let Some(plan) = &level.plan else {
                return Route::Unknown;
            };
            match plan.owner(unit, self.flaw) {
                // a seat of an earlier life is not ours: nobody has its share until it is buried
                Some(member) if member == level.branch => {
                    if self.seat_is_anothers(plan) {
                        return Route::Unknown;
                    }
                }
                Some(member) => {
                    return Route::To(Subject {
                        group: level.group,
                        to: To::Member(member),
                    });
                }
                None if plan.has_active() => return Route::Refused,
                // all have died or left: whoever comes next has it
                None => return Route::Unknown,
            }
        }
        Route::Mine
    }

    /// Whether the seat is this life's.
    pub(super) fn has(&self, seat: &Seat) -> bool {
        let life = self.session.map(|session| session.incarnation);
        seat.member == self.me() && life == Some(seat.incarnation)
    }

    fn seat_is_anothers(&self, plan: &Plan) -> bool {
        let seat = plan.seat(self.me());
        let incarnation = self.session.map(|session| session.incarnation);
        seat.is_some_and(|seat| Some(seat.incarnation) != incarnation)
    }

    /// A key was read or watched.
    pub(super) fn on_read(&mut self, key: Key, revision: u64, value: Value) {
        if let Value::Lease(lease) = &value {
            if key == self.lease_key() {
                self.on_own_lease(revision, lease);
            } else {
                self.observer.heard(lease.session, lease.nonce, self.now);
            }
        }
        match &value {
            Value::Plan(plan) => self.on_plan(key, revision, plan),
            Value::Grant(grant) => self.on_grant(key.group, grant),
            Value::Quiet(quiet) => self.on_quiet(*quiet),
            Value::Lease(_) | Value::Summary(_) => {}
        }
        self.named.insert(key);
        self.seen.insert(key, (revision, value));
    }

    fn on_plan(&mut self, key: Key, revision: u64, plan: &Shared<Plan>) {
        let Some(level) = self.levels.iter_mut().find(|l| l.group == key.group) else {
            return;
        };
        let current = level
            .plan
            .as_ref()
            .map_or(Version::default(), |p| p.version);
        if plan.version < current {
            self.tally.lower_plans += 1;
            if self.flaw != Some(Flaw::LowerVersion) {
                // the engine forgot it, or the reading is old: then this is refused
                let value = Value::Plan(level.plan.clone().expect("there is a newer plan"));
                let token = self.token(Task::Heal);
                self.swap(token, key, revision, value);
                return;
            }
        }
        if plan.version == current {
            return;
        }
        level.plan = Some(plan.clone());
        level.taken.clear();
        level.asked.clear();
        if !plan.dead.is_empty() {
            let quiet = self.now + self.settings.interval + self.settings.longest;
            if self.flaw != Some(Flaw::NoQuietTime) {
                self.quiet_floor = self.quiet_floor.max(quiet);
            }
        }
        self.draft.records.push(Record::Adopted(plan.clone()));
        self.draft.adopted.push((key.group, plan.version));
        self.plans_changed = true;
        if self.session.is_some_and(|s| plan.dead.contains(&s)) {
            self.reset();
        }
    }

    pub(super) fn swap(&mut self, token: Token, key: Key, revision: u64, value: Value) {
        self.outputs.push(Output::Swap {
            token,
            key,
            revision,
            value,
        });
    }

    /// How far a member of a group has come, as last heard.
    pub(super) fn progress_of(
        &self,
        group: GroupId,
        member: Member,
        incarnation: u64,
    ) -> Option<&Progress> {
        let what = match member {
            Member::Robot(robot) => What::Lease(robot),
            Member::Group(group) => What::Summary(group),
        };
        match &self.seen.get(&Key { group, what })?.1 {
            Value::Lease(lease) if lease.session.incarnation == incarnation => {
                Some(&lease.progress)
            }
            Value::Summary(summary) => Some(&summary.progress),
            _ => None,
        }
    }

    /// Whether nobody else may still hold what the robot's plans give to it: every other member
    /// of every group above has settled the plan that the robot has on disk.
    pub(super) fn others_settled(&self) -> bool {
        self.levels.iter().all(|level| {
            let Some(plan) = &level.plan else {
                return false;
            };
            let heirs_ready = plan.dead.iter().all(|dead| level.taken.contains(dead));
            level.durable == plan.version
                && heirs_ready
                && (plan.seats.iter().filter(|seat| seat.member != level.branch)).all(|seat| {
                    self.progress_of(level.group, seat.member, seat.incarnation)
                        .and_then(|progress| progress.settled.get(&level.group))
                        .is_some_and(|settled| *settled >= plan.version)
                })
        })
    }

    /// The newest plans heard of, for whoever looks at the robot.
    pub fn plans(&self) -> impl Iterator<Item = &Shared<Plan>> {
        self.levels.iter().filter_map(|level| level.plan.as_ref())
    }

    /// What the robot reads: its own messages, those for groups that it answers for, and those
    /// for robots that went away, if it is their partitioner.
    pub fn subjects(&self) -> Vec<Subject> {
        let mut subjects = Vec::new();
        for (depth, level) in self.levels.iter().enumerate() {
            let mut read = |to| {
                subjects.push(Subject {
                    group: level.group,
                    to,
                });
            };
            read(To::Robot(self.settings.robot));
            let Some(plan) = &level.plan else { continue };
            let answers = match level.branch {
                Member::Robot(_) => true,
                Member::Group(_) => {
                    let below = self.levels[depth + 1].plan.as_ref();
                    below.is_some_and(|plan| plan.maker == self.settings.robot)
                        || plan
                            .seat(level.branch)
                            .is_some_and(|seat| seat.representatives.contains(&self.settings.robot))
                }
            };
            if answers {
                read(To::Member(level.branch));
            }
            if plan.maker == self.settings.robot && depth + 1 == self.levels.len() {
                for key in self.seen.keys().filter(|key| key.group == level.group) {
                    if let What::Lease(robot) = key.what
                        && plan.seat(Member::Robot(robot)).is_none()
                        && robot != self.settings.robot
                    {
                        read(To::Member(Member::Robot(robot)));
                    }
                }
            }
        }
        subjects
    }
}
