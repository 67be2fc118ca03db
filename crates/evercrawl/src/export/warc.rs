//! The archive's records in one file.

use crate::archive::unfinished_from;
use crate::data::{Data, is_host};
use anyhow::{Context, Result};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use storage::archive::{Record, Records, files};
use url::{Position, Url};

/// Writes every readable record of the host, or of all, as it is; returns the number of damaged
/// places.
pub fn write(data: &Data, host: Option<&str>, out: &mut impl Write) -> Result<u64> {
    let archive = data.archive()?;
    let unfinished = unfinished_from(data, &archive)?;
    let mut damaged = 0;
    let mut bytes = Vec::new();
    for (_, path) in files(&archive)? {
        let file = File::open(&path).with_context(|| format!("cannot open {}", path.display()))?;
        for record in Records::open(&path)? {
            match record {
                Ok(record) => {
                    if host.is_none_or(|host| is_of(&record, host)) {
                        bytes.resize(record.place.length as usize, 0);
                        file.read_exact_at(&mut bytes, record.place.offset)
                            .with_context(|| format!("cannot read {}", path.display()))?;
                        out.write_all(&bytes)?;
                    }
                }
                Err(flaw) if unfinished.as_ref().is_some_and(|end| end.holds(&flaw)) => {}
                Err(_) => damaged += 1,
            }
        }
    }
    Ok(damaged)
}

/// Whether a record is of a host; those of no URL tell how the archive was made.
fn is_of(record: &Record, host: &str) -> bool {
    let Some(url) = record.url().and_then(|url| Url::parse(url).ok()) else {
        return record.url().is_none();
    };
    is_host(&url[..Position::BeforePath], host)
}
