//! Records of which a store has one each: what was learnt of all pages, what the keeper knows besides,
//! and the figures of the whole. Each has two files that are written in turn, so that the one before is still
//! there while a new one is being written, and after a damaged byte.

use super::journal::Frame;
use super::tables::{Table, Tables};
use crate::error::Result;
use crate::wire::Fields;

/// The longest record.
pub const RECORD_LIMIT: usize = 1 << 20;
/// Magic, length, turn, checksum of them and of the bytes.
const HEAD: usize = 20;
const MAGIC: [u8; 4] = [0x5d, 0xb0, 0x1f, 0xe6];

/// Which record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    /// What was learnt of all pages together.
    Learnt,
    /// What the keeper knows besides.
    Keeper,
    /// The figures of the whole.
    Totals,
    /// Where what is for others begins and ends.
    Outbox,
    /// The archives of others.
    Archives,
}

impl Record {
    fn table(self, turn: u64) -> Table {
        match (self, turn % 2) {
            (Self::Learnt, 0) => Table::LearntEven,
            (Self::Learnt, _) => Table::LearntOdd,
            (Self::Keeper, 0) => Table::KeeperEven,
            (Self::Keeper, _) => Table::KeeperOdd,
            (Self::Totals, 0) => Table::TotalsEven,
            (Self::Totals, _) => Table::TotalsOdd,
            (Self::Outbox, 0) => Table::OutboxEven,
            (Self::Outbox, _) => Table::OutboxOdd,
            (Self::Archives, 0) => Table::ArchivesEven,
            (Self::Archives, _) => Table::ArchivesOdd,
        }
    }
}

/// A record as it was last committed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    /// How often it was written; 0 for never.
    pub(crate) turn: u64,
    pub(crate) bytes: Vec<u8>,
}

/// Puts `bytes` where the record before the last one was.
pub(crate) fn put(record: Record, kept: &Kept, frame: &mut Frame) {
    let Kept { turn, bytes } = kept;
    let mut out = Vec::with_capacity(HEAD + bytes.len());
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(&turn.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(bytes);
    let sum = libdeflater::crc32(&out);
    out[HEAD - 4..HEAD].copy_from_slice(&sum.to_le_bytes());
    frame.put(record.table(*turn), 0, &out);
}

/// The later of the two that is whole.
pub(crate) fn read(tables: &Tables, record: Record) -> Result<Kept> {
    let mut latest = Kept::default();
    for turn in 0..2 {
        if let Some(found) = read_from(tables, record.table(turn))?
            && found.turn > latest.turn
            && found.turn % 2 == turn
        {
            latest = found;
        }
    }
    Ok(latest)
}

fn read_from(tables: &Tables, table: Table) -> Result<Option<Kept>> {
    let mut head = [0; HEAD];
    tables.read(table, &mut head, 0)?;
    let mut fields = Fields(&head);
    let (Some(MAGIC), Some(length), Some(turn), Some(sum)) =
        (fields.array(), fields.u32(), fields.u64(), fields.u32())
    else {
        return Ok(None);
    };
    let length = length as usize;
    if length > RECORD_LIMIT {
        return Ok(None);
    }
    let mut bytes = vec![0; HEAD + length];
    tables.read(table, &mut bytes, 0)?;
    bytes[HEAD - 4..HEAD].fill(0);
    if libdeflater::crc32(&bytes) != sum {
        return Ok(None);
    }
    bytes.drain(..HEAD);
    Ok(Some(Kept { turn, bytes }))
}
