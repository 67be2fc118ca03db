//! A scan gives what reading page by page gives, in order, over damage and while others write.

use super::*;
use crate::store::scan::{BLOCK, in_order};

/// All that a brief and a row have in common.
fn said(page: &PageBrief) -> String {
    format!(
        "{:?} {} {} {:?} {} {:?} {:?} {:?} {} {} {} {} {:?}",
        page.id,
        page.depth,
        page.added,
        page.state,
        page.status,
        page.last_visit,
        page.last_change,
        page.last_failure,
        page.failures_in_a_row,
        page.visits,
        page.changes,
        page.minor,
        page.memo
    )
}

fn said_by_row(entry: &PageEntry) -> String {
    let row = entry.row.clone().unwrap_or_default();
    format!(
        "{:?} {} {} {:?} {} {:?} {:?} {:?} {} {} {} {} {:?}",
        entry.id,
        entry.depth,
        entry.added,
        row.state,
        row.status,
        row.last_visit,
        row.last_change,
        row.last_failure,
        row.failures_in_a_row,
        row.visits,
        row.changes,
        row.minor,
        row.memo
    )
}

/// Several blocks; every fifth page was never tried.
fn many(directory: &Path) -> Store {
    let mut store = open(directory);
    let host = store.host("host.example").unwrap();
    let mut batch = Batch::default();
    for number in 0..3 * BLOCK + 100 {
        let url = url(number);
        store.admit(&[candidate(&url, host)]).unwrap();
        if number % 5 > 0 {
            let failure = (1_700_000_000_000 + i64::from(number), number as u8);
            let row = PageRow {
                state: PageState::ALL[number as usize % 5],
                last_change: (number % 3 == 0).then_some(i64::from(number)),
                last_failure: (number % 7 == 0).then_some(failure),
                failures_in_a_row: number as u16,
                changes: number * 3,
                minor: number * 2,
                ..row(number)
            };
            batch.pages.push((PageId(number), row));
        }
    }
    store.commit(&batch).unwrap();
    store
}

fn scanned(reader: &Reader) -> Vec<String> {
    let mut all = Vec::new();
    let read = |page: Result<PageBrief<'_>>| page.map_or_else(|e| e.to_string(), |p| said(&p));
    reader.scan(read, |page| all.push(page)).unwrap();
    all
}

fn read_one_by_one(reader: &Reader) -> Vec<String> {
    let entries = reader.pages().unwrap();
    entries
        .map(|entry| entry.map_or_else(|e| e.to_string(), |e| said_by_row(&e)))
        .collect()
}

#[test]
fn a_scan_is_what_pages_say() {
    let directory = fast_directory();
    let store = many(directory.path());
    let all = scanned(store.reader());
    assert_eq!(all.len(), store.page_count() as usize);
    assert_eq!(all, read_one_by_one(store.reader()));
}

#[test]
fn damage_costs_what_it_hits() {
    let directory = fast_directory();
    let before = scanned(many(directory.path()).reader());
    drop(open(directory.path()));
    let damage = |table: Table, slot: usize, page: usize| {
        let path = directory.path().join(table.name());
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[page * slot + 10] ^= 0x55;
        std::fs::write(path, bytes).unwrap();
    };
    damage(Table::Briefs, brief::SLOT, 2051);
    damage(Table::Admissions, admission::SLOT, 4100);
    let after = scanned(&Reader::open(directory.path()).unwrap());
    for (page, (before, after)) in before.iter().zip(&after).enumerate() {
        match page {
            // the row still has all but the memo
            2051 => {
                let (row, memo) = before.split_at(before.find('[').unwrap());
                assert!(memo.len() > 2);
                assert_eq!(after, &format!("{row}[]"));
            }
            4100 => assert!(after.contains("page 4100 is not readable"), "{after}"),
            _ => assert_eq!(before, after),
        }
    }
}

#[test]
fn many_threads_keep_the_order() {
    for count in [0, 1, 2, 3, 1000] {
        let mut taken = Vec::new();
        let make = |number: u64| {
            if number.is_multiple_of(3) {
                std::thread::yield_now();
            }
            number * number
        };
        in_order(count, make, |made| {
            taken.push(made);
            Ok::<_, Error>(())
        })
        .unwrap();
        assert_eq!(taken, (0..count).map(|n| n * n).collect::<Vec<_>>());
    }
    // an error ends it, and nobody waits for ever
    let mut taken = 0;
    let ended = in_order(
        1000,
        |number| number,
        |made| {
            taken += 1;
            if made == 10 {
                Err(Error::NoSuchPage(10))
            } else {
                Ok(())
            }
        },
    );
    assert!(ended.is_err());
    assert_eq!(taken, 11);
}

#[test]
fn many_keys_are_looked_up_at_once() {
    let directory = fast_directory();
    let store = many(directory.path());
    let reader = store.reader();
    let wanted = [7, 0, BLOCK, 3 * BLOCK + 99, 7];
    let mut keys: Vec<String> = wanted.map(url).into();
    keys.push("http://nowhere.example/".into());
    let mut one_by_one: Vec<PageId> = (keys.iter())
        .filter_map(|key| reader.find(key).unwrap())
        .collect();
    one_by_one.sort_unstable();
    one_by_one.dedup();
    let found = reader.find_all(keys.iter().map(String::as_str)).unwrap();
    assert_eq!(found, one_by_one);
    assert_eq!(found.len(), 4);
}
