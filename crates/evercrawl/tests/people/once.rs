//! `crawl --once` ends when every page was had or given up, however long that takes.

use super::crawling::Crawler;
use super::crawling::answers::{Answers, html, missing};

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
    ended.failed(1, &["missing: ", dead, "could not be had"]);
    let mut crawler = Crawler::new(&[server.url("/")]);
    crawler.once(60);
    let before = server.asked().len();
    crawler.once(60);
    let mut again = server.asked().split_off(before);
    again.retain(|path| path != "/robots.txt");
    again.sort();
    assert_eq!(again, ["/", "/a", "/b"]);
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
