//! Crawls of which nothing can come say so.

use super::crawling::Crawler;
use super::crawling::answers::{Answers, answer, html};
use super::{command, told};
use std::net::TcpListener;
use std::time::{Duration, Instant};

#[test]
fn a_seed_on_this_machine_needs_a_word() {
    let server = Answers::new(41, |_| html("hello"));
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let data = data.to_str().unwrap();
    let url = server.url("/");
    let output = super::evercrawl(&["crawl", "--data", data, &url]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("--allow-private") && said.contains("127.0.0.41/32"),
        "{said}"
    );
    let said = told(&["crawl", "--once", "--allow-private", "--data", data, &url]);
    assert!(
        said.contains("1 page known, 1 fetched, 0 waiting"),
        "{said}"
    );
}

#[test]
fn a_crawl_that_only_other_settings_can_help_ends_and_says_why() {
    let server = Answers::new(42, |path| match path {
        "/robots.txt" => answer(
            "200 OK\r\nContent-Type: text/plain",
            b"User-agent: *\nDisallow: /",
        ),
        _ => html("secret"),
    });
    let mut crawler = Crawler::new(&[server.url("/")]);
    let ended = crawler.start(&[]).within(30);
    ended.failed(
        1,
        &[
            "nothing could be fetched",
            &server.url("/"),
            "robots.txt forbids it",
        ],
    );
}

#[test]
fn a_crawl_that_may_yet_succeed_says_why_it_does_not_and_status_remembers() {
    // nobody listens there any more
    let listener = TcpListener::bind("127.0.0.43:0").unwrap();
    let url = format!(
        "http://127.0.0.43:{}/",
        listener.local_addr().unwrap().port()
    );
    drop(listener);
    let mut crawler = Crawler::new(std::slice::from_ref(&url));
    let run = |crawler: &mut Crawler| {
        let process = crawler.start(&[]);
        let began = Instant::now();
        while !process
            .errors_so_far()
            .contains("nothing could be fetched so far")
        {
            let waited = began.elapsed();
            assert!(
                waited < Duration::from_secs(30),
                "{}",
                process.errors_so_far()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
        let said = process.errors_so_far();
        assert!(said.contains(&url) && said.contains("Ctrl-C"), "{said}");
        // what robots.txt suffers from is what the page does
        assert!(
            said.contains("connect-refused: nothing listens there"),
            "{said}"
        );
        process.interrupted_after(0.0);
    };
    let refused = |crawler: &Crawler| {
        let data = crawler.data();
        let status = told(&["status", "--json", "--data", data.to_str().unwrap()]);
        let status: serde_json::Value = serde_json::from_str(&status).unwrap();
        status["failures"]["connect-refused"].as_u64().unwrap_or(0)
    };
    run(&mut crawler);
    let why = told(&["why", "--data", crawler.data().to_str().unwrap(), &url]);
    assert!(why.contains("connect-refused"), "{why}");
    let first = refused(&crawler);
    assert!(first > 0);
    // a second run begins where the first ended
    let mut again = command(&[
        "crawl",
        "--data",
        crawler.data().to_str().unwrap(),
        "--for",
        "2s",
    ]);
    assert!(again.output().unwrap().status.success());
    assert!(refused(&crawler) >= first);
}
