//! What a group's partitioner says of the group to the one above.

use super::super::{Robot, Task};
use crate::identity::{GroupId, Member, RobotId};
use crate::key::{Key, Progress, Summary, Value, What};
use crate::plan::{Plan, Standing};
use crate::representatives::{self, Candidate};

/// Milliseconds of a robot that nobody has measured.
const UNMEASURED: f64 = 100.0;

impl Robot {
    pub(super) fn summary_of(&self, parent: GroupId, group: GroupId) -> Option<&Summary> {
        let what = What::Summary(group);
        match self.seen.get(&Key {
            group: parent,
            what,
        }) {
            Some((_, Value::Summary(summary))) => Some(summary),
            _ => None,
        }
    }

    pub(super) fn summarise(&mut self, depth: usize, plan: &Plan) {
        let Some(parent) = depth.checked_sub(1).map(|above| self.levels[above].group) else {
            return;
        };
        if self.partitioner.summing.contains(&plan.group) {
            return;
        }
        let key = Key {
            group: parent,
            what: What::Summary(plan.group),
        };
        let before = self.summary_of(parent, plan.group).cloned();
        let summary = self.summary(depth, plan, before.as_ref());
        let revision = self.seen.get(&key).map_or(0, |(revision, _)| *revision);
        let last = self.partitioner.summed_at.get(&plan.group);
        let due = last.is_none_or(|&at| self.now >= at + self.settings.term.lasts / 6);
        let same = (before.as_ref()).is_some_and(|before| {
            let beat = summary.beat;
            Summary {
                beat,
                ..before.clone()
            } == summary
        });
        if same && !due {
            return;
        }
        self.partitioner.summing.insert(plan.group);
        self.partitioner.summed_at.insert(plan.group, self.now);
        let token = self.token(Task::Summary(plan.group));
        self.swap(token, key, revision, Value::Summary(summary));
        self.outputs.push(crate::io::Output::Poll(parent));
    }

    fn summary(&self, depth: usize, plan: &Plan, before: Option<&Summary>) -> Summary {
        let mut total = Progress {
            counters: self.together(plan),
            ..Progress::default()
        };
        // what a dead member had is somebody's again only when all have settled, and nobody's where
        // there is nobody
        let taken_over = || plan.has_active() && self.all_have(plan, true, &[]);
        let complete = plan.dead.is_empty() || taken_over();
        for level in &self.levels[..depth] {
            let group = level.group;
            let least = |of: fn(
                &Progress,
            )
                -> &std::collections::BTreeMap<GroupId, crate::plan::Version>,
                         own: crate::plan::Version| {
                (plan.asked())
                    .map(|seat| {
                        if self.has(seat) {
                            return own;
                        }
                        let progress = self.progress_of(plan.group, seat.member, seat.incarnation);
                        let version = progress.and_then(|progress| of(progress).get(&group));
                        version.copied().unwrap_or_default()
                    })
                    .min()
                    .unwrap_or(own)
            };
            let adopted = least(|progress| &progress.adopted, level.durable);
            total.adopted.insert(group, adopted);
            let said = before.and_then(|before| before.progress.settled.get(&group));
            let settled = if complete {
                least(|progress| &progress.settled, level.settled)
            } else {
                said.copied().unwrap_or_default()
            };
            total.settled.insert(group, settled);
        }
        let mut capacity = 0;
        let mut robots = Vec::new();
        for seat in plan.seats.iter().filter(|s| s.standing == Standing::Active) {
            if !self.is_to_go(plan, seat) {
                capacity += seat.capacity;
            }
            match seat.member {
                Member::Robot(robot) => robots.push(robot),
                Member::Group(_) => robots.extend(&seat.representatives),
            }
            if let Some(progress) = self.progress_of(plan.group, seat.member, seat.incarnation) {
                total.demand.add(&progress.demand);
            }
        }
        total.rounds = self.rounds_kept(depth, plan);
        let present = before.map_or(&[][..], |before| &before.representatives);
        Summary {
            maker: self.settings.robot,
            beat: before.map_or(0, |before| before.beat) + 1,
            capacity,
            representatives: self.representatives(plan.group, &robots, present),
            progress: total,
        }
    }

    /// Who answers for the group: by what the robots say of each other and of themselves, which
    /// is known of siblings only. Groups send those who answer for them.
    fn representatives(
        &self,
        group: GroupId,
        robots: &[RobotId],
        present: &[RobotId],
    ) -> Vec<RobotId> {
        let leases = || {
            let here = self.seen.iter().filter(move |(key, _)| key.group == group);
            here.filter_map(|(_, (_, value))| match value {
                Value::Lease(lease) => Some(lease),
                _ => None,
            })
        };
        let candidates: Vec<Candidate> = (robots.iter())
            .map(|&robot| {
                let answers = leases().filter_map(|lease| lease.responses.get(&robot));
                let mut answers: Vec<u32> = answers.copied().collect();
                answers.sort_unstable();
                let response = answers.get(answers.len() / 2).copied();
                let lease = leases().find(|lease| lease.session.robot == robot);
                Candidate {
                    robot,
                    response: response.map_or(UNMEASURED, f64::from),
                    load: lease.map_or(0.0, |lease| f64::from(lease.load) / 100.0),
                }
            })
            .collect();
        representatives::choose(&candidates, present)
    }
}
