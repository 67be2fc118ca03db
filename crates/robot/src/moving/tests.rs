//! Hosts go from crawl to crawl, and are spared as before.

use super::*;
use std::path::Path;
use storage::{Batch, Candidate, PageId, PageRow, PageState, StoreOptions};

const NAME: &str = "https://www.example.org";
const NOW: Now = Now {
    at: 1_800_000_000.0,
    wall: 1_800_000_000.0,
};
const OWN: ArchiveId = ArchiveId(7);

fn open(directory: &Path) -> Store {
    Store::open(directory, StoreOptions::default()).unwrap()
}

/// A crawl of which a host asked to be left alone for ten minutes.
fn crawl(directory: &Path, urls: &[&str]) -> Store {
    let mut store = open(directory);
    let host = store.host(NAME).unwrap();
    let mut batch = Batch::default();
    for url in urls {
        let candidate = Candidate {
            key: url,
            url,
            host,
            depth: 1,
            from: None,
            at: 5,
        };
        let page = store.admit(&[candidate]).unwrap()[0].page();
        let row = PageRow {
            state: PageState::Live,
            last_visit: Some(1_799_999_000_000),
            visits: 3,
            memo: vec![2; 30],
            etag: Some(b"\"1\"".to_vec()),
            ..PageRow::default()
        };
        batch.pages.push((page, row));
    }
    let robots = Standing {
        verdict: Verdict::AllowAll,
        expires: NOW.at + 3600.25,
        unreachable_since: Some(NOW.at - 100.5),
    };
    let kept = KeptHost {
        courtesy: Courtesy {
            not_before: NOW.at + 600.0,
            crawl_delay: 2.5,
            extra: 5.1,
            response: 0.123_456,
        },
        standing: Some(robots),
        lies: true,
        proven: false,
        unproven: 0,
        halved: vec![Halved {
            prefix: "/a/".into(),
            times: 2,
        }],
        no_address: None,
        no_robots: None,
    };
    let blob = serde_json::to_vec(&kept).unwrap();
    batch.hosts.push((host, blob));
    store.commit(&batch).unwrap();
    store
}

fn exported(store: &Store, now: Now) -> Vec<u8> {
    let host = store.find_host(NAME).unwrap();
    export(store.reader(), &[host], Some(OWN), now, &BTreeMap::new()).unwrap()
}

#[test]
fn what_a_host_asked_for_is_kept() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let bytes = exported(&crawl(here.path(), &["https://www.example.org/"]), NOW);
    // in the other's time it is another day
    let then = Now {
        at: NOW.at + 86_400.0,
        wall: NOW.wall + 86_400.0,
    };
    let mut other = open(there.path());
    let imported = import(&mut other, &Config::default(), &bytes, None, then).unwrap();
    assert_eq!((imported.unpacked.taken, imported.unlearnt), (1, 0));
    other.commit(&imported.unpacked.batch).unwrap();
    let kept: KeptHost = serde_json::from_slice(&other.host_row(HostId(0)).unwrap().blob).unwrap();
    assert!((kept.courtesy.not_before - (then.at + 600.0)).abs() < 1e-3);
    assert_eq!((kept.courtesy.crawl_delay, kept.lies), (2.5, true));
    let robots = kept.standing.unwrap();
    assert!((robots.expires - (then.at + 3600.25)).abs() < 1e-3);
    assert!((robots.unreachable_since.unwrap() - (then.at - 100.5)).abs() < 1e-3);
    assert!(exported(&other, then) == bytes);
    let row = other.page(PageId(0)).unwrap().unwrap();
    assert_eq!((row.memo.len(), row.visits), (30, 3));
}

#[test]
fn the_more_careful_of_two_is_believed() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let bytes = exported(&crawl(here.path(), &["https://www.example.org/"]), NOW);
    let mut other = open(there.path());
    let host = other.host(NAME).unwrap();
    let kept = KeptHost {
        courtesy: Courtesy {
            crawl_delay: 9.0,
            ..Courtesy::default()
        },
        ..KeptHost::default()
    };
    let blob = serde_json::to_vec(&kept).unwrap();
    let batch = Batch {
        hosts: vec![(host, blob)],
        ..Batch::default()
    };
    other.commit(&batch).unwrap();
    let imported = import(&mut other, &Config::default(), &bytes, None, NOW).unwrap();
    other.commit(&imported.unpacked.batch).unwrap();
    let kept: KeptHost = serde_json::from_slice(&other.host_row(host).unwrap().blob).unwrap();
    assert_eq!(kept.courtesy.crawl_delay, 9.0);
    assert!(kept.courtesy.not_before > NOW.at + 599.0 && kept.lies);
}

#[test]
fn clocks_that_differ_teach_nothing() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let bytes = exported(&crawl(here.path(), &["https://www.example.org/"]), NOW);
    let ahead = Now {
        at: NOW.at + 100.0,
        ..NOW
    };
    let imported = import(
        &mut open(there.path()),
        &Config::default(),
        &bytes,
        None,
        ahead,
    );
    let imported = imported.unwrap();
    assert_eq!((imported.unlearnt, imported.clocks_differ), (1, 100));
    assert!(imported.unpacked.batch.pages[0].1.memo.is_empty());
}

#[test]
fn others_may_not_say_what_they_like() {
    let there = tempfile::tempdir().unwrap();
    let mut other = open(there.path());
    let mut refused = |bytes: &[u8]| {
        let refused = import(&mut other, &Config::default(), bytes, None, NOW);
        assert_eq!((other.page_count(), other.host_count()), (0, 0));
        refused.unwrap_err().to_string()
    };
    assert!(refused(b"EVERHOST").contains("at byte 0 of 8"));
    for url in [
        "https://elsewhere.example/",
        "https://www.example.org:8443/",
        "https://www.example.org",
        "https://www.example.org/a b",
        "file:///etc/passwd",
    ] {
        let here = tempfile::tempdir().unwrap();
        let bytes = exported(&crawl(here.path(), &[url]), NOW);
        let why = refused(&bytes);
        assert!(
            why.contains(url) && why.contains("is not a URL of"),
            "{why}"
        );
    }
    let here = tempfile::tempdir().unwrap();
    let mut store = open(here.path());
    let host = store.host("ftp://example.org").unwrap();
    store.commit(&Batch::default()).unwrap();
    let bytes = export(store.reader(), &[host], None, NOW, &BTreeMap::new()).unwrap();
    assert!(refused(&bytes).contains("expected scheme, name and port"));
}
