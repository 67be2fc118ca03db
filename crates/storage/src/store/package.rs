//! Hosts on their way to another store: their pages with all that is known and was learnt of them, what
//! the robot keeps of the hosts, and which archives hold the copies. The log of visits stays where it
//! was made, as the copies do; rows have its sums.
//!
//! The same pages make the same bytes, whatever their numbers: they are in order of URL, and refer to each
//! other by their place in it. References to pages of other hosts are left out. What comes from others
//! is checked whole before any of it is used.

use std::collections::HashMap;

use super::admission::URL_LIMIT;
use super::{
    ARCHIVES_LIMIT, ArchiveNumber, Batch, Candidate, HostId, HostRow, MEMO_LIMIT, PageId, PageRow,
    PageState, Reader, Store, at_most, host, page,
};
use crate::Time;
use crate::archive::ArchiveId;
use crate::error::{Error, Result};
use crate::wire::{Fields, put_signed, put_varint};

/// The longest package; a host of a million pages takes about a quarter of it.
pub const PACKAGE_LIMIT: usize = 1 << 30;
const MAGIC: &[u8; 8] = b"EVERHOST";
const VERSION: u8 = 1;
/// The longest that the robot says of the whole.
const ABOUT_LIMIT: usize = 1 << 20;
/// The least that a host, or a page, takes.
const LEAST: usize = 2;

/// Hosts with their pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Package {
    /// What the robot says of the whole: bytes that mean something to it only.
    pub about: Vec<u8>,
    /// The archives that hold copies; rows number them from 1, in this order.
    pub archives: Vec<ArchiveId>,
    /// What is kept of the hosts, in order of name.
    pub hosts: Vec<HostRow>,
    /// Their pages, in order of URL.
    pub pages: Vec<PackedPage>,
}

/// A page in a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedPage {
    /// What to request.
    pub url: String,
    /// Its place among the hosts.
    pub host: u32,
    /// Links from a seed to it.
    pub depth: u16,
    /// The place of the page that linked to it first, if that is in the package.
    pub from: Option<u32>,
    /// When it was admitted.
    pub added: Time,
    /// What visits found; pages that it refers to by their place.
    pub row: Option<PageRow>,
}

/// A package that is in memory, and goes to disk with a commit.
#[derive(Debug, Default)]
pub struct Unpacked {
    /// To be committed, with whatever else.
    pub batch: Batch,
    /// For each host its number.
    pub hosts: Vec<HostId>,
    /// For each page its number.
    pub pages: Vec<PageId>,
    /// Pages that are new, or were elsewhere, or less was known of.
    pub taken: u64,
    /// Pages of which as much or more was known: they stay as they are.
    pub kept: u64,
    /// Pages that are the same as another of the package by the store's own keys.
    pub doubles: u64,
}

impl Reader {
    /// All that is known of these hosts. Copies are in the archive `own`, unless a row says otherwise;
    /// what is kept of a host goes through `moved`, rows go through `learnt`. Pages that are elsewhere stay out
    /// of it.
    pub fn pack(
        &self,
        hosts: &[HostId],
        own: Option<ArchiveId>,
        mut moved: impl FnMut(&HostRow) -> Vec<u8>,
        mut learnt: impl FnMut(PageId, &mut PageRow),
    ) -> Result<Package> {
        let mut named = Vec::new();
        for &id in hosts {
            let row = self.host(id)?.ok_or(Error::NoSuchHost(id.0))?;
            let blob = moved(&row);
            named.push((HostRow { blob, ..row }, id));
        }
        named.sort_by(|a, b| a.0.name.cmp(&b.0.name));
        let places: HashMap<HostId, u32> = (0..)
            .zip(&named)
            .map(|(place, (_, id))| (*id, place))
            .collect();
        let mut found = Vec::new();
        self.scan_slots(|id, slot| {
            if let Some(slot) = slot
                && places.contains_key(&slot.host)
            {
                found.push(id);
            }
        })?;
        let mut pages = Vec::with_capacity(found.len());
        for id in found {
            // a row that says nothing is that of a page that came back untried
            let row = self.page(id)?.filter(|row| *row != PageRow::default());
            if row
                .as_ref()
                .is_none_or(|row| row.state != PageState::Elsewhere)
            {
                pages.push((id, self.address(id)?, row));
            }
        }
        pages.sort_by(|a, b| a.1.url.cmp(&b.1.url));
        let numbers: HashMap<PageId, u32> = (0..)
            .zip(&pages)
            .map(|(place, page)| (page.0, place))
            .collect();
        let mut package = Package {
            hosts: named.into_iter().map(|(row, _)| row).collect(),
            ..Package::default()
        };
        for (id, address, row) in pages {
            let row = match row {
                Some(mut row) => {
                    learnt(id, &mut row);
                    let target = row.redirect_to.and_then(|page| numbers.get(&page));
                    row.redirect_to = target.map(|&place| PageId(place));
                    self.copy_in_package(&mut row, own, &mut package.archives)?;
                    Some(row.as_it_travels())
                }
                None => None,
            };
            package.pages.push(PackedPage {
                host: places[&address.host],
                depth: address.depth,
                from: address.from.and_then(|page| numbers.get(&page).copied()),
                added: address.added,
                url: address.url,
                row,
            });
        }
        Ok(package)
    }

    /// Says where a copy is by the package's own list of archives.
    fn copy_in_package(
        &self,
        row: &mut PageRow,
        own: Option<ArchiveId>,
        archives: &mut Vec<ArchiveId>,
    ) -> Result<()> {
        let (archive, place) = match (row.place.take(), row.away.take()) {
            (Some(place), _) => (own, place),
            (None, Some((number, place))) => (self.archive(number)?, place),
            (None, None) => return Ok(()),
        };
        // a copy of which nobody knows the archive is none
        if let Some(archive) = archive {
            let known = archives.iter().position(|&known| known == archive);
            let index = known.unwrap_or(archives.len());
            if index == archives.len() {
                archives.push(archive);
            }
            at_most("a list of archives", archives.len(), ARCHIVES_LIMIT)?;
            row.away = Some((ArchiveNumber(index as u16 + 1), place));
        }
        Ok(())
    }
}

impl Package {
    /// As bytes, which any store reads.
    pub fn encode(&self) -> Result<Vec<u8>> {
        at_most("what is said of a package", self.about.len(), ABOUT_LIMIT)?;
        let mut out = MAGIC.to_vec();
        out.push(VERSION);
        put_bytes(&mut out, &self.about);
        put_varint(&mut out, self.archives.len() as u64);
        for archive in &self.archives {
            out.extend_from_slice(&archive.0.to_le_bytes());
        }
        put_varint(&mut out, self.hosts.len() as u64);
        for host in &self.hosts {
            put_bytes(&mut out, host.name.as_bytes());
            put_bytes(&mut out, &host.blob);
        }
        put_varint(&mut out, self.pages.len() as u64);
        for page in &self.pages {
            put_bytes(&mut out, page.url.as_bytes());
            put_varint(&mut out, u64::from(page.host));
            put_varint(&mut out, u64::from(page.depth));
            put_varint(&mut out, page.from.map_or(0, |from| u64::from(from) + 1));
            put_signed(&mut out, page.added);
            match &page.row {
                None => put_bytes(&mut out, &[]),
                Some(row) => {
                    put_bytes(&mut out, &page::bare(row));
                    put_bytes(&mut out, &row.memo);
                }
            }
            at_most("a package of hosts", out.len(), PACKAGE_LIMIT - 4)?;
        }
        let sum = libdeflater::crc32(&out);
        out.extend_from_slice(&sum.to_le_bytes());
        Ok(out)
    }

    /// What [`Package::encode`] wrote, all of it; or where it is not that.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        at_most("a package of hosts", bytes.len(), PACKAGE_LIMIT)?;
        let no_package = |at, expected| Error::Package {
            at,
            length: bytes.len(),
            expected,
        };
        let (body, sum) = (bytes.split_last_chunk::<4>())
            .ok_or_else(|| no_package(0, "the beginning of a package"))?;
        let mut fields = Fields(body);
        if fields.array() != Some(*MAGIC) {
            return Err(no_package(0, "the beginning of a package"));
        }
        if fields.byte() != Some(VERSION) {
            return Err(no_package(MAGIC.len(), "version 1"));
        }
        if libdeflater::crc32(body) != u32::from_le_bytes(*sum) {
            return Err(no_package(body.len(), "the checksum of all before it"));
        }
        let package = Self::read(&mut fields);
        package.map_err(|expected| no_package(body.len() - fields.0.len(), expected))
    }

    fn read(fields: &mut Fields) -> std::result::Result<Self, &'static str> {
        let about = bytes(fields, ABOUT_LIMIT)
            .ok_or("what is said of the whole")?
            .to_vec();
        let count = count(fields, 16).filter(|&count| count <= ARCHIVES_LIMIT);
        let archives: Option<Vec<_>> = (0..count.ok_or("how many archives there are")?)
            .map(|_| Some(ArchiveId(u128::from_le_bytes(fields.array()?))))
            .collect();
        let archives = archives.ok_or("an archive")?;
        let mut hosts: Vec<HostRow> = Vec::new();
        for _ in 0..self::count(fields, LEAST).ok_or("how many hosts there are")? {
            let name = text(fields, host::NAME_LIMIT).ok_or("the name of a host")?;
            if hosts.last().is_some_and(|last| *last.name >= *name) {
                return Err("hosts in order of name");
            }
            let blob = bytes(fields, host::BLOB_LIMIT).ok_or("what is kept of a host")?;
            hosts.push(HostRow {
                name: name.to_owned(),
                blob: blob.to_vec(),
            });
        }
        let count = self::count(fields, LEAST).filter(|&count| u32::try_from(count).is_ok());
        let count = count.ok_or("how many pages there are")?;
        let mut pages: Vec<PackedPage> = Vec::new();
        for _ in 0..count {
            let page = packed_page(fields, hosts.len(), archives.len(), count)?;
            if pages.last().is_some_and(|last| last.url >= page.url) {
                return Err("pages in order of URL");
            }
            pages.push(page);
        }
        if !fields.0.is_empty() {
            return Err("the end");
        }
        Ok(Self {
            about,
            archives,
            hosts,
            pages,
        })
    }
}

fn packed_page(
    fields: &mut Fields,
    hosts: usize,
    archives: usize,
    pages: usize,
) -> std::result::Result<PackedPage, &'static str> {
    let url = text(fields, URL_LIMIT).ok_or("a URL")?.to_owned();
    let place = |number: Option<u64>, end: usize| number.filter(|&number| number < end as u64);
    let host = place(fields.varint(), hosts).ok_or("a host of the package")? as u32;
    let depth = fields.narrow().ok_or("a depth")?;
    let from = place(fields.varint(), pages + 1).ok_or("a page of the package")?;
    let added = fields.signed().ok_or("a time")?;
    let row = match bytes(fields, page::SLOT).ok_or("a row")? {
        [] => None,
        row => {
            let row = page::from_bare(row).ok_or("a row")?;
            let memo = bytes(fields, MEMO_LIMIT).ok_or("what was learnt of a page")?;
            let is_inside = |page: PageId| (page.0 as usize) < pages;
            if !row.redirect_to.is_none_or(is_inside) {
                return Err("a redirect to a page of the package");
            }
            let is_listed = |number: ArchiveNumber| usize::from(number.0) <= archives;
            if row.place.is_some() || !row.away.is_none_or(|(number, _)| is_listed(number)) {
                return Err("an archive of the package");
            }
            if row.state == PageState::Elsewhere {
                return Err("a page that is here");
            }
            let memo = memo.to_vec();
            Some(PageRow { memo, ..row })
        }
    };
    Ok(PackedPage {
        url,
        host,
        depth,
        from: from.checked_sub(1).map(|from| from as u32),
        added,
        row,
    })
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn bytes<'a>(fields: &mut Fields<'a>, limit: usize) -> Option<&'a [u8]> {
    let length = fields.narrow().filter(|&length: &usize| length <= limit)?;
    fields.take(length)
}

fn text<'a>(fields: &mut Fields<'a>, limit: usize) -> Option<&'a str> {
    str::from_utf8(bytes(fields, limit)?).ok()
}

/// A number of things that take so many bytes at least: no more than there can be.
fn count(fields: &mut Fields, least: usize) -> Option<usize> {
    let count: usize = fields.narrow()?;
    (count <= fields.0.len() / least).then_some(count)
}

impl Store {
    /// Rows by which all pages of these hosts are elsewhere, to be committed with the word of where. What was
    /// learnt of them goes with them.
    pub fn leave(&self, hosts: &[HostId]) -> Result<Batch> {
        let mut left = Vec::new();
        self.reader.scan_slots(|id, slot| {
            if slot.is_some_and(|slot| hosts.contains(&slot.host)) {
                left.push(id);
            }
        })?;
        let mut batch = Batch::default();
        for id in left {
            let row = PageRow {
                state: PageState::Elsewhere,
                memo: Vec::new(),
                ..self.page(id)?.unwrap_or_default()
            };
            batch.pages.push((id, row));
        }
        Ok(batch)
    }

    /// Takes a package in, in memory: it is on disk, all of it, when [`Unpacked::batch`] is committed. `keys` are
    /// the canonical keys of its pages, `own` is the archive of this store. What the robot keeps of hosts goes
    /// through `moved`; nothing from it leaves a known host as it is.
    pub fn unpack(
        &mut self,
        package: &Package,
        keys: &[String],
        own: Option<ArchiveId>,
        mut moved: impl FnMut(&HostRow, Option<&HostRow>) -> Option<Vec<u8>>,
    ) -> Result<Unpacked> {
        assert_eq!(keys.len(), package.pages.len(), "a key for each page");
        // whatever can fail comes before the first thing that would go with the next commit
        let room = (u32::MAX - 1 - self.page_count()) as usize;
        at_most("a list of new pages", keys.len(), room)?;
        for page in &package.pages {
            at_most("a URL", page.url.len(), URL_LIMIT)?;
        }
        for row in &package.hosts {
            at_most("a host name", row.name.len(), host::NAME_LIMIT)?;
        }
        let known = (keys.iter())
            .map(|key| {
                self.find(key)
                    .map(|id| Ok((id, self.page(id)?)))
                    .transpose()
            })
            .collect::<Result<Vec<_>>>()?;
        let archives = (package.archives.iter())
            .map(|&id| self.archive_number(id))
            .collect::<Result<Vec<_>>>()?;
        let mut unpacked = Unpacked::default();
        for row in &package.hosts {
            let known = self.find_host(&row.name);
            let known = known.and_then(|id| self.host_row(id).ok());
            let id = self.host(&row.name)?;
            unpacked.hosts.push(id);
            let blob = moved(row, known.as_ref());
            unpacked.batch.hosts.extend(blob.map(|blob| (id, blob)));
        }
        // pages may refer to later ones
        let mut next = self.page_count();
        let mut given: HashMap<&str, PageId> = HashMap::new();
        let mut is_first = Vec::with_capacity(keys.len());
        for (key, known) in keys.iter().zip(&known) {
            let known = known.as_ref().map(|(id, _)| *id);
            let page = known.or_else(|| given.get(&key[..]).copied());
            let page = page.unwrap_or_else(|| {
                next += 1;
                PageId(next - 1)
            });
            is_first.push(given.insert(key, page).is_none());
            unpacked.pages.push(page);
        }
        for (index, (page, known)) in package.pages.iter().zip(known).enumerate() {
            if !is_first[index] {
                unpacked.doubles += 1;
                continue;
            }
            let id = unpacked.pages[index];
            self.admit(&[Candidate {
                key: &keys[index],
                url: &page.url,
                host: unpacked.hosts[page.host as usize],
                depth: page.depth,
                from: page.from.map(|from| unpacked.pages[from as usize]),
                at: page.added,
            }])?;
            let own_row = match known {
                Some((_, row)) if !is_better(row.as_ref(), page.row.as_ref()) => {
                    unpacked.kept += 1;
                    continue;
                }
                known => known.and_then(|(_, row)| row),
            };
            unpacked.taken += 1;
            let row = match &page.row {
                Some(row) => {
                    let mut row = row.clone();
                    let target = row.redirect_to.map(|page| unpacked.pages[page.0 as usize]);
                    row.redirect_to = target;
                    if let Some((number, place)) = row.away.take() {
                        let index = usize::from(number.0) - 1;
                        if own == Some(package.archives[index]) {
                            row.place = Some(place);
                        } else {
                            row.away = Some((archives[index], place));
                        }
                    }
                    Some(row)
                }
                // known here as one that is elsewhere, and never tried there
                None => own_row.map(|_| PageRow::default()),
            };
            unpacked.batch.pages.extend(row.map(|row| (id, row)));
        }
        Ok(unpacked)
    }
}

/// Whether what others know of a page is more than what is known here.
fn is_better(own: Option<&PageRow>, other: Option<&PageRow>) -> bool {
    match (own, other) {
        (Some(own), _) if own.state == PageState::Elsewhere => true,
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(own), Some(other)) => {
            let told = |row: &PageRow| row.last_visit.max(row.last_failure.map(|(at, _)| at));
            told(other) > told(own)
        }
    }
}
