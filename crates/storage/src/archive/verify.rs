//! Every record read, every digest compared.

use std::path::Path;

use super::index::digest_text;
use super::read::{Flaw, Record, Records};
use super::{file_name, files};
use crate::digest;
use crate::error::Result;

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
}

/// Reads the whole archive in `directory`.
pub fn verify(directory: &Path) -> Result<VerifyReport> {
    let mut report = VerifyReport::default();
    for (number, path) in files(directory)? {
        report.files += 1;
        for found in Records::open(&path)? {
            match found {
                Ok(record) => {
                    report.records += 1;
                    match wrong_digest(&record) {
                        None => {}
                        Some(Ok(())) => report.digests += 1,
                        Some(Err(what)) => report.flaws.push(Flaw {
                            path: directory.join(file_name(number)),
                            offset: record.place.offset,
                            length: u64::from(record.place.length),
                            what,
                        }),
                    }
                }
                Err(flaw) => report.flaws.push(flaw),
            }
        }
    }
    Ok(report)
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
