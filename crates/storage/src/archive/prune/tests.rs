//! Old versions go, last copies stay, whatever happens on the way.

use super::*;
use crate::archive::tests::exchange;
use crate::archive::{ArchiveOptions, Packer, lookup, read, verify_copies};
use crate::store::fast_directory;
use crate::{Candidate, PageRow, PageState, StoreOptions};

const PAGES: u32 = 6;
const VERSIONS: i64 = 5;
const NOW: Time = 1_790_000_000_000;

struct Scene {
    directory: tempfile::TempDir,
}

fn url(page: u32) -> String {
    format!("http://example.org/{page}")
}

fn body(page: u32, version: i64) -> Vec<u8> {
    format!("page {page} version {version} ")
        .repeat(40)
        .into_bytes()
}

impl Scene {
    /// Every page has five versions, a day apart, the last of today; each was found again once.
    fn new() -> Self {
        let directory = fast_directory();
        let scene = Self { directory };
        let (mut archive, mut store) = scene.open();
        let host = store.host("http://example.org").unwrap();
        for page in 0..PAGES {
            let url = url(page);
            let candidate = Candidate {
                key: &url,
                url: &url,
                host,
                depth: 0,
                from: None,
                at: NOW,
            };
            store.admit(&[candidate]).unwrap();
        }
        let mut packer = Packer::new(1, 7);
        for version in 0..VERSIONS {
            let mut batch = Batch::default();
            for page in 0..PAGES {
                let (url, body) = (url(page), body(page, version));
                let time = NOW - (VERSIONS - 1 - version) * DAY;
                let mut answer = exchange(&url, &body);
                answer.time = time;
                let place = archive.append(&packer.response(&answer)).unwrap();
                archive.append(&packer.request(&answer, None)).unwrap();
                answer.time = time + 3_600_000;
                let original = crate::archive::Original {
                    url: &url,
                    time,
                    digest: answer.digest,
                };
                let again =
                    packer.revisit(&answer, &original, crate::archive::Revisit::IdenticalDigest);
                archive.append(&again).unwrap();
                let row = PageRow {
                    state: PageState::Live,
                    place: Some(place),
                    visits: 1,
                    ..PageRow::default()
                };
                batch.pages.push((PageId(page), row));
            }
            archive.sync().unwrap();
            store.commit(&batch).unwrap();
        }
        scene
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn open(&self) -> (Archive, Store) {
        let options = ArchiveOptions {
            rotate_bytes: 4_000,
            ..ArchiveOptions::default()
        };
        let archive = Archive::open(&self.at("archive"), options).unwrap();
        let store = Store::open(&self.at("state"), StoreOptions::default()).unwrap();
        (archive, store)
    }

    fn prune(&self, keep: Keep) -> Pruned {
        let (mut archive, mut store) = self.open();
        prune(&mut archive, &mut store, &keep, NOW).unwrap()
    }

    /// All copies are there and right; how many versions of each page are.
    #[track_caller]
    fn versions(&self) -> Vec<usize> {
        let (archive, store) = self.open();
        drop(archive);
        let copies: Vec<_> = copies(store.reader()).unwrap().into_values().collect();
        assert_eq!(copies.len(), PAGES as usize);
        let places = copies.iter().map(|&page| {
            let place = store.page(page).unwrap().unwrap().place.unwrap();
            let copy = read(&self.at("archive"), place).unwrap();
            assert_eq!(copy.payload, body(page.0, VERSIONS - 1), "the last copy");
            (place, page)
        });
        let report = verify_copies(&self.at("archive"), places.collect()).unwrap();
        assert_eq!((report.flaws, report.lost), (vec![], vec![]));
        let of_page = |page| {
            let found = lookup(&self.at("archive"), &url(page)).unwrap();
            found.iter().filter(|entry| entry.mime != REVISIT).count()
        };
        (0..PAGES).map(of_page).collect()
    }
}

fn keep(versions: Option<u32>, days: Option<u32>, bytes: Option<u64>) -> Keep {
    Keep {
        versions,
        days,
        bytes,
    }
}

#[test]
fn versions_and_days_are_kept_as_asked() {
    let scene = Scene::new();
    assert_eq!(scene.prune(Keep::default()).versions, 0);
    assert_eq!(scene.versions(), [5; 6]);
    let pruned = scene.prune(keep(None, Some(3), None));
    assert_eq!(pruned.versions, 6);
    assert!(pruned.after < pruned.before, "{pruned:?}");
    assert_eq!(scene.versions(), [4; 6]);
    assert_eq!(scene.prune(keep(Some(2), None, None)).versions, 12);
    assert_eq!(scene.versions(), [2; 6]);
    // again is nothing
    assert_eq!(scene.prune(keep(Some(2), Some(3), None)).versions, 0);
    // never the last copy
    assert_eq!(scene.prune(keep(Some(0), Some(0), Some(0))).versions, 6);
    assert_eq!(scene.versions(), [1; 6]);
    // requests go with their answers
    let kinds = crate::archive::records(&scene.at("archive")).unwrap();
    let requests = kinds.filter(|record| record.as_ref().unwrap().kind() == "request");
    assert_eq!(requests.count(), 6);
}

#[test]
fn the_oldest_go_first_until_all_fit() {
    let scene = Scene::new();
    let before = size(&files(&scene.at("archive")).unwrap()).unwrap();
    let pruned = scene.prune(keep(None, None, Some(before * 2 / 3)));
    assert!(pruned.after <= before * 2 / 3, "{pruned:?}");
    assert!(pruned.after > before / 3, "{pruned:?}");
    let versions = scene.versions();
    assert!(
        versions.iter().all(|&left| (2..5).contains(&left)),
        "{versions:?}"
    );
}

#[test]
fn a_crash_on_the_way_loses_nothing() {
    let copy = |from: &Path, to: &Path| {
        let copied = std::process::Command::new("cp")
            .arg("-rT")
            .args([from, to])
            .status();
        assert!(copied.unwrap().success());
    };
    // before the page table was told, and before the old files were removed
    for told in [false, true] {
        let scene = Scene::new();
        let old = fast_directory();
        copy(scene.directory.path(), old.path());
        scene.prune(keep(Some(2), None, None));
        copy(&old.path().join("archive"), &scene.at("archive"));
        if !told {
            std::fs::remove_dir_all(scene.at("state")).unwrap();
            copy(&old.path().join("state"), &scene.at("state"));
        }
        scene.versions();
        scene.prune(keep(Some(2), None, None));
        assert_eq!(scene.versions(), [2; 6], "told: {told}");
    }
}

#[test]
fn pages_may_be_visited_between_two_steps() {
    let scene = Scene::new();
    let (mut archive, mut store) = scene.open();
    let directory = scene.at("archive");
    let last = archive.seal().unwrap();
    let keep = keep(Some(2), None, None);
    let mut pruning = Pruning::plan(&directory, last, store.reader(), &keep, NOW).unwrap();
    let mut packer = Packer::new(1, 8);
    let mut steps = 0;
    let mut visited = 0;
    while !pruning.step(&mut archive, &mut store, 1).unwrap() {
        steps += 1;
        // a page has a new copy every now and then: that is the one that counts
        if steps % 7 == 0 && visited < PAGES {
            let (url, body) = (url(visited), body(visited, VERSIONS - 1));
            let mut answer = exchange(&url, &body);
            answer.time = NOW + steps;
            let place = archive.append(&packer.response(&answer)).unwrap();
            archive.sync().unwrap();
            let mut row = store.page(PageId(visited)).unwrap().unwrap();
            row.place = Some(place);
            let mut batch = Batch::default();
            batch.pages.push((PageId(visited), row));
            store.commit(&batch).unwrap();
            visited += 1;
        }
    }
    assert!(steps > 60, "{steps}");
    assert_eq!(visited, PAGES);
    assert_eq!(pruning.pruned.versions, 18);
    drop((archive, store));
    assert_eq!(scene.versions(), [3; 6]);
}
