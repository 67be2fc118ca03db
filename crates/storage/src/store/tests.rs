//! What is committed comes back, whatever happens to the files.

mod damage;
mod indexing;
mod outbox;
mod packages;
mod rows;
mod scanning;
mod summing;

use std::path::Path;

use super::*;

/// Where syncing costs nothing, if there is such a place.
pub(crate) fn fast_directory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

pub(crate) fn url(number: u32) -> String {
    format!(
        "https://host{}.example/path/{number}?x={}",
        number % 3,
        number * 7
    )
}

fn candidate(url: &str, host: HostId) -> Candidate<'_> {
    Candidate {
        key: url,
        url,
        host,
        depth: 2,
        from: Some(PageId(0)),
        at: 1_700_000_000_000,
    }
}

pub(crate) fn row(number: u32) -> PageRow {
    PageRow {
        state: PageState::Live,
        first_visit: Some(1_700_000_000_000),
        last_visit: Some(1_700_000_100_000 + i64::from(number)),
        status: 200,
        etag: Some(format!("\"{number}\"").into_bytes()),
        digest: crate::digest(&number.to_le_bytes()),
        visits: number,
        memo: memo(number),
        ..PageRow::default()
    }
}

fn memo(number: u32) -> Vec<u8> {
    vec![number as u8 ^ 0x3c; number as usize % (MEMO_LIMIT + 1)]
}

/// What is known of all pages once there are so many.
fn learnt(pages: u32) -> Vec<u8> {
    vec![pages as u8; 500 + pages as usize]
}

fn visit(number: u32) -> Observation {
    Observation {
        page: PageId(number),
        at: 1_700_000_100_000 + i64::from(number),
        outcome: Outcome::Failed(number as u8),
        modified: number.is_multiple_of(2).then_some(1_600_000_000_000),
        status: 503,
        millis: 12,
        bytes: 34_567,
        digest: crate::digest(b"x"),
        reason: 0,
    }
}

/// Commits pages `from..to` with rows and visits, a host each third, two commits.
fn fill(store: &mut Store, from: u32, to: u32) {
    for (from, to) in [(from, from.midpoint(to)), (from.midpoint(to), to)] {
        let mut batch = Batch::default();
        for number in from..to {
            let host = store.host(&format!("host{}.example", number % 3)).unwrap();
            let url = url(number);
            let admitted = store.admit(&[candidate(&url, host)]).unwrap();
            assert_eq!(admitted, [Admission::New(PageId(number))]);
            batch.pages.push((PageId(number), row(number)));
            batch
                .hosts
                .push((host, vec![number as u8; number as usize * 10]));
            batch.observations.push(visit(number));
        }
        batch.learnt = Some(learnt(to));
        batch.keeper = Some(learnt(to + 1));
        store.commit(&batch).unwrap();
    }
}

/// Checks that pages `0..count` are all there.
fn check(store: &Store, count: u32) {
    assert_eq!(store.damage(), []);
    assert_eq!(store.page_count(), count);
    if count > 0 {
        assert_eq!(store.learnt(), learnt(count));
        assert_eq!(store.keeper(), learnt(count + 1));
    }
    assert_eq!(store.reader().learnt().unwrap(), store.learnt());
    assert_eq!(store.reader().keeper().unwrap(), store.keeper());
    let entries: Vec<_> = store
        .reader()
        .pages()
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(entries.len(), count as usize);
    for (number, entry) in (0..).zip(entries) {
        assert_eq!(entry.id, PageId(number));
        assert_eq!(entry.row.as_ref(), Some(&row(number)));
        assert_eq!(store.page(entry.id).unwrap(), entry.row);
        assert_eq!(store.find(&url(number)), Some(entry.id));
        assert_eq!(store.reader().find(&url(number)).unwrap(), Some(entry.id));
        let address = store.address(entry.id).unwrap();
        assert_eq!(address.url, url(number));
        assert_eq!((address.host, address.depth), (entry.host, 2));
        let host = store.host_row(address.host).unwrap();
        assert_eq!(host.name, format!("host{}.example", number % 3));
    }
    let mut scanned = Vec::new();
    let brief = |page: Result<PageBrief<'_>>| {
        let page = page.unwrap();
        (
            page.id,
            page.host,
            page.last_visit,
            page.visits,
            page.memo.to_vec(),
        )
    };
    store
        .reader()
        .scan(brief, |page| scanned.push(page))
        .unwrap();
    assert_eq!(scanned.len(), count as usize);
    for (number, (id, host, last_visit, visits, memo)) in (0..).zip(scanned) {
        let row = row(number);
        assert_eq!((id, host), (PageId(number), HostId(number % 3)));
        assert_eq!((last_visit, visits), (row.last_visit, row.visits));
        assert_eq!(memo, row.memo);
    }
    let seen: Vec<_> = store
        .reader()
        .observations(Position(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(seen, (0..count).map(visit).collect::<Vec<_>>());
    let mut hosts: Vec<_> = store
        .reader()
        .hosts()
        .unwrap()
        .map(Result::unwrap)
        .collect();
    hosts.sort_by_key(|(id, _)| *id);
    assert_eq!(hosts.len(), 3.min(count as usize));
    for (id, host) in hosts {
        let last = (0..count).rev().find(|n| n % 3 == id.0).unwrap();
        assert_eq!(host.blob, vec![last as u8; last as usize * 10]);
    }
}

fn open(directory: &Path) -> Store {
    Store::open(directory, StoreOptions::default()).unwrap()
}

#[test]
fn what_is_committed_comes_back() {
    let directory = fast_directory();
    let mut store = open(directory.path());
    fill(&mut store, 0, 40);
    check(&store, 40);
    drop(store);
    let mut store = open(directory.path());
    check(&store, 40);
    fill(&mut store, 40, 100);
    check(&store, 100);
    drop(store);
    check(&open(directory.path()), 100);
}

#[test]
fn checkpoints_lose_nothing() {
    let directory = fast_directory();
    let options = StoreOptions {
        journal_bytes: 1,
        ..StoreOptions::default()
    };
    let mut store = Store::open(directory.path(), options).unwrap();
    for round in 0..20 {
        fill(&mut store, round * 10, round * 10 + 10);
    }
    check(&store, 200);
    drop(store);
    assert!(journal::journals(directory.path()).unwrap().len() <= 2);
    check(&open(directory.path()), 200);
}

/// As if the machine went down before anything but the journal reached the disk.
#[test]
fn the_journal_alone_is_enough() {
    let directory = fast_directory();
    let mut store = open(directory.path());
    fill(&mut store, 0, 50);
    drop(store);
    for table in Table::FLAT {
        std::fs::write(directory.path().join(table.name()), b"").unwrap();
    }
    std::fs::remove_dir_all(directory.path().join("observations")).unwrap();
    check(&open(directory.path()), 50);
}

#[test]
fn what_is_not_committed_is_forgotten_whole() {
    let directory = fast_directory();
    let mut store = open(directory.path());
    fill(&mut store, 0, 10);
    let host = store.host("other.example").unwrap();
    let url = url(10);
    let admitted = store
        .admit(&[candidate(&url, host), candidate(&url, host)])
        .unwrap();
    assert_eq!(
        admitted,
        [Admission::New(PageId(10)), Admission::Known(PageId(10))]
    );
    assert_eq!(store.address(PageId(10)).unwrap().url, url);
    assert_eq!(store.host_row(host).unwrap().name, "other.example");
    assert_eq!(store.page(PageId(10)).unwrap(), None);
    drop(store);
    let store = open(directory.path());
    check(&store, 10);
    assert_eq!(store.find_host("other.example"), None);
}

#[test]
fn a_note_is_whole_or_not_there() {
    let directory = fast_directory();
    let mut store = open(directory.path());
    assert_eq!(store.reader().read_note("x").unwrap(), None);
    fill(&mut store, 0, 10);
    store.note("x", b"of ten").unwrap();
    fill(&mut store, 10, 20);
    let noted = Some((PageId(10), b"of ten".to_vec()));
    assert_eq!(store.reader().read_note("x").unwrap(), noted);
    let path = directory.path().join("note-x");
    let bytes = std::fs::read(&path).unwrap();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        std::fs::write(&path, &damaged).unwrap();
        assert_eq!(store.reader().read_note("x").unwrap(), None);
        std::fs::write(&path, &bytes[..at]).unwrap();
        assert_eq!(store.reader().read_note("x").unwrap(), None);
    }
    // a store that lost pages with the machine knows less than the note
    let other = fast_directory();
    let mut small = open(other.path());
    fill(&mut small, 0, 8);
    std::fs::write(other.path().join("note-x"), &bytes).unwrap();
    assert_eq!(small.reader().read_note("x").unwrap(), None);
    assert!(store.note("x", &vec![0; NOTE_LIMIT + 1]).is_err());
}

#[test]
fn rows_name_only_what_exists() {
    let directory = fast_directory();
    let mut store = open(directory.path());
    fill(&mut store, 0, 2);
    let with = |change: &dyn Fn(&mut Batch)| {
        let mut batch = Batch::default();
        change(&mut batch);
        batch
    };
    let redirect = PageRow {
        redirect_to: Some(PageId(2)),
        ..row(0)
    };
    for batch in [
        with(&|b| b.pages.push((PageId(2), row(2)))),
        with(&|b| b.pages.push((PageId(0), redirect.clone()))),
        with(&|b| b.observations.push(visit(2))),
    ] {
        assert!(matches!(store.commit(&batch), Err(Error::NoSuchPage(2))));
    }
    let long = PageRow {
        memo: vec![0; MEMO_LIMIT + 1],
        ..row(0)
    };
    for batch in [
        with(&|b| b.pages.push((PageId(0), long.clone()))),
        with(&|b| b.learnt = Some(vec![0; RECORD_LIMIT + 1])),
    ] {
        assert!(matches!(store.commit(&batch), Err(Error::TooLong { .. })));
    }
    let batch = with(&|b| b.hosts.push((HostId(2), vec![])));
    assert!(matches!(store.commit(&batch), Err(Error::NoSuchHost(2))));
    let long = "x".repeat(URL_LIMIT + 1);
    assert!(store.admit(&[candidate(&long, HostId(0))]).is_err());
    assert!(store.admit(&[candidate("x", HostId(2))]).is_err());
    check(&store, 2);
}

#[test]
fn a_second_process_is_refused() {
    let directory = fast_directory();
    let store = open(directory.path());
    let refused = Store::open(directory.path(), StoreOptions::default())
        .err()
        .unwrap();
    let message = refused.to_string();
    assert!(
        message.contains(&directory.path().display().to_string()),
        "{message}"
    );
    assert!(
        message.contains(&format!("pid {}", std::process::id())),
        "{message}"
    );
    drop(store);
    open(directory.path());
}

#[test]
fn another_version_is_refused() {
    let directory = fast_directory();
    drop(open(directory.path()));
    let path = directory.path().join("identity");
    std::fs::write(&path, "evercrawl-store 3 whatever\n").unwrap();
    let refused = Store::open(directory.path(), StoreOptions::default())
        .err()
        .unwrap();
    assert!(
        refused
            .to_string()
            .contains("format version 3; this program knows version 2")
    );
}

#[test]
fn unreadable_directories_are_named() {
    let directory = fast_directory();
    let file = directory.path().join("file");
    std::fs::write(&file, "not a directory").unwrap();
    let message = Store::open(&file, StoreOptions::default())
        .err()
        .unwrap()
        .to_string();
    assert!(
        message.contains("cannot create") && message.contains("file"),
        "{message}"
    );
    assert!(Reader::open(&directory.path().join("nowhere")).is_err());
    // the superuser may read everything
    let closed = directory.path().join("closed");
    std::fs::create_dir(&closed).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o000);
    std::fs::set_permissions(&closed, mode).unwrap();
    if std::fs::read_dir(&closed).is_err() {
        let message = Store::open(&closed, StoreOptions::default())
            .err()
            .unwrap()
            .to_string();
        assert!(message.contains("Permission denied"), "{message}");
    } else {
        eprintln!("skipped: this user may read every directory");
    }
}

#[test]
fn observations_are_followed_and_dropped() {
    let directory = fast_directory();
    let options = StoreOptions {
        durability: Durability::Buffered,
        journal_bytes: 1 << 20,
        observations_kept: 1,
    };
    let mut store = Store::open(directory.path(), options).unwrap();
    fill(&mut store, 0, 2);
    let mut follower = Observations::open(directory.path(), Position(0)).unwrap();
    assert_eq!(follower.by_ref().count(), 2);
    assert_eq!(follower.position(), Position(2));
    assert!(follower.read().unwrap().is_none());
    let batch = Batch {
        observations: vec![visit(1); 50_000],
        ..Batch::default()
    };
    let mut read = 2;
    while store.position().0 < 3 * observation::SEGMENT {
        store.commit(&batch).unwrap();
        read += follower.by_ref().map(Result::unwrap).count() as u64;
        assert_eq!(Position(read), store.position());
    }
    assert_eq!(follower.damaged(), 0);
    // the first segment is gone; a late reader begins with the second
    let mut late = store.reader().observations(Position(5)).unwrap();
    assert!(late.read().unwrap().is_some());
    assert!(late.position().0 > observation::SEGMENT);
    drop(store);
    let store = Store::open(directory.path(), options).unwrap();
    assert_eq!(store.position(), Position(read));
    let log = directory.path().join(observation::DIRECTORY);
    assert_eq!(observation::segments(&log).unwrap(), [2, 3]);
}
