//! Snapshots: what the log says so far, put together and stored, so that the log can be cut behind it.
//!
//! ```text
//! enough new entries ─► all that they say, stored ─► read back ─► "up to here" in the log ─► the entries
//!                                                    before the snapshot *before* this one are cut
//! ```
//!
//! The last but one stays usable: an engine that forgets its last seconds forgets no more than the newest.
//! Whoever takes over reads the newest snapshot and the entries since.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use partition::hash::stable_hash;

use super::pump::Entry;
use super::takeover::contents;
use super::{Robot, Task};
use crate::flaw::Flaw;
use crate::identity::{Millis, Session, Text};
use crate::io::{Outcome, Output, Token};
use crate::parcel::Cargo;
use crate::record::{Record, Snapshot};
use crate::wire::{decode, encode};

/// Where the robot's own snapshots stand.
#[derive(Debug, Default)]
pub(super) struct Snapshots {
    /// What the log says up to `folded`.
    sums: Entry,
    folded: u64,
    /// Those that are in the log, the newest last.
    stored: Vec<Snapshot>,
    making: Option<Making>,
}

#[derive(Debug)]
struct Making {
    snapshot: Snapshot,
    pieces: Vec<Arc<[u8]>>,
    /// To be stored.
    puts: BTreeSet<Token>,
    /// Stored, and not yet read back.
    unread: BTreeSet<u32>,
    since: Millis,
}

/// What another left, while its snapshot is fetched.
#[derive(Debug)]
pub(super) struct Legacy {
    entries: Vec<Entry>,
    /// The number of the first entry.
    first: u64,
    snapshot: Snapshot,
    pieces: Vec<Option<Arc<[u8]>>>,
}

impl Snapshots {
    /// Entries of the log that are put together already.
    pub(super) fn folded(&self) -> u64 {
        self.folded
    }
}

/// Everything that a log says, in as few records as that takes.
fn fold(log: &[Entry], key: fn(&[u8]) -> u64, held: impl Fn(u64) -> bool) -> Vec<Record> {
    let mut all = Vec::new();
    for (unit, records) in contents(log) {
        let mut known = BTreeSet::new();
        // of a page the last row counts, and one URL is admitted once
        let mut newest: Vec<Record> = Vec::new();
        for record in records.into_iter().rev() {
            let new = match &record {
                Record::Row(_, bytes) => known.insert((0, key(bytes), None)),
                Record::Admit(parcel) => {
                    known.insert((1, 0, Some((parcel.name.clone(), parcel.url.clone()))))
                }
                Record::Held(_) => known.insert((2, 0, None)),
                _ => true,
            };
            if new {
                newest.push(record);
            }
        }
        if !newest
            .iter()
            .any(|record| matches!(record, Record::Held(_)))
        {
            newest.push(Record::Held(unit));
        }
        all.extend(newest.into_iter().rev());
    }
    let mut kept: BTreeMap<u64, Cargo> = BTreeMap::new();
    for record in log.iter().flat_map(|entry| entry.iter()) {
        if let Record::Kept(_, entries) = record {
            let still = entries.iter().filter(|(number, _)| held(*number));
            kept.extend(still.cloned());
        }
    }
    if !kept.is_empty() {
        all.push(Record::Kept(0, kept.into_iter().collect()));
    }
    all
}

impl Robot {
    /// After a start: those that are in our log.
    pub(super) fn restore_snapshot(&mut self, snapshot: &Snapshot) {
        self.snapshots.stored.push(snapshot.clone());
    }

    pub(super) fn advance_snapshots(&mut self) {
        let Some(every) = self.settings.snapshot.map(|every| every.max(4)) else {
            return;
        };
        let (Some(session), Some(tail)) = (self.session, self.pump.tail()) else {
            return;
        };
        if let Some(making) = &self.snapshots.making {
            if self.now >= making.since + 6 * self.settings.resend {
                // something got lost on the way
                self.snapshots.making = None;
            }
            return;
        }
        let last = self.snapshots.stored.last().map_or(0, |last| last.upto);
        let ready = self.pump.caught_up && self.pump.may_mark() && tail >= self.snapshots.folded;
        if !ready || tail < last + every {
            return;
        }
        let news = self.pump.entries(self.snapshots.folded, tail);
        let log: Vec<Entry> = std::iter::once(self.snapshots.sums.clone())
            .chain(news)
            .collect();
        let outbox = &self.outbox;
        let held = |number| outbox.get(number).is_some();
        self.snapshots.sums = Arc::new(fold(&log, self.settings.row_key, held));
        self.snapshots.folded = tail;
        let bytes = encode(&self.snapshots.sums);
        let pieces: Vec<Arc<[u8]>> = bytes
            .chunks(self.settings.piece.max(1))
            .map(Into::into)
            .collect();
        self.counter += 1;
        let snapshot = Snapshot {
            session,
            number: self.counter << 16 | u64::from(self.boot),
            upto: tail,
            pieces: pieces.len() as u32,
            digest: stable_hash(&bytes),
        };
        let mut puts = BTreeSet::new();
        if self.flaw != Some(Flaw::PurgeBeforeStored) {
            for (index, piece) in (0..).zip(&pieces) {
                let token = self.token(Task::PutSnapshot);
                puts.insert(token);
                let name = snapshot.piece(index);
                self.outputs
                    .push(Output::Put(token, name, Arc::clone(piece)));
            }
        }
        let nothing = puts.is_empty();
        self.snapshots.making = Some(Making {
            snapshot,
            pieces,
            puts,
            unread: BTreeSet::new(),
            since: self.now,
        });
        if nothing {
            self.mark_snapshot();
        }
    }

    pub(super) fn on_snapshot_put(&mut self, token: Token, outcome: Outcome) {
        let Some(making) = &mut self.snapshots.making else {
            return;
        };
        if !making.puts.remove(&token) {
            return;
        }
        if !matches!(outcome, Outcome::Done(_)) {
            self.snapshots.making = None;
            return;
        }
        if making.puts.is_empty() {
            // an engine may say that it has what it has not
            making.unread = (0..making.snapshot.pieces).collect();
            for index in 0..making.snapshot.pieces {
                self.outputs.push(Output::Get(making.snapshot.piece(index)));
            }
        }
    }

    /// A piece of a snapshot: of ours, read back, or of somebody whose share we take.
    pub(super) fn on_snapshot_piece(&mut self, name: &Text, bytes: Option<&Arc<[u8]>>) {
        if let Some(making) = &mut self.snapshots.making {
            let index = (making.unread.iter()).find(|i| making.snapshot.piece(**i) == *name);
            if let Some(&index) = index {
                if bytes != making.pieces.get(index as usize) {
                    self.snapshots.making = None;
                    return;
                }
                making.unread.remove(&index);
                if making.unread.is_empty() {
                    self.mark_snapshot();
                }
                return;
            }
        }
        let sessions: Vec<Session> = self.legacies.keys().copied().collect();
        for session in sessions {
            let Some(legacy) = self.legacies.get_mut(&session) else {
                continue;
            };
            let pieces = 0..legacy.snapshot.pieces;
            let Some(index) = pieces
                .into_iter()
                .find(|i| legacy.snapshot.piece(*i) == *name)
            else {
                continue;
            };
            let Some(bytes) = bytes else {
                let legacy = self.legacies.remove(&session).expect("found above");
                self.inherit_before(session, legacy);
                continue;
            };
            legacy.pieces[index as usize] = Some(Arc::clone(bytes));
            if legacy.pieces.iter().all(Option::is_some) {
                let legacy = self.legacies.remove(&session).expect("found above");
                self.inherit(session, legacy);
            }
        }
    }

    /// It is stored: the log says so. Nothing may come between.
    fn mark_snapshot(&mut self) {
        let Some(making) = &self.snapshots.making else {
            return;
        };
        let snapshot = making.snapshot.clone();
        let folded = self.snapshots.folded;
        match self
            .pump
            .tail()
            .filter(|tail| *tail >= folded && self.pump.may_mark())
        {
            Some(position) => {
                let record = Record::Snapshot(position, snapshot);
                let write = self.pump.mark(position, Arc::new(vec![record]));
                self.outputs.push(write);
            }
            // looked at again when enough has come
            None => self.snapshots.making = None,
        }
    }

    /// The log has the mark: what is before the snapshot before it is not needed any more.
    pub(super) fn on_marked(&mut self) {
        let Some(making) = self.snapshots.making.take() else {
            return;
        };
        let session = making.snapshot.session;
        self.snapshots.stored.push(making.snapshot);
        let last_but_one = self.snapshots.stored.len().checked_sub(2);
        let flawed = self.flaw == Some(Flaw::PurgeBeforeStored);
        let kept = if flawed {
            self.snapshots.stored.len().checked_sub(1)
        } else {
            last_but_one
        };
        if let Some(kept) = kept {
            let old: Vec<Snapshot> = self.snapshots.stored.drain(..kept).collect();
            self.discard(old.iter().flat_map(Snapshot::all_pieces));
            let upto = self.snapshots.stored[0].upto;
            self.tally.cut_from_log += self.pump.cut(upto);
            self.outputs.push(Output::Purge(session, upto));
        }
    }

    /// What a log says whose beginning may be cut: its entries, or what has to be fetched first.
    pub(super) fn read_log(&mut self, session: Session, entries: &[Entry]) -> Option<Vec<Entry>> {
        let marks = (0..)
            .zip(entries)
            .filter_map(|(at, entry)| match &entry[..] {
                [Record::Snapshot(position, snapshot)] => {
                    Some((position.checked_sub(at)?, snapshot))
                }
                _ => None,
            });
        match marks.last() {
            // nothing was cut
            None | Some((0, _)) => Some(entries.to_vec()),
            Some((first, snapshot)) => {
                self.fetch_snapshot(session, entries.to_vec(), first, snapshot.clone());
                None
            }
        }
    }

    fn fetch_snapshot(
        &mut self,
        session: Session,
        entries: Vec<Entry>,
        first: u64,
        snapshot: Snapshot,
    ) {
        for index in 0..snapshot.pieces {
            self.outputs.push(Output::Get(snapshot.piece(index)));
        }
        let legacy = Legacy {
            pieces: vec![None; snapshot.pieces as usize],
            entries,
            first,
            snapshot,
        };
        self.legacies.insert(session, legacy);
    }

    /// The newest snapshot cannot be had: the one before it, or all over again.
    fn inherit_before(&mut self, session: Session, legacy: Legacy) {
        let marks = legacy.entries.iter().filter_map(|entry| match &entry[..] {
            [Record::Snapshot(_, snapshot)] => Some(snapshot),
            _ => None,
        });
        let older = marks
            .rev()
            .find(|mark| mark.upto < legacy.snapshot.upto && mark.upto >= legacy.first);
        match older.cloned() {
            Some(older) => self.fetch_snapshot(session, legacy.entries, legacy.first, older),
            None => self.on_log_read(session, None),
        }
    }

    fn inherit(&mut self, session: Session, legacy: Legacy) {
        let bytes = legacy
            .pieces
            .iter()
            .flatten()
            .flat_map(|piece| piece.iter().copied());
        let bytes: Vec<u8> = bytes.collect();
        let sound = stable_hash(&bytes) == legacy.snapshot.digest;
        let sums = decode::<Vec<Record>>(&bytes).ok().filter(|_| sound);
        let since = legacy.snapshot.upto.checked_sub(legacy.first);
        let (Some(sums), Some(since)) = (sums, since) else {
            return self.inherit_before(session, legacy);
        };
        let since = legacy.entries.iter().skip(since as usize).cloned();
        let log: Vec<Entry> = std::iter::once(Arc::new(sums)).chain(since).collect();
        self.on_log_read(session, Some(&log));
    }
}
