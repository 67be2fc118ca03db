//! What is kept: text, versions, logs; and where a crawl ends.

use super::{Answers, Crawler, TEXT, html, missing, run, say, shop, wait_until};
use serde_json::Value;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

#[test]
fn the_text_of_any_version_is_had() {
    let (shop, price) = shop(98);
    let page = shop.url("/item");
    let mut crawler = Crawler::new(std::slice::from_ref(&page));
    crawler.once(30);
    // the index knows versions by the second
    std::thread::sleep(Duration::from_millis(1100));
    let then = Instant::now();
    std::thread::sleep(Duration::from_millis(1100));
    price.store(17, Ordering::Relaxed);
    crawler.once(30);
    let expected = |cents: u32| format!("Pot\n\nPot\n\nNow {cents},99 EUR only\n\n{TEXT}\n");
    assert_eq!(say(&crawler, &["get", "--text", &page]), expected(17));
    let ago = format!("{}s ago", then.elapsed().as_secs() + 1);
    assert_eq!(
        say(&crawler, &["get", "--text", "--at", &ago, &page]),
        expected(19)
    );
    let told: Value =
        serde_json::from_str(&say(&crawler, &["get", "--text", "--json", &page])).unwrap();
    assert_eq!(told["title"], "Pot");
    let lines = say(&crawler, &["export", "--what", "text", "--format", "jsonl"]);
    let told: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["url"], page);
    assert_eq!(
        told[0]["text"],
        format!("Pot\n\nNow 17,99 EUR only\n\n{TEXT}")
    );
    let packed = run(
        &crawler,
        &["export", "--what", "text", "--format", "parquet"],
    );
    assert!(packed.stdout.starts_with(b"PAR1") && packed.stdout.ends_with(b"PAR1"));
    let wrong = run(&crawler, &["export", "--what", "text", "--format", "csv"]);
    assert_eq!(wrong.status.code(), Some(2));
}

/// Pages without end: each links to the next.
fn endless(last: u8) -> Answers {
    Answers::new(last, |path| match path {
        "/robots.txt" => missing(),
        path => {
            let number: u32 = path.trim_start_matches('/').parse().unwrap_or(0);
            let text = format!("Page {number} of very many pages. ").repeat(20);
            html(&format!("<p>{text}</p><a href=/{}>more</a>", number + 1))
        }
    })
}

#[test]
fn a_crawl_ends_by_its_limits() {
    let site = endless(99);
    // what was not reached is counted, not listed
    let ended = Crawler::new(&[site.url("/1")])
        .start(&["--once", "--pages", "5"])
        .within(30);
    ended.failed(1, &["1 page not reached before the end"]);
    assert!(!ended.err.contains("missing:"), "{}", ended.err);
    let mut crawler = Crawler::new(&[site.url("/1")]);
    let ended = crawler
        .start(&["--pages", "7", "--json"])
        .succeeds_within(30);
    assert!(ended.err.contains("limits.pages = 7"), "{}", ended.err);
    let before = 5;
    let pages = || {
        let asked = site.asked();
        asked.iter().filter(|path| *path != "/robots.txt").count() - before
    };
    let figures = ended.figures();
    let visits = figures.first_visits + figures.revisits;
    assert_eq!((visits, pages()), (7, 7));
    // the limit was of that start alone; the next one goes on
    let ended = crawler
        .start(&["--bytes", "5000", "--json"])
        .succeeds_within(30);
    assert!(ended.err.contains("limits.bytes = 5000"), "{}", ended.err);
    assert!(
        (5_000..8_000).contains(&ended.figures().bytes),
        "{:?}",
        ended.figures()
    );
    let mut crawler = crawler.with("limits.time", "\"1s\"");
    let ended = crawler.start(&["--json"]).succeeds_within(30);
    assert!(ended.err.contains("limits.time"), "{}", ended.err);
    let wrong = crawler
        .with("limits.time", "\"soon\"")
        .start(&[])
        .within(10);
    wrong.failed(2, &["limits.time", "expected a time"]);
}

#[test]
fn old_versions_are_taken_out() {
    let (shop, price) = shop(100);
    let page = shop.url("/item");
    let mut crawler = Crawler::new(std::slice::from_ref(&page));
    let prune = |crawler: &Crawler, arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evercrawl"));
        command
            .args(["archive", "prune", "-c"])
            .arg(crawler.config());
        command.args(arguments).output().unwrap()
    };
    for cents in 11..16 {
        price.store(cents, Ordering::Relaxed);
        crawler.once(30);
    }
    let full = |crawler: &Crawler| {
        let versions = say(crawler, &["get", "--versions", &page]);
        versions
            .lines()
            .filter(|line| line.contains("text/html"))
            .count()
    };
    assert_eq!(full(&crawler), 5);
    assert_eq!(prune(&crawler, &[]).status.code(), Some(2));
    let said = prune(&crawler, &["--keep-versions", "2"]);
    let text = String::from_utf8_lossy(&said.stdout);
    assert!(text.starts_with("3 versions removed;"), "{said:?}");
    assert_eq!(full(&crawler), 2);
    crawler.verify_archive();
    // the last copy stays whatever is asked for, and is the right one; the crawl goes on with it
    let said = prune(&crawler, &["--max-bytes", "0"]);
    assert!(said.status.success(), "{said:?}");
    assert_eq!(full(&crawler), 1);
    assert!(say(&crawler, &["get", "--text", &page]).contains("15,99"));
    // as a setting, at every start
    let mut crawler = crawler.with("archive.keep_versions", "1");
    for cents in 16..18 {
        price.store(cents, Ordering::Relaxed);
        crawler.once(30);
    }
    assert_eq!(full(&crawler), 2);
    crawler.once(30);
    assert_eq!(full(&crawler), 1);
    crawler.verify_archive();
    assert!(say(&crawler, &["get", &page]).contains("17,99"));
}

#[test]
fn the_log_goes_to_a_file_that_does_not_grow_without_end() {
    use std::os::unix::fs::PermissionsExt;
    let site = endless(106);
    let mut crawler = Crawler::new(&[site.url("/1")]);
    let folder = crawler.directory.path().join("logs");
    std::fs::create_dir(&folder).unwrap();
    let file = folder.join("crawl.log");
    crawler = crawler
        .with("log.file", format!("{file:?}"))
        .with("log.level", "\"debug\"")
        .with("log.json", "true")
        .with("log.rotate_bytes", "4096")
        .with("log.keep_files", "3");
    let crawl = crawler.start(&["--pages", "60"]);
    // killed and started again: what was written is there, and it goes on
    wait_until("it rotates", || folder.join("crawl.log.2").exists());
    crawl.kill();
    crawler.start(&["--pages", "60"]).succeeds_within(60);
    let names: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(names.len(), 4, "{names:?}");
    let mut asked = 0;
    for name in &names {
        let metadata = std::fs::metadata(name).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
        assert!(metadata.len() <= 4096, "{}", metadata.len());
        for line in std::fs::read_to_string(name).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            asked += usize::from(line["fields"]["url"].is_string());
        }
    }
    assert!(asked > 20, "{asked}");
    // a link that somebody planted is not written through
    let precious = crawler.directory.path().join("precious");
    std::fs::write(&precious, "precious").unwrap();
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(&precious, &file).unwrap();
    let refused = crawler.start(&["--pages", "1"]).within(10);
    refused.failed(2, &["crawl.log", "log.file", "is a link"]);
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
}
