//! Hosts go to another store with all that is known of them, whole or not at all.

use std::fs;

use proptest::prelude::*;

use super::super::*;
use super::rows::rows;
use super::{fast_directory, url};
use crate::archive::ArchiveId;

const HERE: ArchiveId = ArchiveId(0xaaaa);
const THERE: ArchiveId = ArchiveId(0xbbbb);
const OTHER: ArchiveId = ArchiveId(0xcccc);

/// Pages with rows of any kind; some were never tried, some are excluded.
fn pages() -> impl Strategy<Value = Vec<Option<PageRow>>> {
    let row = (prop::option::of(rows(60)), 0..5u8, 0..=MEMO_LIMIT);
    let row = row.prop_map(|(row, state, memo)| {
        row.map(|row| PageRow {
            state: PageState::from_number(state).unwrap(),
            memo: vec![state; memo],
            ..row
        })
    });
    prop::collection::vec(row, 1..40)
}

/// A store with these pages, on three hosts; copies lie here or in another archive.
fn store_with(directory: &Path, rows: &[Option<PageRow>]) -> Store {
    let mut store = Store::open(directory, StoreOptions::default()).unwrap();
    // its numbers are others than elsewhere
    let count = rows.len() as u32;
    let host = store.host("unrelated").unwrap();
    let other = store.archive_number(OTHER).unwrap();
    let mut batch = Batch::default();
    for number in 0..count {
        let unrelated = format!("http://unrelated/{number}");
        store.admit(&[candidate(&unrelated, host, None)]).unwrap();
    }
    for (number, row) in (0..count).zip(rows) {
        let host = store.host(&name(number)).unwrap();
        let from = number.checked_sub(2).map(|from| PageId(count + from));
        let page = store.admit(&[candidate(&url(number), host, from)]).unwrap()[0].page();
        batch.hosts.push((host, vec![number as u8; 40]));
        batch.pages.extend(row.clone().map(|row| {
            let redirect_to = row.redirect_to.map(|to| PageId(to.0 % (2 * count)));
            let away = row.away.map(|(_, place)| (other, place));
            let row = PageRow {
                away,
                redirect_to,
                ..row
            };
            (page, row)
        }));
    }
    store.commit(&batch).unwrap();
    store
}

fn name(number: u32) -> String {
    format!("https://host{}.example", number % 3)
}

fn candidate(url: &str, host: HostId, from: Option<PageId>) -> Candidate<'_> {
    Candidate {
        from,
        ..super::candidate(url, host)
    }
}

fn keys(package: &Package) -> Vec<String> {
    package.pages.iter().map(|page| page.url.clone()).collect()
}

fn hosts(store: &Store) -> Vec<HostId> {
    let hosts = (0..3).filter_map(|number| store.find_host(&name(number)));
    hosts.collect()
}

fn exported(store: &Store, own: ArchiveId) -> Vec<u8> {
    let package = store
        .reader()
        .pack(&hosts(store), Some(own), |row| row.blob.clone(), |_, _| {});
    package.unwrap().encode().unwrap()
}

fn import(store: &mut Store, bytes: &[u8], own: ArchiveId) -> Unpacked {
    let package = Package::decode(bytes).unwrap();
    let keys = keys(&package);
    let moved = |row: &HostRow, _: Option<&HostRow>| Some(row.blob.clone());
    store.unpack(&package, &keys, Some(own), moved).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn there_and_back_they_are_the_same_bytes(rows in pages(), known in 0u32..40) {
        let (here, there, back) = (fast_directory(), fast_directory(), fast_directory());
        let first = store_with(here.path(), &rows);
        let bytes = exported(&first, HERE);
        let mut second = Store::open(there.path(), StoreOptions::default()).unwrap();
        // some of the pages were found there before
        let host = second.host(&name(known)).unwrap();
        second.admit(&[candidate(&url(known % rows.len() as u32 / 3 * 3 + known % 3), host, None)]).unwrap();
        second.commit(&Batch::default()).unwrap();
        let known = second.find(&url(known)).is_some() && second.page_count() > 0;
        let unpacked = import(&mut second, &bytes, THERE);
        second.commit(&unpacked.batch).unwrap();
        if !known || unpacked.kept == 0 {
            // opened again, too
            drop(second);
            let second = Store::open(there.path(), StoreOptions::default()).unwrap();
            let again = Package::decode(&exported(&second, THERE)).unwrap();
            let once = Package::decode(&bytes).unwrap();
            // the page that was known may be on one host more
            prop_assert!(once.hosts.iter().all(|host| again.hosts.contains(host)));
        }
        // to one that knew nothing: byte for byte, and home again
        let mut third = Store::open(back.path(), StoreOptions::default()).unwrap();
        let unpacked = import(&mut third, &bytes, THERE);
        prop_assert_eq!((unpacked.taken, unpacked.kept), (rows.len() as u64, 0));
        third.commit(&unpacked.batch).unwrap();
        drop(third);
        let mut third = Store::open(back.path(), StoreOptions::default()).unwrap();
        prop_assert_eq!(third.damage(), []);
        let there = exported(&third, THERE);
        prop_assert!(there == bytes);
        // told twice it changes nothing
        let unpacked = import(&mut third, &bytes, THERE);
        prop_assert_eq!(unpacked.taken, 0);
        third.commit(&unpacked.batch).unwrap();
        prop_assert!(exported(&third, THERE) == bytes);
        // back where it began, where its pages are elsewhere by now
        let mut first = first;
        let gone = first.leave(&hosts(&first)).unwrap();
        first.commit(&gone).unwrap();
        prop_assert_eq!(first.totals().pages[PageState::Elsewhere] as usize, rows.len());
        prop_assert!(Package::decode(&exported(&first, HERE)).unwrap().pages.is_empty());
        let unpacked = import(&mut first, &there, HERE);
        first.commit(&unpacked.batch).unwrap();
        prop_assert!(exported(&first, HERE) == bytes);
        prop_assert_eq!(first.totals().pages[PageState::Elsewhere], 0);
    }

    #[test]
    fn no_bytes_are_trusted(rows in pages(), at in any::<prop::sample::Index>(), to: u8, cut: bool) {
        let directory = fast_directory();
        let bytes = exported(&store_with(directory.path(), &rows), HERE);
        let mut other = bytes.clone();
        let at = at.index(bytes.len());
        if cut {
            other.truncate(at);
        } else {
            other[at] = to;
        }
        prop_assert!(other == bytes || Package::decode(&other).is_err());
        // with a checksum that says it is whole
        let body = other.len().saturating_sub(4);
        let sum = libdeflater::crc32(&other[..body]).to_le_bytes();
        other.truncate(body);
        other.extend(sum);
        if let Ok(package) = Package::decode(&other) {
            prop_assert!(package.encode().unwrap() == other);
            let directory = fast_directory();
            let mut store = Store::open(directory.path(), StoreOptions::default()).unwrap();
            let unpacked = import(&mut store, &other, THERE);
            store.commit(&unpacked.batch).unwrap();
        }
    }
}

/// The first copy of a file system that a kill may leave: the journal cut anywhere.
#[test]
fn an_import_cut_at_any_byte_leaves_nothing_half() {
    let rows: Vec<_> = (0..9).map(|number| Some(super::row(number))).collect();
    let here = fast_directory();
    let bytes = exported(&store_with(here.path(), &rows), HERE);
    let there = fast_directory();
    let mut store = Store::open(there.path(), StoreOptions::default()).unwrap();
    let host = store.host("before").unwrap();
    store
        .admit(&[candidate("http://before/", host, None)])
        .unwrap();
    store.commit(&Batch::default()).unwrap();
    let journal = fs::read_dir(there.path()).unwrap();
    let journal = journal.map(|entry| entry.unwrap().path());
    let journal = journal
        .filter(|path| path.to_string_lossy().contains("journal-"))
        .max()
        .unwrap();
    let before = fs::metadata(&journal).unwrap().len() as usize;
    let kept: Vec<_> = fs::read_dir(there.path())
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.metadata().unwrap().is_file())
        .map(|entry| (entry.file_name(), fs::read(entry.path()).unwrap()))
        .collect();
    let unpacked = import(&mut store, &bytes, THERE);
    store.commit(&unpacked.batch).unwrap();
    let whole = fs::read(&journal).unwrap();
    drop(store);
    assert!(whole.len() > before + 2000);
    for cut in (before..whole.len())
        .step_by(37)
        .chain([whole.len() - 1, whole.len()])
    {
        let directory = fast_directory();
        for (name, bytes) in &kept {
            fs::write(directory.path().join(name), bytes).unwrap();
        }
        let name = journal.file_name().unwrap();
        fs::write(directory.path().join(name), &whole[..cut]).unwrap();
        let store = Store::open(directory.path(), StoreOptions::default()).unwrap();
        assert_eq!(store.damage(), []);
        if cut == whole.len() {
            assert!(exported(&store, THERE) == bytes);
        } else {
            assert_eq!((store.page_count(), store.host_count()), (1, 1), "{cut}");
        }
    }
}

#[test]
fn what_is_refused_leaves_no_trace() {
    let directory = fast_directory();
    let mut store = Store::open(directory.path(), StoreOptions::default()).unwrap();
    for number in 0..ARCHIVES_LIMIT {
        store.archive_number(ArchiveId(number as u128)).unwrap();
    }
    let here = fast_directory();
    let row = PageRow {
        place: Some(crate::Place::default()),
        ..super::row(1)
    };
    let bytes = exported(&store_with(here.path(), &[Some(row)]), HERE);
    let package = Package::decode(&bytes).unwrap();
    let unpacked = store.unpack(&package, &keys(&package), None, |_, _| None);
    assert!(matches!(unpacked, Err(Error::TooLong { .. })));
    assert_eq!((store.page_count(), store.host_count()), (0, 0));
}
