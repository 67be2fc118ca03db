//! The redo journal: what a commit writes is first written here, whole, with a checksum.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::tables::Table;
use super::{Damage, Durability};
use crate::error::{Context, Error, Result, sync_directory};
use crate::wire::Fields;

/// Begins a frame. Random, so that data rarely looks like it; the checksum decides.
const MAGIC: [u8; 4] = [0xc3, 0x5a, 0xe1, 0x97];
/// Magic, length, checksum of the payload, checksum of the three.
const HEAD: usize = 16;
/// Table, offset, length before the bytes of a write.
const WRITE_HEAD: usize = 13;

/// The writes of one commit: done all or not at all.
pub(crate) struct Frame {
    bytes: Vec<u8>,
}

impl Frame {
    pub(crate) fn new() -> Self {
        Self {
            bytes: vec![0; HEAD],
        }
    }

    pub(crate) fn put(&mut self, table: Table, offset: u64, bytes: &[u8]) {
        self.bytes.reserve(WRITE_HEAD + bytes.len());
        self.bytes.push(table as u8);
        self.bytes.extend_from_slice(&offset.to_le_bytes());
        // the whole frame is checked against the same limit before it is written
        self.bytes
            .extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.len() == HEAD
    }

    pub(crate) fn writes(&self) -> Writes<'_> {
        Writes(Fields(&self.bytes[HEAD..]))
    }

    fn seal(&mut self) -> Result<()> {
        let (head, payload) = self.bytes.split_at_mut(HEAD);
        let length = u32::try_from(payload.len()).map_err(|_| Error::TooLong {
            what: "a commit",
            length: payload.len(),
            limit: u32::MAX as usize,
        })?;
        head[..4].copy_from_slice(&MAGIC);
        head[4..8].copy_from_slice(&length.to_le_bytes());
        head[8..12].copy_from_slice(&libdeflater::crc32(payload).to_le_bytes());
        let sum = libdeflater::crc32(&head[..12]);
        head[12..].copy_from_slice(&sum.to_le_bytes());
        Ok(())
    }
}

/// Reads the writes of a frame.
pub(crate) struct Writes<'a>(Fields<'a>);

impl<'a> Iterator for Writes<'a> {
    type Item = (Table, u64, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let table = Table::from_number(self.0.byte()?)?;
        let offset = self.0.u64()?;
        let length = self.0.u32()?;
        Some((table, offset, self.0.take(length as usize)?))
    }
}

/// The file that commits are appended to.
pub(crate) struct Journal {
    directory: PathBuf,
    path: PathBuf,
    file: File,
    number: u64,
    end: u64,
    durability: Durability,
}

impl Journal {
    /// Starts the file `number`.
    pub(crate) fn create(directory: &Path, number: u64, durability: Durability) -> Result<Self> {
        let path = journal_path(directory, number);
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)
            .context("create", &path)?;
        sync_directory(directory)?;
        Ok(Self {
            directory: directory.to_path_buf(),
            path,
            file,
            number,
            end: 0,
            durability,
        })
    }

    pub(crate) fn length(&self) -> u64 {
        self.end
    }

    /// Appends a frame. After an error nothing of it remains, unless the error is
    /// [`Error::Broken`]: then nobody can tell.
    pub(crate) fn append(&mut self, frame: &mut Frame) -> Result<()> {
        frame.seal()?;
        if let Err(error) = self.file.write_all_at(&frame.bytes, self.end) {
            self.file
                .set_len(self.end)
                .map_err(|_| Error::Broken(error.to_string()))?;
            return Err(error).context("write", &self.path);
        }
        if self.durability == Durability::Synced {
            // after a failed sync the kernel may have forgotten what it did not write
            self.file
                .sync_data()
                .map_err(|e| Error::Broken(e.to_string()))?;
        }
        self.end += frame.bytes.len() as u64;
        Ok(())
    }

    /// Goes on in a new file, and returns the old one.
    pub(crate) fn rotate(&mut self) -> Result<PathBuf> {
        let next = Self::create(&self.directory, self.number + 1, self.durability)?;
        Ok(std::mem::replace(self, next).path)
    }
}

pub(crate) fn journal_path(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("journal-{number:08}"))
}

/// The journals there are, in order.
pub(crate) fn journals(directory: &Path) -> Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(directory).context("list", directory)? {
        let name = entry.context("list", directory)?.file_name();
        let number = name.to_str().and_then(|n| n.strip_prefix("journal-"));
        numbers.extend(number.and_then(|n| n.parse::<u64>().ok()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Hands every whole frame of a journal to `apply`, in order. A frame damaged in the middle is
/// passed over: its writes were done when it was committed, and are only missing if the machine
/// went down too. What is cut at the end was never acknowledged.
pub(crate) fn replay(
    path: &Path,
    mut apply: impl FnMut(Writes) -> Result<()>,
    damage: &mut Vec<Damage>,
) -> Result<()> {
    let bytes = std::fs::read(path).context("read", path)?;
    let mut at = 0;
    while at < bytes.len() {
        if let Some(payload) = frame(&bytes[at..]) {
            apply(Writes(Fields(payload)))?;
            at += HEAD + payload.len();
            continue;
        }
        let next = (at + 1..bytes.len())
            .find(|&i| bytes[i..].starts_with(&MAGIC) && frame(&bytes[i..]).is_some());
        let Some(next) = next else {
            return Ok(());
        };
        damage.push(Damage {
            path: path.to_path_buf(),
            what: format!(
                "a commit at byte {at} is not readable ({} bytes)",
                next - at
            ),
        });
        at = next;
    }
    Ok(())
}

fn frame(bytes: &[u8]) -> Option<&[u8]> {
    let (head, rest) = bytes.split_at_checked(HEAD)?;
    let mut fields = Fields(head);
    let magic: [u8; 4] = fields.array()?;
    let (length, sum, head_sum) = (fields.u32()?, fields.u32()?, fields.u32()?);
    if magic != MAGIC || libdeflater::crc32(&head[..12]) != head_sum {
        return None;
    }
    let payload = rest.get(..length as usize)?;
    (libdeflater::crc32(payload) == sum).then_some(payload)
}
