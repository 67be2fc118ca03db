//! Groups whose robots are all gone: the group above takes over.
//!
//! Its partitioner looks into the group itself, ends every session there and those in the groups
//! below, writes a plan for the group in which nobody has a seat, and only then its own, by which
//! everybody takes a part. Whoever comes to the group later gets a seat when that plan is out.

use super::super::{Robot, Task};
use super::Eviction;
use super::members::empty;
use crate::identity::{GroupId, Member, Session};
use crate::key::{Key, Value, What};
use crate::plan::{Plan, Standing, Version};
use crate::record::Shared;

impl Robot {
    /// Whether members of the plan are groups that died out; they are in the next plan as such.
    pub(super) fn bury_members(&mut self, plan: &Plan, next: &mut Plan) -> bool {
        let mut any = false;
        for seat in &plan.seats {
            let Member::Group(group) = seat.member else {
                continue;
            };
            if seat.standing == Standing::Empty {
                self.look_into(group);
                continue;
            }
            let dead = if self.group_lives(plan.group, group) {
                let summary = self.summary_of(plan.group, group);
                if summary.is_none_or(|summary| summary.capacity > 0) {
                    continue;
                }
                // somebody is there, but nobody who could take over
                self.guests.insert(group);
                self.buried(plan.version, group)
            } else {
                self.bury(plan.version, group)
            };
            let Some(dead) = dead else { continue };
            any = true;
            next.dead
                .extend(dead.iter().filter(|dead| !plan.dead.contains(dead)));
            let seats = next.seats.iter_mut();
            seats.filter(|s| s.member == seat.member).for_each(empty);
        }
        any
    }

    /// The sessions that ended in a group in which nobody has a seat any more, nor gets one before
    /// the plan after this one of the group above.
    fn buried(&self, above: Version, group: GroupId) -> Option<Vec<Session>> {
        let what = What::Plan;
        match self.seen.get(&Key { group, what }) {
            Some((_, Value::Plan(plan)))
                if plan.buried == Some(above) && plan.asked().next().is_none() =>
            {
                Some(plan.dead.clone())
            }
            _ => None,
        }
    }

    /// What is in the streams of groups that died out is read here.
    fn look_into(&mut self, group: GroupId) {
        self.guests.insert(group);
        let what = What::Plan;
        if let Some((_, Value::Plan(plan))) = self.seen.get(&Key { group, what }) {
            let below: Vec<GroupId> = (plan.seats.iter())
                .filter_map(|seat| match seat.member {
                    Member::Group(group) => Some(group),
                    Member::Robot(_) => None,
                })
                .collect();
            for group in below {
                self.look_into(group);
            }
        }
    }

    /// The sessions that ended in a group and all below it, when it is certain that nobody there
    /// has a share any more.
    fn bury(&mut self, above: Version, group: GroupId) -> Option<Vec<Session>> {
        self.guests.insert(group);
        let key = Key {
            group,
            what: What::Plan,
        };
        let (revision, plan) = match self.seen.get(&key) {
            Some((revision, Value::Plan(plan))) => (*revision, plan.clone()),
            _ => return None,
        };
        if let Some(dead) = self.buried(above, group) {
            return Some(dead);
        }
        self.expect_members(&plan);
        self.evict(&plan);
        let mut ready = true;
        let mut next = plan.successor(self.settings.robot);
        for session in plan.sessions() {
            ready &= self.partitioner.evictions.get(&session) == Some(&Eviction::Done);
            next.dead.push(session);
        }
        for seat in plan.asked() {
            let Member::Group(below) = seat.member else {
                continue;
            };
            if self.group_lives(group, below) {
                ready = false;
                continue;
            }
            match self.bury(plan.version, below) {
                Some(dead) => next.dead.extend(dead),
                None => ready = false,
            }
        }
        next.seats
            .retain(|seat| matches!(seat.member, Member::Group(_)));
        next.seats.iter_mut().for_each(empty);
        next.dead.sort_unstable();
        next.dead.dedup();
        next.buried = Some(above);
        debug_assert!(next.seats.iter().all(|s| s.standing == Standing::Empty));
        if ready && !self.partitioner.burying {
            self.partitioner.burying = true;
            let token = self.token(Task::Bury);
            self.swap(token, key, revision, Value::Plan(Shared(next.into())));
            self.outputs.push(crate::io::Output::Poll(group));
        }
        None
    }
}
