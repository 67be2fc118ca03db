//! What another left: its log, and the snapshot that stands for the entries that were cut.

use std::sync::Arc;

use partition::hash::stable_hash;

use super::Robot;
use super::pump::Entry;
use super::snapshot::whole;
use crate::identity::{Session, Text};
use crate::io::Output;
use crate::record::{Record, Snapshot};
use crate::wire::{Wire, decode};

/// What another left, while its snapshot is fetched.
#[derive(Debug)]
pub(super) struct Legacy {
    entries: Vec<Entry>,
    /// The number of the first entry.
    first: u64,
    snapshot: Snapshot,
    pieces: Vec<Option<Arc<[u8]>>>,
}

/// The records of a snapshot; nothing if it is not whole.
fn records(pieces: &[Arc<[u8]>], digest: u64) -> Option<Vec<Record>> {
    let digests: Vec<u64> = pieces.iter().map(|piece| stable_hash(piece)).collect();
    let bytes: Vec<u8> = pieces.concat();
    let mut from = &bytes[..];
    let mut records = Vec::new();
    while !from.is_empty() {
        let length = usize::try_from(u64::take(&mut from).ok()?).ok()?;
        let (record, rest) = from.split_at_checked(length)?;
        records.push(decode(record).ok()?);
        from = rest;
    }
    (whole(&digests) == digest).then_some(records)
}

impl Robot {
    /// A piece of the snapshot of somebody whose share we take.
    pub(super) fn on_legacy_piece(&mut self, name: &Text, bytes: Option<&Arc<[u8]>>) {
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
        if legacy.pieces.is_empty() {
            // whoever has nothing has a snapshot without pieces, and none will come
            return self.inherit(session, legacy);
        }
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
        let pieces: Vec<Arc<[u8]>> = legacy.pieces.iter().flatten().cloned().collect();
        let sums = records(&pieces, legacy.snapshot.digest);
        let since = legacy.snapshot.upto.checked_sub(legacy.first);
        let (Some(sums), Some(since)) = (sums, since) else {
            return self.inherit_before(session, legacy);
        };
        let since = legacy.entries.iter().skip(since as usize).cloned();
        let log: Vec<Entry> = std::iter::once(Arc::new(sums)).chain(since).collect();
        self.on_log_read(session, Some(&log));
    }
}
