//! Snapshots: what the log says so far, read from the store and put away, so that the log can be cut behind it.
//!
//! ```text
//! enough new entries ─► what the robot knows, then row by row what the store has, stored piece by piece ─► read back
//!   ─► the log has all that the store had ─► "up to here" in the log ─► the entries before the snapshot *before*
//!      this one are cut, and so are the commits on our own disk
//! ```
//!
//! The store goes on meanwhile, so that a snapshot has some of what was logged since it was begun. Whoever reads both
//! ends with what is newest: entries are read in order, and of a row the last one counts. But it must not have rows
//! whose links are nowhere, so it counts only when the log has come as far as the store had.
//!
//! The last but one stays usable: an engine that forgets its last seconds forgets no more than the newest.
//! Whoever takes over reads the newest snapshot and the entries since (`legacy.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use partition::hash::stable_hash;

use super::{Robot, Task};
use crate::flaw::Flaw;
use crate::identity::{Millis, Session, Text};
use crate::io::{Outcome, Output, Token};
use crate::record::{Record, Snapshot};
use crate::wire::{Wire, encode};

/// A snapshot is not worth its bytes while the log since the last one has less than this part of them: so a row is
/// stored about so many times for each time that it is logged.
const WORTHWHILE: u64 = 16;
/// Pieces that are on their way at the same time.
const AT_ONCE: usize = 4;

/// Where the robot's own snapshots stand.
#[derive(Debug, Default)]
pub(super) struct Snapshots {
    /// Those that are in the log with their places there, the newest last.
    stored: Vec<(u64, Snapshot)>,
    making: Option<Making>,
    /// The newest has so many bytes.
    bytes: u64,
    /// The log was cut, and the disk was not yet.
    disk_is_longer: bool,
    /// The log's beginning is nowhere: a snapshot is due at once.
    missing: bool,
}

#[derive(Debug)]
struct Making {
    session: Session,
    number: u64,
    /// Entries of the log that it stands for.
    upto: u64,
    /// Where the store is to be asked next; nothing if all was said.
    next: Option<u64>,
    asked: Option<Token>,
    /// Not yet in a piece.
    rest: Vec<u8>,
    /// Of the pieces so far.
    digests: Vec<u64>,
    bytes: u64,
    /// To be stored.
    puts: BTreeMap<Token, u32>,
    /// Stored, and not yet read back.
    unread: BTreeSet<u32>,
    /// The log had to be so long when the store had said all.
    through: Option<u64>,
    /// The mark is on its way into the log.
    marked: bool,
    since: Millis,
}

impl Making {
    fn snapshot(&self) -> Snapshot {
        Snapshot {
            session: self.session,
            number: self.number,
            upto: self.upto,
            pieces: self.digests.len() as u32,
            digest: whole(&self.digests),
        }
    }

    fn add(&mut self, records: &[Record]) {
        for record in records {
            let bytes = encode(record);
            (bytes.len() as u64).put(&mut self.rest);
            self.rest.extend(bytes);
        }
    }
}

/// The digest of pieces with these digests.
pub(super) fn whole(digests: &[u64]) -> u64 {
    let bytes: Vec<u8> = digests.iter().flat_map(|d| d.to_le_bytes()).collect();
    stable_hash(&bytes)
}

impl Snapshots {
    /// Entries of the log that a snapshot stands for, or will: their places are settled.
    pub(super) fn folded(&self) -> u64 {
        let stored = self.stored.last().map_or(0, |(_, last)| last.upto);
        self.making.as_ref().map_or(stored, |making| making.upto)
    }

    /// Something was put into the log at this place, and what was behind it has moved.
    pub(super) fn shift(&mut self, position: u64) {
        let through = (self.making.as_mut()).and_then(|making| making.through.as_mut());
        if let Some(through) = through.filter(|through| position < **through) {
            *through += 1;
        }
    }

    /// Whether the disk has commits that only a log needs that was cut.
    pub(super) fn may_cut_disk(&self) -> bool {
        self.disk_is_longer
    }

    pub(super) fn disk_is_cut(&mut self) {
        self.disk_is_longer = false;
    }

    /// The objects that they are made of.
    pub(super) fn pieces(&self) -> Vec<Text> {
        let making = self.making.as_ref().map(Making::snapshot);
        let stored = self.stored.iter().map(|(_, stored)| stored);
        stored
            .chain(&making)
            .flat_map(Snapshot::all_pieces)
            .collect()
    }

    /// Those that are in the log.
    pub(super) fn marks(&self) -> impl Iterator<Item = Record> {
        (self.stored.iter()).map(|(position, mark)| Record::Snapshot(*position, mark.clone()))
    }
}

impl Robot {
    /// After a start: those that are in our log.
    pub(super) fn restore_snapshot(&mut self, position: u64, snapshot: &Snapshot) {
        self.snapshots.stored.push((position, snapshot.clone()));
    }

    /// After a start: whether one stands for what was cut from the log.
    pub(super) fn look_for_snapshots(&mut self, base: u64) {
        self.snapshots.missing = base > 0 && self.snapshots.stored.is_empty();
    }

    /// The engine forgot them.
    pub(super) fn lose_snapshots(&mut self) {
        self.abandon_snapshot();
        let lost = std::mem::take(&mut self.snapshots.stored);
        self.discard(lost.iter().flat_map(|(_, lost)| lost.all_pieces()));
        self.snapshots.missing = true;
    }

    pub(super) fn advance_snapshots(&mut self) {
        if self.snapshots.making.is_none() {
            self.begin_snapshot();
        }
        let patience = 6 * self.settings.resend;
        let making = self.snapshots.making.as_ref();
        if making.is_some_and(|making| !making.marked && self.now >= making.since + patience) {
            // something got lost on the way
            self.abandon_snapshot();
        }
        self.advance_making();
    }

    fn begin_snapshot(&mut self) {
        let Some(every) = self.settings.snapshot.map(|every| every.max(4)) else {
            return;
        };
        let (Some(session), Some(tail)) = (self.session, self.pump.tail()) else {
            return;
        };
        let last = self.snapshots.folded();
        let missing = self.snapshots.missing;
        let due = missing || tail >= last + every;
        if !self.pump.caught_up || !self.pump.may_mark() || !due {
            return;
        }
        let news = self.pump.entries(last, tail);
        let bytes = news.iter().flat_map(|entry| entry.iter()).map(|r| match r {
            Record::Row(_, bytes) => bytes.len() as u64,
            _ => 1,
        });
        if !missing && bytes.sum::<u64>() * WORTHWHILE < self.snapshots.bytes {
            return;
        }
        self.counter += 1;
        let mut making = Making {
            session,
            number: self.counter << 16 | u64::from(self.boot),
            upto: tail,
            next: Some(0),
            asked: None,
            rest: Vec::new(),
            digests: Vec::new(),
            bytes: 0,
            puts: BTreeMap::new(),
            unread: BTreeSet::new(),
            through: None,
            marked: false,
            since: self.now,
        };
        making.add(&self.known_of_units());
        let outbox = &self.outbox;
        let kept = |number: &u64| Some((*number, outbox.get(*number)?.cargo.clone()));
        let kept: Vec<_> = self.pump.kept.iter().filter_map(kept).collect();
        if !kept.is_empty() {
            making.add(&[Record::Kept(0, kept)]);
        }
        self.snapshots.making = Some(making);
    }

    /// What the store has.
    pub(super) fn on_surveyed(&mut self, token: Token, records: &[Record], next: Option<u64>) {
        self.tasks.remove(&token);
        let (now, making) = (self.now, self.snapshots.making.as_mut());
        if let Some(making) = making.filter(|making| making.asked == Some(token)) {
            making.asked = None;
            making.next = next;
            making.since = now;
            making.add(records);
            self.advance_making();
        }
    }

    /// Takes the next steps to a snapshot.
    fn advance_making(&mut self) {
        let Some(mut making) = self.snapshots.making.take() else {
            return;
        };
        let piece = self.settings.piece.max(1);
        let all_said = |making: &Making| making.next.is_none() && making.asked.is_none();
        while making.rest.len() >= piece || all_said(&making) && !making.rest.is_empty() {
            let behind = making.rest.split_off(piece.min(making.rest.len()));
            let bytes: Arc<[u8]> = std::mem::replace(&mut making.rest, behind).into();
            self.put_piece(&mut making, bytes);
        }
        let on_the_way = making.puts.len() + making.unread.len();
        if let (Some(from), None, true) = (making.next, making.asked, on_the_way < AT_ONCE) {
            let token = self.token(Task::Survey);
            making.asked = Some(token);
            self.outputs.push(Output::Survey(token, from));
        }
        if all_said(&making) && on_the_way == 0 && making.rest.is_empty() && !making.marked {
            self.mark_snapshot(&mut making);
        }
        self.snapshots.making = Some(making);
    }

    fn put_piece(&mut self, making: &mut Making, bytes: Arc<[u8]>) {
        let index = making.digests.len() as u32;
        making.digests.push(stable_hash(&bytes));
        making.bytes += bytes.len() as u64;
        if self.flaw == Some(Flaw::PurgeBeforeStored) {
            return;
        }
        let token = self.token(Task::PutSnapshot);
        making.puts.insert(token, index);
        let name = making.snapshot().piece(index);
        self.outputs.push(Output::Put(token, name, bytes));
    }

    pub(super) fn on_snapshot_put(&mut self, token: Token, outcome: Outcome) {
        let Some(making) = &mut self.snapshots.making else {
            return;
        };
        let Some(index) = making.puts.remove(&token) else {
            return;
        };
        if !matches!(outcome, Outcome::Done(_)) {
            return self.abandon_snapshot();
        }
        // an engine may say that it has what it has not
        making.unread.insert(index);
        making.since = self.now;
        let name = making.snapshot().piece(index);
        self.outputs.push(Output::Get(name));
    }

    /// It is begun anew when it is looked at next.
    fn abandon_snapshot(&mut self) {
        if let Some(making) = self.snapshots.making.take() {
            self.discard(making.snapshot().all_pieces());
        }
    }

    /// A piece of a snapshot: of ours, read back, or of somebody whose share we take.
    pub(super) fn on_snapshot_piece(&mut self, name: &Text, bytes: Option<&Arc<[u8]>>) {
        if let Some(making) = &mut self.snapshots.making {
            let snapshot = making.snapshot();
            let index = (making.unread.iter()).find(|i| snapshot.piece(**i) == *name);
            if let Some(&index) = index {
                let digest = bytes.map(|bytes| stable_hash(bytes));
                if digest != Some(making.digests[index as usize]) {
                    return self.abandon_snapshot();
                }
                making.unread.remove(&index);
                making.since = self.now;
                return self.advance_making();
            }
        }
        self.on_legacy_piece(name, bytes);
    }

    /// It is stored: the log says so, when it has all that the store had. Nothing may come between.
    fn mark_snapshot(&mut self, making: &mut Making) {
        let through = *making.through.get_or_insert(self.pump.length());
        let tail = self.pump.tail().filter(|_| self.pump.may_mark());
        let least = through.max(self.pump.reached());
        if let Some(position) = tail.filter(|tail| *tail >= least) {
            making.marked = true;
            let record = Record::Snapshot(position, making.snapshot());
            let write = self.pump.mark(position, Arc::new(vec![record]));
            self.outputs.push(write);
        }
    }

    /// The log has the mark at this place: what is before the snapshot before it is not needed any more.
    pub(super) fn on_marked(&mut self, position: u64) {
        let Some(making) = self.snapshots.making.take() else {
            return;
        };
        self.snapshots.bytes = making.bytes;
        self.snapshots.missing = false;
        self.snapshots.stored.push((position, making.snapshot()));
        let last_but_one = self.snapshots.stored.len().checked_sub(2);
        let flawed = self.flaw == Some(Flaw::PurgeBeforeStored);
        let kept = if flawed {
            self.snapshots.stored.len().checked_sub(1)
        } else {
            last_but_one
        };
        if let Some(kept) = kept {
            let old: Vec<(u64, Snapshot)> = self.snapshots.stored.drain(..kept).collect();
            self.discard(old.iter().flat_map(|(_, old)| old.all_pieces()));
            let upto = self.snapshots.stored[0].1.upto;
            self.tally.cut_from_log += self.pump.cut(upto);
            self.snapshots.disk_is_longer = true;
            let upto = self.pump.numbering.theirs(upto);
            self.outputs.push(Output::Purge(making.session, upto));
        }
    }
}
