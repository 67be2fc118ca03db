//! The redo journal: what a commit writes is first written here, whole, with a checksum.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::observation::read_some;
use super::tables::Table;
use super::{Damage, Durability};
use crate::error::{Context, Error, Result, sync_directory};
use crate::wire::Fields;

/// Begins a frame. Random, so that data rarely looks like it; the checksum decides.
const MAGIC: [u8; 4] = [0xc3, 0x5a, 0xe1, 0x97];
/// Magic, length, checksum of the payload, checksum of the three.
const HEAD: usize = 16;
/// Bytes searched at a time for the next frame after damage.
const SEARCH: usize = 1 << 20;
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
    let file = File::open(path).context("open", path)?;
    let end = file.metadata().context("look at", path)?.len();
    let mut at = 0;
    while at < end {
        if let Some(payload) = frame(&file, at, end).context("read", path)? {
            apply(Writes(Fields(&payload)))?;
            at += (HEAD + payload.len()) as u64;
            continue;
        }
        let Some(next) = next_frame(&file, at + 1, end).context("read", path)? else {
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

/// Where from `from` on the next whole frame begins.
fn next_frame(file: &File, mut from: u64, end: u64) -> io::Result<Option<u64>> {
    let mut chunk = vec![0; SEARCH];
    while from < end {
        let read = read_some(file, &mut chunk, from)?;
        let starts = chunk[..read].windows(MAGIC.len()).enumerate();
        for (start, _) in starts.filter(|(_, bytes)| *bytes == MAGIC) {
            let at = from + start as u64;
            if frame(file, at, end)?.is_some() {
                return Ok(Some(at));
            }
        }
        if read < SEARCH {
            break;
        }
        // a beginning may lie across the border
        from += (SEARCH - MAGIC.len() + 1) as u64;
    }
    Ok(None)
}

/// The payload of the frame at `at`, if there is a whole one.
fn frame(file: &File, at: u64, end: u64) -> io::Result<Option<Vec<u8>>> {
    let mut head = [0; HEAD];
    if read_some(file, &mut head, at)? < HEAD {
        return Ok(None);
    }
    let Some((length, sum)) = head_of(&head) else {
        return Ok(None);
    };
    if u64::from(length) > end - at - HEAD as u64 {
        return Ok(None);
    }
    let mut payload = vec![0; length as usize];
    let read = read_some(file, &mut payload, at + HEAD as u64)?;
    let is_whole = read == payload.len() && libdeflater::crc32(&payload) == sum;
    Ok(is_whole.then_some(payload))
}

/// Length and checksum of the payload, if this is the head of a frame.
fn head_of(head: &[u8; HEAD]) -> Option<(u32, u32)> {
    let mut fields = Fields(head);
    let magic: [u8; 4] = fields.array()?;
    let (length, sum, head_sum) = (fields.u32()?, fields.u32()?, fields.u32()?);
    let is_head = magic == MAGIC && libdeflater::crc32(&head[..12]) == head_sum;
    is_head.then_some((length, sum))
}
