//! Notes: what was worked out from the first so many pages, kept to save the work. Written now and
//! then, beside the journal: a note that is missing, damaged, or of more pages than there are is as
//! if it were not there, and whoever misses it works it out again.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::{PageId, Reader, Store, at_most};
use crate::error::{Context, Result};
use crate::wire::Fields;

/// The longest note.
pub const NOTE_LIMIT: usize = 64 << 20;
/// Pages and checksum.
const HEAD: usize = 8;

fn path(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("note-{name}"))
}

impl Store {
    /// Writes a note on all pages that are committed.
    pub fn note(&self, name: &str, bytes: &[u8]) -> Result<()> {
        at_most("a note", bytes.len(), NOTE_LIMIT)?;
        let mut out = Vec::with_capacity(HEAD + bytes.len());
        out.extend_from_slice(&self.pages.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(bytes);
        let sum = libdeflater::crc32(&out);
        out[4..HEAD].copy_from_slice(&sum.to_le_bytes());
        crate::replace_file(&path(self.reader.directory(), name), &out)
    }
}

impl Reader {
    /// A note, and the first page that it does not know of.
    pub fn read_note(&self, name: &str) -> Result<Option<(PageId, Vec<u8>)>> {
        let path = path(self.directory(), name);
        let file = match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file.context("open", &path)?,
        };
        let mut bytes = Vec::new();
        // one more than there may be
        let limit = (HEAD + NOTE_LIMIT + 1) as u64;
        file.take(limit)
            .read_to_end(&mut bytes)
            .context("read", &path)?;
        let mut fields = Fields(&bytes);
        let (Some(pages), Some(sum)) = (fields.u32(), fields.u32()) else {
            return Ok(None);
        };
        bytes[4..HEAD].fill(0);
        let is_known = bytes.len() < limit as usize
            && libdeflater::crc32(&bytes) == sum
            && pages <= self.page_count()?;
        bytes.drain(..HEAD);
        Ok(is_known.then_some((PageId(pages), bytes)))
    }
}
