//! A full disk is said to be one, costs nothing committed, and work goes on once there is room.

mod crawl;

use std::path::Path;
use std::process::Command;

use crawl::Crawl;
use storage::Error;

const DIRECTORY: &str = "STORAGE_TEST_FULL";
/// Larger than the disk: there is no checkpoint and no rotation before it is full.
const NEVER: u64 = 1 << 40;

fn run(script: &str, directory: &Path) -> bool {
    let test = std::env::current_exe().unwrap();
    Command::new("sh")
        .args(["-c", script, "sh"])
        .arg(test)
        .env(DIRECTORY, directory)
        .status()
        .unwrap()
        .success()
}

/// Crawls until it fails; returns the pages acknowledged before.
fn until_full(crawl: &mut Crawl, expected: &str) -> u32 {
    for _ in 0..100_000 {
        let acknowledged = crawl.fetched;
        if let Err(error) = crawl.step() {
            let message = error.to_string();
            assert!(message.contains(expected), "{message}");
            return acknowledged;
        }
    }
    panic!("the disk was never full");
}

/// Not a test of its own: runs where no file may grow beyond a limit.
#[test]
fn process_with_a_file_limit() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        return;
    };
    let directory = Path::new(&directory);
    let mut crawl = Crawl::open(directory, NEVER, NEVER).unwrap();
    let acknowledged = until_full(&mut crawl, "File too large");
    // tried again, it fails again, and nothing changes
    assert!(crawl.step().is_err());
    std::fs::write(directory.join("acknowledged"), acknowledged.to_string()).unwrap();
}

#[test]
fn a_file_that_cannot_grow() {
    let directory = tempfile::tempdir().unwrap();
    let script =
        r#"ulimit -f 400; trap '' XFSZ; exec "$1" --exact process_with_a_file_limit --nocapture"#;
    assert!(run(script, directory.path()));
    let acknowledged = std::fs::read_to_string(directory.path().join("acknowledged")).unwrap();
    let acknowledged = acknowledged.parse().unwrap();
    assert!(acknowledged > 0);
    let mut crawl = Crawl::open(directory.path(), NEVER, NEVER).unwrap();
    crawl.check(acknowledged);
    crawl.step().unwrap();
    crawl.check(acknowledged + 1);
}

/// Not a test of its own: runs on a small disk.
#[test]
fn process_on_a_small_disk() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        return;
    };
    let directory = Path::new(&directory);
    // room to be freed later, in steps that end at different moments of a commit
    let filler = |n: u32| directory.join(format!("filler{n}"));
    for n in 0..6 {
        std::fs::write(filler(n), vec![1; 150_000 + n as usize * 5000]).unwrap();
    }
    for n in 0..6 {
        let mut crawl = Crawl::open(directory, NEVER, NEVER).unwrap();
        let acknowledged = until_full(&mut crawl, "No space left on device");
        std::fs::remove_file(filler(n)).unwrap();
        if n % 2 == 0 {
            // in the same process, unless the store wants to be opened again
            match crawl.step() {
                Ok(()) => crawl.check(acknowledged + 1),
                Err(error) => assert!(matches!(error, Error::Broken(_)), "{error}"),
            }
        }
        drop(crawl);
        let mut crawl = Crawl::open(directory, NEVER, NEVER).unwrap();
        crawl.check(acknowledged);
    }
}

#[test]
fn a_disk_that_is_full() {
    let directory = tempfile::tempdir().unwrap();
    let mount = r#"mount -t tmpfs -o size=2m tmpfs "$STORAGE_TEST_FULL""#;
    let possible = run(
        &format!("unshare -rm sh -c '{mount}' 2>&1"),
        directory.path(),
    );
    if !possible {
        eprintln!("skipped: no small disk can be made here");
        return;
    }
    let script = format!(
        r#"unshare -rm sh -c '{mount} && exec "$0" --exact process_on_a_small_disk --nocapture' "$1""#
    );
    assert!(run(&script, directory.path()));
}
