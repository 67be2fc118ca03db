//! What survives a crash: the page table, the seen set, the WARC archive.
#![doc = include_str!("../README.md")]

pub mod archive;
mod error;
pub mod store;
mod wire;

use std::path::Path;

pub use archive::{Archive, ArchiveId, Place};
pub use error::{Error, Result};
pub use store::{
    ARCHIVES_LIMIT, Admission, ArchiveNumber, Batch, Candidate, Causes, Damage, Durability,
    ENTRY_LIMIT, Fingerprint, Fingerprints, HostId, HostRow, MEMO_LIMIT, Mark, NOTE_LIMIT,
    NOTES_LIMIT, Observation, Observations, Order, Outcome, PACKAGE_LIMIT, Package, PackedPage,
    PageAddress, PageBrief, PageEntry, PageId, PageRow, PageState, Position, RECORD_LIMIT,
    REQUISITE, Reader, Selected, StateCounts, Store, StoreOptions, Totals, URL_LIMIT, Unpacked,
    Wanted, is_in_use, log_end,
};

/// Milliseconds since the Unix epoch, given by the caller.
pub type Time = i64;

/// SHA-1 of a body.
pub type Digest = [u8; 20];

/// The digest of a body, as archives state it.
pub fn digest(body: &[u8]) -> Digest {
    use sha1::Digest as _;
    sha1::Sha1::digest(body).into()
}

/// The beginning of a file that is short unless somebody meddled with it.
pub(crate) fn read_short(path: &Path, limit: u64) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    std::fs::File::open(path)?
        .take(limit)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes a file that is there whole or as it was before.
pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> Result<()> {
    use error::Context;
    use std::io::Write;
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let new = Path::new(&name);
    let mut file = std::fs::File::create(new).context("create", new)?;
    file.write_all(bytes).context("write", new)?;
    file.sync_all().context("sync", new)?;
    std::fs::rename(new, path).context("rename", new)
}
