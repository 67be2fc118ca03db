//! Plans as a robot keeps them: the newest of each group above it, never a lower one.

use super::{Robot, Task};
use crate::flaw::Flaw;
use crate::identity::{GroupId, Member, RobotId, Session, Unit};
use crate::io::{Output, Token};
use crate::key::{Key, Progress, Value, What};
use crate::parcel::{Subject, To};
use crate::plan::{Plan, Seat, Standing, Version};
use crate::record::{Record, Shared};
use crate::wire::limits::LEVELS;

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
    /// How often what they left was divided anew.
    pub round: u64,
}

impl Level {
    pub(super) fn new(group: GroupId, branch: Member) -> Self {
        Self {
            group,
            branch,
            plan: None,
            durable: Version::default(),
            settled: Version::default(),
            taken: Vec::new(),
            asked: Vec::new(),
            round: 0,
        }
    }

    /// What the dead left is divided anew: what was taken before counts no more.
    fn take_anew(&mut self) {
        self.taken.clear();
        self.asked.clear();
        self.round += 1;
    }

    /// Whether the branch has no share in the group any more.
    pub(super) fn displaced(&self) -> bool {
        let plan = self.plan.as_ref();
        let seat = plan.and_then(|plan| plan.seat(self.branch));
        plan.is_some() && seat.is_none_or(|seat| seat.standing != Standing::Active)
    }

    /// The levels of a path, the fleet first.
    pub(super) fn all(robot: RobotId, path: &[GroupId]) -> Vec<Self> {
        let branches = branches(robot, path);
        (path.iter().zip(branches))
            .map(|(&group, branch)| Self::new(group, branch))
            .collect()
    }
}

/// The member of each group of a path that leads to the robot.
fn branches(robot: RobotId, path: &[GroupId]) -> impl Iterator<Item = Member> + '_ {
    let below = path.iter().skip(1).map(|&group| Member::Group(group));
    below.chain([Member::Robot(robot)])
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
    /// The groups above, as their plans say: each names the one above it. What was known of a
    /// group stays known, so that no lower plan of it is ever taken for news.
    pub(super) fn climb(&mut self) {
        let home = self.home();
        let mut path = vec![home];
        while path.len() < LEVELS {
            let lowest = path[path.len() - 1];
            let plan = self.level(lowest).and_then(|level| level.plan.as_ref());
            let parent = plan.map_or_else(|| self.told_parent(lowest), |plan| plan.parent);
            match parent {
                Some(parent) if !path.contains(&parent) => path.push(parent),
                _ => break,
            }
        }
        path.reverse();
        if self
            .levels
            .iter()
            .map(|level| level.group)
            .eq(path.iter().copied())
        {
            return;
        }
        for level in std::mem::take(&mut self.levels) {
            self.past.insert(level.group, level);
        }
        for (&group, branch) in path.iter().zip(branches(self.settings.robot, &path)) {
            let known = self.past.remove(&group);
            let mut level = known.unwrap_or_else(|| Level::new(group, branch));
            level.branch = branch;
            self.outputs.push(Output::Poll(group));
            self.levels.push(level);
        }
        self.plans_changed = true;
        self.news = true;
    }

    /// The group above another, as the settings say.
    fn told_parent(&self, group: GroupId) -> Option<GroupId> {
        let position = self.settings.path.iter().position(|told| *told == group)?;
        position
            .checked_sub(1)
            .map(|above| self.settings.path[above])
    }

    /// The group that the robot is a member of.
    pub(super) fn home(&self) -> GroupId {
        *self.settings.path.last().expect("a robot has a group")
    }

    fn level(&self, group: GroupId) -> Option<&Level> {
        let above = self.levels.iter().find(|level| level.group == group);
        above.or_else(|| self.past.get(&group))
    }

    pub(super) fn level_mut(&mut self, group: GroupId) -> Option<&mut Level> {
        let above = self.levels.iter_mut().find(|level| level.group == group);
        above.or_else(|| self.past.get_mut(&group))
    }

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
                let was_away = self.observer.expired(lease.session, self.now);
                if (self.observer).heard(lease.session, lease.nonce, self.now) {
                    self.has_company();
                }
                if was_away && self.lives(lease.session) {
                    self.is_back(key.group, Member::Robot(lease.session.robot));
                }
            }
        }
        match &value {
            Value::Plan(plan) => self.on_plan(key, revision, plan),
            Value::Grant(grant) => self.on_grant(key.group, grant),
            Value::Quiet(quiet) => self.on_quiet(*quiet),
            Value::Summary(summary) => {
                if let What::Summary(group) = key.what {
                    let member = (key.group, group);
                    let was_away = self.groups.expired(member, self.now);
                    if self.groups.counted(member, summary.beat, self.now) {
                        self.has_company();
                    }
                    if was_away && self.group_lives(key.group, group) {
                        self.is_back(key.group, Member::Group(group));
                    }
                }
            }
            Value::Lease(_) | Value::Charter(_) => {}
        }
        self.named.insert(key);
        self.seen.insert(key, (revision, value));
    }

    /// A member that was away is heard of again: what it has not answered goes to it soon.
    fn is_back(&mut self, group: GroupId, member: Member) {
        let to = To::Member(member);
        self.outbox.answered(Subject { group, to }, self.now);
    }

    fn on_plan(&mut self, key: Key, revision: u64, plan: &Shared<Plan>) {
        let Some(depth) = self.levels.iter().position(|l| l.group == key.group) else {
            return;
        };
        let level = &mut self.levels[depth];
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
        let before = level.plan.replace(plan.clone());
        if let Some(before) = before.filter(|_| plan.maker == self.settings.robot) {
            // all have taken over from them, or they have left in order
            let now: Vec<Session> = plan.gone().chain(plan.sessions()).collect();
            let over = before.gone().filter(|session| !now.contains(session));
            over.for_each(|session| self.sweep_after(session));
        }
        for above in &mut self.levels[..=depth] {
            // what the dead of a group above left is divided by this plan as well
            if above.plan.as_ref().is_some_and(|p| !p.dead.is_empty()) {
                above.settled = Version::default();
            }
            above.take_anew();
        }
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
            return self.reset();
        }
        self.climb();
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
                && (plan.asked().filter(|seat| seat.member != level.branch)).all(|seat| {
                    self.progress_of(level.group, seat.member, seat.incarnation)
                        .and_then(|progress| progress.settled.get(&level.group))
                        .is_some_and(|settled| *settled >= plan.version)
                })
        })
    }

    /// The groups above the robot, the fleet first: their buckets are to be watched.
    pub fn above(&self) -> impl Iterator<Item = GroupId> + '_ {
        self.levels.iter().map(|level| level.group)
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
            if plan.maker == self.settings.robot {
                self.unread(plan, depth)
                    .for_each(|member| read(To::Member(member)));
                self.streams_of_the_buried(plan, &mut subjects);
            }
        }
        subjects
    }

    /// Groups that died out have streams of their own.
    fn streams_of_the_buried(&self, plan: &Plan, subjects: &mut Vec<Subject>) {
        for seat in &plan.seats {
            let (Member::Group(group), Standing::Empty) = (seat.member, seat.standing) else {
                continue;
            };
            let what = What::Plan;
            let Some((_, Value::Plan(below))) = self.seen.get(&Key { group, what }) else {
                continue;
            };
            let robots = below.dead.iter().map(|dead| Member::Robot(dead.robot));
            let members = robots.chain(below.seats.iter().map(|seat| seat.member));
            let members = members.filter(|_| below.buried.is_some());
            subjects.extend(members.map(|member| Subject {
                group,
                to: To::Member(member),
            }));
            self.streams_of_the_buried(below, subjects);
        }
    }

    /// Members that read nothing, or not for the group: they left, died out or wait for a seat.
    fn unread<'a>(&'a self, plan: &'a Plan, depth: usize) -> impl Iterator<Item = Member> + 'a {
        let home = depth + 1 == self.levels.len();
        (self.seen.keys())
            .filter(|key| key.group == plan.group)
            .filter_map(move |key| match key.what {
                What::Lease(robot) => {
                    (home && robot != self.settings.robot).then_some(Member::Robot(robot))
                }
                What::Summary(group) => Some(Member::Group(group)),
                _ => None,
            })
            .filter(|member| {
                let seat = plan.seat(*member);
                seat.is_none_or(|seat| seat.standing == Standing::Empty)
            })
    }
}

#[cfg(test)]
mod tests;
