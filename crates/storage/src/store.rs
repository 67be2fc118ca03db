//! Pages, hosts and observations: one directory, one writer, committed in batches.

mod account;
mod admission;
mod archives;
mod brief;
mod commit;
mod directory;
mod host;
mod index;
mod journal;
mod migrate;
mod note;
mod observation;
mod outbox;
mod package;
mod page;
mod reader;
mod record;
mod recover;
mod scan;
mod seen;
mod select;
mod summary;
mod tables;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

pub use admission::{Admission, Candidate, PageAddress, REQUISITE, URL_LIMIT};
pub use archives::{ARCHIVES_LIMIT, ArchiveNumber};
pub use brief::{MEMO_LIMIT, PageBrief};
pub use directory::{Fingerprint, Fingerprints, is_in_use};
pub use ground::{HostId, PageId};
pub use host::HostRow;
pub use note::NOTE_LIMIT;
pub use observation::{Observation, Observations, Outcome, Position, log_end};
pub use outbox::ENTRY_LIMIT;
pub use package::{PACKAGE_LIMIT, Package, PackedPage, Unpacked};
pub use page::{NOTES_LIMIT, PageRow, PageState};
pub use reader::{PageEntry, Reader};
pub use record::RECORD_LIMIT;
pub use select::{Mark, Order, Selected, Wanted};
pub use summary::{Causes, StateCounts, Totals};

pub(crate) use directory::lock as lock_directory;
pub(crate) use observation::read_some;
#[cfg(test)]
pub(crate) use tests::fast_directory;

use crate::error::{Error, Result};
use account::Account;
use archives::Archives;
use host::Extent;
use index::Indexer;
use journal::Journal;
use outbox::Outbox;
use record::Kept;
use seen::Seen;
use tables::Table;

/// Rows that are overwritten in one commit.
const FORGOTTEN_AT_A_TIME: usize = 4096;

/// What an acknowledged commit survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The end of the process and of the machine.
    #[default]
    Synced,
    /// The end of the process; of the machine, all but the last seconds.
    Buffered,
}

/// How to keep the store.
#[derive(Clone, Copy, Debug)]
pub struct StoreOptions {
    /// What a commit survives.
    pub durability: Durability,
    /// How long the journal grows before the tables are made durable in its stead.
    pub journal_bytes: u64,
    /// How many observations are kept at least; older ones are dropped 262,144 at a time.
    pub observations_kept: u64,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            durability: Durability::Synced,
            // read again in a fraction of a second after a crash
            journal_bytes: 64 << 20,
            // 5.6 GB
            observations_kept: 100_000_000,
        }
    }
}

impl StoreOptions {
    fn segments_kept(&self) -> u64 {
        // the last one is never full
        self.observations_kept.div_ceil(observation::SEGMENT) + 1
    }
}

/// What to write together. Everything admitted since the last commit, and every host named since,
/// goes with it.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Rows of pages; of two for the same page the later one counts.
    pub pages: Vec<(PageId, PageRow)>,
    /// What the robot keeps of hosts; of two for the same host the later one counts.
    pub hosts: Vec<(HostId, Vec<u8>)>,
    /// Visits, in order of time.
    pub observations: Vec<Observation>,
    /// What is known of all pages together, if it is to be written: up to [`RECORD_LIMIT`] bytes
    /// that mean something to the robot only, written to the journal and to their place.
    pub learnt: Option<Vec<u8>>,
    /// The same of what the keeper knows besides.
    pub keeper: Option<Vec<u8>>,
    /// What is for others, up to [`ENTRY_LIMIT`] bytes each: kept until there is a receipt for it.
    pub outbox: Vec<Vec<u8>>,
    /// The numbers of such entries that others have now; those that are not known do not matter.
    pub receipts: Vec<u64>,
}

/// Something that could not be read when the store was opened. Everything else could.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// In which file.
    pub path: PathBuf,
    /// What and where.
    pub what: String,
}

/// The state of one robot.
///
/// [`Store::admit`] and [`Store::host`] work in memory; [`Store::commit`] makes them durable
/// together with the rows and observations it is given, all or nothing. So the links of a page
/// cannot be lost: admit them first, and put the row that says the page was visited in the commit
/// that follows. A crash before it forgets both, and the page is fetched again.
pub struct Store {
    reader: Reader,
    journal: Journal,
    options: StoreOptions,
    seen: Seen,
    pages: u32,
    urls_end: u64,
    /// Slots and URLs admitted since the last commit.
    new_slots: Vec<u8>,
    new_urls: Vec<u8>,
    host_names: Seen,
    /// Where the hosts are; `None` for one that was damaged.
    extents: Vec<Option<Extent>>,
    hosts_end: u64,
    /// Named since the last commit; their numbers follow those of `extents`.
    new_hosts: Vec<String>,
    observations: u64,
    learnt: Kept,
    keeper: Kept,
    account: Account,
    outbox: Outbox,
    archives: Archives,
    index: Indexer,
    checkpoint: Option<JoinHandle<Result<()>>>,
    broken: Option<String>,
    damage: Vec<Damage>,
    /// Held until the end.
    _lock: File,
}

impl Store {
    /// Opens the store in `directory`, making it if there is none, and repeats what the journal
    /// says was committed.
    pub fn open(directory: &Path, options: StoreOptions) -> Result<Self> {
        recover::open(directory, options)
    }

    /// What could not be read when the store was opened.
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }

    /// Reading what is committed.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Pages admitted, committed or not.
    pub fn page_count(&self) -> u32 {
        self.pages + (self.new_slots.len() / admission::SLOT) as u32
    }

    /// Hosts named, committed or not.
    pub fn host_count(&self) -> u32 {
        (self.extents.len() + self.new_hosts.len()) as u32
    }

    /// Where the next observation will be.
    pub fn position(&self) -> Position {
        Position(self.observations)
    }

    /// The figures of the whole, as last committed.
    pub fn totals(&self) -> &Totals {
        self.account.totals()
    }

    /// What is known of all pages together, as last committed; nothing at first.
    pub fn learnt(&self) -> &[u8] {
        &self.learnt.bytes
    }

    /// What the keeper knows besides, as last committed; nothing at first.
    pub fn keeper(&self) -> &[u8] {
        &self.keeper.bytes
    }

    /// Bytes of memory that grow with the number of pages and hosts.
    pub fn memory(&self) -> usize {
        self.seen.memory()
            + self.host_names.memory()
            + self.extents.capacity() * size_of::<Option<Extent>>()
            + self.account.memory()
            + self.outbox.memory()
            + self.new_slots.capacity()
            + self.new_urls.capacity()
    }

    /// The number of the host `name`, which is given one if it has none.
    pub fn host(&mut self, name: &str) -> Result<HostId> {
        let fingerprint = self.reader.key.fingerprint(name);
        if let Some(id) = self.host_names.get(fingerprint) {
            return Ok(HostId(id));
        }
        at_most("a host name", name.len(), host::NAME_LIMIT)?;
        let id = self.host_count();
        self.host_names.insert(fingerprint, id);
        self.new_hosts.push(name.to_string());
        Ok(HostId(id))
    }

    /// The number of the host `name`, if it has one.
    pub fn find_host(&self, name: &str) -> Option<HostId> {
        self.host_names
            .get(self.reader.key.fingerprint(name))
            .map(HostId)
    }

    /// What is kept of a host.
    pub fn host_row(&self, id: HostId) -> Result<HostRow> {
        let index = id.0 as usize;
        if let Some(name) = index
            .checked_sub(self.extents.len())
            .and_then(|new| self.new_hosts.get(new))
        {
            return Ok(HostRow {
                name: name.clone(),
                blob: Vec::new(),
            });
        }
        let extent = *self.extents.get(index).ok_or(Error::NoSuchHost(id.0))?;
        let row = extent.map_or(Ok(None), |extent| self.reader.host_at(extent))?;
        row.ok_or_else(|| Error::Damaged {
            path: self.reader.tables.path(Table::Hosts),
            what: format!("host {} is not readable", id.0),
        })
    }

    /// Gives a number to every candidate that has none, in order. Exact: a URL whose key is known,
    /// committed or not, is never given a second one. Nothing is on disk before the next commit.
    /// Until then a new URL takes its length and 57 bytes; a commit takes at most 4 GiB.
    ///
    /// On an error (an unknown host, a URL beyond [`URL_LIMIT`]) no candidate is admitted.
    pub fn admit(&mut self, candidates: &[Candidate]) -> Result<Vec<Admission>> {
        self.expect_room(candidates)?;
        let admissions = candidates.iter().map(|candidate| {
            let fingerprint = self.fingerprints().of(candidate.key);
            self.enter(fingerprint, candidate)
        });
        Ok(admissions.collect())
    }

    /// As [`Store::admit`], for one whose key was fingerprinted before.
    pub fn admit_as(
        &mut self,
        fingerprint: Fingerprint,
        candidate: &Candidate,
    ) -> Result<Admission> {
        self.expect_room(std::slice::from_ref(candidate))?;
        Ok(self.enter(fingerprint, candidate))
    }

    fn expect_room(&self, candidates: &[Candidate]) -> Result<()> {
        for candidate in candidates {
            at_most("a URL", candidate.url.len(), URL_LIMIT)?;
            self.expect_host(candidate.host)?;
        }
        let room = (u32::MAX - 1 - self.page_count()) as usize;
        at_most("a list of new pages", candidates.len(), room)
    }

    fn enter(&mut self, Fingerprint(fingerprint): Fingerprint, candidate: &Candidate) -> Admission {
        let next = self.page_count();
        if let Some(known) = self.seen.insert(fingerprint, next) {
            return Admission::Known(PageId(known));
        }
        let url_offset = self.urls_end + self.new_urls.len() as u64;
        admission::Slot::new(candidate, fingerprint, url_offset).encode(&mut self.new_slots);
        self.new_urls.extend_from_slice(candidate.url.as_bytes());
        self.new_urls.push(b'\n');
        Admission::New(PageId(next))
    }

    /// Makes fingerprints for this store.
    pub fn fingerprints(&self) -> Fingerprints {
        Fingerprints(self.reader.key)
    }

    /// The page with this canonical key.
    pub fn find(&self, key: &str) -> Option<PageId> {
        self.find_as(self.fingerprints().of(key))
    }

    /// The page whose canonical key has this fingerprint.
    pub fn find_as(&self, fingerprint: Fingerprint) -> Option<PageId> {
        self.seen.get(fingerprint.0).map(PageId)
    }

    /// The URL of a page and how it was found.
    pub fn address(&self, id: PageId) -> Result<PageAddress> {
        let Some(new) = id.0.checked_sub(self.pages) else {
            return self.reader.address(id);
        };
        let start = new as usize * admission::SLOT;
        let slot = self.new_slots.get(start..start + admission::SLOT);
        let slot = slot
            .and_then(admission::Slot::decode)
            .ok_or(Error::NoSuchPage(id.0))?;
        let start = (slot.url_offset - self.urls_end) as usize;
        slot.address(&self.new_urls[start..start + slot.url_length as usize])
            .ok_or(Error::NoSuchPage(id.0))
    }

    /// What visits found of a page; `None` before the first was committed.
    pub fn page(&self, id: PageId) -> Result<Option<PageRow>> {
        self.expect_page(id)?;
        self.reader.page(id)
    }

    /// For pages whose copies are lost: their rows say so from now on, and nothing that would make
    /// the next request a conditional one is left in them. What was learnt of them stays. Returns
    /// how many there were.
    pub fn forget_copies(&mut self, pages: &[PageId]) -> Result<u64> {
        let mut forgotten = 0;
        for pages in pages.chunks(FORGOTTEN_AT_A_TIME) {
            let mut batch = Batch::default();
            for &id in pages {
                if let Some(row) = self.page(id)? {
                    let row = PageRow {
                        state: PageState::New,
                        etag: None,
                        modified: None,
                        place: None,
                        away: None,
                        copied: None,
                        failures_in_a_row: 0,
                        last_failure: None,
                        ..row
                    };
                    batch.pages.push((id, row));
                }
            }
            forgotten += batch.pages.len() as u64;
            self.commit(&batch)?;
        }
        Ok(forgotten)
    }

    fn expect_page(&self, id: PageId) -> Result<()> {
        (id.0 < self.page_count())
            .then_some(())
            .ok_or(Error::NoSuchPage(id.0))
    }

    fn expect_host(&self, id: HostId) -> Result<()> {
        (id.0 < self.host_count())
            .then_some(())
            .ok_or(Error::NoSuchHost(id.0))
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Err(error) = self.finish_checkpoint() {
            tracing::warn!(%error, "the last checkpoint failed; the journal is kept");
        }
    }
}

fn at_most(what: &'static str, length: usize, limit: usize) -> Result<()> {
    if length > limit {
        return Err(Error::TooLong {
            what,
            length,
            limit,
        });
    }
    Ok(())
}
