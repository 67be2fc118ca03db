//! Keeping the summary: what a commit changes of it, and how all of it is made again.

use std::collections::{BTreeMap, HashMap};

use super::brief::{self, PageBrief};
use super::host::Extent;
use super::journal::Frame;
use super::record::{self, Kept, Record};
use super::scan::{BLOCK, block, blocks, in_order};
use super::summary::{Listed, NOWHERE, Totals, Zone};
use super::tables::Table;
use super::{Batch, HostId, PageId, PageState, Position, Reader, Store, admission};
use crate::error::Result;

/// The summary of a store, in memory while it is written to.
#[derive(Default)]
pub(super) struct Account {
    totals: Totals,
    turn: u64,
    zones: Vec<Zone>,
    hosts: Vec<Listed>,
    /// The first URL of the last zone.
    first_url: Vec<u8>,
}

/// What a commit makes of it.
pub(super) struct Entry {
    totals: Totals,
    turn: u64,
    zones: BTreeMap<u32, Zone>,
    hosts: BTreeMap<u32, Listed>,
    first_url: Option<Vec<u8>>,
}

impl Account {
    pub(super) fn totals(&self) -> &Totals {
        &self.totals
    }

    pub(super) fn memory(&self) -> usize {
        self.zones.capacity() * size_of::<Zone>() + self.hosts.capacity() * size_of::<Listed>()
    }

    /// The summary as it was written; nothing if a part of it is missing or damaged.
    pub(super) fn read(reader: &Reader, extents: &[Option<Extent>]) -> Result<Option<Self>> {
        let pages = reader.page_count()?;
        let kept = record::read(&reader.tables, Record::Totals)?;
        let Some(totals) = Totals::decode(&kept.bytes) else {
            return Ok(None);
        };
        let zones = reader.zones()?;
        let hosts = reader.roll()?;
        let (Some(zones), Some(hosts)) = (zones, hosts) else {
            return Ok(None);
        };
        let is_whole = totals.pages.all() + totals.unreadable == u64::from(pages)
            && zones.len() == pages.div_ceil(BLOCK) as usize
            && hosts.iter().map(|host| &host.extent).eq(extents);
        let last = zones.last().map_or(NOWHERE, |zone| zone.first_url);
        let first_url = reader.address(PageId(last)).map(|address| address.url);
        Ok(is_whole.then(|| Self {
            totals,
            turn: kept.turn,
            zones,
            hosts,
            first_url: first_url.unwrap_or_default().into_bytes(),
        }))
    }

    /// Goes through all pages and visits, once.
    pub(super) fn make(
        reader: &Reader,
        extents: &[Option<Extent>],
        names: impl Fn(HostId) -> Option<u64>,
    ) -> Result<Self> {
        let mut account = Self {
            hosts: (0..)
                .zip(extents)
                .map(|(id, &extent)| Listed {
                    name: names(HostId(id)).unwrap_or(0),
                    extent,
                    ..Listed::default()
                })
                .collect(),
            turn: record::read(&reader.tables, Record::Totals)?.turn,
            ..Self::default()
        };
        count_pages(reader, |block| {
            account.totals.unreadable += block.unreadable;
            account.zones.push(block.zone);
            account.first_url = block.first_url;
            for counted in block.pages {
                let Counted {
                    host,
                    state,
                    cause,
                    requisite,
                } = counted;
                account.totals.pages[state] += 1;
                account.totals.requisites[state] += u32::from(requisite);
                if let Some(cause) = cause {
                    *account.totals.excluded.entry(cause).or_default() += 1;
                }
                if let Some(listed) = account.hosts.get_mut(host.0 as usize) {
                    listed.pages[state] += 1;
                }
            }
        })?;
        for visit in reader.observations(Position(0))? {
            account.totals.visited(&visit?);
        }
        Ok(account)
    }

    /// All of it, to be written.
    pub(super) fn put(&mut self, frame: &mut Frame) {
        let mut zones = Vec::new();
        self.zones.iter().for_each(|zone| zone.encode(&mut zones));
        frame.put(Table::Zones, 0, &zones);
        let mut hosts = Vec::new();
        self.hosts.iter().for_each(|host| host.encode(&mut hosts));
        frame.put(Table::Roll, 0, &hosts);
        self.turn += 1;
        put_totals(&self.totals, self.turn, frame);
    }

    /// After the commit.
    pub(super) fn enter(&mut self, entry: Entry) {
        self.totals = entry.totals;
        self.turn = entry.turn;
        for (block, zone) in entry.zones {
            let block = block as usize;
            self.zones
                .resize(self.zones.len().max(block + 1), Zone::default());
            self.zones[block] = zone;
        }
        for (host, listed) in entry.hosts {
            let host = host as usize;
            self.hosts
                .resize(self.hosts.len().max(host + 1), Listed::default());
            self.hosts[host] = listed;
        }
        if let Some(first_url) = entry.first_url {
            self.first_url = first_url;
        }
    }
}

fn put_totals(totals: &Totals, turn: u64, frame: &mut Frame) {
    let bytes = totals.encode();
    record::put(Record::Totals, &Kept { turn, bytes }, frame);
}

/// A page as it is counted.
#[derive(Clone, Copy)]
pub(super) struct Counted {
    pub(super) host: HostId,
    pub(super) state: PageState,
    /// Why it is excluded.
    cause: Option<u8>,
    requisite: bool,
}

impl Counted {
    fn of(page: &PageBrief) -> Self {
        Self {
            host: page.host,
            state: page.state,
            cause: excluded_for(page).filter(|_| !page.is_requisite()),
            requisite: page.is_requisite(),
        }
    }

    /// One that was never tried.
    fn new(host: HostId, requisite: bool) -> Self {
        Self {
            host,
            state: PageState::New,
            cause: None,
            requisite,
        }
    }
}

/// The pages of a block as they are counted.
#[derive(Default)]
pub(super) struct Block {
    pub(super) zone: Zone,
    pub(super) pages: Vec<Counted>,
    pub(super) unreadable: u64,
    first_url: Vec<u8>,
}

/// Counts the pages of all blocks, on all cores.
pub(super) fn count_pages(reader: &Reader, mut take: impl FnMut(Block)) -> Result<()> {
    let pages = reader.page_count()?;
    let make = |number: u64| -> Result<Block> {
        let range = block(number, pages);
        let mut block = Block::default();
        reader.read_block(range.clone(), |page| match page {
            Ok(page) => {
                let zone = &mut block.zone;
                zone.add(page.state);
                zone.seeds += u16::from(page.is_seed);
                zone.offers(page.last_visit, page.last_change, page.changes);
                block.pages.push(Counted::of(&page));
            }
            Err(_) => block.unreadable += 1,
        })?;
        reader.read_urls(range, None, |id, url| {
            if block.zone.first_url == NOWHERE || *url < block.first_url[..] {
                block.zone.first_url = id.0;
                block.first_url = url.to_vec();
            }
        })?;
        Ok(block)
    };
    in_order(blocks(pages), make, |block: Result<Block>| {
        take(block?);
        Ok(())
    })
}

fn excluded_for(page: &PageBrief) -> Option<u8> {
    let is_excluded = page.state == PageState::Excluded;
    is_excluded.then(|| page.last_failure.map_or(0, |(_, cause)| cause))
}

impl Store {
    /// Puts into `frame` what the commit changes of the summary.
    pub(super) fn account_for(
        &self,
        batch: &Batch,
        extents: &[(HostId, Extent)],
        frame: &mut Frame,
    ) -> Result<Entry> {
        let account = &self.account;
        let mut entry = Entry {
            totals: account.totals.clone(),
            turn: account.turn + 1,
            zones: BTreeMap::new(),
            hosts: BTreeMap::new(),
            first_url: None,
        };
        for &(id, extent) in extents {
            let listed = entry.host(account, id);
            listed.extent = Some(extent);
            if id.0 as usize >= account.hosts.len() {
                listed.name = self.reader.key.fingerprint(&self.host_row(id)?.name) as u64;
            }
        }
        self.account_for_new(&mut entry);
        let mut before = HashMap::with_capacity(batch.pages.len());
        for (id, row) in &batch.pages {
            let counted = match before.get(id) {
                Some(&known) => known,
                None => self.as_counted(*id)?,
            };
            let Counted {
                host,
                state,
                cause,
                requisite,
            } = counted;
            let now = row.brief(*id, brief::Admitted::of(host));
            let next_cause = excluded_for(&now).filter(|_| !requisite);
            let totals = &mut entry.totals;
            totals.pages.moved(state, row.state);
            if requisite {
                totals.requisites.moved(state, row.state);
            }
            if let Some(count) = cause.and_then(|cause| totals.excluded.get_mut(&cause)) {
                *count = count.saturating_sub(1);
            }
            if let Some(cause) = next_cause {
                *totals.excluded.entry(cause).or_default() += 1;
            }
            entry.host(account, host).pages.moved(state, row.state);
            let zone = entry.zone(account, id.0 / BLOCK);
            zone.remove(state);
            zone.add(row.state);
            zone.offers(row.last_visit, row.last_change, row.changes);
            let next = Counted {
                state: row.state,
                cause: next_cause,
                ..counted
            };
            before.insert(*id, next);
        }
        entry.totals.excluded.retain(|_, count| *count > 0);
        for visit in &batch.observations {
            entry.totals.visited(visit);
        }
        entry.put(frame);
        Ok(entry)
    }

    /// Counts what was admitted since the last commit.
    fn account_for_new(&self, entry: &mut Entry) {
        let account = &self.account;
        let mut first_url: Option<&[u8]> = None;
        let slots = self.new_slots.chunks_exact(admission::SLOT);
        for (id, slot) in (self.pages..).zip(slots) {
            let slot = admission::Slot::decode(slot).expect("just encoded");
            let start = (slot.url_offset - self.urls_end) as usize;
            let url = &self.new_urls[start..start + slot.url_length as usize];
            entry.totals.pages[PageState::New] += 1;
            let is_requisite = slot.depth == admission::REQUISITE;
            entry.totals.requisites[PageState::New] += u32::from(is_requisite);
            entry.host(account, slot.host).pages[PageState::New] += 1;
            let is_first_of_block = id % BLOCK == 0;
            let zone = entry.zone(account, id / BLOCK);
            zone.add(PageState::New);
            zone.seeds += u16::from(slot.is_seed());
            if is_first_of_block || url < first_url.unwrap_or(&account.first_url) {
                zone.first_url = id;
                first_url = Some(url);
            }
        }
        entry.first_url = first_url.map(<[u8]>::to_vec);
    }

    /// How a page is counted now.
    fn as_counted(&self, id: PageId) -> Result<Counted> {
        let mut found = None;
        if id.0 < self.pages {
            self.reader.read_block(id.0..id.0 + 1, |page| {
                found = page.ok().map(|page| Counted::of(&page));
            })?;
        } else {
            let address = self.address(id)?;
            found = Some(Counted::new(address.host, address.is_requisite()));
        }
        // a page that is not readable is none of any host's that is known
        Ok(found.unwrap_or(Counted::new(HostId(0), false)))
    }
}

impl Entry {
    fn zone(&mut self, account: &Account, block: u32) -> &mut Zone {
        let known = || account.zones.get(block as usize).copied();
        self.zones
            .entry(block)
            .or_insert_with(|| known().unwrap_or_default())
    }

    fn host(&mut self, account: &Account, host: HostId) -> &mut Listed {
        let known = || account.hosts.get(host.0 as usize).copied();
        self.hosts
            .entry(host.0)
            .or_insert_with(|| known().unwrap_or_default())
    }

    fn put(&self, frame: &mut Frame) {
        put_totals(&self.totals, self.turn, frame);
        let mut slot = Vec::new();
        for (&block, zone) in &self.zones {
            slot.clear();
            zone.encode(&mut slot);
            let offset = u64::from(block) * Zone::SLOT as u64;
            frame.put(Table::Zones, offset, &slot);
        }
        for (&host, listed) in &self.hosts {
            slot.clear();
            listed.encode(&mut slot);
            let offset = u64::from(host) * Listed::SLOT as u64;
            frame.put(Table::Roll, offset, &slot);
        }
    }
}
