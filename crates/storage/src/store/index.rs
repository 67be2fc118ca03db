//! Where to look: which of 262,144 pages have a key, and which are of a host. Such a run of pages is written
//! once, when all of it is committed, beside the journal: one that is missing, damaged, or of other
//! pages is as if it were not there, and whoever misses it goes through those pages.
//!
//! A run has two columns, sorted pairs of a value and a page, in chunks of 512 with a checksum each. The
//! first chunk of a column has the first pair of each of the others: two reads find a key. The pages of a host are
//! in the order of their URLs, if these are not too long to be sorted.

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
/// The fingerprint of the run's last page, by which it is known to be of these pages, a checksum, and the order of
/// the pages of a host.
const HEAD: usize = 24;
const BY_URL: [u8; 4] = *b"url\n";
const AS_FOUND: [u8; 4] = *b"page";
/// URLs of a run that take more bytes are not sorted.
const MOST_URLS: usize = 64 << 20;
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
struct Run {
    file: File,
    by_url: bool,
}

impl Run {
    /// Nothing if it is not there, or of other pages.
    fn open(directory: &Path, admissions: &File, number: u32) -> Option<Self> {
        let file = File::open(path(directory, number)).ok()?;
        let mut head = [0; HEAD];
        file.read_exact_at(&mut head, 0).ok()?;
        let is_one = |order| self::head(admissions, number, order) == Some(head);
        let by_url = is_one(BY_URL);
        (by_url || is_one(AS_FOUND)).then_some(Self { file, by_url })
    }

    fn chunk(&self, column: Column, number: usize) -> Option<Vec<u64>> {
        let mut bytes = [0; CHUNK];
        let offset = HEAD + column as usize * COLUMN + number * CHUNK;
        self.file.read_exact_at(&mut bytes, offset as u64).ok()?;
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

fn head(admissions: &File, number: u32, order: [u8; 4]) -> Option<[u8; HEAD]> {
    let mut head = [0; HEAD];
    let last = u64::from(number + 1) * u64::from(RUN) - 1;
    let offset = last * admission::SLOT as u64;
    let (mark, rest) = head.split_at_mut(HEAD - 8);
    admissions.read_exact_at(mark, offset).ok()?;
    rest[..4].copy_from_slice(&libdeflater::crc32(mark).to_le_bytes());
    rest[4..].copy_from_slice(&order);
    Some(head)
}

/// URLs of pages, one after another; none for those that are not readable.
#[derive(Default)]
struct Urls {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Urls {
    /// Adds those of the next pages; false if they are too long, or not there.
    fn read(&mut self, file: &File, slots: &[Option<admission::Slot>]) -> bool {
        let sound = |slot: &admission::Slot| slot.is_sound();
        let known = || slots.iter().flatten().filter(|slot| sound(slot));
        let start = known().map(|slot| slot.url_offset).min().unwrap_or(0);
        let end = known().map(admission::Slot::url_end).max().unwrap_or(0);
        // they lie one after another
        let length = (end - start) as usize;
        if length + self.bytes.len() > MOST_URLS {
            return false;
        }
        let mut read = vec![0; length];
        if file.read_exact_at(&mut read, start).is_err() {
            return false;
        }
        for slot in slots {
            if let Some(slot) = slot.as_ref().filter(|slot| sound(slot)) {
                let at = (slot.url_offset - start) as usize;
                let url = &read[at..at + slot.url_length as usize];
                if libdeflater::crc32(url) == slot.url_sum {
                    self.bytes.extend(url);
                }
            }
            self.ends.push(self.bytes.len() as u32);
        }
        true
    }

    fn get(&self, number: usize) -> &[u8] {
        let begin = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[begin as usize..self.ends[number] as usize]
    }
}

/// Writes a run whose pages are all in the table.
fn make(directory: &Path, admissions: &File, urls: &File, number: u32) -> Result<()> {
    let table = directory.join(Table::Admissions.name());
    let mut keys = Vec::with_capacity(RUN as usize);
    let mut hosts = Vec::with_capacity(RUN as usize);
    let mut bytes = vec![0; BLOCK as usize * admission::SLOT];
    let start = number * RUN;
    let mut sorted = Some(Urls::default());
    for first in (start..start + RUN).step_by(BLOCK as usize) {
        let offset = u64::from(first) * admission::SLOT as u64;
        let read = admissions.read_exact_at(&mut bytes, offset);
        read.context("read", &table)?;
        let slots = bytes.chunks_exact(admission::SLOT);
        let slots: Vec<_> = slots.map(admission::Slot::decode).collect();
        for (page, slot) in (first..).zip(&slots) {
            let pair = |value: u32| u64::from(value) << 32 | u64::from(page);
            hosts.push(pair(slot.map_or(NO_HOST, |slot| slot.host.0)));
            keys.push(slot.map_or(u64::MAX, |slot| pair(upper(slot.fingerprint))));
        }
        sorted = sorted.and_then(|mut sorted| sorted.read(urls, &slots).then_some(sorted));
    }
    keys.sort_unstable();
    match &sorted {
        None => hosts.sort_unstable(),
        Some(urls) => {
            let url = |pair: u64| urls.get((pair as u32 - start) as usize);
            hosts.sort_unstable_by(|&a, &b| {
                (a >> 32)
                    .cmp(&(b >> 32))
                    .then_with(|| (url(a), a).cmp(&(url(b), b)))
            });
        }
    }
    let order = sorted.map_or(AS_FOUND, |_| BY_URL);
    let mut run = Vec::with_capacity(HEAD + 2 * COLUMN);
    run.extend(head(admissions, number, order).unwrap_or_default());
    for pairs in [keys, hosts] {
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
        let shared = |table| reader.tables.shared(table);
        let Some((admissions, urls)) = shared(Table::Admissions).zip(shared(Table::Urls)) else {
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
                if let Err(error) = make(&directory, &admissions, &urls, number) {
                    tracing::warn!(%error, "some pages have no index; finding one takes longer");
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

/// A run in which the pages of each host are in the order of their URLs.
pub(super) struct SortedRun {
    run: Run,
    fences: Vec<u64>,
}

impl SortedRun {
    /// The chunks that have pages of this host.
    pub(super) fn chunks(&self, host: HostId) -> Range<usize> {
        let least = u64::from(host.0) << 32;
        let first = self.fences.partition_point(|&fence| fence < least);
        let end = self
            .fences
            .partition_point(|&fence| fence >> 32 <= u64::from(host.0));
        first.saturating_sub(1)..end
    }

    /// The page that a chunk begins with, if it is of this host.
    pub(super) fn first(&self, host: HostId, chunk: usize) -> Option<PageId> {
        let fence = self.fences[chunk];
        (fence >> 32 == u64::from(host.0)).then_some(PageId(fence as u32))
    }

    /// The pages of this host in a chunk; nothing if it is damaged.
    pub(super) fn pages(&self, host: HostId, chunk: usize) -> Option<Vec<PageId>> {
        let pairs = self.run.chunk(Column::Hosts, 1 + chunk)?;
        let own = pairs
            .iter()
            .filter(|&&pair| pair >> 32 == u64::from(host.0));
        Some(own.map(|&pair| PageId(pair as u32)).collect())
    }

    /// Pages that were not readable when it was made; nothing if it is damaged.
    pub(super) fn lost(&self) -> Option<u64> {
        let lost = HostId(NO_HOST);
        let counts = self
            .chunks(lost)
            .map(|chunk| Some(self.pages(lost, chunk)?.len() as u64));
        counts.sum()
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

    /// A run, if it is there and sorted by URL.
    pub(super) fn sorted_run(&self, number: u32) -> Option<SortedRun> {
        let admissions = self.tables.shared(Table::Admissions)?;
        let run = Run::open(self.directory(), &admissions, number).filter(|run| run.by_url)?;
        let fences = run.chunk(Column::Hosts, 0)?;
        Some(SortedRun { run, fences })
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
