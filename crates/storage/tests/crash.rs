//! A process that is killed at any moment loses what it had not committed, and nothing else.

mod crawl;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crawl::{Crawl, url};

const DIRECTORY: &str = "STORAGE_TEST_CRASH";
const ROUNDS: u32 = 10;
/// Small, so that checkpoints and rotations are among the moments.
const JOURNAL: u64 = 20_000;
const ROTATE: u64 = 30_000;

/// Not a test of its own: the process that is killed.
#[test]
fn process_to_be_killed() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        return;
    };
    let mut crawl = Crawl::open(Path::new(&directory), JOURNAL, ROTATE).unwrap();
    loop {
        crawl.step().unwrap();
        println!("\nfetched {}", crawl.fetched);
    }
}

#[test]
fn killed_at_any_moment() {
    killed_in(&tempfile::tempdir().unwrap());
    // where syncing costs nothing, most moments are between two syncs
    if let Ok(directory) = tempfile::tempdir_in("/dev/shm") {
        killed_in(&directory);
    }
}

fn killed_in(directory: &tempfile::TempDir) {
    let mut fetched = 0;
    let mut recovered = 0;
    let mut torn = 0;
    for round in 0..ROUNDS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "process_to_be_killed", "--nocapture"])
            .env(DIRECTORY, directory.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut acknowledged = fetched;
        let mut read = |wait: bool| {
            for line in lines.by_ref() {
                let line = line.unwrap();
                if let Some(count) = line.strip_prefix("fetched ") {
                    acknowledged = count.parse().unwrap();
                    if wait {
                        break;
                    }
                }
            }
            acknowledged
        };
        // once it is at work, some time between now and soon
        read(true);
        let micros = (round * 7919 + 1234) % 40_000;
        std::thread::sleep(Duration::from_micros(u64::from(micros)));
        child.kill().unwrap();
        let acknowledged = read(false);
        child.wait().unwrap();
        assert!(acknowledged > fetched, "it did nothing");

        if round % 2 == 0 {
            torn += tear(directory.path());
        }
        let mut crawl = Crawl::open(directory.path(), JOURNAL, ROTATE).unwrap();
        crawl.check(acknowledged);
        fetched = crawl.fetched;
        recovered += crawl.archive.recovered().len();
        drop(crawl);
        let report = storage::archive::verify(&directory.path().join("archive")).unwrap();
        assert_eq!(report.flaws, []);
        assert!(report.digests >= u64::from(fetched));
    }
    assert!(recovered >= torn && torn > 0);
    eprintln!("{fetched} pages in {ROUNDS} rounds; {recovered} tails cut");
    let found = storage::archive::lookup(&directory.path().join("archive"), &url(3)).unwrap();
    assert!(!found.is_empty());
}

/// Leaves a record and a commit half written, as a kill rarely does, but a lost machine often.
/// Returns how many records.
fn tear(directory: &Path) -> usize {
    let files = storage::archive::files(&directory.join("archive")).unwrap();
    let (_, archive) = files.last().unwrap();
    let journals = fs::read_dir(directory.join("store")).unwrap();
    let journals = journals.map(|entry| entry.unwrap().path());
    let journal = journals
        .filter(|path| path.to_string_lossy().contains("journal-"))
        .max()
        .unwrap();
    let mut torn = 0;
    for path in [archive, &journal] {
        let mut bytes = fs::read(path).unwrap();
        // each begins with a whole one that is longer than this
        let complete = path.with_extension("").with_extension("cdxj").exists();
        if bytes.is_empty() || complete {
            continue;
        }
        bytes.extend_from_within(..60);
        fs::write(path, bytes).unwrap();
        torn += usize::from(path == archive);
    }
    torn
}
