//! What is for others: entries that are committed with what they were found with, read in that order, and
//! forgotten when a receipt is committed.
//!
//! One file of entries, each with a head of its own. A receipt overwrites one byte. When more than half of
//! it is forgotten, what is left is written to the front, in the same commit.

use std::collections::{BTreeMap, BTreeSet};

use super::journal::Frame;
use super::record::{self, Kept, Record};
use super::tables::{Table, Tables};
use super::{Batch, Damage, Store, at_most};
use crate::error::{Error, Result};
use crate::wire::{Fields, put_varint};

/// The longest entry.
pub const ENTRY_LIMIT: usize = 1 << 18;
/// Magic, forgotten or not, three bytes for later, number, length, checksum of number, length and bytes.
const HEAD: usize = 24;
const MAGIC: [u8; 4] = [0xb7, 0x0e, 0x93, 0x4a];
/// Where the head says that the entry is forgotten.
const STATE: u64 = 4;
const FORGOTTEN: u8 = 1;
/// Below this nothing is moved to the front.
const WORTHWHILE: u64 = 1 << 20;

/// Where an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    offset: u64,
    length: u32,
}

impl Extent {
    fn end(self) -> u64 {
        self.offset + HEAD as u64 + u64::from(self.length)
    }
}

/// What is where, in memory while the store is written to: some 30 bytes an entry.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    entries: BTreeMap<u64, Extent>,
    /// Bytes that they take.
    live: u64,
    marks: Marks,
    turn: u64,
}

/// What a commit makes of it.
pub(super) struct Change {
    forgotten: Vec<u64>,
    /// All that is kept was moved to the front.
    moved: bool,
    entries: Vec<(u64, Extent)>,
    live: u64,
    marks: Marks,
}

/// What the record says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Marks {
    end: u64,
    /// The number of the next entry.
    next: u64,
}

impl Marks {
    fn encode(self) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(&mut out, self.end);
        put_varint(&mut out, self.next);
        out
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let (end, next) = (fields.varint()?, fields.varint()?);
        Some(Self { end, next })
    }
}

fn encode(number: u64, bytes: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&number.to_le_bytes());
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(bytes);
    let sum = libdeflater::crc32(&out[start + 8..]);
    out[start + HEAD - 4..start + HEAD].copy_from_slice(&sum.to_le_bytes());
}

/// The entry that the bytes begin with: its number, whether it is kept, and what it says.
fn decode(bytes: &[u8]) -> Option<(u64, bool, &[u8])> {
    let mut fields = Fields(bytes);
    if fields.array()? != MAGIC {
        return None;
    }
    let [state, ..]: [u8; 4] = fields.array()?;
    let (number, length, sum) = (fields.u64()?, fields.u32()?, fields.u32()?);
    let entry = fields.take(length as usize)?;
    let mut checked = bytes[8..HEAD + entry.len()].to_vec();
    checked[HEAD - 12..HEAD - 8].fill(0);
    (libdeflater::crc32(&checked) == sum).then_some((number, state != FORGOTTEN, entry))
}

impl Outbox {
    /// As it was committed; entries that are not readable are told.
    pub(super) fn read(tables: &Tables, damage: &mut Vec<Damage>) -> Result<Self> {
        let kept = record::read(tables, Record::Outbox)?;
        let Some(marks) = Marks::decode(&kept.bytes) else {
            return Ok(Self::default());
        };
        let mut outbox = Self {
            marks,
            turn: kept.turn,
            ..Self::default()
        };
        let mut lost = 0;
        let mut offset = 0;
        let end = marks.end.min(tables.length(Table::Outbox)?);
        let mut bytes = vec![0; HEAD + ENTRY_LIMIT];
        while offset < end {
            let within = bytes.len().min((end - offset) as usize);
            let read = tables.read(Table::Outbox, &mut bytes[..HEAD.min(within)], offset)?;
            let length = length_of(&bytes[..read]).filter(|&length| length <= within);
            let entry = match length {
                Some(length) => {
                    let read = tables.read(Table::Outbox, &mut bytes[..length], offset)?;
                    decode(&bytes[..read])
                }
                None => None,
            };
            let Some((number, is_kept, entry)) = entry else {
                lost += 1;
                offset = next_entry(tables, offset + 1, end)?;
                continue;
            };
            let length = entry.len() as u32;
            let extent = Extent { offset, length };
            if is_kept {
                outbox.live += extent.end() - offset;
                outbox.entries.insert(number, extent);
            }
            offset = extent.end();
        }
        if lost > 0 {
            damage.push(Damage {
                path: tables.path(Table::Outbox),
                what: format!("at {lost} places entries for others are not readable"),
            });
        }
        Ok(outbox)
    }

    pub(super) fn memory(&self) -> usize {
        self.entries.len() * 32
    }

    /// Puts what a commit changes into `frame`; nothing if it changes nothing.
    pub(super) fn put(
        &self,
        batch: &Batch,
        tables: &Tables,
        frame: &mut Frame,
    ) -> Result<Option<Change>> {
        if batch.outbox.is_empty() && batch.receipts.is_empty() {
            return Ok(None);
        }
        let mut change = Change {
            forgotten: Vec::new(),
            moved: false,
            entries: Vec::new(),
            live: self.live,
            marks: self.marks,
        };
        let forgotten: BTreeSet<u64> = batch.receipts.iter().copied().collect();
        // some are told twice, or were never ours
        for number in forgotten {
            if let Some(&extent) = self.entries.get(&number) {
                frame.put(Table::Outbox, extent.offset + STATE, &[FORGOTTEN]);
                change.live -= extent.end() - extent.offset;
                change.forgotten.push(number);
            }
        }
        let mut bytes = Vec::new();
        change.moved = self.marks.end >= 2 * change.live + WORTHWHILE || change.live == 0;
        let start = if change.moved { 0 } else { self.marks.end };
        let mut add = |number: u64, entry: &[u8]| {
            let offset = start + bytes.len() as u64;
            let length = entry.len() as u32;
            encode(number, entry, &mut bytes);
            change.entries.push((number, Extent { offset, length }));
        };
        if change.moved {
            // the journal has all of it before the first byte is overwritten
            for (&number, &extent) in &self.entries {
                if change.forgotten.binary_search(&number).is_err() {
                    add(number, &entry_at(tables, number, extent)?);
                }
            }
        }
        for entry in &batch.outbox {
            at_most("an entry for others", entry.len(), ENTRY_LIMIT)?;
            add(change.marks.next, entry);
            change.marks.next += 1;
            change.live += (HEAD + entry.len()) as u64;
        }
        change.marks.end = start + bytes.len() as u64;
        if !bytes.is_empty() {
            frame.put(Table::Outbox, start, &bytes);
        }
        let kept = Kept {
            turn: self.turn + 1,
            bytes: change.marks.encode(),
        };
        record::put(Record::Outbox, &kept, frame);
        Ok(Some(change))
    }

    /// After the commit.
    pub(super) fn enter(&mut self, change: Change) {
        if change.moved {
            self.entries.clear();
        }
        for number in change.forgotten {
            self.entries.remove(&number);
        }
        self.entries.extend(change.entries);
        self.live = change.live;
        self.marks = change.marks;
        self.turn += 1;
    }
}

/// How long the entry is whose head this is.
fn length_of(head: &[u8]) -> Option<usize> {
    let mut fields = Fields(head.get(..HEAD)?);
    if fields.array()? != MAGIC {
        return None;
    }
    fields.take(12)?;
    let length = fields.u32()? as usize;
    (length <= ENTRY_LIMIT).then_some(HEAD + length)
}

/// Where from `from` on an entry may begin.
fn next_entry(tables: &Tables, mut from: u64, end: u64) -> Result<u64> {
    let mut chunk = vec![0; 1 << 16];
    while from < end {
        let read = tables.read(Table::Outbox, &mut chunk, from)?;
        let found = chunk[..read].windows(4).position(|bytes| bytes == MAGIC);
        if let Some(found) = found {
            return Ok(from + found as u64);
        }
        if read < chunk.len() {
            break;
        }
        // a beginning may lie across the border
        from += (read - 3) as u64;
    }
    Ok(end)
}

fn entry_at(tables: &Tables, number: u64, extent: Extent) -> Result<Vec<u8>> {
    let mut bytes = vec![0; HEAD + extent.length as usize];
    let read = tables.read(Table::Outbox, &mut bytes, extent.offset)?;
    match decode(&bytes[..read]) {
        Some((found, true, entry)) if found == number => Ok(entry.to_vec()),
        _ => Err(Error::Damaged {
            path: tables.path(Table::Outbox),
            what: format!("entry {number} for others is not readable"),
        }),
    }
}

impl Store {
    /// Entries for others that no receipt was committed for.
    pub fn outbox_len(&self) -> usize {
        self.outbox.entries.len()
    }

    /// The numbers of those entries.
    pub fn outbox_numbers(&self) -> impl Iterator<Item = u64> {
        self.outbox.entries.keys().copied()
    }

    /// The number that the next entry will have: they are numbered from 0, and no number is given twice.
    pub fn outbox_next(&self) -> u64 {
        self.outbox.marks.next
    }

    /// The first `most` entries from number `from` on, in the order in which they were committed.
    pub fn outbox(&self, from: u64, most: usize) -> Result<Vec<(u64, Vec<u8>)>> {
        let entries = self.outbox.entries.range(from..).take(most);
        entries
            .map(|(&number, &extent)| Ok((number, entry_at(&self.reader.tables, number, extent)?)))
            .collect()
    }
}
