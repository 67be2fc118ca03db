//! Every link of a page is followed, however many there are; what does not fit is said.

mod crawling;

use crawling::Crawler;
use crawling::answers::{Answers, html, missing};
use std::fmt::Write;
use std::process::Command;
use std::time::{Duration, Instant};

const LINKS: usize = 20_000;

fn asked(crawler: &Crawler, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evercrawl"));
    command.args(arguments).arg("--data").arg(crawler.data());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_page_of_twenty_thousand_links() {
    let page = (0..LINKS).fold(String::new(), |mut page, i| {
        let _ = write!(
            page,
            "<li><a href=/{}/{i}>{i}</a> <a href=/>up</a>",
            i % 100
        );
        page
    });
    let server = Answers::new(21, move |path| match path {
        "/" => html(&page),
        _ => missing(),
    });
    let mut crawler = Crawler::new(&[server.url("/")]);
    let mut process = crawler.start(&["--json"]);
    let began = Instant::now();
    let known = || crawling::pages_in(&crawler.state()).map_or(0, |pages| pages.len());
    while known() <= LINKS {
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "{} known",
            known()
        );
        assert!(!process.is_over(), "{}", process.errors_so_far());
        std::thread::sleep(Duration::from_millis(100));
    }
    let ended = process.interrupted_after(0.0);
    assert_eq!(ended.figures().pages_known as usize, LINKS + 1);
    assert_eq!(ended.figures().cut_links, 0);
}

#[test]
fn what_does_not_fit_is_counted_and_told() {
    let long = "x".repeat(5_000);
    let server = Answers::new(22, move |path| match path {
        "/" => html(&format!(
            "<a href=/{long}>1</a><a href=/short>2</a><a href=/big>3</a>"
        )),
        "/short" => html("<p>Hello"),
        "/big" => html(&format!("{}<a href=/lost>4</a>", "word ".repeat(20_000))),
        _ => missing(),
    });
    let mut crawler = Crawler::new(&[server.url("/")]).with("fetch.max_bytes", "50000");
    let ended = crawler.once(20);
    assert_eq!(ended.figures().cut_links, 1);
    assert_eq!(ended.figures().cut_bodies, 1);
    let status = asked(&crawler, &["status"]);
    let told = "1 link too long to follow · 1 answer incomplete";
    assert!(status.contains(told), "{status}");
    let why = asked(&crawler, &["why", &server.url("/")]);
    assert!(why.contains("1 link on it too long to follow"), "{why}");
    let why = asked(&crawler, &["why", &server.url("/big")]);
    assert!(why.contains("the copy is incomplete"), "{why}");
    let why = asked(&crawler, &["why", &server.url("/short")]);
    assert!(!why.contains("cut"), "{why}");
    // the link to it stood behind the end of the copy: that no page links to it would be too much said
    let why = asked(&crawler, &["why", &server.url("/lost")]);
    let told =
        "it may be among 1 link too long to follow; it may be behind the end of 1 copy, cut short";
    assert!(why.contains(told), "{why}");
}
