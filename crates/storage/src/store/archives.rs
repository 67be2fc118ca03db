//! The archives of others that hold copies of pages taken over from them: a row has room for a small number.

use super::Store;
use super::journal::Frame;
use super::record::{self, Kept, Record};
use super::tables::Tables;
use crate::archive::ArchiveId;
use crate::error::{Error, Result};

/// As many may be known.
pub const ARCHIVES_LIMIT: usize = 1 << 14;
const ID: usize = 16;

/// The store's own number of an archive, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ArchiveNumber(pub u16);

/// All that are known.
#[derive(Debug, Default)]
pub(super) struct Archives {
    ids: Vec<ArchiveId>,
    /// How many of them are on disk.
    kept: usize,
    turn: u64,
}

impl Archives {
    pub(super) fn read(tables: &Tables) -> Result<Self> {
        let Kept { turn, bytes } = record::read(tables, Record::Archives)?;
        let ids: Vec<_> = (bytes.chunks_exact(ID))
            .map(|id| ArchiveId(u128::from_le_bytes(id.try_into().expect("as long"))))
            .collect();
        let kept = ids.len();
        Ok(Self { ids, kept, turn })
    }

    /// Puts those into a commit that are not on disk.
    pub(super) fn put(&self, frame: &mut Frame) {
        if self.ids.len() > self.kept {
            let bytes = self.ids.iter().flat_map(|id| id.0.to_le_bytes()).collect();
            let turn = self.turn + 1;
            record::put(Record::Archives, &Kept { turn, bytes }, frame);
        }
    }

    /// That was done.
    pub(super) fn committed(&mut self) {
        self.turn += u64::from(self.ids.len() > self.kept);
        self.kept = self.ids.len();
    }

    pub(super) fn has(&self, number: ArchiveNumber) -> bool {
        number.0 > 0 && usize::from(number.0) <= self.ids.len()
    }

    pub(super) fn id(&self, number: ArchiveNumber) -> Option<ArchiveId> {
        let index = usize::from(number.0).checked_sub(1)?;
        self.ids.get(index).copied()
    }
}

impl Store {
    /// The number of an archive, which is given one if it has none. On disk with the next commit.
    pub fn archive_number(&mut self, id: ArchiveId) -> Result<ArchiveNumber> {
        let ids = &mut self.archives.ids;
        let index = ids
            .iter()
            .position(|&known| known == id)
            .unwrap_or(ids.len());
        if index == ARCHIVES_LIMIT {
            return Err(Error::TooLong {
                what: "a list of archives",
                length: (index + 1) * ID,
                limit: ARCHIVES_LIMIT * ID,
            });
        }
        if index == ids.len() {
            ids.push(id);
        }
        Ok(ArchiveNumber(index as u16 + 1))
    }
}

impl super::Reader {
    /// The archive with this number, if there is one.
    pub fn archive(&self, number: ArchiveNumber) -> Result<Option<ArchiveId>> {
        Ok(Archives::read(&self.tables)?.id(number))
    }
}
