//! Every record read, every digest compared, and the archive with its index and with what pages say
//! of it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::index::{self, digest_text};
use super::read::{Flaw, Record, Records};
use super::recover::line;
use super::{PREFIX, Place, file_name, files};
use crate::digest;
use crate::error::{Context, Result};
use crate::store::PageId;

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct VerifyReport {
    /// Files looked at.
    pub files: u32,
    /// Records that could be read.
    pub records: u64,
    /// Digests that were compared and right.
    pub digests: u64,
    /// Everything that was not as written.
    pub flaws: Vec<Flaw>,
    /// Of the copies that should be there, those that are not.
    pub lost: Vec<PageId>,
}

/// Reads the whole archive in `directory` and compares it with its index.
pub fn verify(directory: &Path) -> Result<VerifyReport> {
    verify_copies(directory, Vec::new())
}

/// The same, and looks whether the copies are there that pages should have: 24 bytes of memory for
/// each. Copies that were made while it is at work are not to be among them.
pub fn verify_copies(directory: &Path, mut copies: Vec<(Place, PageId)>) -> Result<VerifyReport> {
    copies.sort_unstable_by_key(|(place, _)| (place.file, place.offset));
    let mut report = VerifyReport::default();
    let files = files(directory)?;
    let mut rest = &copies[..];
    for (number, path) in &files {
        let lost = rest.partition_point(|(place, _)| place.file < *number);
        let here = rest.partition_point(|(place, _)| place.file <= *number);
        report.lose(&rest[..lost]);
        report.verify_file(directory, *number, path, &rest[lost..here])?;
        rest = &rest[here..];
    }
    report.lose(rest);
    report.verify_orphans(directory, &files)?;
    report.lost.sort_unstable();
    Ok(report)
}

impl VerifyReport {
    fn lose(&mut self, copies: &[(Place, PageId)]) {
        self.lost.extend(copies.iter().map(|(_, page)| page));
    }

    /// One file, of which these copies should be part.
    fn verify_file(
        &mut self,
        directory: &Path,
        number: u32,
        path: &Path,
        mut copies: &[(Place, PageId)],
    ) -> Result<()> {
        self.files += 1;
        // where the index says that records are; what is left of them in the end is not there
        let mut indexed = indexed(directory, number)?;
        for found in Records::open(path)? {
            let record = match found {
                Ok(record) => record,
                Err(flaw) => {
                    self.flaws.push(flaw);
                    continue;
                }
            };
            self.records += 1;
            let place = record.place;
            let before = copies.partition_point(|(copy, _)| copy.offset < place.offset);
            self.lose(&copies[..before]);
            copies = &copies[before..];
            let same = copies.partition_point(|(copy, _)| copy.offset == place.offset);
            let is_whole = |(copy, _): &&(Place, PageId)| copy.length == place.length;
            let lost = copies[..same].iter().filter(|copy| !is_whole(copy));
            self.lost.extend(lost.map(|(_, page)| page));
            copies = &copies[same..];
            let flaw = |what: String| Flaw {
                path: path.to_path_buf(),
                offset: place.offset,
                length: u64::from(place.length),
                what,
            };
            match wrong_digest(&record) {
                None => {}
                Some(Ok(())) => self.digests += 1,
                Some(Err(what)) => self.flaws.push(flaw(what)),
            }
            if line(&record).is_some() && indexed.remove(&place.offset) != Some(place.length) {
                self.flaws.push(flaw("it is not in the index".into()));
            }
        }
        self.lose(copies);
        let mut missing: Vec<_> = indexed.into_iter().collect();
        missing.sort_unstable();
        let missing = missing.into_iter().map(|(offset, length)| Flaw {
            path: path.to_path_buf(),
            offset,
            length: u64::from(length),
            what: "the index names a record here, and there is none".into(),
        });
        // damage that was told already may be what is missing
        let told: Vec<_> = self
            .flaws
            .iter()
            .filter(|flaw| flaw.path == path)
            .cloned()
            .collect();
        self.flaws.extend(missing.filter(|missing| {
            !told.iter().any(|told| {
                told.offset <= missing.offset && missing.offset < told.offset + told.length
            })
        }));
        Ok(())
    }

    /// Indexes whose files are gone.
    fn verify_orphans(&mut self, directory: &Path, files: &[(u32, PathBuf)]) -> Result<()> {
        for entry in std::fs::read_dir(directory).context("list", directory)? {
            let path = entry.context("list", directory)?.path();
            let Some(number) = indexed_file(&path) else {
                continue;
            };
            if files.iter().any(|(file, _)| *file == number) {
                continue;
            }
            let records = indexed(directory, number)?.len();
            self.flaws.push(Flaw {
                path: directory.join(file_name(number)),
                offset: 0,
                length: 0,
                what: format!("the file is missing; {records} records were in it"),
            });
        }
        Ok(())
    }
}

/// The number of the file that an index is of.
fn indexed_file(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?.strip_prefix(PREFIX)?;
    let number = name
        .strip_suffix(".cdxj")
        .or(name.strip_suffix(".cdxj.open"));
    number?.parse().ok()
}

/// The records that the index of a file names: where they begin, and how long they are.
fn indexed(directory: &Path, number: u32) -> Result<HashMap<u64, u32>> {
    let mut records = HashMap::new();
    index::each(directory, number, |entry| {
        records.insert(entry.place.offset, entry.place.length);
    })?;
    Ok(records)
}

/// Whether the payload has the digest it should have; `None` if nothing is said, or if the payload
/// is in another record.
fn wrong_digest(record: &Record) -> Option<std::result::Result<(), String>> {
    if record.kind() == "revisit" {
        return None;
    }
    let stated = record.header("WARC-Payload-Digest")?;
    if !stated.starts_with("sha1:") {
        return None;
    }
    let found = digest_text(&digest(&record.payload));
    Some(if found.eq_ignore_ascii_case(stated) {
        Ok(())
    } else {
        Err(format!("its payload has the digest {found}, not {stated}"))
    })
}

#[cfg(test)]
mod tests;
