//! No more than so much of what fits a rule.

use super::{Answers, Crawler, html, missing, say};

fn shop(last: u8) -> Answers {
    let links: Vec<String> = (0..30)
        .map(|item| format!("<a href=/item/{item}>{item}</a> "))
        .collect();
    let links = links.concat();
    Answers::new(last, move |path| match path {
        "/robots.txt" => missing(),
        "/" => html(&format!("<p>The shop.</p>{links}<a href=/about>about</a>")),
        "/about" => html("<p>About the shop, and about those who keep it.</p>"),
        _ => html(&format!(
            "<p>The item {path}, of which there is only one.</p>{}",
            "x".repeat(1000)
        )),
    })
}

fn items(site: &Answers) -> usize {
    site.asked()
        .iter()
        .filter(|path| path.starts_with("/item/"))
        .count()
}

#[test]
fn no_more_pages_are_fetched_than_the_rule_allows_and_it_is_told() {
    let site = shop(151);
    let rule = |most: u32| {
        format!("[{{ hosts = [\"127.0.0.151\"], pages = \"/item/\", most_pages = {most} }}]")
    };
    let mut crawler = Crawler::new(&[site.url("/")])
        .with("politeness.at_once", "8")
        .with("archive.requisites", "false")
        .with("rules", rule(5));
    crawler.start(&["--once"]).succeeds_within(60);
    assert_eq!(items(&site), 5, "{:?}", site.asked());
    assert!(site.asked().contains(&"/about".to_owned()));
    let status = say(&crawler, &["status"]);
    assert!(status.contains("rule-limit 25"), "{status}");
    let left = crawler.pages().into_iter().find(|page| {
        let state = page.row.as_ref().map(|row| row.state);
        state == Some(storage::PageState::Excluded)
    });
    let why = say(&crawler, &["why", &left.unwrap().url]);
    assert!(
        why.contains("its limit is reached (most_pages = 5, rule 1)"),
        "{why}"
    );
    // it holds after a restart, and more is had when more is allowed
    crawler.start(&["--once"]).within(60);
    let had: Vec<String> = site.asked();
    let distinct = |asked: &[String]| {
        let mut items: Vec<&String> = asked
            .iter()
            .filter(|path| path.starts_with("/item/"))
            .collect();
        items.sort();
        items.dedup();
        items.len()
    };
    assert_eq!(distinct(&had), 5, "{had:?}");
    crawler = crawler.with("rules", rule(8));
    let ended = crawler.start(&["--once", "--json"]).within(60);
    assert_eq!(distinct(&site.asked()), 8);
    let limit = &ended.figures().rule_limits[0];
    assert_eq!((limit.rule, limit.pages, limit.most_pages), (1, 8, Some(8)));
    assert!(limit.left_out >= 21, "{limit:?}");
}

#[test]
fn no_more_bytes_are_received_than_the_rule_allows() {
    let site = shop(152);
    let mut crawler = Crawler::new(&[site.url("/")])
        .with("archive.requisites", "false")
        .with("rules", "[{ pages = \"/item/\", most_bytes = 5000 }]");
    let ended = crawler.start(&["--once", "--json"]).within(60);
    // the one that reaches the limit is had whole
    assert_eq!(items(&site), 5, "{:?}", site.asked());
    let limit = &ended.figures().rule_limits[0];
    assert!((5000..6100).contains(&limit.bytes), "{limit:?}");
    // what was received is known after a restart
    let before = site.asked().len();
    crawler.start(&["--once"]).within(60);
    assert_eq!(items(&site), 5, "{:?}", &site.asked()[before..]);
}
