//! A page is asked for now; what differs, in words, feeds and pages.

use super::{Answers, Crawler, TEXT, html, missing, python, run, say, shop, wait_until};
use serde_json::Value;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn a_page_is_asked_for_and_its_change_is_shown() {
    let (shop, price) = shop(91);
    let page = shop.url("/item");
    // nobody else asks in between
    let mut crawler =
        Crawler::new(std::slice::from_ref(&page)).with("revisit.least_interval", "\"1h\"");
    let refused = run(&crawler, &["visit", &page]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let crawl = crawler.start(&[]);
    wait_until("a first copy", || {
        run(&crawler, &["get", &page]).status.success()
    });
    let only = run(&crawler, &["diff", &page]);
    assert!(
        String::from_utf8_lossy(&only.stderr).contains("only one version"),
        "{only:?}"
    );

    let asked = shop.asked().len();
    assert!(say(&crawler, &["visit", &page]).ends_with(": 200, not changed\n"));
    price.store(17, Ordering::Relaxed);
    assert!(say(&crawler, &["visit", &page]).ends_with(": 200, changed\n"));
    assert!(shop.asked().len() >= asked + 2);
    let told: Value = serde_json::from_str(&say(&crawler, &["visit", "--json", &page])).unwrap();
    assert_eq!(
        (&told["status"], &told["changed"]),
        (&200.into(), &false.into())
    );
    // a page nobody knew of, and one that does not belong to the crawl
    assert!(say(&crawler, &["visit", &shop.url("/other")]).ends_with(": 200, first copy\n"));
    let outside = run(&crawler, &["visit", "http://127.0.0.92:1/"]);
    assert_eq!(outside.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&outside.stderr).contains("out of scope"));

    let difference = say(&crawler, &["diff", &page]);
    let lines: Vec<&str> = difference.lines().collect();
    assert_eq!(lines[0], format!("{page}: changed"));
    assert_eq!(
        lines[3..],
        ["  - Now 19,99 EUR only", "  + Now 17,99 EUR only"]
    );
    let shown = say(&crawler, &["diff", "--html", &page]);
    assert!(shown.contains("Now <del>19,99</del> EUR only"), "{shown}");
    assert!(shown.contains("Now <ins>17,99</ins> EUR only"), "{shown}");
    let told: Value = serde_json::from_str(&say(&crawler, &["diff", "--json", &page])).unwrap();
    assert_eq!(told["verdict"], "changed");
    assert_eq!(told["added"][0], "Now 17,99 EUR only");
    let early = run(&crawler, &["diff", "--from", "2001-01-01", &page]);
    assert!(String::from_utf8_lossy(&early.stderr).contains("--from: no copy from that time"));

    let changes = say(&crawler, &["changes", "--diff"]);
    let changed = changes
        .lines()
        .find(|line| line.contains("\"changed\""))
        .unwrap();
    let changed: Value = serde_json::from_str(changed).unwrap();
    assert_eq!(changed["difference"]["removed"][0], "Now 19,99 EUR only");
    let feed = say(&crawler, &["changes", "--format", "atom"]);
    let entries = entries(&feed);
    assert!(
        entries.iter().any(|entry| {
            entry.contains(&format!("changed: {page}")) && entry.contains("<del>19,99</del>")
        }),
        "{feed}"
    );
    let rss = say(&crawler, &["changes", "--format", "rss"]);
    if let (Some(rss), Some(atom)) = (feed_read(&rss), feed_read(&feed)) {
        assert_eq!(rss, atom);
        assert!(rss.contains(&format!("changed: {page} {page}")), "{rss}");
    }
    crawl.interrupted_after(0.0);
}

/// The price went down, and since then only a counter has gone on: what people ask for is the price.
#[test]
fn a_difference_is_not_hidden_by_noise_that_came_after_it() {
    let (price, views) = (Arc::new(AtomicUsize::new(19)), AtomicUsize::new(1000));
    let now = price.clone();
    let shop = Answers::new(207, move |path| match path {
        "/robots.txt" => missing(),
        _ => html(&format!(
            "<title>Pot</title><main><h1>Pot</h1><table><tr><td>Price</td><td>{},99 EUR</td></tr></table>\
            <p>{TEXT}</p><p>{} views</p></main>",
            now.load(Ordering::Relaxed),
            views.fetch_add(1, Ordering::Relaxed)
        )),
    });
    let page = shop.url("/item");
    let mut crawler =
        Crawler::new(std::slice::from_ref(&page)).with("revisit.least_interval", "\"1h\"");
    let crawl = crawler.start(&[]);
    wait_until("a first copy", || {
        run(&crawler, &["get", &page]).status.success()
    });
    say(&crawler, &["visit", &page]);
    let noise = say(&crawler, &["diff", &page]);
    assert!(
        noise.contains("minor") && noise.contains("+ 1001 views"),
        "{noise}"
    );
    price.store(17, Ordering::Relaxed);
    for _ in 0..3 {
        say(&crawler, &["visit", &page]);
    }
    let difference = say(&crawler, &["diff", &page]);
    assert!(
        difference.contains(": changed")
            && difference.contains("  - Price 19,99 EUR\n  + Price 17,99 EUR\n"),
        "{difference}"
    );
    crawl.interrupted_after(0.0);
}

/// What feedparser, which other people wrote, finds in a feed: version, flaws, entries.
fn feed_read(feed: &str) -> Option<String> {
    let mut python = python::python("feedparser")?;
    let program = "
import feedparser, sys, time
feed = feedparser.parse(sys.stdin.buffer.read())
assert feed.version in ('rss20', 'atom10'), feed.version
assert not feed.bozo, feed.bozo_exception
assert feed.feed.title
for entry in feed.entries:
    words = entry.get('content', [{}])[0].get('value') or entry.get('summary', '')
    print(entry.title, entry.link, entry.id, time.strftime('%FT%TZ', entry.updated_parsed if 'updated' in entry else entry.published_parsed),
          entry.tags[0].term, words)
";
    let mut child = python
        .args(["-c", program])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::inherit())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(feed.as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{feed}");
    Some(String::from_utf8(output.stdout).unwrap())
}

/// The text of each entry of a feed, by a reader of XML that is not ours.
fn entries(feed: &str) -> Vec<String> {
    use quick_xml::events::Event;
    let mut reader = quick_xml::Reader::from_str(feed);
    let (mut entries, mut depth) = (Vec::new(), 0);
    loop {
        match reader.read_event().unwrap() {
            Event::Start(start) => {
                depth += 1;
                if start.name().as_ref() == "entry" {
                    entries.push(String::new());
                }
            }
            Event::End(_) => depth -= 1,
            Event::Text(text) => {
                if let Some(entry) = entries.last_mut() {
                    *entry += &text;
                }
            }
            Event::GeneralRef(name) => {
                if let Some(entry) = entries.last_mut() {
                    let meant = quick_xml::escape::resolve_predefined_entity(&name);
                    *entry += meant.expect("an entity of XML");
                }
            }
            Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!(depth, 0);
    entries
}
