//! The end of a crawl: two rounds of questions in which everybody was idle and nothing changed.
//!
//! A URL under way is in somebody's custody until its next holder has it in its log, or in the
//! stream that somebody reads, who is not idle then; so a fleet whose robots are all idle at one
//! instant has nothing left to do. Nobody sees that instant. But
//! who says the same twice, and was idle both times, was idle all the time between; and the second
//! question is put only when everybody has answered the first. That moment is between everybody's
//! two answers.

use partition::hash::stable_hash;

use super::{Hold, Robot, Task};
use crate::identity::Member;
use crate::key::{Counters, Key, Quiet, Value, What};
use crate::plan::Plan;

/// Whether there is work, here and, for the fleet's partitioner, anywhere.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// Nothing to fetch and nothing under way, as the crawler last said.
    pub idle: bool,
    /// URLs that were ever taken or given up: without any, there is nothing to have an end.
    pub taken: u64,
    /// The newest question heard of.
    heard: Quiet,
    /// The one that had been answered before this start.
    early: Option<Quiet>,
    /// Others are at work: they were heard of more than once.
    company: bool,
    /// The answer to the last question, all together.
    answer: Option<Counters>,
    asking: bool,
}

impl Robot {
    /// Whether the whole fleet has nothing left to do.
    pub fn quiet(&self) -> bool {
        self.work.heard.reached && self.counters_now().idle
    }

    pub(super) fn on_quiet(&mut self, quiet: Quiet) {
        if quiet > self.work.heard {
            if self.work.heard == Quiet::default() && quiet.reached {
                self.work.early = Some(quiet);
            }
            self.work.heard = quiet;
            self.news = true;
        }
    }

    /// Somebody gave another sign of life.
    pub(super) fn has_company(&mut self) {
        self.work.company = true;
    }

    /// Whether the end that the robot heard of is that of an earlier crawl, and others are at work on the next: they have
    /// to say so again. Whoever comes when all have ended has nothing to wait for.
    fn doubts_the_end(&self) -> bool {
        self.work.early == Some(self.work.heard) && self.work.company
    }

    pub(super) fn on_asked(&mut self) {
        self.work.asking = false;
    }

    /// What the robot says of its own work.
    pub(super) fn counters_now(&self) -> Counters {
        let on_the_way = (self.units.values())
            .any(|hold| matches!(hold, Hold::Closing { .. } | Hold::Packed { .. }));
        let inherits = (self.levels.iter())
            .filter_map(|level| Some((level, level.plan.as_ref()?)))
            .any(|(level, plan)| plan.dead.iter().any(|dead| !level.taken.contains(dead)));
        let session = self.session.map_or((0, 0), |s| (s.robot.0, s.incarnation));
        let (written, passed_on) = (self.pump.written(), self.tally.passed_on);
        let state = [session.0, session.1, self.boot.into(), written, passed_on];
        let state: Vec<u8> = state
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect();
        Counters {
            idle: self.work.idle
                && !self.doubts_the_end()
                && self.outbox.is_empty()
                && self.pump.is_idle()
                && self.register.waiting.is_empty()
                && !on_the_way
                && !inherits,
            taken: self.work.taken,
            state: stable_hash(&state),
            asked: self.work.heard.round,
        }
    }

    /// What a group's members say together. Robots that have no seat yet may have work as well.
    pub(super) fn together(&self, plan: &Plan) -> Counters {
        let mut total = Counters {
            // or others took over from them
            idle: plan.dead.is_empty()
                || plan.buried.is_some() && self.is_without_share(plan.group),
            asked: u64::MAX,
            state: plan.version.number,
            taken: 0,
        };
        let mut add = |counters: Option<Counters>| {
            let counters = counters.unwrap_or_default();
            total.idle &= counters.idle;
            total.taken += counters.taken;
            total.state = total.state.wrapping_add(counters.state);
            total.asked = total.asked.min(counters.asked);
        };
        for seat in plan.asked() {
            let progress = self.progress_of(plan.group, seat.member, seat.incarnation);
            let own = self.has(seat).then(|| self.counters_now());
            add(own.or_else(|| progress.map(|progress| progress.counters)));
        }
        let asked = |member: Member| plan.asked().any(|seat| seat.member == member);
        for (key, (_, value)) in &self.seen {
            if key.group != plan.group {
                continue;
            }
            match (key.what, value) {
                (_, Value::Lease(lease)) if !asked(Member::Robot(lease.session.robot)) => {
                    if Some(lease.session) == self.session {
                        add(Some(self.counters_now()));
                    } else if !lease.sealed && !self.observer.expired(lease.session, self.now) {
                        add(Some(lease.progress.counters));
                    }
                }
                (What::Summary(group), Value::Summary(summary))
                    if !asked(Member::Group(group)) && self.group_lives(plan.group, group) =>
                {
                    add(Some(summary.progress.counters));
                }
                _ => {}
            }
        }
        total
    }

    /// The fleet's partitioner asks again, if it seems worth while.
    pub(super) fn ask(&mut self, plan: &Plan) {
        if self.work.asking {
            return;
        }
        let key = Key {
            group: plan.group,
            what: What::Quiet,
        };
        let (revision, stored) = match self.seen.get(&key) {
            Some((revision, Value::Quiet(stored))) => (*revision, *stored),
            _ => (0, Quiet::default()),
        };
        if stored < self.work.heard {
            // the engine forgot it: nobody would ever answer
            return self.write_quiet(key, revision, self.work.heard);
        }
        let now = self.together(plan);
        if now.asked < self.work.heard.round {
            return;
        }
        let round = self.work.heard.round + 1;
        let reached = now.idle
            && self.work.answer
                == Some(Counters {
                    asked: round - 1,
                    ..now
                });
        let news = now.idle && now.taken > 0 && !self.work.heard.reached;
        if !news && (now.idle || !self.work.heard.reached) {
            return;
        }
        self.work.answer = Some(Counters {
            asked: round,
            ..now
        });
        self.write_quiet(key, revision, Quiet { round, reached });
    }

    fn write_quiet(&mut self, key: Key, revision: u64, quiet: Quiet) {
        self.work.asking = true;
        let token = self.token(Task::Ask);
        self.swap(token, key, revision, Value::Quiet(quiet));
        self.outputs.push(crate::io::Output::Poll(key.group));
    }
}

#[cfg(test)]
mod tests;
