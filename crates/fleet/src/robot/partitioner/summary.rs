//! What a group's partitioner says of the group to the one above.

use super::super::{Robot, Task};
use crate::identity::{GroupId, Member};
use crate::key::{Key, Progress, Summary, Value, What};
use crate::plan::{Plan, Standing};
use crate::representatives;

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
        if self.partitioner.summing {
            return;
        }
        let key = Key {
            group: parent,
            what: What::Summary(plan.group),
        };
        let before = self.summary_of(parent, plan.group).cloned();
        let summary = self.summary(depth, plan, before.as_ref());
        let revision = self.seen.get(&key).map_or(0, |(revision, _)| *revision);
        let due = self.now >= self.partitioner.summed_at + self.settings.term.lasts / 6;
        if before.as_ref() == Some(&summary) && !due {
            return;
        }
        self.partitioner.summing = true;
        self.partitioner.summed_at = self.now;
        let token = self.token(Task::Summary);
        self.swap(token, key, revision, Value::Summary(summary));
        self.outputs.push(crate::io::Output::Poll(parent));
    }

    fn summary(&self, depth: usize, plan: &Plan, before: Option<&Summary>) -> Summary {
        let mut total = Progress {
            counters: self.together(plan),
            ..Progress::default()
        };
        // what a dead member had is somebody's again only when all have settled
        let complete = plan.dead.is_empty() || self.all_have(plan, true, &[]);
        for level in &self.levels[..depth] {
            let group = level.group;
            let least = |of: fn(
                &Progress,
            )
                -> &std::collections::BTreeMap<GroupId, crate::plan::Version>,
                         own: crate::plan::Version| {
                (plan.seats.iter())
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
            capacity += seat.capacity;
            match seat.member {
                Member::Robot(robot) => robots.push(robot),
                Member::Group(_) => robots.extend(&seat.representatives),
            }
            if let Some(progress) = self.progress_of(plan.group, seat.member, seat.incarnation) {
                total.demand.add(&progress.demand);
            }
        }
        total.rounds = self.rounds_kept(depth, plan);
        Summary {
            maker: self.settings.robot,
            capacity,
            representatives: representatives::first(&robots),
            progress: total,
        }
    }
}
