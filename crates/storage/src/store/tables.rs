//! The data files: written at absolute offsets, so that writing twice is writing once.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write;
use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::observation::{DIRECTORY, RECORD, SEGMENT, read_some, segment_path, segments};
use crate::error::{Context, Result, sync_directory};

/// The file with the lengths of the others.
const LENGTHS: &str = "lengths";
/// A name and a number for each of some files, of which few are parts of the log.
const LENGTHS_LIMIT: u64 = 1 << 20;

/// Which data file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Table {
    /// A slot for each page: fingerprint, host, where its URL is.
    Admissions = 0,
    /// The URLs, one a line, in order of admission.
    Urls = 1,
    /// A slot for each page: what visits found.
    Pages = 2,
    /// Extents that hold a host each.
    Hosts = 3,
    /// The observations as if in one file; on disk it is cut into segments.
    Observations = 4,
    /// A slot for each page: what a restart needs of it.
    Briefs = 5,
    /// What was learnt of all pages, written in turn.
    LearntEven = 6,
    LearntOdd = 7,
    /// What the keeper knows besides, written in turn.
    KeeperEven = 8,
    KeeperOdd = 9,
    /// A slot for each block of pages: what they have to offer at most.
    Zones = 10,
    /// A slot for each host: its pages, and where it is.
    Roll = 11,
    /// The figures of the whole, written in turn.
    TotalsEven = 12,
    TotalsOdd = 13,
    /// What is for others.
    Outbox = 14,
    /// Where it begins and ends, written in turn.
    OutboxEven = 15,
    OutboxOdd = 16,
    /// The archives of others, written in turn.
    ArchivesEven = 17,
    ArchivesOdd = 18,
}

impl Table {
    /// Those that are one file each.
    pub(crate) const FLAT: [Self; 18] = [
        Self::Admissions,
        Self::Urls,
        Self::Pages,
        Self::Hosts,
        Self::Briefs,
        Self::LearntEven,
        Self::LearntOdd,
        Self::KeeperEven,
        Self::KeeperOdd,
        Self::Zones,
        Self::Roll,
        Self::TotalsEven,
        Self::TotalsOdd,
        Self::Outbox,
        Self::OutboxEven,
        Self::OutboxOdd,
        Self::ArchivesEven,
        Self::ArchivesOdd,
    ];
    /// How many of them format 1 has, too.
    const OLDEST: usize = 4;
    /// The others.
    pub(crate) const NEW: &[Self] = Self::FLAT.split_at(Self::OLDEST).1;

    pub(crate) fn from_number(number: u8) -> Option<Self> {
        let mut all = Self::FLAT.into_iter().chain([Self::Observations]);
        all.find(|&table| table as u8 == number)
    }

    /// Its place in [`Self::FLAT`].
    fn place(self) -> usize {
        let number = self as usize;
        if number > Self::Observations as usize {
            number - 1
        } else {
            number
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Admissions => "admissions",
            Self::Urls => "urls",
            Self::Pages => "pages",
            Self::Hosts => "hosts",
            Self::Observations => DIRECTORY,
            Self::Briefs => "briefs",
            Self::LearntEven => "learnt-even",
            Self::LearntOdd => "learnt-odd",
            Self::KeeperEven => "keeper-even",
            Self::KeeperOdd => "keeper-odd",
            Self::Zones => "zones",
            Self::Roll => "roll",
            Self::TotalsEven => "totals-even",
            Self::TotalsOdd => "totals-odd",
            Self::Outbox => "outbox",
            Self::OutboxEven => "outbox-even",
            Self::OutboxOdd => "outbox-odd",
            Self::ArchivesEven => "archives-even",
            Self::ArchivesOdd => "archives-odd",
        }
    }
}

/// All data files of a store.
pub(crate) struct Tables {
    directory: PathBuf,
    /// None where there is no such file yet, and nobody may make it.
    flat: Vec<Option<Arc<File>>>,
    /// Segments of the log written since the last time all was made durable.
    segments: BTreeMap<u64, Arc<File>>,
}

impl Tables {
    /// Opens the files, and makes those that are missing if they are to be written.
    pub(crate) fn open(directory: &Path, write: bool) -> Result<Self> {
        let mut flat = Vec::new();
        for table in Table::FLAT {
            let path = directory.join(table.name());
            let file = OpenOptions::new()
                .read(true)
                .write(write)
                .create(write)
                .truncate(false)
                .open(&path);
            flat.push(match file {
                Err(error)
                    if error.kind() == ErrorKind::NotFound && table.place() >= Table::OLDEST =>
                {
                    None
                }
                file => Some(Arc::new(file.context("open", &path)?)),
            });
        }
        if write {
            let log = directory.join(DIRECTORY);
            std::fs::create_dir_all(&log).context("create", &log)?;
            sync_directory(directory)?;
        }
        Ok(Self {
            directory: directory.to_path_buf(),
            flat,
            segments: BTreeMap::new(),
        })
    }

    pub(crate) fn path(&self, table: Table) -> PathBuf {
        self.directory.join(table.name())
    }

    fn file(&self, table: Table) -> Option<&File> {
        self.flat[table.place()].as_deref()
    }

    /// A table that is one file, for others to read.
    pub(crate) fn shared(&self, table: Table) -> Option<Arc<File>> {
        self.flat[table.place()].clone()
    }

    pub(crate) fn length(&self, table: Table) -> Result<u64> {
        let Some(file) = self.file(table) else {
            return Ok(0);
        };
        let metadata = file.metadata();
        Ok(metadata.context("look at", &self.path(table))?.len())
    }

    /// Reads as much of `buffer` as there is.
    pub(crate) fn read(&self, table: Table, buffer: &mut [u8], offset: u64) -> Result<usize> {
        let Some(file) = self.file(table) else {
            return Ok(0);
        };
        read_some(file, buffer, offset).context("read", &self.path(table))
    }

    pub(crate) fn truncate(&self, table: Table, length: u64) -> Result<()> {
        let file = self.file(table).expect("opened for writing");
        file.set_len(length).context("truncate", &self.path(table))
    }

    pub(crate) fn write(&mut self, table: Table, offset: u64, bytes: &[u8]) -> Result<()> {
        if table == Table::Observations {
            return self.write_observations(offset, bytes);
        }
        self.write_flat(table, offset, bytes)
    }

    /// The same, for a table that is one file.
    pub(crate) fn write_flat(&self, table: Table, offset: u64, bytes: &[u8]) -> Result<()> {
        let file = self.file(table).expect("opened for writing");
        file.write_all_at(bytes, offset)
            .context("write", &self.path(table))
    }

    fn write_observations(&mut self, mut offset: u64, mut bytes: &[u8]) -> Result<()> {
        const SEGMENT_BYTES: u64 = SEGMENT * RECORD as u64;
        while !bytes.is_empty() {
            let (segment, within) = (offset / SEGMENT_BYTES, offset % SEGMENT_BYTES);
            let room = usize::try_from(SEGMENT_BYTES - within).unwrap_or(usize::MAX);
            let (now, later) = bytes.split_at(bytes.len().min(room));
            let path = segment_path(&self.path(Table::Observations), segment);
            self.segment(segment, &path)?
                .write_all_at(now, within)
                .context("write", &path)?;
            offset += now.len() as u64;
            bytes = later;
        }
        Ok(())
    }

    fn segment(&mut self, segment: u64, path: &Path) -> Result<&File> {
        Ok(match self.segments.entry(segment) {
            Entry::Occupied(open) => open.into_mut(),
            Entry::Vacant(slot) => {
                let file = OpenOptions::new()
                    .write(true)
                    .create(true)
                    .truncate(false)
                    .open(path)
                    .context("open", path)?;
                slot.insert(Arc::new(file))
            }
        })
    }

    /// How many observations there were.
    pub(crate) fn observations(&self) -> Result<u64> {
        let directory = self.path(Table::Observations);
        let Some(last) = segments(&directory)?.pop() else {
            return Ok(0);
        };
        let path = segment_path(&directory, last);
        let length = std::fs::metadata(&path).context("look at", &path)?.len();
        Ok(last * SEGMENT + length.div_ceil(RECORD as u64).min(SEGMENT))
    }

    /// Drops all but the last `kept` segments of the log.
    pub(crate) fn drop_segments(&self, kept: u64) -> Result<()> {
        let directory = self.path(Table::Observations);
        let numbers = segments(&directory)?;
        let last = numbers.last().copied().unwrap_or(0);
        for old in numbers.into_iter().filter(|&s| s + kept.max(1) <= last) {
            let path = segment_path(&directory, old);
            std::fs::remove_file(&path).context("remove", &path)?;
        }
        Ok(())
    }

    /// What must be made durable before the journal that protects it may go.
    pub(crate) fn written(&mut self) -> Written {
        let mut files: Vec<_> = Table::FLAT
            .into_iter()
            .zip(self.flat.iter().flatten())
            .map(|(table, file)| (self.path(table), file.clone()))
            .collect();
        let log = self.path(Table::Observations);
        for (segment, file) in std::mem::take(&mut self.segments) {
            files.push((segment_path(&log, segment), file));
        }
        Written { log, files }
    }
}

/// Files that were written to.
pub(crate) struct Written {
    log: PathBuf,
    files: Vec<(PathBuf, Arc<File>)>,
}

impl Written {
    /// Makes them durable, and notes how long the data files are: they never become shorter.
    pub(crate) fn sync(&self) -> Result<()> {
        let mut lengths = String::new();
        for (path, file) in &self.files {
            let length = file.metadata().context("look at", path)?.len();
            // writing to a string cannot fail
            let name = path.file_name().unwrap_or_default().display();
            let _ = write!(lengths, "{name}:{length} ");
            file.sync_data().context("sync", path)?;
        }
        sync_directory(&self.log)?;
        let _ = write!(lengths, "{:08x}", libdeflater::crc32(lengths.as_bytes()));
        // without the note damage may go unnoticed, but nothing is lost
        let _ = crate::replace_file(&self.log.with_file_name(LENGTHS), lengths.as_bytes());
        Ok(())
    }
}

/// How long the data files were when last made durable; nothing if that is not known.
pub(crate) fn noted_lengths(directory: &Path) -> Vec<(Table, u64)> {
    let text = crate::read_short(&directory.join(LENGTHS), LENGTHS_LIMIT).unwrap_or_default();
    let text = String::from_utf8(text).unwrap_or_default();
    let (noted, sum) = text.split_at(text.rfind(' ').map_or(0, |space| space + 1));
    if u32::from_str_radix(sum, 16) != Ok(libdeflater::crc32(noted.as_bytes())) {
        return Vec::new();
    }
    let oldest = Table::FLAT.into_iter().take(Table::OLDEST);
    let words = noted
        .split(' ')
        .zip(oldest.map(Some).chain(std::iter::repeat(None)));
    let length = |(word, oldest): (&str, Option<Table>)| match word.split_once(':') {
        Some((name, length)) => {
            let table = Table::FLAT.into_iter().find(|table| table.name() == name);
            Some((table?, length.parse().ok()?))
        }
        // format 1 has no names
        None => Some((oldest?, word.parse().ok()?)),
    };
    words.filter_map(length).collect()
}
