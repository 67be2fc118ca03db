//! From format 1, which has no briefs and no summary, to the present one.
//!
//! What is new is made from what is old, and only then does the store say that it is of the new
//! format. Killed at any moment before, it is of the old one still, and all is made again.

use super::directory::VERSION;
use super::tables::Table;
use super::{Reader, brief};
use crate::error::Result;

/// Bytes written at a time.
const CHUNK: usize = 1 << 20;

/// Makes the briefs of all pages from their rows, and makes them durable. Journals must have been
/// repeated. The summary is made by whoever misses it.
pub(super) fn migrate(reader: &mut Reader) -> Result<()> {
    let pages = reader.page_count()?;
    tracing::info!(
        pages,
        from = reader.version,
        to = VERSION,
        "a store of an older format"
    );
    // made by whoever was killed before, and perhaps not up to date
    for &table in Table::NEW {
        reader.tables.truncate(table, 0)?;
    }
    let mut offset = 0;
    let mut chunk = Vec::with_capacity(CHUNK + brief::SLOT);
    for (page, entry) in (1..).zip(reader.pages()?) {
        // what is not readable is reported by whoever asks for it
        if let Ok(entry) = entry
            && let Some(row) = entry.row
        {
            chunk.extend_from_slice(&brief::encode(&row));
        }
        let end = page * brief::SLOT as u64;
        chunk.resize((end - offset) as usize, 0);
        if chunk.len() >= CHUNK || page == u64::from(pages) {
            reader.tables.write_flat(Table::Briefs, offset, &chunk)?;
            offset = end;
            chunk.clear();
        }
    }
    reader.tables.written().sync()
}
