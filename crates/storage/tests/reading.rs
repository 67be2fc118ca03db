//! Whoever reads while another writes sees whole commits or nothing of them.

mod crawl;

use std::sync::atomic::{AtomicBool, Ordering};

use crawl::{Crawl, url};
use storage::{Batch, Candidate, Durability, PageId, Position, Reader, Store, StoreOptions};

#[test]
fn reading_while_another_writes() {
    let directory = tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap();
    let mut crawl = Crawl::open(directory.path(), 20_000, 30_000).unwrap();
    crawl.step().unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let reader = Reader::open(&directory.path().join("store")).unwrap();
            let mut follower = reader.observations(Position(0)).unwrap();
            let (mut rounds, mut visits) = (0, 0);
            while !done.load(Ordering::Relaxed) || rounds < 3 {
                for visit in follower.by_ref() {
                    assert_eq!(visit.unwrap().page.0, visits);
                    visits += 1;
                }
                for entry in reader.pages().unwrap() {
                    let entry = entry.unwrap();
                    let address = reader.address(entry.id).unwrap();
                    assert_eq!(address.url, url(entry.id.0));
                    let Some(row) = entry.row else { continue };
                    let archive = directory.path().join("archive");
                    let record = storage::archive::read(&archive, row.place.unwrap()).unwrap();
                    assert_eq!(record.url(), Some(&address.url[..]));
                }
                assert!(reader.hosts().unwrap().all(|host| host.is_ok()));
                rounds += 1;
            }
            visits + follower.count() as u32
        });
        for _ in 0..120 {
            crawl.step().unwrap();
        }
        done.store(true, Ordering::Relaxed);
        assert_eq!(reading.join().unwrap(), crawl.fetched);
    });
    crawl.check(crawl.fetched);
}

/// A page that is counted is there with its host, its URL and what is said of it.
#[test]
fn nothing_is_seen_before_what_it_refers_to() {
    let directory = tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap();
    let options = StoreOptions {
        durability: Durability::Buffered,
        ..StoreOptions::default()
    };
    let mut store = Store::open(directory.path(), options).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let reader = Reader::open(directory.path()).unwrap();
            let mut rounds = 0;
            while !done.load(Ordering::Relaxed) {
                // the last page that is counted, and its host after it
                let Some(last) = reader.page_count().unwrap().checked_sub(1) else {
                    continue;
                };
                let address = reader.address(PageId(last)).unwrap();
                let host = reader.host(address.host).unwrap();
                let host = host.unwrap_or_else(|| panic!("page {last} has no host"));
                assert!(address.url.starts_with(&host.name), "{address:?}");
                assert_eq!(reader.find_host(&host.name).unwrap(), Some(address.host));
                rounds += 1;
            }
            rounds
        });
        for host in 0..2000 {
            let name = format!("https://host{host}.example");
            let id = store.host(&name).unwrap();
            for page in 0..20 {
                let url = format!("{name}/{page}");
                let candidate = Candidate {
                    key: &url,
                    url: &url,
                    host: id,
                    depth: 1,
                    from: None,
                    at: 0,
                };
                store.admit(&[candidate]).unwrap();
            }
            store.commit(&Batch::default()).unwrap();
        }
        done.store(true, Ordering::Relaxed);
        assert!(reading.join().unwrap() > 10);
    });
}
