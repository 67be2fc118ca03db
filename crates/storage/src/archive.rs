//! The archive: WARC 1.1 files, one gzip member for each record, and their CDXJ index.

pub mod date;
mod id;
mod index;
mod lines;
mod lookup;
mod prune;
mod read;
mod record;
mod recover;
mod surt;
#[cfg(test)]
mod tests;
mod verify;

use std::fmt::Write;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

pub use id::{ArchiveId, id, identify};
pub use index::{IndexEntry, digest_text};
pub use lookup::{Version, lookup, version};
pub use prune::{Keep, Pruned, Pruning, prune};
pub use read::{Flaw, RECORD_LIMIT, Record, Records, read, records};
pub use record::{Exchange, HttpVersion, Original, Packed, Packer, Revisit, Truncated};
pub use verify::{VerifyReport, verify, verify_copies};

use crate::error::{Context, Error, Result, sync_directory};
use crate::store::{Durability, lock_directory};

/// Bytes kept in memory before they are written; [`Archive::sync`] writes them too.
const BUFFER: usize = 1 << 20;
const PREFIX: &str = "evercrawl-";
const SUFFIX: &str = ".warc.gz";

/// Where a record is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Place {
    /// The number in the name of the file.
    pub file: u32,
    /// Where it begins.
    pub offset: u64,
    /// Its bytes, compressed.
    pub length: u32,
}

/// How to keep the archive.
#[derive(Clone, Debug)]
pub struct ArchiveOptions {
    /// A file that has reached this size is followed by a new one.
    pub rotate_bytes: u64,
    /// What [`Archive::sync`] survives.
    pub durability: Durability,
    /// Lines of the `warcinfo` record of each file: `software`, `operator`, `robots`, …
    pub info: Vec<(String, String)>,
}

impl Default for ArchiveOptions {
    fn default() -> Self {
        Self {
            // what the standard recommends
            rotate_bytes: 1 << 30,
            durability: Durability::Synced,
            info: vec![(
                "software".into(),
                concat!("evercrawl/", env!("CARGO_PKG_VERSION")).into(),
            )],
        }
    }
}

/// A tail that was no whole record when the archive was opened: cut off, and kept beside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// The archive file.
    pub file: PathBuf,
    /// Where it ends now.
    pub offset: u64,
    /// What was cut off.
    pub lost_bytes: u64,
    /// Where the cut bytes are.
    pub kept_in: PathBuf,
}

/// The archive of one robot, open for appending.
///
/// A record is durable after [`Archive::sync`]; the store may refer to its place from then on.
pub struct Archive {
    directory: PathBuf,
    options: ArchiveOptions,
    /// The file being written, if there is one.
    current: Option<Current>,
    /// The number of the last file there is.
    last: u32,
    recovered: Vec<Recovered>,
    broken: Option<String>,
    /// Held until the end.
    _lock: File,
}

/// The file being written and its index.
struct Current {
    number: u32,
    path: PathBuf,
    file: File,
    written: u64,
    buffer: Vec<u8>,
    index_path: PathBuf,
    index: File,
    index_written: u64,
    lines: String,
}

impl Archive {
    /// Opens the archive in `directory`, which nothing else uses, making it if there is none. A
    /// tail that is no whole record is cut off and reported; an index that is missing or behind is
    /// made anew.
    pub fn open(directory: &Path, options: ArchiveOptions) -> Result<Self> {
        std::fs::create_dir_all(directory).context("create", directory)?;
        let lock = lock_directory(directory)?;
        let mut recovered = Vec::new();
        let (last, current) = recover::recover(directory, &mut recovered)?;
        Ok(Self {
            directory: directory.to_path_buf(),
            options,
            current,
            last,
            recovered,
            broken: None,
            _lock: lock,
        })
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What had to be cut off when it was opened.
    pub fn recovered(&self) -> &[Recovered] {
        &self.recovered
    }

    /// Adds a record. After an error it was not added, and may be again.
    pub fn append(&mut self, record: &Packed) -> Result<Place> {
        self.expect_whole()?;
        if record.unpacked > RECORD_LIMIT {
            return Err(Error::TooLong {
                what: "a record",
                length: record.unpacked,
                limit: RECORD_LIMIT,
            });
        }
        let full = self
            .current
            .as_ref()
            .is_some_and(|c| c.end() >= self.options.rotate_bytes);
        if full {
            self.seal()?;
        }
        if self.current.is_none() {
            self.start(record)?;
        }
        let current = self.current.as_mut().expect("a file was just started");
        if current.buffer.len() >= BUFFER {
            current.flush()?;
        }
        Ok(current.push(record))
    }

    /// Writes what was appended and makes it durable as the options say.
    pub fn sync(&mut self) -> Result<()> {
        self.expect_whole()?;
        let Some(current) = &mut self.current else {
            return Ok(());
        };
        current.flush()?;
        if self.options.durability == Durability::Synced
            && let Err(error) = current.file.sync_data()
        {
            // after a failed sync the kernel may have forgotten what it did not write
            self.broken = Some(error.to_string());
            return Err(error).context("sync", &current.path);
        }
        Ok(())
    }

    /// The record at `place`, durable or not.
    pub fn read(&mut self, place: Place) -> Result<Record> {
        if let Some(current) = &mut self.current {
            current.flush()?;
        }
        read(&self.directory, place)
    }

    fn expect_whole(&self) -> Result<()> {
        match &self.broken {
            Some(cause) => Err(Error::Broken(cause.clone())),
            None => Ok(()),
        }
    }

    /// Ends the current file: its index is sorted, as tools expect it. The number of the last file.
    pub fn seal(&mut self) -> Result<u32> {
        self.sync()?;
        if let Some(current) = &self.current {
            // no more than was written there
            let mut text = vec![0; current.index_written as usize];
            let read = current.index.read_exact_at(&mut text, 0);
            read.context("read", &current.index_path)?;
            recover::write_sealed(&self.directory, current.number, &text)?;
        }
        self.current = None;
        Ok(self.last)
    }

    /// Starts a file with a record that says who made it.
    fn start(&mut self, first: &Packed) -> Result<()> {
        let number = self.last + 1;
        let mut current = Current::open(&self.directory, number, 0, 0)?;
        sync_directory(&self.directory)?;
        let mut fields: Vec<(&str, &str)> = self
            .options
            .info
            .iter()
            .map(|(n, v)| (&n[..], &v[..]))
            .collect();
        fields.push(("format", "WARC File Format 1.1"));
        // ids of such records follow from name and time; no other record has these
        let info = Packer::new(1, 0).info(&file_name(number), first.time, &fields);
        current.push(&info);
        self.last = number;
        self.current = Some(current);
        Ok(())
    }
}

impl Drop for Archive {
    fn drop(&mut self) {
        if self.broken.is_none()
            && let Some(current) = &mut self.current
            && let Err(error) = current.flush()
        {
            tracing::warn!(%error, "the last records were not written");
        }
    }
}

impl Current {
    /// Opens file and index to go on at the given ends; what is behind them is cut.
    fn open(directory: &Path, number: u32, written: u64, index_written: u64) -> Result<Self> {
        let open = |path: &Path, length: u64| -> Result<File> {
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(path)
                .context("open", path)?;
            file.set_len(length).context("truncate", path)?;
            Ok(file)
        };
        let path = directory.join(file_name(number));
        let index_path = open_index(directory, number);
        Ok(Self {
            number,
            file: open(&path, written)?,
            index: open(&index_path, index_written)?,
            path,
            written,
            buffer: Vec::new(),
            index_path,
            index_written,
            lines: String::new(),
        })
    }

    fn end(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    fn push(&mut self, record: &Packed) -> Place {
        let place = Place {
            file: self.number,
            offset: self.end(),
            length: record.bytes.len() as u32,
        };
        self.buffer.extend_from_slice(&record.bytes);
        if let Some(head) = &record.index {
            self.lines.push_str(head);
            self.lines
                .push_str(&index::tail(place, &file_name(self.number)));
        }
        place
    }

    /// The index after the records: it may be behind, never ahead.
    fn flush(&mut self) -> Result<()> {
        write_all(&self.file, &self.path, &self.buffer, &mut self.written)?;
        self.buffer.clear();
        write_all(
            &self.index,
            &self.index_path,
            self.lines.as_bytes(),
            &mut self.index_written,
        )?;
        self.lines.clear();
        Ok(())
    }
}

/// Writes at the end, or not at all.
fn write_all(file: &File, path: &Path, bytes: &[u8], end: &mut u64) -> Result<()> {
    if let Err(error) = file.write_all_at(bytes, *end) {
        // cut again at the next open if this fails too
        let _ = file.set_len(*end);
        return Err(error).context("write", path);
    }
    *end += bytes.len() as u64;
    Ok(())
}

fn file_name(number: u32) -> String {
    format!("{PREFIX}{number:05}{SUFFIX}")
}

fn file_number(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?;
    name.strip_prefix(PREFIX)?
        .strip_suffix(SUFFIX)?
        .parse()
        .ok()
}

fn sealed_index(directory: &Path, number: u32) -> PathBuf {
    directory.join(format!("{PREFIX}{number:05}.cdxj"))
}

fn open_index(directory: &Path, number: u32) -> PathBuf {
    directory.join(format!("{PREFIX}{number:05}.cdxj.open"))
}

/// The archive files in `directory`, in order.
pub fn files(directory: &Path) -> Result<Vec<(u32, PathBuf)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).context("list", directory)? {
        let path = entry.context("list", directory)?.path();
        found.extend(file_number(&path).map(|number| (number, path)));
    }
    found.sort_unstable();
    Ok(found)
}

/// A URL that can stand in a header or an index: nothing but visible ASCII.
fn clean_url(url: &str) -> String {
    let mut clean = String::with_capacity(url.len());
    for byte in url.bytes() {
        if byte.is_ascii_graphic() {
            clean.push(char::from(byte));
        } else {
            let _ = write!(clean, "%{byte:02X}");
        }
    }
    clean
}
