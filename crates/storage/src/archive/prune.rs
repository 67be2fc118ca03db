//! Taking old versions out of the archive.
//!
//! A file that holds something to be dropped is written anew, in steps: what is kept of it goes to the end of
//! the archive and is synced, the page table is told the new places, and only when all of it is there
//! the file is removed. A crash in between leaves records twice, which the next time finds; nothing
//! that is kept is ever missing.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::index::{self, REVISIT};
use super::read::{Record, Records};
use super::record::Packed;
use super::recover::index_head;
use super::{Archive, Place, files, open_index, sealed_index};
use crate::Time;
use crate::error::{Context, Result, sync_directory};
use crate::store::{Batch, PageId, Reader, Store};

const DAY: Time = 86_400_000;

/// What is to be kept. Of every page the last copy is, whatever is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// So many versions of a page; all if there is none.
    pub versions: Option<u32>,
    /// Versions not older than so many days.
    pub days: Option<u32>,
    /// So many bytes in all; the oldest versions go first.
    pub bytes: Option<u64>,
}

impl Keep {
    /// Whether everything is to be kept.
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }
}

/// What was dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Versions of pages.
    pub versions: u64,
    /// Bytes of the archive before and after.
    pub before: u64,
    /// See above.
    pub after: u64,
    /// Files with something to be dropped that were left as they are, because they are damaged.
    pub damaged_files: u32,
}

/// A record that the index names.
struct Entry {
    url: u64,
    digest: u64,
    time: Time,
    place: Place,
    is_full: bool,
}

impl Entry {
    fn key(&self) -> (u32, u64) {
        (self.place.file, self.place.offset)
    }
}

/// Drops what is not to be kept, all at once.
pub fn prune(archive: &mut Archive, store: &mut Store, keep: &Keep, now: Time) -> Result<Pruned> {
    if keep.is_all() {
        let before = size(&files(&archive.directory)?)?;
        return Ok(Pruned {
            before,
            after: before,
            ..Pruned::default()
        });
    }
    // every record has its line in an index that is on disk
    archive.sync()?;
    let directory = archive.directory.clone();
    let mut pruning = Pruning::plan(&directory, archive.last, store.reader(), keep, now)?;
    if !pruning.dropped.is_empty() {
        archive.seal()?;
    }
    while !pruning.step(archive, store, u64::MAX)? {}
    Ok(pruning.pruned)
}

/// What is to be dropped, a little at a time: between two steps archive and store are used as ever.
pub struct Pruning {
    dropped: HashSet<(u32, u64)>,
    /// Files with something to be dropped.
    touched: HashSet<u32>,
    referred: HashMap<(u32, u64), PageId>,
    /// Files not looked at yet.
    files: VecDeque<(u32, PathBuf)>,
    /// Ids of records that are dropped: their requests go with them.
    gone: HashSet<String>,
    /// The file being written anew.
    at: Option<Rewriting>,
    /// What was dropped so far.
    pub pruned: Pruned,
}

struct Rewriting {
    number: u32,
    path: PathBuf,
    records: Records,
    file: File,
    /// All of it was read once: nothing is moved before.
    is_sound: bool,
}

impl Rewriting {
    fn open(number: u32, path: PathBuf) -> Result<Self> {
        Ok(Self {
            number,
            records: Records::open(&path)?,
            file: File::open(&path).context("open", &path)?,
            path,
            is_sound: false,
        })
    }
}

impl Pruning {
    /// Finds what is to be dropped from the files up to `last`, to which nothing is added any more
    /// ([`Archive::seal`]); writes nothing.
    pub fn plan(
        directory: &Path,
        last: u32,
        reader: &Reader,
        keep: &Keep,
        now: Time,
    ) -> Result<Self> {
        let mut files = files(directory)?;
        let before = size(&files)?;
        files.retain(|(number, _)| *number <= last);
        let referred = copies(reader)?;
        let entries = entries(directory, &files)?;
        let Dropped { places, versions } = choose(&entries, &referred, keep, now, before);
        if places.is_empty() {
            files.clear();
        }
        Ok(Self {
            touched: places.iter().map(|place| place.0).collect(),
            dropped: places,
            referred,
            files: files.into(),
            gone: HashSet::new(),
            at: None,
            pruned: Pruned {
                versions,
                before,
                after: before,
                damaged_files: 0,
            },
        })
    }

    /// Goes on for about so many bytes of the archive; says whether all is done.
    pub fn step(&mut self, archive: &mut Archive, store: &mut Store, bytes: u64) -> Result<bool> {
        let mut batch = Batch::default();
        let mut read = 0;
        while read < bytes {
            let Some(at) = &mut self.at else {
                let Some((number, path)) = self.files.pop_front() else {
                    self.pruned.after = size(&files(&archive.directory)?)?;
                    return Ok(true);
                };
                if self.touched.contains(&number) || begins_with_a_request_of(&path, &self.gone)? {
                    self.at = Some(Rewriting::open(number, path)?);
                }
                continue;
            };
            match at.records.next() {
                Some(Err(_)) if !at.is_sound => {
                    self.pruned.damaged_files += 1;
                    self.at = None;
                }
                None if !at.is_sound => {
                    at.is_sound = true;
                    at.records = Records::open(&at.path)?;
                }
                Some(record) => {
                    // one that became unreadable meanwhile is lost either way
                    let Ok(record) = record else { continue };
                    read += u64::from(record.place.length);
                    if at.is_sound {
                        self.take(&record, archive, store, &mut batch)?;
                    }
                }
                None => {
                    let (number, path) = (at.number, at.path.clone());
                    self.at = None;
                    archive.sync()?;
                    store.commit(&std::mem::take(&mut batch))?;
                    remove(&archive.directory, number, &path)?;
                }
            }
        }
        archive.sync()?;
        store.commit(&batch)?;
        Ok(false)
    }

    /// Moves a record to the end of the archive, if it is kept.
    fn take(
        &mut self,
        record: &Record,
        archive: &mut Archive,
        store: &Store,
        batch: &mut Batch,
    ) -> Result<()> {
        let Some(at) = &self.at else { return Ok(()) };
        let place = record.place;
        let key = (at.number, place.offset);
        if self.dropped.contains(&key) {
            let id = record.header("WARC-Record-ID").unwrap_or_default();
            self.gone.insert(id.to_owned());
            return Ok(());
        }
        // every file says itself who made it, and a request goes with its answer
        let with = record.header("WARC-Concurrent-To");
        if record.kind() == "warcinfo" || with.is_some_and(|answer| self.gone.contains(answer)) {
            return Ok(());
        }
        let mut bytes = vec![0; place.length as usize];
        at.file
            .read_exact_at(&mut bytes, place.offset)
            .context("read", &at.path)?;
        let moved = archive.append(&packed(record, bytes))?;
        // a page may have another copy by now
        if let Some(&page) = self.referred.get(&key)
            && let Some(mut row) = store.page(page)?
            && row.place.is_some_and(|at| (at.file, at.offset) == key)
        {
            row.place = Some(moved);
            batch.pages.push((page, row));
        }
        Ok(())
    }
}

/// The copies that pages have, by file and offset.
fn copies(reader: &Reader) -> Result<HashMap<(u32, u64), PageId>> {
    let mut copies = HashMap::new();
    for entry in reader.pages()? {
        // what is not readable is fetched again
        if let Ok(entry) = entry
            && let Some(place) = entry.row.and_then(|row| row.place)
        {
            copies.insert((place.file, place.offset), entry.id);
        }
    }
    Ok(copies)
}

/// Every record that the indexes of these files name, by page and in order of time.
fn entries(directory: &Path, files: &[(u32, PathBuf)]) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for (number, _) in files {
        index::each(directory, *number, |entry| {
            entries.push(Entry {
                url: hash(&entry.url),
                digest: hash(&entry.digest),
                time: entry.time,
                place: entry.place,
                is_full: entry.mime != REVISIT,
            });
        })?;
    }
    entries.sort_unstable_by_key(|e| (e.url, e.time, e.place.file, e.place.offset));
    Ok(entries)
}

fn hash(text: &str) -> u64 {
    let digest = crate::digest(text.as_bytes());
    u64::from_le_bytes(digest[..8].try_into().expect("8 bytes"))
}

#[derive(Default)]
struct Dropped {
    /// File and offset.
    places: HashSet<(u32, u64)>,
    versions: u64,
}

/// A version that may go: its copy, and the visits that found the same.
struct Version {
    time: Time,
    bytes: u64,
    places: Vec<(u32, u64)>,
}

fn choose(
    entries: &[Entry],
    referred: &HashMap<(u32, u64), PageId>,
    keep: &Keep,
    now: Time,
    total: u64,
) -> Dropped {
    let mut dropped = Dropped::default();
    let mut spare = Vec::new();
    for page in entries.chunk_by(|a, b| a.url == b.url) {
        let versions = versions(page, referred, &mut dropped);
        let most = keep
            .versions
            .map_or(usize::MAX, |most| most.max(1) as usize);
        let oldest = keep
            .days
            .map_or(Time::MIN, |days| now - Time::from(days) * DAY);
        let count = versions.len();
        for (number, (version, is_spare)) in versions.into_iter().enumerate() {
            if !is_spare {
                continue;
            }
            if count - number > most || version.time < oldest {
                dropped.drop(&version);
            } else {
                spare.push(version);
            }
        }
    }
    if let Some(most) = keep.bytes {
        let gone = entries.iter().filter(|e| dropped.places.contains(&e.key()));
        let gone: u64 = gone.map(|e| u64::from(e.place.length)).sum();
        let mut left = total.saturating_sub(gone);
        spare.sort_by_key(|version| version.time);
        for version in spare {
            if left <= most {
                break;
            }
            left = left.saturating_sub(version.bytes);
            dropped.drop(&version);
        }
    }
    dropped
}

impl Dropped {
    fn drop(&mut self, version: &Version) {
        self.versions += 1;
        self.places.extend(&version.places);
    }
}

/// The versions of a page, oldest first, and whether each may go. Of records that are there twice, as
/// after a crash, one goes at once.
fn versions(
    page: &[Entry],
    referred: &HashMap<(u32, u64), PageId>,
    dropped: &mut Dropped,
) -> Vec<(Version, bool)> {
    let is_referred = |entry: &Entry| referred.contains_key(&entry.key());
    let mut twins: HashMap<(Time, u64, bool), &Entry> = HashMap::new();
    for entry in page {
        let twin = twins.entry((entry.time, entry.digest, entry.is_full));
        let kept = twin.or_insert(entry);
        if kept.key() != entry.key() {
            let (stays, goes) = if is_referred(kept) {
                (*kept, entry)
            } else {
                (entry, *kept)
            };
            if !is_referred(goes) {
                dropped.places.insert(goes.key());
            }
            *kept = stays;
        }
    }
    let unique = page.iter().filter(|e| !dropped.places.contains(&e.key()));
    let unique: Vec<&Entry> = unique.collect();
    let last_full = unique.iter().rposition(|entry| entry.is_full);
    let mut versions: Vec<(Version, bool)> = Vec::new();
    for (number, entry) in unique.into_iter().enumerate() {
        let bytes = u64::from(entry.place.length);
        match versions.last_mut() {
            // a visit that found what was there
            Some((version, _)) if !entry.is_full => {
                version.bytes += bytes;
                version.places.push(entry.key());
            }
            _ => {
                let version = Version {
                    time: entry.time,
                    bytes,
                    places: vec![entry.key()],
                };
                let is_last = Some(number) == last_full;
                versions.push((version, !is_last && !is_referred(entry)));
            }
        }
    }
    versions
}

/// Whether a file begins with the request of an answer that is gone: a file may end between the two.
fn begins_with_a_request_of(path: &Path, gone: &HashSet<String>) -> Result<bool> {
    let mut records = Records::open(path)?.flatten();
    let first = records.find(|record| record.kind() != "warcinfo");
    Ok(first.is_some_and(|record| {
        let answer = record.header("WARC-Concurrent-To");
        answer.is_some_and(|answer| gone.contains(answer))
    }))
}

/// A record as it is, to be written elsewhere.
fn packed(record: &Record, bytes: Vec<u8>) -> Packed {
    Packed {
        unpacked: record.head.len() + record.payload.len(),
        time: record.time().unwrap_or_default(),
        index: index_head(record),
        bytes,
    }
}

/// The index first: one that is missing is made anew, one without its file would be damage.
fn remove(directory: &Path, number: u32, path: &Path) -> Result<()> {
    let indexes: [PathBuf; 2] = [
        sealed_index(directory, number),
        open_index(directory, number),
    ];
    for gone in indexes.iter().map(PathBuf::as_path).chain([path]) {
        match std::fs::remove_file(gone) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).context("remove", gone);
            }
            _ => {}
        }
    }
    sync_directory(directory)
}

/// Bytes of files.
fn size(files: &[(u32, PathBuf)]) -> Result<u64> {
    let mut total = 0;
    for (_, path) in files {
        total += std::fs::metadata(path).context("look at", path)?.len();
    }
    Ok(total)
}

#[cfg(test)]
mod tests;
