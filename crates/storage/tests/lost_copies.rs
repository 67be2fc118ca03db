//! A page whose copy is lost is fetched again as if for the first time, and nothing else is forgotten.

mod crawl;

use crawl::Crawl;
use storage::{PageId, PageRow, PageState};

#[test]
fn lost_copies_are_forgotten() {
    let directory = tempfile::tempdir().unwrap();
    let mut crawl = Crawl::open(directory.path(), 1 << 20, 1 << 30).unwrap();
    for _ in 0..3 {
        crawl.step().unwrap();
    }
    crawl.check(crawl.fetched);
    let before = crawl.store.page(PageId(2)).unwrap().unwrap();
    // page 30 was never tried, and has none
    let forgotten = crawl.store.forget_copies(&[PageId(2), PageId(30)]).unwrap();
    assert_eq!(forgotten, 1);
    let expected = PageRow {
        state: PageState::New,
        place: None,
        copied: None,
        etag: None,
        modified: None,
        ..before
    };
    assert_eq!(crawl.store.page(PageId(2)).unwrap(), Some(expected));
    assert_eq!(crawl.store.page(PageId(30)).unwrap(), None);
    assert!(
        crawl
            .store
            .page(PageId(3))
            .unwrap()
            .unwrap()
            .place
            .is_some()
    );
}
