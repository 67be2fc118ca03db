//! Pages, hosts and observations: one directory, one writer, committed in batches.

mod admission;
mod directory;
mod host;
mod journal;
mod observation;
mod page;
mod reader;
mod recover;
mod seen;
mod tables;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

pub use admission::{Admission, Candidate, PageAddress, URL_LIMIT};
pub use host::HostRow;
pub use observation::{Observation, Observations, Outcome, Position};
pub use page::{PageRow, PageState};
pub use reader::{PageEntry, Reader};

pub(crate) use directory::lock as lock_directory;
pub(crate) use observation::read_some;

use crate::error::{Context, Error, Result, sync_directory};
use host::Extent;
use journal::{Frame, Journal};
use seen::Seen;
use tables::Table;

/// The number of a page, in order of admission from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageId(pub u32);

/// The number of a host, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub u32);

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

    /// Bytes of memory that grow with the number of pages and hosts.
    pub fn memory(&self) -> usize {
        self.seen.memory()
            + self.host_names.memory()
            + self.extents.capacity() * size_of::<Option<Extent>>()
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
    ///
    /// On an error (an unknown host, a URL beyond [`URL_LIMIT`]) no candidate is admitted.
    pub fn admit(&mut self, candidates: &[Candidate]) -> Result<Vec<Admission>> {
        for candidate in candidates {
            at_most("a URL", candidate.url.len(), URL_LIMIT)?;
            self.expect_host(candidate.host)?;
        }
        let room = (u32::MAX - 1 - self.page_count()) as usize;
        at_most("a list of new pages", candidates.len(), room)?;
        let mut next = self.page_count();
        let mut admissions = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            let fingerprint = self.reader.key.fingerprint(candidate.key);
            if let Some(known) = self.seen.insert(fingerprint, next) {
                admissions.push(Admission::Known(PageId(known)));
                continue;
            }
            let url_offset = self.urls_end + self.new_urls.len() as u64;
            admission::Slot::new(candidate, fingerprint, url_offset).encode(&mut self.new_slots);
            self.new_urls.extend_from_slice(candidate.url.as_bytes());
            self.new_urls.push(b'\n');
            admissions.push(Admission::New(PageId(next)));
            next += 1;
        }
        Ok(admissions)
    }

    /// The page with this canonical key.
    pub fn find(&self, key: &str) -> Option<PageId> {
        self.seen.get(self.reader.key.fingerprint(key)).map(PageId)
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

    /// Writes everything admitted and named since the last commit, and `batch`: all or nothing.
    /// When it returns, it is durable as the options say.
    ///
    /// After most errors (a full disk) nothing was written, all is still in memory, and the commit
    /// may be tried again. After [`Error::Broken`] the store must be opened again.
    pub fn commit(&mut self, batch: &Batch) -> Result<()> {
        if let Some(cause) = &self.broken {
            return Err(Error::Broken(cause.clone()));
        }
        let mut frame = Frame::new();
        if !self.new_slots.is_empty() {
            let offset = u64::from(self.pages) * admission::SLOT as u64;
            frame.put(Table::Admissions, offset, &self.new_slots);
            frame.put(Table::Urls, self.urls_end, &self.new_urls);
        }
        for (id, row) in &batch.pages {
            self.expect_page(*id)?;
            if let Some(target) = row.redirect_to {
                self.expect_page(target)?;
            }
            frame.put(
                Table::Pages,
                u64::from(id.0) * page::SLOT as u64,
                &page::encode(row),
            );
        }
        let (extents, hosts_end) = self.write_hosts(&batch.hosts, &mut frame)?;
        if !batch.observations.is_empty() {
            let mut bytes = Vec::with_capacity(batch.observations.len() * observation::RECORD);
            for observation in &batch.observations {
                self.expect_page(observation.page)?;
                observation::encode(observation, &mut bytes);
            }
            let offset = self.observations * observation::RECORD as u64;
            frame.put(Table::Observations, offset, &bytes);
        }
        if frame.is_empty() {
            return Ok(());
        }
        self.journal.append(&mut frame).inspect_err(|error| {
            if let Error::Broken(cause) = error {
                self.broken = Some(cause.clone());
            }
        })?;
        // from here on it is committed
        self.pages = self.page_count();
        self.urls_end += self.new_urls.len() as u64;
        self.new_slots.clear();
        self.new_urls.clear();
        self.extents
            .resize(self.extents.len() + self.new_hosts.len(), None);
        self.new_hosts.clear();
        for (id, extent) in extents {
            self.extents[id.0 as usize] = Some(extent);
        }
        self.hosts_end = hosts_end;
        let segment = self.observations / observation::SEGMENT;
        self.observations += batch.observations.len() as u64;
        self.apply(&frame)?;
        if self.observations / observation::SEGMENT > segment {
            let kept = self
                .options
                .observations_kept
                .div_ceil(observation::SEGMENT)
                + 1;
            if let Err(error) = self.reader.tables.drop_segments(kept) {
                tracing::warn!(%error, "old observations are still there");
            }
        }
        if let Err(error) = self.checkpoint() {
            tracing::warn!(%error, "no checkpoint; the journal grows");
        }
        Ok(())
    }

    /// Puts the hosts of a commit into `frame`; returns where they will be and the new end.
    fn write_hosts(
        &self,
        rows: &[(HostId, Vec<u8>)],
        frame: &mut Frame,
    ) -> Result<(Vec<(HostId, Extent)>, u64)> {
        let first_new = self.extents.len() as u32;
        let mut blobs: BTreeMap<HostId, &[u8]> = (first_new..self.host_count())
            .map(|id| (HostId(id), &[][..]))
            .collect();
        for (id, blob) in rows {
            self.expect_host(*id)?;
            at_most("what is kept of a host", blob.len(), host::BLOB_LIMIT)?;
            blobs.insert(*id, blob);
        }
        let mut end = self.hosts_end;
        let mut extents = Vec::with_capacity(blobs.len());
        for (id, blob) in blobs {
            let name = self.host_row(id)?.name;
            let class = host::class_for(&name, blob);
            let held = self.extents.get(id.0 as usize).copied().flatten();
            let extent = held.filter(|held| held.class >= class).unwrap_or_else(|| {
                let extent = Extent { offset: end, class };
                end += extent.capacity();
                extent
            });
            frame.put(
                Table::Hosts,
                extent.offset,
                &host::encode(id, &name, blob, extent.class),
            );
            extents.push((id, extent));
        }
        Ok((extents, end))
    }

    /// Does what the journal has. If that fails the journal still has it, and opening repeats it.
    fn apply(&mut self, frame: &Frame) -> Result<()> {
        for (table, offset, bytes) in frame.writes() {
            if let Err(error) = self.reader.tables.write(table, offset, bytes) {
                self.broken = Some(error.to_string());
                return Err(Error::Broken(error.to_string()));
            }
        }
        Ok(())
    }

    /// Once the journal is long: a new one, while the tables are made durable in the background.
    fn checkpoint(&mut self) -> Result<()> {
        let busy = self
            .checkpoint
            .as_ref()
            .is_some_and(|thread| !thread.is_finished());
        if self.journal.length() < self.options.journal_bytes || busy {
            return Ok(());
        }
        self.finish_checkpoint()?;
        let retired = self.journal.rotate()?;
        let written = self.reader.tables.written();
        self.checkpoint = Some(std::thread::spawn(move || {
            written.sync()?;
            std::fs::remove_file(&retired).context("remove", &retired)?;
            sync_directory(retired.parent().unwrap_or(Path::new(".")))
        }));
        Ok(())
    }

    fn finish_checkpoint(&mut self) -> Result<()> {
        let Some(thread) = self.checkpoint.take() else {
            return Ok(());
        };
        let done = thread
            .join()
            .unwrap_or_else(|_| Err(Error::Broken("a checkpoint panicked".into())));
        done.inspect_err(|error| self.broken = Some(error.to_string()))
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
