//! A damaged byte costs what it belongs to and nothing else.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;

const PAGES: u32 = 8;

fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to).unwrap();
    for path in files(from) {
        let target = to.join(path.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(path, target).unwrap();
    }
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

/// How many pages, rows, hosts and visits are as they were; nothing may be otherwise.
fn intact(store: &Store) -> [u32; 4] {
    let mut intact = [0; 4];
    for number in 0..PAGES {
        let id = PageId(number);
        if let Ok(address) = store.address(id) {
            assert_eq!(address.url, url(number));
            intact[0] += 1;
        }
        if let Ok(Some(found)) = store.page(id) {
            let expected = row(number);
            // what was learnt of a page may be lost alone
            assert!(found.memo == expected.memo || found.memo.is_empty());
            intact[1] += u32::from(found == expected);
            let memo = expected.memo.clone();
            assert_eq!(PageRow { memo, ..found }, expected);
        }
        assert!(store.find(&url(number)).is_none_or(|found| found == id));
    }
    // or else the record before it
    let known = [PAGES, PAGES / 2].map(learnt);
    assert!(known.iter().any(|known| known == store.learnt()));
    for host in 0..3 {
        if let Ok(row) = store.host_row(HostId(host)) {
            assert_eq!(row.name, format!("host{host}.example"));
            intact[2] += 1;
        }
    }
    for seen in store.reader().observations(Position(0)).unwrap() {
        let seen = seen.unwrap();
        assert_eq!(seen, visit(seen.page.0));
        intact[3] += 1;
    }
    intact
}

fn each_byte_damaged(original: &Path, least: [u32; 4]) {
    let scratch = fast_directory();
    let broken = scratch.path().join("broken");
    for file in files(original) {
        let name = file.strip_prefix(original).unwrap();
        let bytes = fs::read(&file).unwrap();
        for at in 0..bytes.len() {
            copy(original, &broken);
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x55;
            fs::write(broken.join(name), damaged).unwrap();
            let mut store = Store::open(&broken, StoreOptions::default())
                .unwrap_or_else(|error| panic!("{} at {at}: {error}", name.display()));
            let intact = intact(&store);
            for (found, least) in intact.iter().zip(least) {
                assert!(*found >= least, "{} at {at}: {intact:?}", name.display());
            }
            // and it goes on: no number is given twice
            let host = store.host("new.example").unwrap();
            let admitted = store
                .admit(&[candidate("https://new.example/", host)])
                .unwrap();
            assert!(admitted[0].page().0 >= PAGES);
            store.commit(&Batch::default()).unwrap();
        }
    }
}

#[test]
fn a_damaged_byte_after_a_clean_stop() {
    let directory = fast_directory();
    let mut store = open(directory.path());
    fill(&mut store, 0, PAGES);
    drop(store);
    // opened again: nothing is left in the journal
    drop(open(directory.path()));
    each_byte_damaged(directory.path(), [PAGES - 1, PAGES - 1, 2, PAGES - 1]);
}

#[test]
fn a_damaged_byte_beside_a_journal() {
    let directory = fast_directory();
    let mut store = open(directory.path());
    fill(&mut store, 0, PAGES);
    drop(store);
    // tables have what the journal has; either mends the other
    each_byte_damaged(directory.path(), [PAGES, PAGES, 3, PAGES]);
}

#[test]
fn a_journal_cut_anywhere_gives_whole_commits() {
    let directory = fast_directory();
    let mut store = open(directory.path());
    fill(&mut store, 0, PAGES);
    drop(store);
    let scratch = fast_directory();
    let broken = scratch.path().join("broken");
    let journal = journal::journal_path(Path::new(""), 1);
    let bytes = fs::read(directory.path().join(&journal)).unwrap();
    for length in 0..bytes.len() {
        let _ = fs::remove_dir_all(&broken);
        fs::create_dir_all(&broken).unwrap();
        fs::copy(directory.path().join("identity"), broken.join("identity")).unwrap();
        fs::write(broken.join(&journal), &bytes[..length]).unwrap();
        let store = open(&broken);
        let count = store.page_count();
        assert!(count == 0 || count == PAGES / 2, "{length}: {count}");
        check(&store, count);
    }
}

#[test]
fn tables_that_end_early_are_reported() {
    let directory = fast_directory();
    let mut store = open(directory.path());
    fill(&mut store, 0, PAGES);
    // both of the files that are written in turn
    for number in 0..2 {
        store.archive_number(crate::ArchiveId(number)).unwrap();
        let batch = Batch {
            outbox: vec![vec![7; 50]],
            ..Batch::default()
        };
        store.commit(&batch).unwrap();
    }
    drop(store);
    assert!(open(directory.path()).damage().is_empty());
    let scratch = fast_directory();
    let broken = scratch.path().join("broken");
    for table in Table::FLAT {
        let length = fs::metadata(directory.path().join(table.name()))
            .unwrap()
            .len();
        for left in [0, length / 2, length - 1] {
            copy(directory.path(), &broken);
            let file = fs::File::options()
                .write(true)
                .open(broken.join(table.name()));
            file.unwrap().set_len(left).unwrap();
            let store = open(&broken);
            let said = store.damage().iter().find(|damage| {
                damage.path.ends_with(table.name()) && damage.what.contains("are missing")
            });
            assert!(said.is_some(), "{} of {left} bytes", table.name());
        }
    }
}

/// Without its key a store would take every URL for a new one.
#[test]
fn a_store_without_its_identity_is_refused() {
    let directory = fast_directory();
    let mut store = open(directory.path());
    let identity = directory.path().join("identity");
    fill(&mut store, 0, PAGES);
    drop(store);
    for closed in [false, true] {
        if closed {
            // the journal is done with; the pages are in their tables
            drop(open(directory.path()));
        }
        let held = fs::read(&identity).unwrap();
        fs::remove_file(&identity).unwrap();
        let refused = Store::open(directory.path(), StoreOptions::default());
        let message = refused.err().unwrap().to_string();
        assert!(message.contains("identity is missing"), "{message}");
        assert!(message.contains("from a backup"), "{message}");
        assert!(matches!(
            Reader::open(directory.path()),
            Err(Error::NoIdentity { .. })
        ));
        assert!(!identity.exists());
        fs::write(&identity, held).unwrap();
        check(&open(directory.path()), PAGES);
    }
    // one that was never used has nothing to lose
    let empty = fast_directory();
    drop(open(empty.path()));
    fs::remove_file(empty.path().join("identity")).unwrap();
    assert_eq!(open(empty.path()).page_count(), 0);
}

/// The most memory this process ever held, in bytes.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kilobytes << 10
}

/// Files that somebody made long, with nothing in them, take no memory.
#[test]
fn oversized_files_are_not_read_whole() {
    let before = peak();
    let original = fast_directory();
    let mut store = open(original.path());
    fill(&mut store, 0, PAGES);
    store.note("x", b"x").unwrap();
    drop(store);
    let scratch = fast_directory();
    let broken = scratch.path().join("broken");
    for file in files(original.path()) {
        let name = file.strip_prefix(original.path()).unwrap();
        let is_table = ["admissions", "pages", "hosts", "briefs"].iter();
        // a long table is a table of many damaged entries, gone through part by part
        let size = if is_table.clone().any(|table| name.ends_with(table)) {
            1 << 26
        } else {
            1 << 30
        };
        copy(original.path(), &broken);
        let long = fs::File::options()
            .write(true)
            .open(broken.join(name))
            .unwrap();
        long.set_len(size).unwrap();
        let store = open(&broken);
        assert_eq!(store.find(&url(3)), Some(PageId(3)), "{}", name.display());
        let _ = store.reader().read_note("x").unwrap();
        let grown = peak().saturating_sub(before);
        assert!(grown < 300 << 20, "{}: {} MB", name.display(), grown >> 20);
    }
}
