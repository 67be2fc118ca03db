//! Where to look: which of 262,144 pages have a key, and which are of a host. Such a run of pages is written
//! once, when all of it is committed, beside the journal: one that is missing, damaged, or of other
//! pages is as if it were not there, and whoever misses it goes through those pages.
//!
//! A run has two columns, sorted pairs of a value and a page, in chunks of 512 with a checksum each. The
//! first chunk of a column has the first pair of each of the others: two reads find a key.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use super::scan::BLOCK;
use super::tables::Table;
use super::{HostId, PageId, Reader, admission};
use crate::error::{Context, Result};

/// Pages of a run.
pub(super) const RUN: u32 = (FANOUT * FANOUT) as u32;
const FANOUT: usize = 512;
/// Pairs and their checksum.
const CHUNK: usize = FANOUT * 8 + 4;
const COLUMN: usize = (1 + FANOUT) * CHUNK;
/// The fingerprint of the run's last page, by which it is known to be of these pages, and a checksum.
const HEAD: usize = 20;
const DIRECTORY: &str = "index";
/// Stands for the host of pages that were not readable.
const NO_HOST: u32 = u32::MAX;
/// With more wanted pages in a block than this, all of it is read.
const FEW: usize = 256;
/// Pages between two wanted ones that are read with them rather than passed over.
const GAP: u32 = 8;

#[derive(Clone, Copy)]
enum Column {
    /// By the upper bits of the key's fingerprint.
    Keys = 0,
    Hosts = 1,
}

fn path(directory: &Path, number: u32) -> PathBuf {
    directory.join(DIRECTORY).join(format!("{number:08}.run"))
}

fn upper(fingerprint: u128) -> u32 {
    (fingerprint >> 96) as u32
}

/// A run that is there.
struct Run(File);

impl Run {
    /// Nothing if it is not there, or of other pages.
    fn open(directory: &Path, admissions: &File, number: u32) -> Option<Self> {
        let file = File::open(path(directory, number)).ok()?;
        let mut head = [0; HEAD];
        file.read_exact_at(&mut head, 0).ok()?;
        (head == self::head(admissions, number)?).then_some(Self(file))
    }

    fn chunk(&self, column: Column, number: usize) -> Option<Vec<u64>> {
        let mut bytes = [0; CHUNK];
        let offset = HEAD + column as usize * COLUMN + number * CHUNK;
        self.0.read_exact_at(&mut bytes, offset as u64).ok()?;
        let (pairs, sum) = bytes.split_last_chunk::<4>()?;
        let is_sound = libdeflater::crc32(pairs) == u32::from_le_bytes(*sum);
        let pairs = pairs.as_chunks().0.iter();
        is_sound.then(|| pairs.map(|pair| u64::from_le_bytes(*pair)).collect())
    }

    /// The pages with these values, which are in order; nothing where a chunk is damaged.
    fn pages(&self, column: Column, values: &[u32]) -> Option<Vec<u32>> {
        let fences = self.chunk(column, 0)?;
        let mut held = (FANOUT, Vec::new());
        let mut found = Vec::new();
        for &value in values {
            let least = u64::from(value) << 32;
            // some may be in the last chunk that begins before
            let before = fences.partition_point(|&fence| fence < least);
            let begins = |chunk: &usize| (fences[*chunk] >> 32) as u32 <= value;
            for chunk in (before.saturating_sub(1)..FANOUT).take_while(begins) {
                if held.0 != chunk {
                    held = (chunk, self.chunk(column, 1 + chunk)?);
                }
                let pairs = &held.1[held.1.partition_point(|&pair| pair < least)..];
                let equal = pairs.iter().take_while(|&&pair| pair >> 32 == least >> 32);
                found.extend(equal.map(|&pair| pair as u32));
            }
        }
        Some(found)
    }

    fn is_sound(&self) -> bool {
        [Column::Keys, Column::Hosts]
            .into_iter()
            .all(|column| (0..=FANOUT).all(|chunk| self.chunk(column, chunk).is_some()))
    }
}

fn head(admissions: &File, number: u32) -> Option<[u8; HEAD]> {
    let mut head = [0; HEAD];
    let last = u64::from(number + 1) * u64::from(RUN) - 1;
    let offset = last * admission::SLOT as u64;
    let (mark, sum) = head.split_at_mut(HEAD - 4);
    admissions.read_exact_at(mark, offset).ok()?;
    sum.copy_from_slice(&libdeflater::crc32(mark).to_le_bytes());
    Some(head)
}

/// Writes a run whose pages are all in the table.
fn make(directory: &Path, admissions: &File, number: u32) -> Result<()> {
    let table = directory.join(Table::Admissions.name());
    let mut keys = Vec::with_capacity(RUN as usize);
    let mut hosts = Vec::with_capacity(RUN as usize);
    let mut bytes = vec![0; BLOCK as usize * admission::SLOT];
    let start = number * RUN;
    for first in (start..start + RUN).step_by(BLOCK as usize) {
        let offset = u64::from(first) * admission::SLOT as u64;
        let read = admissions.read_exact_at(&mut bytes, offset);
        read.context("read", &table)?;
        for (page, slot) in (first..).zip(bytes.chunks_exact(admission::SLOT)) {
            let pair = |value: u32| u64::from(value) << 32 | u64::from(page);
            let slot = admission::Slot::decode(slot);
            hosts.push(pair(slot.map_or(NO_HOST, |slot| slot.host.0)));
            keys.push(slot.map_or(u64::MAX, |slot| pair(upper(slot.fingerprint))));
        }
    }
    let mut run = Vec::with_capacity(HEAD + 2 * COLUMN);
    run.extend(head(admissions, number).unwrap_or_default());
    for mut pairs in [keys, hosts] {
        pairs.sort_unstable();
        let fences: Vec<u64> = pairs.iter().step_by(FANOUT).copied().collect();
        for chunk in std::iter::once(&fences[..]).chain(pairs.chunks(FANOUT)) {
            let begin = run.len();
            run.extend(chunk.iter().flat_map(|pair| pair.to_le_bytes()));
            let sum = libdeflater::crc32(&run[begin..]);
            run.extend(sum.to_le_bytes());
        }
    }
    crate::replace_file(&path(directory, number), &run)
}

/// Makes the runs of a store that is written to, in the background.
#[derive(Default)]
pub(super) struct Indexer {
    /// Runs made, or being made.
    begun: u32,
    thread: Option<JoinHandle<()>>,
    is_over: Arc<AtomicBool>,
}

impl Indexer {
    /// Removes runs of pages that are no more: others may come in their place.
    pub(super) fn open(directory: &Path, pages: u32) -> Result<Self> {
        let runs = directory.join(DIRECTORY);
        std::fs::create_dir_all(&runs).context("create", &runs)?;
        for entry in std::fs::read_dir(&runs).context("list", &runs)? {
            let path = entry.context("list", &runs)?.path();
            let number = path.file_stem().and_then(|stem| stem.to_str());
            let number = number.and_then(|stem| stem.parse::<u32>().ok());
            if number.is_none_or(|number| number >= pages / RUN) {
                std::fs::remove_file(&path).context("remove", &path)?;
            }
        }
        Ok(Self::default())
    }

    /// Has the runs made that are full, unless they are there.
    pub(super) fn keep_up(&mut self, reader: &Reader, pages: u32) {
        let full = pages / RUN;
        let is_busy = (self.thread.as_ref()).is_some_and(|thread| !thread.is_finished());
        if self.begun >= full || is_busy {
            return;
        }
        let directory = reader.directory().to_path_buf();
        let Some(admissions) = reader.tables.shared(Table::Admissions) else {
            return;
        };
        let is_over = self.is_over.clone();
        let begun = std::mem::replace(&mut self.begun, full);
        self.thread = Some(std::thread::spawn(move || {
            for number in begun..full {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                let known = Run::open(&directory, &admissions, number);
                if known.is_some_and(|run| run.is_sound()) {
                    continue;
                }
                if let Err(error) = make(&directory, &admissions, number) {
                    tracing::warn!(%error, "no index of some pages; looking for one takes longer");
                }
            }
        }));
    }
}

impl Drop for Indexer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // what it panicked of was said
            let _ = thread.join();
        }
    }
}

/// In which blocks some hosts have pages: their offsets where they are few, nothing where the block
/// has to be gone through.
pub(super) type Whereabouts = BTreeMap<u32, Option<Vec<u16>>>;

/// What to read of a block.
pub(super) fn pieces(block: &Range<u32>, offsets: Option<&[u16]>) -> Vec<Range<u32>> {
    let Some(offsets) = offsets else {
        return vec![block.clone()];
    };
    let mut pieces: Vec<Range<u32>> = Vec::new();
    for page in offsets
        .iter()
        .map(|&offset| block.start + u32::from(offset))
    {
        match pieces.last_mut() {
            Some(last) if page <= last.end + GAP => last.end = page + 1,
            _ => pieces.push(page..page + 1),
        }
    }
    pieces
}

impl Reader {
    /// Pages that may have one of these fingerprints, and the blocks of which nothing is known.
    pub(super) fn index_of_keys(
        &self,
        fingerprints: impl IntoIterator<Item = u128>,
        pages: u32,
    ) -> (Vec<PageId>, Vec<u64>) {
        let mut values: Vec<u32> = fingerprints.into_iter().map(upper).collect();
        values.sort_unstable();
        values.dedup();
        let mut found = Vec::new();
        let unknown = self.look(pages, Column::Keys, &values, |some| {
            found.extend(some.into_iter().map(PageId));
        });
        (found, unknown)
    }

    /// Where the pages of these hosts are.
    pub(super) fn whereabouts(&self, hosts: &HashSet<HostId>) -> Result<Whereabouts> {
        let mut hosts: Vec<u32> = hosts.iter().map(|host| host.0).collect();
        hosts.push(NO_HOST);
        hosts.sort_unstable();
        let mut places = Whereabouts::new();
        let unknown = self.look(self.page_count()?, Column::Hosts, &hosts, |mut some| {
            some.sort_unstable();
            for block in some.chunk_by(|a, b| a / BLOCK == b / BLOCK) {
                let offsets = block.iter().map(|page| (page % BLOCK) as u16);
                let offsets = (block.len() <= FEW).then(|| offsets.collect());
                places.insert(block[0] / BLOCK, offsets);
            }
        });
        places.extend(unknown.into_iter().map(|block| (block as u32, None)));
        Ok(places)
    }

    /// Looks values up in all runs; returns the blocks that are in none.
    fn look(
        &self,
        pages: u32,
        column: Column,
        values: &[u32],
        mut take: impl FnMut(Vec<u32>),
    ) -> Vec<u64> {
        let mut unknown = Vec::new();
        let admissions = self.tables.shared(Table::Admissions);
        let blocks = |pages: u32| u64::from(pages.div_ceil(BLOCK));
        for number in 0..pages / RUN {
            let run = admissions
                .as_ref()
                .and_then(|admissions| Run::open(self.directory(), admissions, number));
            match run.and_then(|run| run.pages(column, values)) {
                Some(mut found) => {
                    // what stands for nothing is in none
                    found.retain(|page| page / RUN == number);
                    take(found);
                }
                None => unknown.extend(blocks(number * RUN)..blocks((number + 1) * RUN)),
            }
        }
        unknown.extend(blocks(pages / RUN * RUN)..blocks(pages));
        unknown
    }
}
