//! Taking old versions out of the archive.
//!
//! A file that holds something to be dropped is written anew: what is kept of it goes to the end of
//! the archive and is synced, the page table is told the new places in one commit, and only then
//! the file is removed. A crash in between leaves records twice, which the next time finds; nothing
//! that is kept is ever missing.

use std::collections::{HashMap, HashSet};
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
use crate::store::{Batch, PageId, Store};

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

/// Drops what is not to be kept. Nobody else uses archive and store meanwhile.
pub fn prune(archive: &mut Archive, store: &mut Store, keep: &Keep, now: Time) -> Result<Pruned> {
    let directory = archive.directory.clone();
    let mut pruned = Pruned {
        before: size(&directory)?,
        ..Pruned::default()
    };
    pruned.after = pruned.before;
    if keep.is_all() {
        return Ok(pruned);
    }
    // every record has its line in an index that is on disk
    archive.sync()?;
    let referred = copies(store)?;
    let entries = entries(&directory)?;
    let dropped = choose(&entries, &referred, keep, now, pruned.before);
    pruned.versions = dropped.versions;
    if dropped.places.is_empty() {
        return Ok(pruned);
    }
    let touched: HashSet<u32> = dropped.places.iter().map(|place| place.0).collect();
    archive.seal()?;
    let mut gone = HashSet::new();
    for (number, path) in files(&directory)? {
        if (touched.contains(&number) || begins_with_a_request_of(&path, &gone)?)
            && !rewrite(
                archive,
                store,
                number,
                &path,
                &dropped.places,
                &referred,
                &mut gone,
            )?
        {
            pruned.damaged_files += 1;
        }
    }
    pruned.after = size(&directory)?;
    Ok(pruned)
}

/// The copies that pages have, by file and offset.
fn copies(store: &Store) -> Result<HashMap<(u32, u64), PageId>> {
    let mut copies = HashMap::new();
    for entry in store.reader().pages()? {
        // what is not readable is fetched again
        if let Ok(entry) = entry
            && let Some(place) = entry.row.and_then(|row| row.place)
        {
            copies.insert((place.file, place.offset), entry.id);
        }
    }
    Ok(copies)
}

/// Every record that the indexes name, by page and in order of time.
fn entries(directory: &Path) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for (number, _) in files(directory)? {
        index::each(directory, number, |entry| {
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

/// Moves what is kept of a file to the end of the archive and removes the file; `false` if it is
/// damaged, and left as it is.
fn rewrite(
    archive: &mut Archive,
    store: &mut Store,
    number: u32,
    path: &Path,
    dropped: &HashSet<(u32, u64)>,
    referred: &HashMap<(u32, u64), PageId>,
    gone: &mut HashSet<String>,
) -> Result<bool> {
    // nothing is moved before all of it was read
    if Records::open(path)?.any(|record| record.is_err()) {
        return Ok(false);
    }
    let file = File::open(path).context("open", path)?;
    let mut batch = Batch::default();
    for record in Records::open(path)?.flatten() {
        let place = record.place;
        let id = record.header("WARC-Record-ID").unwrap_or_default();
        let with = record.header("WARC-Concurrent-To");
        if dropped.contains(&(number, place.offset)) {
            gone.insert(id.to_owned());
            continue;
        }
        // every file says itself who made it, and a request goes with its answer
        if record.kind() == "warcinfo" || with.is_some_and(|answer| gone.contains(answer)) {
            continue;
        }
        let mut bytes = vec![0; place.length as usize];
        file.read_exact_at(&mut bytes, place.offset)
            .context("read", path)?;
        let moved = archive.append(&packed(&record, bytes))?;
        if let Some(&page) = referred.get(&(number, place.offset))
            && let Some(mut row) = store.page(page)?
        {
            row.place = Some(moved);
            batch.pages.push((page, row));
        }
    }
    archive.sync()?;
    store.commit(&batch)?;
    remove(&archive.directory, number, path)?;
    Ok(true)
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

/// Bytes of all files.
fn size(directory: &Path) -> Result<u64> {
    let mut total = 0;
    for (_, path) in files(directory)? {
        total += std::fs::metadata(&path).context("look at", &path)?.len();
    }
    Ok(total)
}

#[cfg(test)]
mod tests;
