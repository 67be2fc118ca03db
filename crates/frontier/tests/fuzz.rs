//! Mutated robots.txt files and links: no panic, bounded time, and what is read from them is fit to be
//! stored and requested.

#[path = "../../parse/tests/mutate/mod.rs"]
mod mutate;

use frontier::key::{Canonical, MAX_LENGTH, parse_link};
use frontier::robots::Rules;
use frontier::trap::{TrapConfig, Traps};
use mutate::fuzz;
use url::Url;

const ROBOTS: &[&str] = &[
    "User-agent: *\nDisallow: /private/\nAllow: /private/open$\nCrawl-delay: 2.5\n\n\
     User-agent: evercrawl/1.0\nuser-agent:other\nDisallow: /*.php?*id=%7e\nDisallow: /caf\u{e9}\n\
     Sitemap: https://example.org/sitemap.xml\n",
    "\u{feff}# comment\r\nUser-Agent : * # all\rDisallow /x\rDisallow:\r\nallow: *\nNoindex: /\n",
    "<html><body>404 not found</body></html>",
];

const LINKS: &[&str] = &[
    "HTTP://user:pw@B\u{fc}cher.Example:80/a/../b;jsessionid=0123456789ABCDEF?utm_source=x&b=2&a=1#top",
    "//[2001:DB8::1]:8080/%7euser/%2e%2e/?sid=0f0e0d0c0b0a09080706050403020100&q=%e4%b8%ad",
    "../../(S(4hqa0555fwsecu455xqckv45))/page.aspx?a=b;c=d&&=",
    "?page=2",
];

/// Pieces that mean something to one of the parsers.
const TOKENS: &[&str] = &[
    "User-agent: ",
    "User-agent: *\n",
    "evercrawl",
    "Allow: ",
    "Disallow: ",
    "Crawl-delay: ",
    "Sitemap: ",
    "1e400",
    "-1",
    "NaN",
    "*",
    "$",
    "\r\n",
    "\r",
    "\n",
    "\t",
    "\0",
    " ",
    "\u{feff}",
    "http:",
    "https://",
    "javascript:",
    "//",
    "\\",
    "/",
    "/../",
    "/./",
    "%2e%2e/",
    "%2F",
    "%2a",
    "%24",
    "%",
    "%00",
    "%zz",
    "%25",
    "?",
    "&",
    "=",
    "#",
    ";",
    ";jsessionid=",
    "PHPSESSID=",
    "utm_medium=",
    "(S(",
    "))/",
    "@",
    ":",
    ":99999",
    "[::1]",
    "0x7f.1",
    "xn--",
    "..",
    "\u{1b}[2J",
    "\u{202e}",
    "\u{ff0e}",
    "\u{df}",
    "\u{4e2d}",
];

#[test]
fn robots() {
    let urls = [
        "http://e.org/",
        "http://e.org/private/open?id=~&x=caf\u{e9}%20*$",
        "http://e.org/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a.php",
    ];
    let urls = urls.map(|url| Url::parse(url).expect("a URL"));
    fuzz("robots", ROBOTS, TOKENS, |input| {
        let rules = Rules::parse(input);
        let stored = serde_json::to_string(&rules).expect("plain values");
        let restored: Rules = serde_json::from_str(&stored).expect("rules");
        assert_eq!(rules, restored);
        for agent in ["evercrawl", "*", ""] {
            let delay = rules.crawl_delay(agent);
            assert!(delay.is_none_or(|delay| delay >= 0.0 && delay.is_finite()));
            for url in &urls {
                let ruling = rules.judge(agent, url);
                assert_eq!(ruling.allowed, restored.allows(agent, url));
            }
        }
    });
}

#[test]
fn links() {
    let base = Url::parse("https://example.org/a/b?c").expect("a URL");
    let canonical = Canonical::default();
    let mut traps = Traps::new(TrapConfig::default());
    let mut read = 0;
    fuzz("links", LINKS, TOKENS, |input| {
        let Ok(url) = parse_link(&base, &String::from_utf8_lossy(input)) else {
            return;
        };
        read += 1;
        let text = url.as_str();
        assert!(text.starts_with("http") && text.len() <= MAX_LENGTH && !text.contains('#'));
        assert!(text.bytes().all(|byte| byte.is_ascii_graphic()), "{text:?}");
        let key = canonical.key(&url);
        assert!(key.bytes().all(|byte| byte.is_ascii_graphic()), "{key:?}");
        let again = Url::parse(&key).expect("a key is a URL");
        assert_eq!(canonical.key(&again), key, "the key of {text}");
        let _ = traps.admit(&url[..url::Position::BeforePath], &url);
    });
    assert!(read > 0, "no link could be read");
}
