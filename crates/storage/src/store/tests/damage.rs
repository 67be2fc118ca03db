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
