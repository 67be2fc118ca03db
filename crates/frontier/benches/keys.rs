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
    links(&base);
    robots(&base);
}

/// Links as pages have them: most relative, some absolute, one in five with a query, one in ten
/// to another site, a few with something to normalise.
fn hrefs() -> Vec<String> {
    (0..LINKS)
        .map(|i| match i % 20 {
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
        })
        .collect()
}

fn timed<T>(name: &str, count: usize, work: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let result = black_box(work());
    let each = begun.elapsed().as_nanos() as f64 / count as f64;
    println!("{name:<24} {each:8.0} ns each");
    result
}

fn links(base: &Url) {
    let hrefs = hrefs();
    let canonical = Canonical::default();
    let scope = Scope::new(&ScopeConfig::default(), std::slice::from_ref(base)).expect("a scope");
    let traps = || Traps::new(TrapConfig::default());
    let read = |href: &String| parse_link(base, href).expect("a link");

    let urls: Vec<Url> = timed("parse_link", LINKS, || hrefs.iter().map(read).collect());
    timed("key", LINKS, || {
        urls.iter()
            .map(|url| canonical.key(url).len())
            .sum::<usize>()
    });
    let inside = timed("scope", LINKS, || {
        urls.iter()
            .filter(|url| scope.judge(url, 3).is_in())
            .count()
    });
    let mut counted = traps();
    timed("trap", LINKS, || {
        urls.iter()
            .filter(|url| {
                counted
                    .admit(url.host_str().unwrap_or_default(), url)
                    .is_ok()
            })
            .count()
    });

    let mut counted = traps();
    let admitted = timed("all four", LINKS, || {
        let mut admitted = 0;
        for href in &hrefs {
            let url = read(href);
            if scope.judge(&url, 3).is_in()
                && counted
                    .admit(url.host_str().unwrap_or_default(), &url)
                    .is_ok()
            {
                black_box(canonical.key(&url));
                admitted += 1;
            }
        }
        admitted
    });
    println!("{inside} of {LINKS} in scope, {admitted} admitted");
}

fn robots(base: &Url) {
    let rule = |i| format!("Disallow: /section-{i}/private/\nDisallow: /*/print-{i}$\n");
    let rules: String = (0..100).map(rule).collect();
    let text = format!("User-agent: badbot\nDisallow: /\n\nUser-agent: *\nCrawl-delay: 1\n{rules}");
    let urls: Vec<Url> = hrefs()
        .iter()
        .map(|href| parse_link(base, href).expect("a link"))
        .collect();
    let rules = timed("robots.txt, 200 rules", 1, || Rules::parse(text.as_bytes()));
    let allowed = timed("judge by 200 rules", LINKS, || {
        urls.iter()
            .filter(|url| rules.allows("evercrawl", url))
            .count()
    });
    let few =
        Rules::parse(b"User-agent: *\nDisallow: /admin/\nDisallow: /*?sort=\nAllow: /admin/open");
    timed("judge by 3 rules", LINKS, || {
        urls.iter()
            .filter(|url| few.allows("evercrawl", url))
            .count()
    });
    println!("{allowed} of {LINKS} allowed");
}
