//! `crawl --once` ends when every page was had or given up, however long that takes.

use super::crawling::Crawler;
use super::crawling::answers::{Answers, answer, html, missing};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A page that links to two others.
fn site(last: u8) -> Answers {
    Answers::new(last, |path| match path {
        "/robots.txt" => missing(),
        "/" => html("<p>The front page.</p><a href=/a>a</a> <a href=/b>b</a>"),
        _ => html(&format!("<p>The page {path}.</p>")),
    })
}

#[test]
fn a_long_interval_is_waited_for() {
    let server = Answers::new(56, |path| match path {
        "/robots.txt" => missing(),
        _ => html("<p>The only page.</p>"),
    });
    let mut crawler = Crawler::new(&[server.url("/")]).delay(46.0);
    crawler.once(120);
    assert_eq!(server.asked(), ["/robots.txt", "/"]);
}

#[test]
fn without_an_interval_every_run_has_every_page() {
    for _ in 0..20 {
        let server = site(57);
        Crawler::new(&[server.url("/")]).delay(0.0).once(60);
        let mut asked = server.asked();
        asked.sort();
        assert_eq!(asked, ["/", "/a", "/b", "/robots.txt"]);
    }
}

#[test]
fn what_is_missing_is_listed_and_every_page_made_new_the_next_time() {
    let server = site(58);
    // nobody listens there
    let dead = "http://127.0.0.58:9/";
    let mut crawler = Crawler::new(&[server.url("/"), dead.into()]);
    let ended = crawler.start(&["--once"]).within(400);
    ended.failed(1, &["missing: ", dead, "could not be fetched"]);
    let mut crawler = Crawler::new(&[server.url("/")]);
    crawler.once(60);
    let before = server.asked().len();
    crawler.once(60);
    let mut again = server.asked().split_off(before);
    again.retain(|path| path != "/robots.txt");
    again.sort();
    assert_eq!(again, ["/", "/a", "/b"]);
}

/// Whoever runs it from cron wants to have the page when it is back.
#[test]
fn a_page_that_was_not_there_is_asked_for_the_next_time() {
    let is_there = Arc::new(AtomicBool::new(false));
    let now = is_there.clone();
    let server = Answers::new(208, move |path| match path {
        "/robots.txt" => missing(),
        "/" => html("<p>The front page.</p><a href=/a>a</a>"),
        _ if now.load(Ordering::Relaxed) => html("<p>Here I am again.</p>"),
        _ => missing(),
    });
    let mut crawler = Crawler::new(&[server.url("/")]);
    let asked = |server: &Answers| server.asked().iter().filter(|path| *path == "/a").count();
    for _ in 0..2 {
        let before = asked(&server);
        let ended = crawler.start(&["--once"]).within(60);
        ended.failed(1, &["missing: ", "/a (404: not there)"]);
        assert!(asked(&server) > before, "{:?}", server.asked());
    }
    is_there.store(true, Ordering::Relaxed);
    crawler.once(60);
}

/// A server that asks for a day of patience gets it, and who waits hears how long that is.
#[test]
fn how_long_a_server_is_waited_for_is_said() {
    let server = Answers::new(209, |path| match path {
        "/robots.txt" => missing(),
        "/" => html("<p>The front page.</p><a href=/a>a</a> <a href=/b>b</a>"),
        _ => answer("503 Service Unavailable\r\nRetry-After: 86400", b"later"),
    });
    let mut crawler = Crawler::new(&[server.url("/")]);
    let ended = crawler.start(&["--once", "--for", "15s"]).within(60);
    ended.failed(
        1,
        &[
            "first pass: at least 24.0 h left",
            "not reached before the end",
        ],
    );
    assert_eq!(server.asked().len(), 3, "{:?}", server.asked());
}

/// What people name they want, though a link like it would be taken for a trap.
#[test]
fn a_seed_is_fetched_however_odd_its_url_is() {
    let server = site(38);
    let long = format!("/search?q={}", "word+".repeat(500));
    let circling = "/a/a/a/a/a".to_owned();
    let deep = "/x".repeat(30);
    let mut odd = vec![long, circling, deep];
    let seeds: Vec<String> = odd.iter().map(|path| server.url(path)).collect();
    let mut crawler = Crawler::new(&seeds).with("scope.reach", "\"page\"");
    crawler.once(60);
    let mut asked = server.asked();
    asked.retain(|path| path != "/robots.txt");
    asked.sort();
    odd.sort();
    assert_eq!(asked, odd);
}
