//! A store written by the release before is opened with all that it has, whenever the process that
//! first does so is killed.

mod listing;

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use storage::{Batch, PageId, PageRow, Reader, Store, StoreOptions};

const DIRECTORY: &str = "STORAGE_TEST_MIGRATE";
/// How often the process is killed, a little later each time.
const KILLS: u32 = 40;

/// Puts the files of the old store into `directory`; returns what the release before read there.
fn unpack(directory: &Path) -> String {
    let packed = &include_bytes!("data/format1.gz")[..];
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(packed)
        .read_to_end(&mut bytes)
        .unwrap();
    let mut files = HashMap::new();
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        let end = rest.iter().position(|&byte| byte == b'\n').unwrap();
        let line = str::from_utf8(&rest[..end]).unwrap();
        let (name, length) = line.split_once(' ').unwrap();
        let (file, others) = rest[end + 1..].split_at(length.parse().unwrap());
        files.insert(name.to_string(), file.to_vec());
        rest = others;
    }
    let listing = files.remove("listing").unwrap();
    for (name, bytes) in files {
        let path = directory.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    String::from_utf8(listing).unwrap()
}

fn version(directory: &Path) -> String {
    let identity = fs::read_to_string(directory.join("identity")).unwrap();
    identity.split(' ').nth(1).unwrap().into()
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

#[test]
fn an_old_store_keeps_everything() {
    let directory = directory();
    let expected = unpack(directory.path());
    assert!(expected.lines().count() > 150);
    let mut store = Store::open(directory.path(), StoreOptions::default()).unwrap();
    assert_eq!(store.damage(), []);
    assert_eq!(version(directory.path()), "2");
    assert_eq!(listing::list(store.reader()), expected);
    assert_eq!((store.page_count(), store.learnt()), (64, &[][..]));
    // and learns
    let row = store.page(PageId(3)).unwrap().unwrap();
    let row = PageRow {
        memo: vec![7; 96],
        ..row
    };
    let batch = Batch {
        pages: vec![(PageId(3), row.clone())],
        learnt: Some(b"all".to_vec()),
        ..Batch::default()
    };
    store.commit(&batch).unwrap();
    drop(store);
    let store = Store::open(directory.path(), StoreOptions::default()).unwrap();
    assert_eq!(listing::list(store.reader()), expected);
    assert_eq!(store.page(PageId(3)).unwrap(), Some(row));
    assert_eq!(store.learnt(), b"all");
}

#[test]
fn an_old_store_is_read_as_it_is() {
    let directory = directory();
    unpack(directory.path());
    let reader = Reader::open(directory.path()).unwrap();
    assert_eq!(reader.page_count().unwrap(), 64);
    assert_eq!(version(directory.path()), "1");
    assert_eq!(reader.learnt().unwrap(), b"");
}

/// Not a test of its own: the process that is killed.
#[test]
fn process_to_be_killed() {
    if let Some(directory) = std::env::var_os(DIRECTORY) {
        Store::open(Path::new(&directory), StoreOptions::default()).unwrap();
    }
}

#[test]
fn killed_while_it_is_made_new() {
    let mut old = 0;
    for kill in 0..KILLS {
        let directory = directory();
        let expected = unpack(directory.path());
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "process_to_be_killed"])
            .env(DIRECTORY, directory.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(u64::from(kill) * 250));
        child.kill().unwrap();
        child.wait().unwrap();
        old += u32::from(version(directory.path()) == "1");
        let store = Store::open(directory.path(), StoreOptions::default()).unwrap();
        assert_eq!(store.damage(), []);
        assert_eq!(listing::list(store.reader()), expected);
    }
    eprintln!("{old} of {KILLS} were killed before the store was of the new format");
}

/// Every state that a kill can leave: each file of the new format whole, cut, or of another time,
/// while the store still says that it is old.
#[test]
fn half_made_files_are_made_again() {
    let made = directory();
    unpack(made.path());
    drop(Store::open(made.path(), StoreOptions::default()).unwrap());
    let briefs = fs::read(made.path().join("briefs")).unwrap();
    let garbage = vec![0xa5; briefs.len() + 1000];
    for bytes in [&briefs[..0], &briefs[..777], &briefs, &garbage] {
        let directory = directory();
        let expected = unpack(directory.path());
        fs::write(directory.path().join("briefs"), bytes).unwrap();
        let store = Store::open(directory.path(), StoreOptions::default()).unwrap();
        assert_eq!(store.damage(), []);
        assert_eq!(listing::list(store.reader()), expected);
        drop(store);
        assert_eq!(fs::read(directory.path().join("briefs")).unwrap(), briefs);
    }
}
