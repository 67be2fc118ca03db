//! How a log is written: chunks that fit into a message. Entries that are appended together share
//! chunks; one that is too large has several of its own and counts when the last is in.

use std::sync::Arc;

use fleet::record::Record;
use fleet::wire::{FORMAT, Wire, WireError, decode};

use crate::{Entry, Replayed};

/// Most bytes of entries in one chunk.
const PART: usize = 1 << 20;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Chunk {
    /// Entries that the log has when this is in.
    pub complete: u64,
    /// The how many-th of those that belong together; with 0, what is unfinished is void.
    part: u32,
    last: bool,
    /// Nothing follows.
    pub sealed: bool,
    bytes: Arc<[u8]>,
}

impl Wire for Chunk {
    fn put(&self, out: &mut Vec<u8>) {
        self.complete.put(out);
        self.part.put(out);
        self.last.put(out);
        self.sealed.put(out);
        self.bytes.put(out);
    }

    fn take(from: &mut &[u8]) -> Result<Self, WireError> {
        Ok(Self {
            complete: Wire::take(from)?,
            part: Wire::take(from)?,
            last: Wire::take(from)?,
            sealed: Wire::take(from)?,
            bytes: Wire::take(from)?,
        })
    }
}

impl Chunk {
    /// The end of a log with so many entries.
    pub(crate) fn seal(complete: u64) -> Self {
        Self {
            complete,
            part: 0,
            last: false,
            sealed: true,
            bytes: Arc::new([]),
        }
    }

    /// Whether the log is whole up to here.
    pub(crate) fn finishes(&self) -> bool {
        self.last || self.sealed
    }

    /// Entries for a log that has `first` of them.
    pub(crate) fn cut(first: u64, entries: &[Entry]) -> Vec<Self> {
        let mut chunks = Vec::new();
        let (mut done, mut begun) = (first, 0);
        while begun < entries.len() {
            let (mut bytes, mut count) = (Vec::new(), 0);
            for entry in &entries[begun..] {
                let before = bytes.len();
                (entry.len() as u64).put(&mut bytes);
                entry.iter().for_each(|record| record.put(&mut bytes));
                if count > 0 && bytes.len() > PART {
                    bytes.truncate(before);
                    break;
                }
                count += 1;
            }
            let mut whole = vec![FORMAT];
            (count as u64).put(&mut whole);
            whole.append(&mut bytes);
            let parts = whole.len().div_ceil(PART);
            for (part, bytes) in whole.chunks(PART).enumerate() {
                let last = part + 1 == parts;
                chunks.push(Self {
                    complete: if last { done + count as u64 } else { done },
                    part: part as u32,
                    last,
                    sealed: false,
                    bytes: bytes.into(),
                });
            }
            done += count as u64;
            begun += count;
        }
        chunks
    }
}

/// Reads chunks in the order of the log.
#[derive(Debug, Default)]
pub(crate) struct Joiner {
    from: Option<u64>,
    entries: Vec<Entry>,
    unfinished: Vec<u8>,
    parts: u32,
    sealed: bool,
}

impl Joiner {
    /// The next chunk.
    pub(crate) fn push(&mut self, chunk: &Chunk) -> Result<(), WireError> {
        if chunk.sealed {
            self.sealed = true;
            self.from.get_or_insert(chunk.complete);
            return Ok(());
        }
        if chunk.part == 0 {
            self.unfinished.clear();
            self.parts = 0;
        }
        if chunk.part != self.parts {
            return Err(WireError::Short);
        }
        self.parts += 1;
        self.unfinished.extend_from_slice(&chunk.bytes);
        if !chunk.last {
            return Ok(());
        }
        let new: Vec<Vec<Record>> = decode(&self.unfinished)?;
        self.unfinished.clear();
        let first = chunk.complete.checked_sub(new.len() as u64);
        let first = first.ok_or(WireError::Short)?;
        if first != *self.from.get_or_insert(first) + self.entries.len() as u64 {
            return Err(WireError::Order);
        }
        self.entries.extend(new.into_iter().map(Arc::new));
        Ok(())
    }

    /// The log, if it is sealed.
    pub(crate) fn sealed(self) -> Option<Replayed> {
        self.sealed.then_some(Replayed {
            from: self.from.unwrap_or(0),
            entries: self.entries,
        })
    }
}

#[cfg(test)]
mod tests {
    use fleet::identity::Unit;
    use fleet::wire::encode;

    use super::*;

    fn entry(bytes: usize, fill: u8) -> Entry {
        let row = Record::Row(Unit::Register(fill % 64), vec![fill; bytes].into());
        Arc::new(vec![row])
    }

    fn joined(chunks: &[Chunk]) -> Result<Option<Replayed>, WireError> {
        let mut joiner = Joiner::default();
        for chunk in chunks {
            let again = decode::<Chunk>(&encode(chunk))?;
            assert_eq!(&again, chunk);
            joiner.push(&again)?;
        }
        Ok(joiner.sealed())
    }

    #[test]
    fn what_is_cut_is_joined() {
        let sizes = [0, 10, PART / 2, PART / 2, PART / 2, 3 * PART, 5, 5];
        let entries: Vec<Entry> = (0..)
            .zip(sizes)
            .map(|(fill, size)| entry(size, fill))
            .collect();
        let mut chunks = Chunk::cut(7, &entries);
        assert!(chunks.iter().all(|chunk| encode(chunk).len() < PART + 64));
        assert_eq!(chunks.last().map(|chunk| chunk.complete), Some(15));
        assert_eq!(joined(&chunks), Ok(None), "not sealed");
        chunks.push(Chunk::seal(15));
        assert_eq!(joined(&chunks), Ok(Some(Replayed { from: 7, entries })));
    }

    #[test]
    fn an_unfinished_entry_counts_for_nothing() {
        let mut chunks = Chunk::cut(0, &[entry(3 * PART, 1)]);
        chunks.pop();
        assert!(chunks.iter().all(|chunk| chunk.complete == 0));
        let again = [entry(1, 2)];
        chunks.extend(Chunk::cut(0, &again));
        chunks.push(Chunk::seal(1));
        let entries = again.to_vec();
        assert_eq!(joined(&chunks), Ok(Some(Replayed { from: 0, entries })));
    }

    #[test]
    fn a_gap_is_seen() {
        let mut chunks = Chunk::cut(0, &[entry(3 * PART, 1)]);
        chunks.remove(1);
        assert_eq!(joined(&chunks), Err(WireError::Short));
        let mut chunks = Chunk::cut(0, &[entry(1, 1)]);
        chunks.extend(Chunk::cut(2, &[entry(1, 1)]));
        assert_eq!(joined(&chunks), Err(WireError::Order));
    }
}
