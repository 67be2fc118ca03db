//! What a link costs before it is queued, and a robots.txt per URL: `cargo bench -p frontier`.

use std::hint::black_box;
use std::time::Instant;

use frontier::key::{Canonical, parse_link};
use frontier::robots::Rules;
use frontier::scope::{Scope, ScopeConfig};
use frontier::trap::{TrapConfig, Traps};
use url::Url;

const LINKS: usize = 200_000;

fn main() {
    let base = Url::parse("https://www.example.org/articles/2024/index.html").expect("a URL");
    let hrefs: Vec<String> = (0..LINKS).map(href).collect();
    let read = |href: &String| parse_link(&base, href).expect("a link");
    let urls: Vec<Url> = hrefs.iter().map(read).collect();
    links(&base, &hrefs, &urls);
    robots(&urls);
}

/// A link as pages have them: most relative, some absolute, one in five with a query, one in ten to
/// another site, a few with something to normalise.
fn href(i: usize) -> String {
    match i % 20 {
        0..=7 => format!(
            "/articles/2024/{:02}/a-story-with-a-long-name-{i}.html",
            i % 12
        ),
        8..=11 => format!("story-{i}.html#comments"),
        12 | 13 => format!("https://www.example.org/topics/{}/page/{i}", i % 50),
        14 => format!("/search?q=word{i}&page=2&utm_source=feed"),
        15 | 16 => format!("../archive.php?month={}&id={i}", i % 12),
        17 => format!("/wiki/Caf%c3%a9_({i})"),
        18 => format!("https://other{}.example.com/a/{i}", i % 100),
        _ => format!("//cdn.example.net/img/{i}.png"),
    }
}

/// Does `work` on every item and prints the median over rounds of a few items, so short that other
/// programs on the machine interrupt few of them.
fn timed<T>(name: &str, round: usize, items: &[T], mut work: impl FnMut(&T) -> bool) {
    let mut done = 0;
    let mut rounds: Vec<f64> = items
        .chunks(round)
        .map(|round| {
            let begun = Instant::now();
            done += round.iter().filter(|item| black_box(work(item))).count();
            begun.elapsed().as_nanos() as f64 / round.len() as f64
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    let median = rounds[rounds.len() / 2];
    println!(
        "{name:<24} {median:7.0} ns each, {done} of {} pass",
        items.len()
    );
}

fn links(base: &Url, hrefs: &[String], urls: &[Url]) {
    let canonical = Canonical::default();
    let scope = Scope::new(&ScopeConfig::default(), std::slice::from_ref(base)).expect("a scope");
    let admit = |traps: &mut Traps, url: &Url| {
        let host = url.host_str().unwrap_or_default();
        traps.admit(host, url).is_ok()
    };

    timed("parse_link", 100, hrefs, |href| {
        parse_link(base, href).is_ok()
    });
    timed("key", 100, urls, |url| !canonical.key(url).is_empty());
    timed("scope", 100, urls, |url| scope.judge(url, 3).is_in());
    let mut traps = Traps::new(TrapConfig::default());
    timed("trap", 100, urls, |url| admit(&mut traps, url));
    let mut traps = Traps::new(TrapConfig::default());
    timed("all four", 100, hrefs, |href| {
        let url = parse_link(base, href).expect("a link");
        scope.judge(&url, 3).is_in()
            && admit(&mut traps, &url)
            && !black_box(canonical.key(&url)).is_empty()
    });
}

fn robots(urls: &[Url]) {
    let rule = |i| format!("Disallow: /section-{i}/private/\nDisallow: /*/print-{i}$\n");
    let rules: String = (0..100).map(rule).collect();
    let text = format!("User-agent: badbot\nDisallow: /\n\nUser-agent: *\nCrawl-delay: 1\n{rules}");
    timed("parse 201 rules", 5, &vec![text.as_str(); 1000], |text| {
        Rules::parse(text.as_bytes()).sitemaps().is_empty()
    });
    let many = Rules::parse(text.as_bytes());
    timed("judge by 200 rules", 100, &urls[..1000], |url| {
        many.allows("evercrawl", url)
    });
    let few =
        Rules::parse(b"User-agent: *\nDisallow: /admin/\nDisallow: /*?sort=\nAllow: /admin/open");
    timed("judge by 3 rules", 100, urls, |url| {
        few.allows("evercrawl", url)
    });
}
