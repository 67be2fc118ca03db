//! Pages that many pages link to matter more.

use super::{Answers, Crawler, answer, html, missing, say};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// All pages link to /hub, and one to /lone.
fn site(last: u8) -> Answers {
    let links: Vec<String> = (0..15)
        .map(|page| format!("<a href=/{page}>{page}</a> "))
        .collect();
    let links = links.concat();
    Answers::new(last, move |path| match path {
        "/robots.txt" => missing(),
        "/" => html(&format!(
            "<p>The front page.</p>{links}<a href=/lone>lone</a> <a href=/>self</a>"
        )),
        "/hub" | "/lone" => html(&format!("<p>The page {path}, at the end of all links.</p>")),
        _ => html(&format!(
            "<p>The page {path}.</p><a href=/hub>hub</a> <a href=/hub#again>hub</a>"
        )),
    })
}

fn weight(crawler: &Crawler, url: &str) -> f64 {
    let why: serde_json::Value =
        serde_json::from_str(&say(crawler, &["why", "--json", url])).unwrap();
    why["weight"].as_f64().unwrap_or(1.0)
}

/// Only a crawl at work knows how much pages matter.
fn wait_for_answers(crawler: &Crawler) {
    super::wait_until("it answers", || {
        let status = say(crawler, &["status", "--json"]);
        status.contains("\"running\":true") && status.contains("\"silent\":false")
    });
}

#[test]
fn links_weigh_and_are_remembered() {
    let site = site(161);
    let mut crawler = Crawler::new(&[site.url("/")])
        .with("weights.links", "1.0")
        .with("revisit.least_interval", "\"1h\"")
        .with("rules", "[{ pages = \"/lone\", weight = 3.0 }]");
    // killed, not ended, soon after the last page
    let process = crawler.start(&[]);
    super::wait_until("all pages are asked for", || site.asked().len() >= 19);
    std::thread::sleep(std::time::Duration::from_secs(4));
    process.kill();
    assert_eq!(site.asked().len(), 19, "{:?}", site.asked());
    for start in 0..2 {
        let process = crawler.start(&[]);
        wait_for_answers(&crawler);
        // fifteen pages link to the hub, one to the others, none to the front page
        assert_eq!(
            weight(&crawler, &site.url("/hub")),
            1.0 + 4.0,
            "start {start}"
        );
        assert_eq!(weight(&crawler, &site.url("/3")), 2.0);
        assert_eq!(weight(&crawler, &site.url("/lone")), 6.0);
        assert_eq!(weight(&crawler, &site.url("/")), 1.0);
        let why = say(&crawler, &["why", &site.url("/lone")]);
        assert!(
            why.contains("weight     6 (others: 1)") && why.contains("weight = 3.0 (rule 1)"),
            "{why}"
        );
        process.kill();
    }
    // settings of another start hold for all pages
    crawler = crawler.with("weights.links", "0.5");
    let process = crawler.start(&[]);
    wait_for_answers(&crawler);
    assert_eq!(weight(&crawler, &site.url("/hub")), 3.0);
    process.kill();
}

/// The paths asked for until `last` was, with this order of first visits; killed after some pages, and started again.
fn until_asked(number: u8, order: &str, last: &str) -> Vec<String> {
    let site = site(number);
    let mut crawler = Crawler::new(&[site.url("/")])
        .with("budget.order_of_new", format!("{order:?}"))
        .with("politeness.interval", "{ rule = \"fixed\", seconds = 0.2 }");
    let process = crawler.start(&[]);
    super::wait_until("some pages are had", || site.asked().len() >= 5);
    std::thread::sleep(std::time::Duration::from_millis(1500));
    process.kill();
    let process = crawler.start(&[]);
    super::wait_until("it is asked for", || {
        site.asked().iter().any(|path| path == last)
    });
    process.kill();
    let asked = site.asked();
    let end = asked.iter().position(|path| path == last).unwrap();
    asked[..end].to_vec()
}

#[test]
fn the_page_that_all_link_to_comes_first_where_links_decide() {
    // /hub is found last, and every page links to it
    let found_first = until_asked(162, "breadth-first", "/hub");
    assert!(found_first.len() >= 17, "{found_first:?}");
    for (number, order) in [(163, "links"), (164, "importance")] {
        let asked = until_asked(number, order, "/hub");
        assert!(asked.len() < 12, "{order}: {asked:?}");
    }
}

/// A hundred and fifty pages in a folder whose contents are of the last century and in one whose contents are younger, in turn.
fn two_folders(last: u8, dated: &Arc<AtomicBool>) -> Answers {
    let dated = dated.clone();
    let links: Vec<String> = (0..150)
        .map(|page| format!("<a href=/news/{page}>{page}</a> <a href=/archive/{page}>{page}</a> "))
        .collect();
    let links = links.concat();
    Answers::new(last, move |path| {
        if path == "/robots.txt" {
            return missing();
        }
        if path == "/" {
            return html(&format!("<p>The front page.</p>{links}"));
        }
        let day = if path.starts_with("/news/") {
            "Tue, 02 Jan 2024 03:04:05 GMT"
        } else {
            "Tue, 02 Jan 1996 03:04:05 GMT"
        };
        let date = if dated.load(Ordering::Relaxed) {
            format!("\r\nLast-Modified: {day}")
        } else {
            String::new()
        };
        let head = format!("200 OK\r\nContent-Type: text/html{date}");
        answer(&head, format!("<p>The page {path}.</p>").as_bytes())
    })
}

#[test]
fn pages_that_last_come_first_where_that_decides() {
    let of_the_archive = |number: u8, order: &str| {
        let site = two_folders(number, &Arc::new(true.into()));
        let mut crawler = Crawler::new(&[site.url("/")])
            .with("budget.order_of_new", format!("{order:?}"))
            .with(
                "politeness.interval",
                "{ rule = \"fixed\", seconds = 0.02 }",
            );
        let process = crawler.start(&[]);
        super::wait_until("most of the pages are had", || site.asked().len() >= 142);
        process.kill();
        let asked = site.asked();
        // the first hundred are in line whatever they tell
        let then = asked[..142].iter().skip(102);
        then.filter(|path| path.starts_with("/archive/")).count()
    };
    let found_first = of_the_archive(165, "breadth-first");
    assert!((18..=22).contains(&found_first), "{found_first}");
    let lasting = of_the_archive(166, "lasting");
    assert!(lasting >= 28, "{lasting}");
}

#[test]
fn what_lasts_is_known_after_a_restart() {
    let dated = Arc::new(AtomicBool::new(true));
    let site = two_folders(167, &dated);
    let mut crawler = Crawler::new(&[site.url("/")])
        .with("budget.order_of_new", "\"lasting\"")
        .with(
            "politeness.interval",
            "{ rule = \"fixed\", seconds = 0.02 }",
        );
    let process = crawler.start(&[]);
    super::wait_until("some pages are had", || site.asked().len() >= 140);
    process.kill();
    // nothing can be learnt any more
    dated.store(false, Ordering::Relaxed);
    let before = site.asked().len();
    let process = crawler.start(&[]);
    super::wait_until("some more are had", || site.asked().len() >= before + 26);
    process.kill();
    let asked = site.asked().split_off(before);
    let pages: Vec<&str> = (asked.iter().map(String::as_str))
        .filter(|path| path.len() > 1 && *path != "/robots.txt")
        .take(20)
        .collect();
    let old = pages
        .iter()
        .filter(|path| path.starts_with("/archive/"))
        .count();
    assert!(old >= 14, "{pages:?}");
}
