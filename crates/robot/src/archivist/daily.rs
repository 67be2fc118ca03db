//! Old versions are taken out of the archive once a day: what is to go is found on a thread of its own, and then
//! taken out a little at a time, so that storing never waits for long.

use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use storage::archive::{Archive, Keep, Pruning};
use storage::{Reader, Store, Time};

const DAY: Duration = Duration::from_hours(24);
/// Bytes of the archive that are looked at between two batches: a few hundredths of a second.
const STEP: u64 = 1 << 20;
/// Between two steps if there is nothing to store, and between two looks if there is nothing to do.
const SHORT: Duration = Duration::from_millis(20);
const LONG: Duration = Duration::from_mins(1);

/// The work of each day.
pub(super) struct Daily {
    keep: Keep,
    every: Duration,
    last: Instant,
    work: Work,
    has_moved: bool,
}

#[derive(Default)]
enum Work {
    #[default]
    None,
    Finding(JoinHandle<storage::Result<Pruning>>),
    TakingOut(Box<Pruning>),
}

impl Default for Daily {
    fn default() -> Self {
        Self::new(Keep::default())
    }
}

impl Daily {
    pub fn new(keep: Keep) -> Self {
        Self {
            keep,
            every: DAY,
            last: Instant::now(),
            work: Work::None,
            has_moved: false,
        }
    }

    /// Whether copies may be elsewhere than they were when a page was read.
    pub fn has_moved(&self) -> bool {
        self.has_moved
    }

    /// How long other work may be waited for.
    pub fn patience(&self) -> Duration {
        if matches!(self.work, Work::None) {
            LONG
        } else {
            SHORT
        }
    }

    /// Does a little, if there is something to do.
    pub fn step(&mut self, archive: Option<&mut Archive>, store: &mut Store) {
        let Some(archive) = archive.filter(|_| !self.keep.is_all()) else {
            return;
        };
        match self.go_on(archive, store) {
            Ok(work) => self.work = work,
            Err(error) => tracing::warn!(%error, "old versions cannot be removed"),
        }
    }

    fn go_on(&mut self, archive: &mut Archive, store: &mut Store) -> storage::Result<Work> {
        match std::mem::take(&mut self.work) {
            Work::None if self.last.elapsed() >= self.every => {
                self.last = Instant::now();
                let (last, keep) = (archive.seal()?, self.keep);
                let archive: PathBuf = archive.directory().to_owned();
                let reader = Reader::open(store.reader().directory())?;
                let now = now();
                let find = move || Pruning::plan(&archive, last, &reader, &keep, now);
                Ok(Work::Finding(std::thread::spawn(find)))
            }
            Work::Finding(thread) if thread.is_finished() => match thread.join() {
                Ok(found) => Ok(Work::TakingOut(Box::new(found?))),
                // it said why on standard error
                Err(_) => Ok(Work::None),
            },
            Work::TakingOut(mut pruning) => {
                self.has_moved = true;
                if !pruning.step(archive, store, STEP)? {
                    return Ok(Work::TakingOut(pruning));
                }
                tracing::info!(pruned = ?pruning.pruned, "old versions were removed");
                Ok(Work::None)
            }
            work => Ok(work),
        }
    }
}

fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as Time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use storage::archive::{ArchiveOptions, Exchange, HttpVersion, Packer, lookup, verify};
    use storage::{Batch, Candidate, PageId, PageRow, PageState, StoreOptions};

    const URL: &str = "http://example.org/";

    #[test]
    fn old_versions_go_little_by_little_and_the_last_copy_stays() {
        let directory = tempfile::tempdir().unwrap();
        let (kept, state) = (
            directory.path().join("archive"),
            directory.path().join("state"),
        );
        let mut archive = Archive::open(&kept, ArchiveOptions::default()).unwrap();
        let mut store = Store::open(&state, StoreOptions::default()).unwrap();
        let host = store.host("http://example.org").unwrap();
        let candidate = Candidate {
            key: URL,
            url: URL,
            host,
            depth: 0,
            from: None,
            at: 1,
        };
        store.admit(&[candidate]).unwrap();
        let mut packer = Packer::new(1, 7);
        for version in 1..=4 {
            let body = format!("version {version}");
            let answer = Exchange {
                url: URL,
                time: 1_790_000_000_000 + version * 10_000,
                ip: None,
                version: HttpVersion::Http11,
                status: 200,
                reason: b"OK",
                headers: &[],
                body: body.as_bytes(),
                digest: storage::digest(body.as_bytes()),
                truncated: None,
                request: b"GET / HTTP/1.1\r\n",
            };
            let place = archive.append(&packer.response(&answer)).unwrap();
            archive.sync().unwrap();
            let row = PageRow {
                state: PageState::Live,
                place: Some(place),
                visits: 1,
                ..PageRow::default()
            };
            let mut batch = Batch::default();
            batch.pages.push((PageId(0), row));
            store.commit(&batch).unwrap();
        }
        let keep = Keep {
            versions: Some(2),
            ..Keep::default()
        };
        let mut daily = Daily::new(keep);
        daily.step(Some(&mut archive), &mut store);
        assert!(matches!(daily.work, Work::None), "the day is not over");
        daily.every = Duration::ZERO;
        daily.step(Some(&mut archive), &mut store);
        daily.every = DAY;
        let began = Instant::now();
        while !matches!(daily.work, Work::None) {
            assert!(began.elapsed() < Duration::from_secs(30));
            assert_eq!(daily.patience(), SHORT);
            daily.step(Some(&mut archive), &mut store);
        }
        assert!(daily.has_moved());
        assert_eq!(lookup(&kept, URL).unwrap().len(), 2);
        let place = store.page(PageId(0)).unwrap().unwrap().place.unwrap();
        assert_eq!(archive.read(place).unwrap().payload, b"version 4");
        archive.sync().unwrap();
        assert_eq!(verify(&kept).unwrap().flaws, []);
    }
}
