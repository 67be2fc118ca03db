//! What a robot knows after a start, from what it committed before.
//!
//! When the log is cut behind a snapshot, what is on disk is too: a checkpoint says what all commits before it
//! came to. So a disk holds what the protocol knows and the commits of the last while, not all there ever were;
//! rows are the store's.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::numbering::{Numbering, forget_marks};
use super::pump::{Entry, replicated};
use super::{Hold, Level, Robot, Start};
use crate::counts::Observation;
use crate::identity::Unit;
use crate::parcel::Cargo;
use crate::record::{Checkpoint, Record, is_checkpoint};
use crate::sent::Print;
use crate::wire::{decode, encode};

impl Robot {
    pub(super) fn recover(&mut self, disk: &[Arc<Vec<Record>>]) {
        let (mut base, mut journal) = (0, Vec::new());
        let mut held: BTreeSet<Unit> = BTreeSet::new();
        let last = disk.iter().rposition(|commit| is_checkpoint(commit));
        for commit in &disk[last.unwrap_or(0)..] {
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
                    Record::Out(number, cargo) => {
                        self.outbox.restore(*number, cargo.clone());
                        self.enter_sent(*number);
                    }
                    Record::Kept(_, entries) => {
                        let numbers = entries.iter().map(|(number, _)| *number);
                        self.pump.kept.extend(numbers);
                    }
                    Record::Checkpoint(checkpoint) => {
                        (base, journal) = self.begin_with(checkpoint);
                    }
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
                    Record::Snapshot(position, snapshot) => {
                        self.restore_snapshot(*position, snapshot);
                    }
                    Record::Renumbered(ours, theirs) => {
                        self.pump.numbering = Numbering::new(*ours, *theirs);
                        if !is_checkpoint(commit) {
                            forget_marks(&mut journal);
                            self.lose_snapshots();
                        }
                    }
                    Record::Granted(grant) => {
                        self.grants.insert(self.home(), grant.clone());
                    }
                    _ => {}
                }
            }
            if is_checkpoint(commit) {
                continue;
            }
            if let [Record::Kept(position, _) | Record::Snapshot(position, _)] = commit[..] {
                let place = position.saturating_sub(base) as usize;
                journal.insert(journal.len().min(place), Arc::clone(commit));
            }
            let replicated = replicated(commit);
            if !replicated.is_empty() {
                journal.push(replicated);
            }
        }
        self.work.taken += self.given_up().count() as u64;
        self.look_for_snapshots(base);
        self.climb();
        // what politeness remembered is gone
        let quiet_until = self.now + self.settings.interval + self.settings.longest;
        for unit in held {
            self.units.insert(unit, Hold::Arriving { quiet_until });
        }
        self.start = Start {
            empty: disk.is_empty(),
            quiet_until,
        };
        self.drop_packages();
        let outs: Vec<u64> = self.outbox.numbers().collect();
        self.pump.restore(base, journal, outs);
    }

    /// Packages that an earlier life made are made anew.
    fn drop_packages(&mut self) {
        if let Some(session) = self.session {
            self.sweep_after(session);
        }
        let is_moved = |number: &u64| {
            let kept = self.outbox.get(*number);
            kept.is_some_and(|kept| matches!(kept.cargo, Cargo::Moved(_)))
        };
        let moving: Vec<u64> = self.outbox.numbers().filter(is_moved).collect();
        for number in moving {
            self.outbox.forget(number);
            self.draft.records.push(Record::Receipted(number));
        }
    }

    /// What a checkpoint says of the log and of numbers.
    fn begin_with(&mut self, checkpoint: &Checkpoint) -> (u64, Vec<Entry>) {
        self.outbox.given(checkpoint.last);
        self.work.taken = checkpoint.taken;
        self.pump.kept = checkpoint.kept.iter().copied().collect();
        let entries = checkpoint.journal.iter();
        // what cannot be read was never written by us
        let entries = entries.map(|bytes| Arc::new(decode(bytes).unwrap_or_default()));
        (checkpoint.base, entries.collect())
    }

    /// After the log was cut: one commit in place of all before it. All that is known is in them, so nothing may
    /// be half said.
    pub(super) fn write_checkpoint(&mut self) {
        if !self.snapshots.may_cut_disk() || !self.draft.is_empty() || !self.pump.is_in_order() {
            return;
        }
        let Some(session) = self.session.filter(|_| self.renewal.begun) else {
            return;
        };
        if !self.gather_custody() {
            return;
        }
        self.snapshots.disk_is_cut();
        let outbox = &self.outbox;
        self.pump
            .kept
            .retain(|number| outbox.get(*number).is_some());
        let (base, journal) = self.pump.journal();
        let mut records = vec![
            Record::Checkpoint(Checkpoint {
                base,
                journal: journal
                    .iter()
                    .map(|entry| encode(&**entry).into())
                    .collect(),
                last: self.outbox.last(),
                kept: self.pump.kept.iter().copied().collect(),
                taken: self.work.taken,
            }),
            Record::Began(session),
        ];
        let levels = || self.levels.iter().chain(self.past.values());
        records.extend(levels().filter_map(|level| level.plan.clone().map(Record::Adopted)));
        records.extend(levels().flat_map(|level| {
            let taken = level.taken.iter();
            taken.map(|session| Record::Taken(*session, level.durable))
        }));
        let grant = (self.settings.path.last()).and_then(|home| self.grants.get(home));
        records.extend(grant.cloned().map(Record::Granted));
        records.extend(self.known_of_units());
        for (group, collected) in &self.observing.collected {
            let observations = collected.iter().map(|(server, counts)| Observation {
                server: *server,
                counts: counts.clone(),
            });
            records.push(Record::Observed(*group, Arc::new(observations.collect())));
        }
        let outs = self.outbox.all();
        records.extend(outs.map(|(number, cargo)| Record::Out(number, cargo.clone())));
        records.extend(self.snapshots.marks());
        records.extend(self.pump.numbering.record());
        let write = self.pump.write(records);
        self.outputs.push(write);
        self.scatter_custody();
    }

    /// What the robot itself knows of all that it holds; the store has the rows.
    pub(super) fn known_of_units(&self) -> Vec<Record> {
        let mut records = Vec::new();
        for &unit in self.units.keys() {
            records.push(Record::Held(unit));
            match unit {
                Unit::Register(number) => records.extend(self.register_records(number)),
                Unit::Server(server) => {
                    let counts = self.observing.counts.get(&server);
                    records.extend(counts.map(|counts| Record::Counted(unit, counts.clone())));
                }
            }
        }
        records
    }

    /// A URL in the outbox on disk need not be sent again.
    pub(super) fn enter_sent(&mut self, number: u64) {
        if let Some(Cargo::Url(parcel)) = self.outbox.get(number).map(|kept| &kept.cargo)
            && parcel.errand.is_none()
        {
            let bound = parcel.server.is_some();
            self.sent.enter(Print::of(&parcel.name, &parcel.url), bound);
        }
    }
}
