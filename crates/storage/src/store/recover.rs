//! Opening a store: the journal is repeated, then what is in memory is built from the tables.

use std::collections::HashMap;
use std::path::Path;

use super::account::Account;
use super::archives::Archives;
use super::host::{Extent, UNIT};
use super::index::Indexer;
use super::journal::{Frame, Journal, journal_path, journals, replay};
use super::outbox::Outbox;
use super::record::{self, Record};
use super::tables::{Table, Tables, noted_lengths};
use super::{
    Damage, HostId, Reader, Seen, Store, StoreOptions, admission, brief, directory, migrate, page,
};
use crate::error::{Context, Result, sync_directory};

pub(super) fn open(directory: &Path, options: StoreOptions) -> Result<Store> {
    std::fs::create_dir_all(directory).context("create", directory)?;
    let lock = directory::lock(directory)?;
    let mut identity = directory::identify(directory)?;
    let mut damage = Vec::new();
    let noted = noted_lengths(directory);
    let mut tables = Tables::open(directory, true)?;
    let number = replay_all(directory, &mut tables, &mut damage)?;
    let mut journal = Journal::create(directory, number, options.durability)?;
    // the journal may have brought back what was dropped since
    tables.drop_segments(options.segments_kept())?;
    for (table, noted) in noted {
        let length = tables.length(table)?;
        if length < noted {
            damage.push(Damage {
                path: tables.path(table),
                what: format!("its last {} bytes of {noted} are missing", noted - length),
            });
        }
    }
    let mut reader = Reader::with(directory, tables, identity);
    if identity.version < directory::VERSION {
        migrate::migrate(&mut reader)?;
        identity = directory::write_identity(directory, identity.key)?;
        reader.version = identity.version;
    }
    // a slot that was cut is one that is not readable: its number is not given again
    let slots = reader.tables.length(Table::Admissions)?;
    let whole = slots.next_multiple_of(admission::SLOT as u64);
    if whole > slots {
        reader.tables.truncate(Table::Admissions, whole)?;
    }
    let pages = reader.page_count()?;
    let mut index = Indexer::open(directory, pages)?;
    index.keep_up(&reader, pages);

    let mut urls_end = reader.tables.length(Table::Urls)?;
    // no URL is shorter than http://a/ and its end, whatever the table says
    let mut seen = Seen::with_room((u64::from(pages).min(urls_end / 10)) as usize);
    let mut host_count = 0;
    let mut unreadable = 0u32;
    reader.scan_slots(|id, slot| {
        let Some(slot) = slot else {
            unreadable += 1;
            return;
        };
        seen.insert(slot.fingerprint, id.0);
        urls_end = urls_end.max(slot.url_offset + u64::from(slot.url_length) + 1);
        host_count = host_count.max(slot.host.0 as usize + 1);
    })?;
    if unreadable > 0 {
        damage.push(Damage {
            path: reader.tables.path(Table::Admissions),
            what: format!("{unreadable} of {pages} entries are not readable; those pages are lost"),
        });
    }
    // rows of pages that are not there would be taken for those of pages yet to come
    let rows_end = u64::from(pages) * page::SLOT as u64;
    let briefs_end = u64::from(pages) * brief::SLOT as u64;
    for (table, end) in [(Table::Pages, rows_end), (Table::Briefs, briefs_end)] {
        if reader.tables.length(table)? > end {
            reader.tables.truncate(table, end)?;
        }
    }

    let hosts = Hosts::find(&reader, host_count, &mut damage)?;
    let observations = reader.tables.observations()?;
    let learnt = record::read(&reader.tables, Record::Learnt)?;
    let keeper = record::read(&reader.tables, Record::Keeper)?;
    let outbox = Outbox::read(&reader.tables, &mut damage)?;
    let archives = Archives::read(&reader.tables)?;
    let account = match Account::read(&reader, &hosts.extents)? {
        Some(account) => account,
        None if pages == 0 && hosts.extents.is_empty() => Account::default(),
        None => make_account(&mut reader, &mut journal, &hosts)?,
    };
    Ok(Store {
        index,
        account,
        outbox,
        archives,
        learnt,
        keeper,
        reader,
        journal,
        options,
        seen,
        pages,
        urls_end,
        new_slots: Vec::new(),
        new_urls: Vec::new(),
        host_names: hosts.names,
        extents: hosts.extents,
        hosts_end: hosts.end,
        new_hosts: Vec::new(),
        observations,
        checkpoint: None,
        broken: None,
        damage,
        _lock: lock,
    })
}

/// The hosts as their table has them.
struct Hosts {
    names: Seen,
    /// Short fingerprints of the names.
    prints: HashMap<HostId, u64>,
    extents: Vec<Option<Extent>>,
    /// Where the next one is put.
    end: u64,
}

impl Hosts {
    /// Goes through the table; pages have so many hosts at least.
    fn find(reader: &Reader, count: usize, damage: &mut Vec<Damage>) -> Result<Self> {
        let mut hosts = Self {
            names: Seen::new(),
            prints: HashMap::new(),
            extents: Vec::new(),
            end: reader.tables.length(Table::Hosts)?.next_multiple_of(UNIT),
        };
        for found in reader.extents() {
            let (id, extent, row) = found?;
            let index = id.0 as usize;
            if index >= hosts.extents.len() {
                hosts.extents.resize(index + 1, None);
            }
            // a host only ever moves to a larger extent
            if hosts.extents[index].is_none_or(|held| held.class <= extent.class) {
                hosts.extents[index] = Some(extent);
            }
            let print = reader.key.fingerprint(&row.name);
            hosts.names.insert(print, id.0);
            hosts.prints.insert(id, print as u64);
            hosts.end = hosts.end.max(extent.offset + extent.capacity());
        }
        let extents = &mut hosts.extents;
        extents.resize(extents.len().max(count), None);
        let lost = extents.iter().filter(|extent| extent.is_none()).count();
        if lost > 0 {
            damage.push(Damage {
                path: reader.tables.path(Table::Hosts),
                what: format!(
                    "{lost} of {} hosts are not readable; the delays they asked for are forgotten",
                    extents.len()
                ),
            });
        }
        Ok(hosts)
    }
}

/// Goes through everything and writes the summary in a commit of its own.
fn make_account(reader: &mut Reader, journal: &mut Journal, hosts: &Hosts) -> Result<Account> {
    let names = |id| hosts.prints.get(&id).copied();
    let mut account = Account::make(reader, &hosts.extents, names)?;
    let mut frame = Frame::new();
    account.put(&mut frame);
    journal.append(&mut frame)?;
    for (table, offset, bytes) in frame.writes() {
        reader.tables.write(table, offset, bytes)?;
    }
    Ok(account)
}

/// Repeats all journals, makes the tables durable, removes the journals; returns the next number.
fn replay_all(directory: &Path, tables: &mut Tables, damage: &mut Vec<Damage>) -> Result<u64> {
    let numbers = journals(directory)?;
    for &number in &numbers {
        let path = journal_path(directory, number);
        let apply = |writes: super::journal::Writes| -> Result<()> {
            for (table, offset, bytes) in writes {
                tables.write(table, offset, bytes)?;
            }
            Ok(())
        };
        replay(&path, apply, damage)?;
    }
    if !numbers.is_empty() {
        tables.written().sync()?;
    }
    for &number in &numbers {
        let path = journal_path(directory, number);
        std::fs::remove_file(&path).context("remove", &path)?;
    }
    sync_directory(directory)?;
    Ok(numbers.last().map_or(1, |last| last + 1))
}
