//! What a robot knows after a start, from what it committed before.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Hold, Level, Robot};
use crate::identity::Unit;
use crate::record::Record;

impl Robot {
    pub(super) fn recover(&mut self, disk: &[Arc<Vec<Record>>]) {
        let mut journal = Vec::new();
        let mut held: BTreeSet<Unit> = BTreeSet::new();
        for commit in disk {
            for record in commit.iter() {
                self.apply_register(record);
                self.apply_counts(record);
                match record {
                    Record::Began(session) => {
                        self.session = Some(*session);
                        self.renewal.begun = true;
                    }
                    Record::Held(unit) => {
                        held.insert(*unit);
                    }
                    Record::Admit(_) | Record::Row(..) => self.work.taken += 1,
                    Record::Handed(unit) => {
                        held.remove(unit);
                        if let Unit::Register(number) = unit {
                            self.forget_register(*number);
                        }
                    }
                    Record::Out(number, cargo) => self.outbox.restore(*number, cargo.clone()),
                    Record::Receipted(number) => {
                        self.outbox.forget(*number);
                    }
                    Record::Adopted(plan) => {
                        if self.level_mut(plan.group).is_none() {
                            let level = Level::new(plan.group, self.me());
                            self.past.insert(plan.group, level);
                        }
                        if let Some(level) = self.level_mut(plan.group) {
                            level.durable = plan.version;
                            level.plan = Some(plan.clone());
                        }
                        for level in self.levels.iter_mut().chain(self.past.values_mut()) {
                            level.taken.clear();
                        }
                    }
                    Record::Taken(session, version) => {
                        for level in self.levels.iter_mut().chain(self.past.values_mut()) {
                            if level.durable == *version && !level.taken.contains(session) {
                                level.taken.push(*session);
                            }
                        }
                    }
                    Record::Snapshot(_, snapshot) => self.restore_snapshot(snapshot),
                    Record::Granted(grant) => {
                        self.grants.insert(self.home(), grant.clone());
                    }
                    _ => {}
                }
            }
            if let [Record::Kept(position, _) | Record::Snapshot(position, _)] = commit[..] {
                journal.insert(journal.len().min(position as usize), Arc::clone(commit));
            }
            let replicated: Vec<Record> =
                commit.iter().filter(|r| r.replicated()).cloned().collect();
            if !replicated.is_empty() {
                journal.push(Arc::new(replicated));
            }
        }
        self.climb();
        // what politeness remembered is gone
        let quiet_until = self.now + self.settings.interval + self.settings.longest;
        for unit in held {
            self.units.insert(unit, Hold::Arriving { quiet_until });
        }
        self.quiet_floor = quiet_until;
        // packages are made anew
        let moving: Vec<u64> = (self.outbox.numbers())
            .filter(|number| {
                let kept = self.outbox.get(*number);
                kept.is_some_and(|kept| matches!(kept.cargo, crate::parcel::Cargo::Moved(_)))
            })
            .collect();
        for number in moving {
            self.outbox.forget(number);
            self.draft.records.push(Record::Receipted(number));
        }
        let outs: Vec<u64> = self.outbox.numbers().collect();
        self.pump.restore(journal, outs);
    }
}
