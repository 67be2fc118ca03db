//! Whoever reads while another writes sees whole commits or nothing of them.

mod crawl;

use std::sync::atomic::{AtomicBool, Ordering};

use crawl::{Crawl, url};
use storage::{Position, Reader};

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
