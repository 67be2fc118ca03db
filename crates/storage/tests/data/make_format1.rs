//! Writes the store of format 1 that `migrate.rs` opens; see `data/README.md`.

mod listing;

use std::io::Write;
use std::path::Path;

use storage::{
    Batch, Candidate, Durability, HostId, Observation, Outcome, PageId, PageRow, PageState, Place,
    Store, StoreOptions, digest,
};

const NOW: i64 = 1_790_000_000_000;

#[test]
fn make() {
    let directory = tempfile::tempdir().unwrap();
    // the first is checkpointed and opened again; the second is left in its journal
    for (pages, options) in [
        (0..40, StoreOptions { journal_bytes: 4000, ..StoreOptions::default() }),
        (40..64, StoreOptions { durability: Durability::Buffered, ..StoreOptions::default() }),
    ] {
        let mut store = Store::open(directory.path(), options).unwrap();
        for first in pages.step_by(8) {
            commit(&mut store, first);
        }
    }
    let listing = listing::list(&storage::Reader::open(directory.path()).unwrap());
    let mut out = flate2::write::GzEncoder::new(
        std::fs::File::create("tests/data/format1.gz").unwrap(),
        flate2::Compression::best(),
    );
    put(&mut out, "listing", listing.as_bytes());
    for path in files(directory.path()) {
        let name = path.strip_prefix(directory.path()).unwrap();
        put(&mut out, name.to_str().unwrap(), &std::fs::read(&path).unwrap());
    }
    out.finish().unwrap();
}

fn put(out: &mut impl Write, name: &str, bytes: &[u8]) {
    writeln!(out, "{name} {}", bytes.len()).unwrap();
    out.write_all(bytes).unwrap();
}

fn files(directory: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn commit(store: &mut Store, first: u32) {
    let mut batch = Batch::default();
    for number in first..first + 8 {
        let host = store.host(&format!("https://host{}.example", number % 3)).unwrap();
        let url = format!("https://host{}.example/path/{number}?x={}", number % 3, number * 7);
        store
            .admit(&[Candidate {
                key: &url,
                url: &url,
                host,
                depth: (number % 4) as u16,
                from: number.checked_sub(1).map(PageId),
                at: NOW + i64::from(number),
            }])
            .unwrap();
        batch.hosts.push((host, vec![number as u8; number as usize]));
        if number % 8 == 7 {
            continue;
        }
        let visited = |after: u32| Some(NOW + i64::from(number * 1000 + after));
        let state = [PageState::Live, PageState::Redirect, PageState::Gone, PageState::Excluded, PageState::New]
            [(number % 5) as usize];
        let row = PageRow {
            state,
            first_visit: visited(0),
            last_visit: visited(10).filter(|_| state != PageState::New),
            last_change: visited(5).filter(|_| number % 2 == 0),
            last_modified: visited(1).filter(|_| number % 3 == 0),
            status: 200 + number as u16,
            etag: Some(format!("\"{number}\"").into_bytes()),
            modified: (number % 2 == 1).then(|| b"Wed, 21 Oct 2015 07:28:00 GMT".to_vec()),
            digest: digest(&number.to_le_bytes()),
            text: u64::from(number) << 40,
            visits: number * 3,
            changes: number * 2,
            minor: number,
            failures_in_a_row: (number % 7) as u16,
            last_failure: visited(20).filter(|_| number % 7 > 0).map(|at| (at, number as u8)),
            place: Some(Place { file: 1, offset: u64::from(number) * 100, length: 99 }),
            copied: visited(10),
            content_type: Some(b"text/html".to_vec()),
            length: u64::from(number) * 1000,
            redirect_to: (state == PageState::Redirect).then_some(PageId(0)),
        };
        batch.pages.push((PageId(number), row));
        batch.observations.push(Observation {
            page: PageId(number),
            at: NOW + i64::from(number * 1000),
            outcome: [
                Outcome::FirstSeen,
                Outcome::Unchanged,
                Outcome::Minor,
                Outcome::Changed,
                Outcome::Failed(number as u8),
                Outcome::Gone,
            ][(number % 6) as usize],
            modified: visited(1).filter(|_| number % 3 == 0),
            status: 200,
            millis: number,
            bytes: number * 1000,
            digest: digest(&number.to_le_bytes()),
        });
    }
    let _ = HostId(0);
    store.commit(&batch).unwrap();
}
