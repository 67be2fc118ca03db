//! Reading a store, also while another process writes to it.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::account::{Account, Counted, count_pages};
use super::directory::{self, Identity, Key, read_identity};
use super::host::{self, Extent, HostRow, UNIT};
use super::record::{self, Record};
use super::scan::{BLOCK, block, blocks, in_order};
use super::summary::{Listed, StateCounts, Totals, Zone};
use super::tables::{Table, Tables};
use super::{HostId, Observations, PageAddress, PageId, PageRow, Position, admission, brief, page};
use crate::Time;
use crate::error::{Error, Result};

/// Slots read at a time when going through all pages.
const CHUNK: u32 = 1024;
/// A row that is just being overwritten looks damaged; it is looked at this often before it counts.
const LOOKS: u32 = 3;
/// To look a key up takes as long as to read about so many pages in a row.
const PAGES_READ_IN_A_LOOK: usize = 64;

/// Whether what stands in the slot of a page is what was written.
fn is_whole(slot: &[u8]) -> bool {
    admission::Slot::decode(slot).is_some()
}

/// A view of what is committed. It takes no lock and writes nothing.
pub struct Reader {
    directory: PathBuf,
    pub(crate) tables: Tables,
    pub(crate) key: Key,
    /// The format of what is read; a store that nobody has opened since stays as it is.
    pub(crate) version: u32,
}

/// What is known of a page, but for its URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageEntry {
    /// Its number.
    pub id: PageId,
    /// Its host.
    pub host: HostId,
    /// Links from a seed to it.
    pub depth: u16,
    /// The page that linked to it first.
    pub from: Option<PageId>,
    /// When it was admitted.
    pub added: Time,
    /// What visits found; `None` before the first was committed.
    pub row: Option<PageRow>,
}

impl Reader {
    /// Opens the store in `directory`, which must exist.
    pub fn open(directory: &Path) -> Result<Self> {
        let identity = read_identity(directory)?;
        let tables = Tables::open(directory, false)?;
        Ok(Self::with(directory, tables, identity))
    }

    pub(crate) fn with(directory: &Path, tables: Tables, identity: Identity) -> Self {
        Self {
            directory: directory.to_path_buf(),
            tables,
            key: identity.key,
            version: identity.version,
        }
    }

    /// Where the store is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Whether the store is of an older format, which nobody has opened for writing since: some
    /// questions take longer then.
    pub fn is_old(&self) -> bool {
        self.version < directory::VERSION
    }

    /// What is known of all pages together; nothing at first.
    pub fn learnt(&self) -> Result<Vec<u8>> {
        Ok(record::read(&self.tables, Record::Learnt)?.bytes)
    }

    /// What the keeper knows besides; nothing at first.
    pub fn keeper(&self) -> Result<Vec<u8>> {
        Ok(record::read(&self.tables, Record::Keeper)?.bytes)
    }

    /// The figures of the whole. A store of format 1 has none: they are counted then.
    pub fn totals(&self) -> Result<Totals> {
        let kept = record::read(&self.tables, Record::Totals)?;
        match Totals::decode(&kept.bytes) {
            Some(totals) => Ok(totals),
            None => Ok(Account::make(self, &[], |_| None)?.totals().clone()),
        }
    }

    /// How many hosts are known.
    pub fn host_count(&self) -> Result<u32> {
        match self.roll()? {
            Some(roll) => Ok(roll.len() as u32),
            None => Ok(self.hosts()?.count() as u32),
        }
    }

    /// For each host, by number, its pages by state.
    pub fn host_pages(&self) -> Result<Vec<StateCounts>> {
        if let Some(roll) = self.roll()? {
            return Ok(roll.into_iter().map(|host| host.pages).collect());
        }
        let mut hosts = Vec::new();
        count_pages(self, |block| {
            for Counted { host, state, .. } in block.pages {
                let index = host.0 as usize;
                hosts.resize(hosts.len().max(index + 1), StateCounts::default());
                hosts[index][state] += 1;
            }
        })?;
        Ok(hosts)
    }

    /// What is kept of a host, if that is readable.
    pub fn host(&self, id: HostId) -> Result<Option<HostRow>> {
        if self.has_summary() {
            let mut slot = [0; Listed::SLOT];
            for _ in 0..LOOKS {
                let offset = u64::from(id.0) * Listed::SLOT as u64;
                self.tables.read(Table::Roll, &mut slot, offset)?;
                if let Some(listed) = Listed::decode(&slot) {
                    let extent = listed.extent;
                    return extent.map_or(Ok(None), |extent| self.host_at(extent));
                }
            }
        }
        let mut all = self.hosts()?;
        let found = all.find_map(|host| {
            host.map(|(found, row)| (found == id).then_some(row))
                .transpose()
        });
        found.transpose()
    }

    /// The number of the host `name`, if it has one.
    pub fn find_host(&self, name: &str) -> Result<Option<HostId>> {
        let Some(roll) = self.roll()? else {
            let mut all = self.hosts()?;
            let found = all.find_map(|host| {
                host.map(|(id, row)| (row.name == name).then_some(id))
                    .transpose()
            });
            return found.transpose();
        };
        let fingerprint = self.key.fingerprint(name) as u64;
        for (id, host) in (0..).zip(roll) {
            if host.name == fingerprint
                && let Some(extent) = host.extent
                && self.host_at(extent)?.is_some_and(|row| row.name == name)
            {
                return Ok(Some(HostId(id)));
            }
        }
        Ok(None)
    }

    /// The roll of hosts; nothing if there is none, or it is damaged.
    pub(crate) fn roll(&self) -> Result<Option<Vec<Listed>>> {
        // a host takes a unit at least
        let most = self.tables.length(Table::Hosts)?.div_ceil(UNIT);
        self.slots_of(Table::Roll, Listed::SLOT, most, Listed::decode)
    }

    /// What each block of pages has to offer; nothing if that is not known, or damaged.
    pub(crate) fn zones(&self) -> Result<Option<Vec<Zone>>> {
        let most = u64::from(self.page_count()?.div_ceil(BLOCK));
        self.slots_of(Table::Zones, Zone::SLOT, most, Zone::decode)
    }

    /// All slots of a small table, of which there are so many at most.
    fn slots_of<T>(
        &self,
        table: Table,
        slot: usize,
        most: u64,
        decode: impl Fn(&[u8]) -> Option<T>,
    ) -> Result<Option<Vec<T>>> {
        if !self.has_summary() {
            return Ok(None);
        }
        let mut found = None;
        for _ in 0..LOOKS {
            // one that is just being overwritten looks damaged
            let length = self.tables.length(table)?.min(most * slot as u64);
            let mut bytes = vec![0; length as usize];
            let read = self.tables.read(table, &mut bytes, 0)?;
            found = bytes[..read].chunks(slot).map(&decode).collect();
            if found.is_some() {
                break;
            }
        }
        Ok(found)
    }

    /// How many pages were admitted and committed. A slot that is not whole is just being written.
    pub fn page_count(&self) -> Result<u32> {
        let length = self.tables.length(Table::Admissions)?;
        Ok((length / admission::SLOT as u64) as u32)
    }

    /// The page with this canonical key. Goes through the pages that are in no index yet, on all cores.
    pub fn find(&self, key: &str) -> Result<Option<PageId>> {
        let fingerprint = self.key.fingerprint(key);
        let pages = self.page_count()?;
        let (candidates, unknown) = self.index_of_keys([fingerprint], pages);
        for id in candidates {
            if self
                .with_fingerprint(id.0..id.0 + 1, fingerprint)?
                .is_some()
            {
                return Ok(Some(id));
            }
        }
        let look = |number: u64| {
            let range = block(unknown[number as usize], pages);
            self.with_fingerprint(range, fingerprint)
        };
        let found = in_order(unknown.len() as u64, look, |found| match found {
            Ok(None) => Ok(()),
            found => Err(found),
        });
        found.err().unwrap_or(Ok(None))
    }

    /// The pages with these canonical keys, in order of admission. Few are looked up one by one; for
    /// many the fingerprints of all pages are read once.
    pub fn find_all<'a>(&self, keys: impl IntoIterator<Item = &'a str>) -> Result<Vec<PageId>> {
        let wanted: HashSet<_> = keys
            .into_iter()
            .map(|key| self.key.fingerprint(key))
            .collect();
        let pages = self.page_count()?;
        let are_few = wanted.len() < pages as usize / PAGES_READ_IN_A_LOOK;
        let (candidates, unknown) = if are_few {
            self.index_of_keys(wanted.iter().copied(), pages)
        } else {
            (Vec::new(), (0..blocks(pages)).collect())
        };
        let look = |range: Range<u32>| -> Result<Vec<PageId>> {
            let mut found = Vec::new();
            self.admitted(range, |id, slot| {
                let print = slot.first_chunk().map(|print| u128::from_le_bytes(*print));
                if print.is_some_and(|print| wanted.contains(&print)) && is_whole(slot) {
                    found.push(id);
                }
            })?;
            Ok(found)
        };
        let mut all = Vec::new();
        for id in candidates {
            all.extend(look(id.0..id.0 + 1)?);
        }
        in_order(
            unknown.len() as u64,
            |number| look(block(unknown[number as usize], pages)),
            |found: Result<Vec<PageId>>| {
                all.extend(found?);
                Ok::<_, Error>(())
            },
        )?;
        all.sort_unstable();
        Ok(all)
    }

    /// Looks at the slots of these pages.
    fn admitted(&self, pages: Range<u32>, mut at: impl FnMut(PageId, &[u8])) -> Result<()> {
        let mut bytes = vec![0; pages.len() * admission::SLOT];
        let offset = u64::from(pages.start) * admission::SLOT as u64;
        self.tables.read(Table::Admissions, &mut bytes, offset)?;
        for (id, slot) in pages.zip(bytes.chunks_exact(admission::SLOT)) {
            at(PageId(id), slot);
        }
        Ok(())
    }

    /// The page of a range that has this fingerprint.
    fn with_fingerprint(&self, pages: Range<u32>, fingerprint: u128) -> Result<Option<PageId>> {
        let mut found = None;
        self.admitted(pages, |id, slot| {
            if found.is_none() && slot.starts_with(&fingerprint.to_le_bytes()) && is_whole(slot) {
                found = Some(id);
            }
        })?;
        Ok(found)
    }

    /// The URL of a page and how it was found.
    pub fn address(&self, id: PageId) -> Result<PageAddress> {
        let mut bytes = [0; admission::SLOT];
        let offset = u64::from(id.0) * admission::SLOT as u64;
        if self.tables.read(Table::Admissions, &mut bytes, offset)? == 0 {
            return Err(Error::NoSuchPage(id.0));
        }
        let slot =
            admission::Slot::decode(&bytes).ok_or_else(|| self.damaged(Table::Admissions, id.0))?;
        if slot.url_length as usize > admission::URL_LIMIT {
            return Err(self.damaged(Table::Admissions, id.0));
        }
        let mut url = vec![0; slot.url_length as usize];
        self.tables.read(Table::Urls, &mut url, slot.url_offset)?;
        slot.address(&url)
            .ok_or_else(|| self.damaged(Table::Urls, id.0))
    }

    /// What visits found; `None` before the first was committed.
    pub fn page(&self, id: PageId) -> Result<Option<PageRow>> {
        let mut bytes = [0; page::SLOT];
        for _ in 0..LOOKS {
            let offset = u64::from(id.0) * page::SLOT as u64;
            self.tables.read(Table::Pages, &mut bytes, offset)?;
            match page::decode(&bytes) {
                page::Slot::Empty => return Ok(None),
                page::Slot::Row(row) => {
                    let memo = self.memo(id)?;
                    return Ok(Some(PageRow { memo, ..*row }));
                }
                page::Slot::Damaged => {}
            }
        }
        Err(self.damaged(Table::Pages, id.0))
    }

    /// What was learnt of a page; nothing where that is not readable.
    fn memo(&self, id: PageId) -> Result<Vec<u8>> {
        let mut bytes = [0; brief::SLOT];
        for _ in 0..LOOKS {
            let offset = u64::from(id.0) * brief::SLOT as u64;
            self.tables.read(Table::Briefs, &mut bytes, offset)?;
            match brief::decode(&bytes) {
                brief::Slot::Full(stored) => return Ok(stored.memo().to_vec()),
                brief::Slot::Empty => break,
                brief::Slot::Damaged => {}
            }
        }
        Ok(Vec::new())
    }

    /// All pages in order of admission. A damaged one is an error, and the next call goes on.
    pub fn pages(&self) -> Result<impl Iterator<Item = Result<PageEntry>> + '_> {
        let mut rows = Chunks::new(self, Table::Pages, page::SLOT, u64::MAX);
        let mut briefs = Chunks::new(self, Table::Briefs, brief::SLOT, u64::MAX);
        Ok((0..).zip(self.slots()?).map(move |(id, slot)| {
            let bytes = rows.read(u64::from(id))?;
            let slot = slot?.ok_or_else(|| self.damaged(Table::Admissions, id))?;
            let row = match bytes.map_or(page::Slot::Empty, page::decode) {
                page::Slot::Empty => None,
                page::Slot::Row(row) => {
                    let brief = briefs.read(u64::from(id))?;
                    let memo = match brief.map_or(brief::Slot::Empty, brief::decode) {
                        brief::Slot::Full(stored) => stored.memo().to_vec(),
                        brief::Slot::Empty => Vec::new(),
                        brief::Slot::Damaged => self.memo(PageId(id))?,
                    };
                    Some(PageRow { memo, ..*row })
                }
                page::Slot::Damaged => self.page(PageId(id))?,
            };
            Ok(PageEntry {
                id: PageId(id),
                host: slot.host,
                depth: slot.depth,
                from: slot.from,
                added: slot.added,
                row,
            })
        }))
    }

    /// All slots of the table of admissions; `None` for a damaged one.
    pub(crate) fn slots(
        &self,
    ) -> Result<impl Iterator<Item = Result<Option<admission::Slot>>> + '_> {
        let count = self.page_count()?;
        let mut chunks = Chunks::new(self, Table::Admissions, admission::SLOT, u64::from(count));
        Ok((0..u64::from(count))
            .map(move |id| Ok(chunks.read(id)?.and_then(admission::Slot::decode))))
    }

    /// All hosts, in no order. Damaged ones are left out.
    pub fn hosts(&self) -> Result<impl Iterator<Item = Result<(HostId, HostRow)>> + '_> {
        let mut latest = HashMap::new();
        let roll = self.roll()?;
        let is_listed = roll.is_some();
        for (id, host) in (0..).zip(roll.unwrap_or_default()) {
            latest.extend(host.extent.map(|extent| (HostId(id), extent)));
        }
        for found in self.extents().take_while(|_| !is_listed) {
            let (id, extent, _) = found?;
            // a host only ever moves to a larger extent
            let held = latest.entry(id).or_insert(extent);
            if extent.class >= held.class {
                *held = extent;
            }
        }
        Ok(latest
            .into_iter()
            .filter_map(|(id, extent)| self.host_at(extent).transpose().map(|row| Ok((id, row?)))))
    }

    /// Goes through all readable extents.
    pub(crate) fn extents(&self) -> impl Iterator<Item = Result<(HostId, Extent, HostRow)>> + '_ {
        let mut offset = 0;
        let mut next = move || -> Result<Option<_>> {
            let end = self.tables.length(Table::Hosts)?;
            while offset < end {
                let mut extent = Extent { offset, class: 0 };
                if let Some((head, row)) = self.extent(offset)? {
                    extent.class = head.class;
                    offset += extent.capacity();
                    return Ok(Some((head.id, extent, row)));
                }
                offset += UNIT;
            }
            Ok(None)
        };
        std::iter::from_fn(move || next().transpose())
    }

    pub(crate) fn host_at(&self, extent: Extent) -> Result<Option<HostRow>> {
        for _ in 0..LOOKS {
            if let Some((_, row)) = self.extent(extent.offset)? {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    fn extent(&self, offset: u64) -> Result<Option<(host::Head, HostRow)>> {
        // most hosts fit in one read
        let mut bytes = vec![0; UNIT as usize];
        let read = self.tables.read(Table::Hosts, &mut bytes, offset)?;
        if read < host::Head::LENGTH {
            return Ok(None);
        }
        let Some(head) = host::Head::decode(&bytes) else {
            return Ok(None);
        };
        if head.length > bytes.len() {
            bytes.resize(head.length, 0);
            self.tables.read(Table::Hosts, &mut bytes, offset)?;
        }
        let row = head.row(&bytes);
        Ok(row.map(|row| (head, row)))
    }

    /// The log of visits from a position on.
    pub fn observations(&self, from: Position) -> Result<Observations> {
        Observations::open(&self.directory, from)
    }

    pub(crate) fn damaged(&self, table: Table, number: u32) -> Error {
        Error::Damaged {
            path: self.tables.path(table),
            what: format!("the entry of page {number} is not readable"),
        }
    }
}

/// Slots of equal size, read many at a time.
struct Chunks<'a> {
    reader: &'a Reader,
    table: Table,
    slot: usize,
    count: u64,
    first: u64,
    bytes: Vec<u8>,
}

impl<'a> Chunks<'a> {
    fn new(reader: &'a Reader, table: Table, slot: usize, count: u64) -> Self {
        Self {
            reader,
            table,
            slot,
            count,
            first: u64::MAX,
            bytes: Vec::new(),
        }
    }

    /// The slot `number`, if the file reaches so far.
    fn read(&mut self, number: u64) -> Result<Option<&[u8]>> {
        let first = number - number % u64::from(CHUNK);
        if first != self.first {
            let slots = u64::from(CHUNK).min(self.count - first) as usize;
            self.bytes.clear();
            self.bytes.resize(slots * self.slot, 0);
            let offset = first * self.slot as u64;
            let read = self
                .reader
                .tables
                .read(self.table, &mut self.bytes, offset)?;
            self.bytes.truncate(read.next_multiple_of(self.slot));
            self.first = first;
        }
        let start = (number - first) as usize * self.slot;
        Ok(self.bytes.get(start..start + self.slot))
    }
}
