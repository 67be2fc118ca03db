//! The log of what was seen, one visit after another; other processes may read it meanwhile.

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::PageId;
use crate::error::{Context, Result};
use crate::wire::Fields;
use crate::{Digest, Time};

/// Bytes of a record.
pub(crate) const RECORD: usize = 56;
/// Records in a file of the log; the unit in which old ones are dropped (about 14 MB).
pub(crate) const SEGMENT: u64 = 1 << 18;
/// The directory of the log.
pub(crate) const DIRECTORY: &str = "observations";
/// No modification time.
const NO_TIME: i64 = i64::MIN;
/// Records read at a time.
const CHUNK: u64 = 1024;

/// What a visit found, compared with the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The first copy of the page.
    FirstSeen,
    /// The same, byte for byte or by the server's word.
    Unchanged,
    /// Different bytes, the same text.
    Minor,
    /// A different text.
    Changed,
    /// No answer; the robot's number for the cause.
    Failed(u8),
    /// The page is no more.
    Gone,
}

/// One visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Of which page.
    pub page: PageId,
    /// When.
    pub at: Time,
    /// What was found.
    pub outcome: Outcome,
    /// `Last-Modified`, where it made sense.
    pub modified: Option<Time>,
    /// The HTTP status, or 0.
    pub status: u16,
    /// How long the answer took.
    pub millis: u32,
    /// Bytes of the body.
    pub bytes: u32,
    /// Of the body.
    pub digest: Digest,
    /// Of a minor one: the robot's number for why it is minor, or 0.
    pub reason: u8,
}

/// A place between two observations: how many there were before it since the store was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u64);

pub(crate) fn encode(observation: &Observation, out: &mut Vec<u8>) {
    let start = out.len();
    let (outcome, cause) = match observation.outcome {
        Outcome::FirstSeen => (1, 0),
        Outcome::Unchanged => (2, 0),
        Outcome::Minor => (3, observation.reason),
        Outcome::Changed => (4, 0),
        Outcome::Failed(cause) => (5, cause),
        Outcome::Gone => (6, 0),
    };
    out.extend_from_slice(&observation.page.0.to_le_bytes());
    out.extend_from_slice(&observation.at.to_le_bytes());
    out.extend_from_slice(&[outcome, cause]);
    out.extend_from_slice(&observation.status.to_le_bytes());
    out.extend_from_slice(&observation.modified.unwrap_or(NO_TIME).to_le_bytes());
    out.extend_from_slice(&observation.millis.to_le_bytes());
    out.extend_from_slice(&observation.bytes.to_le_bytes());
    out.extend_from_slice(&observation.digest);
    let sum = libdeflater::crc32(&out[start..]);
    out.extend_from_slice(&sum.to_le_bytes());
}

pub(crate) fn decode(record: &[u8]) -> Option<Observation> {
    let (body, sum) = record.split_last_chunk::<4>()?;
    if libdeflater::crc32(body) != u32::from_le_bytes(*sum) {
        return None;
    }
    let mut fields = Fields(body);
    let page = PageId(fields.u32()?);
    let at = fields.i64()?;
    let (outcome, cause) = (fields.byte()?, fields.byte()?);
    let outcome = match outcome {
        1 => Outcome::FirstSeen,
        2 => Outcome::Unchanged,
        3 => Outcome::Minor,
        4 => Outcome::Changed,
        5 => Outcome::Failed(cause),
        6 => Outcome::Gone,
        _ => return None,
    };
    Some(Observation {
        reason: if outcome == Outcome::Minor { cause } else { 0 },
        page,
        at,
        outcome,
        status: fields.u16()?,
        modified: Some(fields.i64()?).filter(|&time| time != NO_TIME),
        millis: fields.u32()?,
        bytes: fields.u32()?,
        digest: fields.array()?,
    })
}

pub(crate) fn segment_path(directory: &Path, segment: u64) -> PathBuf {
    directory.join(format!("{segment:08}.log"))
}

/// The numbers of the segments there are, in order.
pub(crate) fn segments(directory: &Path) -> Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(directory).context("list", directory)? {
        let name = entry.context("list", directory)?.file_name();
        let number = name.to_str().and_then(|n| n.strip_suffix(".log"));
        numbers.extend(number.and_then(|n| n.parse::<u64>().ok()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Where the next observation of the store in `store` will be written.
pub fn log_end(store: &Path) -> Result<Position> {
    let directory = store.join(DIRECTORY);
    let Some(last) = segments(&directory)?.pop() else {
        return Ok(Position(0));
    };
    let path = segment_path(&directory, last);
    let length = std::fs::metadata(&path).context("look at", &path)?.len();
    Ok(Position(last * SEGMENT + length / RECORD as u64))
}

/// Reads the log from a position to its present end, and later on from there: safe while another
/// process writes. Damaged records are passed over and counted.
pub struct Observations {
    directory: PathBuf,
    next: u64,
    open: Option<(u64, File)>,
    chunk: Vec<u8>,
    used: usize,
    damaged: u64,
    dropped: u64,
}

impl Observations {
    /// The log of the store in `store`, from `from`, or from the oldest record kept if that is
    /// later.
    pub fn open(store: &Path, from: Position) -> Result<Self> {
        let directory = store.join(DIRECTORY);
        // an unreadable directory is an error now rather than an empty log
        segments(&directory)?;
        Ok(Self {
            directory,
            next: from.0,
            open: None,
            chunk: Vec::new(),
            used: 0,
            damaged: 0,
            dropped: 0,
        })
    }

    /// Where the log is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Where the next observation will be read.
    pub fn position(&self) -> Position {
        Position(self.next)
    }

    /// Records passed over because their bytes were not what was written.
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Records passed over because their files had been dropped before they were read.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The next observation; `None` when there are no more for now.
    pub fn read(&mut self) -> Result<Option<Observation>> {
        loop {
            if self.used == self.chunk.len() && !self.fill()? {
                return Ok(None);
            }
            let record = &self.chunk[self.used..self.used + RECORD];
            let observation = decode(record);
            let last = self.used + RECORD == self.chunk.len();
            if observation.is_none() && last && self.at_end()? {
                // half written: look again later
                self.chunk.clear();
                self.used = 0;
                return Ok(None);
            }
            self.used += RECORD;
            self.next += 1;
            if let Some(observation) = observation {
                return Ok(Some(observation));
            }
            self.damaged += 1;
        }
    }

    /// Whether the record at `next` is the last there is.
    fn at_end(&self) -> Result<bool> {
        let Some((segment, file)) = &self.open else {
            return Ok(true);
        };
        let path = segment_path(&self.directory, *segment);
        let length = file.metadata().context("look at", &path)?.len();
        let end = segment * SEGMENT + length / RECORD as u64;
        Ok(self.next + 1 >= end && !segment_path(&self.directory, segment + 1).exists())
    }

    fn fill(&mut self) -> Result<bool> {
        loop {
            let segment = self.next / SEGMENT;
            if self.open.as_ref().is_none_or(|(open, _)| *open != segment)
                && !self.enter(segment)?
            {
                return Ok(false);
            }
            let Some((segment, file)) = &self.open else {
                return Ok(false);
            };
            let path = segment_path(&self.directory, *segment);
            let within = self.next - segment * SEGMENT;
            let mut chunk = vec![0; (CHUNK.min(SEGMENT - within) as usize) * RECORD];
            let read =
                read_some(file, &mut chunk, within * RECORD as u64).context("read", &path)?;
            chunk.truncate(read / RECORD * RECORD);
            if !chunk.is_empty() {
                self.chunk = chunk;
                self.used = 0;
                return Ok(true);
            }
            // a segment that ends early is complete once the next one exists
            if !segment_path(&self.directory, segment + 1).exists() {
                return Ok(false);
            }
            self.damaged += SEGMENT - within;
            self.next = (segment + 1) * SEGMENT;
        }
    }

    /// Opens `segment`, or the oldest after it if it was dropped.
    fn enter(&mut self, segment: u64) -> Result<bool> {
        let found = segments(&self.directory)?
            .into_iter()
            .find(|&s| s >= segment);
        let Some(found) = found else {
            return Ok(false);
        };
        let path = segment_path(&self.directory, found);
        match File::open(&path) {
            Ok(file) => self.open = Some((found, file)),
            // dropped just now
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error).context("open", &path),
        }
        let oldest = found * SEGMENT;
        self.dropped += oldest.saturating_sub(self.next);
        self.next = self.next.max(oldest);
        Ok(true)
    }
}

impl Iterator for Observations {
    type Item = Result<Observation>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

/// Reads as much of `buffer` as there is.
pub(crate) fn read_some(file: &File, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
    let mut read = 0;
    while read < buffer.len() {
        match file.read_at(&mut buffer[read..], offset + read as u64) {
            Ok(0) => break,
            Ok(n) => read += n,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}
