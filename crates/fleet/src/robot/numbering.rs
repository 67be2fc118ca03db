//! An engine that forgot more of a log than the robot can tell again: the entries before are in snapshots, which are
//! forgotten as well. All is still on the robot's disk, so the log goes on behind what the engine has, with a new
//! snapshot.

use std::sync::Arc;

use super::Robot;
use super::pump::Entry;
use crate::identity::Millis;
use crate::record::Record;

/// How the log's numbers are the engine's.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    /// Our entry of this number is the engine's entry of that one.
    ours: u64,
    theirs: u64,
    /// What they will be when a commit of this number is on disk.
    next: Option<(u64, u64, u64)>,
    /// Since when the engine says that it has too few.
    short_since: Option<Millis>,
}

impl Numbering {
    pub(super) fn new(ours: u64, theirs: u64) -> Self {
        Self {
            ours,
            theirs,
            ..Self::default()
        }
    }

    /// The engine's number of an entry of ours that it could have.
    pub(super) fn theirs(&self, ours: u64) -> u64 {
        ours.saturating_sub(self.ours) + self.theirs
    }

    /// Our number of an entry of the engine; nothing if it was never ours by the present numbers.
    pub(super) fn ours(&self, theirs: u64) -> Option<u64> {
        Some(theirs.checked_sub(self.theirs)? + self.ours)
    }

    /// Whether no other numbers are on their way to the disk.
    pub(super) fn is_settled(&self) -> bool {
        self.next.is_none()
    }

    /// For a checkpoint.
    pub(super) fn record(&self) -> Option<Record> {
        let (ours, theirs) = (self.ours, self.theirs);
        (ours != theirs).then_some(Record::Renumbered(ours, theirs))
    }
}

/// What the entries say of snapshots.
pub(super) fn forget_marks(journal: &mut [Entry]) {
    for entry in journal {
        if matches!(entry[..], [Record::Snapshot(..)]) {
            *entry = Arc::default();
        }
    }
}

impl Robot {
    /// Whether the engine's log is one that ours can go on from. A single answer may be an old one.
    pub(super) fn check_numbering(&mut self, theirs: Option<u64>) {
        let Some(theirs) = theirs else { return };
        let base = self.pump.base();
        let numbering = &mut self.pump.numbering;
        if numbering.ours(theirs).is_some_and(|ours| ours >= base) {
            numbering.short_since = None;
            return;
        }
        let since = *numbering.short_since.get_or_insert(self.now);
        if numbering.next.is_some() || self.now < since + self.settings.poll {
            return;
        }
        let write = self.pump.write(vec![Record::Renumbered(base, theirs)]);
        self.outputs.push(write);
        self.pump.numbering.next = Some((self.pump.written(), base, theirs));
    }

    /// The new numbers are on disk.
    pub(super) fn renumber(&mut self) {
        let on_disk = self.pump.on_disk();
        let next = &mut self.pump.numbering.next;
        if let Some((_, ours, theirs)) = next.take_if(|(commit, ..)| *commit <= on_disk) {
            self.tally.logs_renumbered += 1;
            self.pump.numbering = Numbering::new(ours, theirs);
            self.pump.renumber();
            self.lose_snapshots();
        }
    }
}
