//! `evercrawl watch`: pages without what they link to.

use super::{Answers, Crawler, Process, TEXT, answer, html, missing, run, say, wait_until};
use serde_json::Value;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// `evercrawl watch` with a data directory and these arguments, as a user types them.
fn watch(crawler: &mut Crawler, arguments: &[&str]) -> Process {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evercrawl"));
    command
        .args(["watch", "--allow-private", "--contact", "http://me.test/"])
        .arg("--data")
        .arg(crawler.data())
        .args(arguments);
    crawler.start_as(command)
}

/// A command that looks at the data of a watch.
fn look(crawler: &Crawler, arguments: &[&str]) -> String {
    let words = if arguments[0] == "seeds" { 2 } else { 1 };
    let output = Command::new(env!("CARGO_BIN_EXE_evercrawl"))
        .args(&arguments[..words])
        .arg("--data")
        .arg(crawler.data())
        .args(&arguments[words..])
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A shop with a front page that links to items, each with a picture; an old address, and one that leads to
/// another server.
fn mall(last: u8, elsewhere: String) -> (Answers, Arc<AtomicUsize>) {
    let price = Arc::new(AtomicUsize::new(19));
    let now = price.clone();
    let shop = Answers::new(last, move |path| match path {
        "/robots.txt" | "/lost" => missing(),
        "/old" => answer("301 Moved Permanently\r\nLocation: /new", b""),
        "/away" => answer(&format!("302 Found\r\nLocation: {elsewhere}"), b""),
        _ => html(&format!(
            "<title>Pot</title><main><h1>Pot</h1><img src=/pot.png><p>Now {},99 EUR only</p><p>{TEXT}</p>\
             <a href=/other>Other</a></main>",
            now.load(Ordering::Relaxed)
        )),
    });
    (shop, price)
}

#[test]
fn pages_are_watched_without_what_they_link_to() {
    let other = Answers::new(102, |path| match path {
        "/robots.txt" => missing(),
        _ => html(&format!("<p>{TEXT}</p>")),
    });
    let (shop, price) = mall(101, other.url("/there"));
    let mut crawler = Crawler::new(&[]);
    let file = crawler.directory.path().join("pages.txt");
    std::fs::write(
        &file,
        format!(
            "# old addresses\n{}\n\n{}\n",
            shop.url("/old"),
            shop.url("/away")
        ),
    )
    .unwrap();
    let item = shop.url("/item/1");
    let watched = watch(
        &mut crawler,
        &[&item, "--file", file.to_str().unwrap(), "--every", "2s"],
    );
    wait_until("all are had", || {
        let asked = [shop.asked(), other.asked()].concat();
        ["/item/1", "/new", "/there"]
            .iter()
            .all(|path| asked.iter().any(|asked| asked == path))
    });
    wait_until("each is looked at again", || {
        let often = |path: &str| shop.asked().iter().filter(|asked| *asked == path).count();
        often("/item/1") > 2 && often("/new") > 2
    });
    price.store(17, Ordering::Relaxed);
    let file_of = |crawler: &Crawler| crawler.directory.path().join("out-1");
    wait_until("the change is printed", || {
        let said = std::fs::read_to_string(file_of(&crawler)).unwrap();
        said.contains(&format!(
            "changed  {item}\n  - Now 19,99 EUR only\n  + Now 17,99 EUR only\n"
        )) && said.contains(&format!("changed  {}\n", shop.url("/new")))
    });
    // neither links nor pictures
    let asked = shop.asked();
    assert!(
        !asked
            .iter()
            .any(|path| path == "/other" || path == "/pot.png"),
        "{asked:?}"
    );
    let why = look(&crawler, &["why", &other.url("/there")]);
    assert!(why.contains("in: a seed redirects to it"), "{why}");

    // one more while it runs, and one less
    let more = shop.url("/item/2");
    let said = watch(&mut crawler, &[&more]).succeeds_within(20);
    assert_eq!(said.out, "1 added; the running crawl has 4 now\n");
    wait_until("it is watched", || {
        shop.asked().iter().any(|path| path == "/item/2")
    });
    look(&crawler, &["seeds", "remove", &shop.url("/away")]);
    watch(&mut crawler, &[&shop.url("/lost")]).succeeds_within(20);
    wait_until("a page that cannot be had is told of", || {
        let said = std::fs::read_to_string(crawler.directory.path().join("err-1")).unwrap();
        said.contains(&format!(
            "warning: {} could not be fetched (missing)",
            shop.url("/lost")
        ))
    });
    look(&crawler, &["seeds", "remove", &shop.url("/lost")]);
    let ended = watched.interrupted_after(0.5);
    assert!(
        ended
            .out
            .lines()
            .all(|line| line.starts_with("20") || line.starts_with("  ")),
        "{}",
        ended.out
    );

    // started again, it goes on with the same pages, and where old addresses lead is still in scope
    let (before, away) = (shop.asked().len(), other.asked().len());
    let again = watch(&mut crawler, &["--json"]);
    wait_until("all are looked at again", || {
        let asked = &shop.asked()[before..];
        ["/item/1", "/item/2", "/new"]
            .iter()
            .all(|path| asked.iter().any(|asked| asked == path))
    });
    price.store(15, Ordering::Relaxed);
    wait_until("a change is told to programs", || {
        let said = std::fs::read_to_string(crawler.directory.path().join("out-4")).unwrap();
        let told = said
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        told.into_iter().any(|told| {
            told["url"] == *item && told["difference"]["added"][0] == "Now 15,99 EUR only"
        })
    });
    again.interrupted_after(0.0);
    assert_eq!(other.asked().len(), away, "{:?}", other.asked());
}

#[test]
fn watching_once_says_what_changed_and_what_could_not_be_had() {
    let (shop, price) = mall(103, "http://127.0.0.1:1/".into());
    let mut crawler = Crawler::new(&[]);
    let item = shop.url("/item/1");
    let first = watch(&mut crawler, &["--once", &item]).succeeds_within(30);
    assert_eq!((first.out.as_str(), first.err.as_str()), ("", ""));
    // nothing new is nothing said
    let same = watch(&mut crawler, &["--once"]).succeeds_within(30);
    assert_eq!((same.out.as_str(), same.err.as_str()), ("", ""));
    price.store(18, Ordering::Relaxed);
    let changed = watch(&mut crawler, &["--once"]).succeeds_within(30);
    assert!(
        changed.out.contains("  + Now 18,99 EUR only\n"),
        "{}",
        changed.out
    );
    let lost = watch(&mut crawler, &["--once", &shop.url("/lost")]).within(60);
    lost.failed(
        1,
        &["missing: ", "/lost", "1 page in scope could not be fetched"],
    );
    // whoever removes it has heard of it often enough
    look(&crawler, &["seeds", "remove", &shop.url("/lost")]);
    let asked = shop.asked().len();
    watch(&mut crawler, &["--once"]).succeeds_within(30);
    assert!(!shop.asked()[asked..].contains(&"/lost".to_owned()));
    // what is no page, and a directory with a crawl of another kind
    watch(&mut crawler, &["no-url"])
        .within(10)
        .failed(2, &["'no-url'"]);
    let mut site = Crawler::new(&[shop.url("/")]);
    site.start(&["--once", "--pages", "1"]).within(30);
    watch(&mut site, &[&item])
        .within(10)
        .failed(2, &["holds a crawl of sites", "--data"]);
}

#[test]
fn a_price_that_moves_all_the_time_is_told_where_it_is_selected() {
    let look = Arc::new(AtomicUsize::new(0));
    let now = look.clone();
    let shop = Answers::new(104, move |path| match path {
        "/robots.txt" => missing(),
        // another price at every look
        _ => html(&format!(
            "<title>Pot</title><main><h1>Pot</h1><p class=price>Now {},99 EUR only</p><p>{TEXT}</p>\
             <p>Nobody has complained of it so far.</p><p>It comes in red and in blue.</p></main>",
            100 + now.fetch_add(1, Ordering::Relaxed)
        )),
    });
    let page = shop.url("/item");
    let mut crawler = Crawler::new(std::slice::from_ref(&page))
        .with("watch", "[{ pages = \"/item\", select = [\"main\"] }]");
    let crawl = crawler.start(&[]);
    wait_until("a first copy", || {
        run(&crawler, &["get", &page]).status.success()
    });
    for _ in 0..9 {
        assert!(say(&crawler, &["visit", &page]).ends_with(": 200, changed\n"));
    }
    crawl.interrupted_after(0.0);
}
