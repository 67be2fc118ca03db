//! Mutated documents for every parser: no panic, bounded output, bounded time, and for pages the
//! same links as the oracle where both promise them. `mutate` says for how long.

mod mutate;
mod oracle;

use mutate::fuzz;
use parse::{Kind, LinkKind, kind_of, read_feed, read_page, read_sitemap, read_text};
use url::Url;

const PAGES: &[&str] = &[
    "<!DOCTYPE html><html><head><meta charset=utf-8><title>A &amp; B</title><base href='/b/'>\
     <link rel=canonical href='/c'><meta name=robots content=noindex><script>if (a<b) x('</a>');\
     <!-- <script> --></script></head><body><nav><a href='/1?x=1&amp;y=2' rel=nofollow>one</a></nav>\
     <p>It is 12:30 on 2026-11-16, and 1,024 views were counted.</p><iframe src=/f></iframe>\
     <textarea><a href=/x></textarea><!-- <a href=/c> -->\
     <noscript><a href=/n>n</a></noscript><table><tr><td><a href=/td>td</table></body></html>",
    "<svg><title>x</title><style><a href=/s></style><![CDATA[<a href=/c>]]><foreignObject><p>\
     <a href=/p></foreignObject></svg><math><mi><b>x</b></mi></math><a href=/end>",
    "<template><a href=/t></a><base href=/x></template><p><a href=/1>x</a><b><a href=/2>y</b>z</a>",
    "<meta http-equiv=refresh content='0;url=/r'><meta http-equiv=content-type \
     content='text/html; charset=windows-1251'><a href=\u{43f}>\u{43f}\u{440}</a>",
];

const SITEMAPS: &[&str] = &[
    "<?xml version='1.0' encoding='UTF-8'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>\
     <url><loc>http://e.org/?a=1&amp;b=2</loc><lastmod>2026-11-16T03:15:42+01:00</lastmod></url>\
     <url><loc><![CDATA[http://e.org/b]]></loc></url></urlset>",
    "<sitemapindex><sitemap><loc>http://e.org/1.gz</loc><lastmod>2026</lastmod></sitemap></sitemapindex>",
    "<!DOCTYPE x [<!ENTITY a '&b;&b;'><!ENTITY b 'bb'>]><urlset><url><loc>&a;</loc></url></urlset>",
    "http://e.org/1\nhttps://e.org/2\r\n",
];

const FEEDS: &[&str] = &[
    "<rss version='2.0'><channel><link>http://e.org/</link><item><link>http://e.org/1</link>\
     <guid isPermaLink='false'>1</guid><pubDate>Mon, 16 Nov 2026 03:15:42 GMT</pubDate></item></channel></rss>",
    "<feed xmlns='http://www.w3.org/2005/Atom'><entry><link rel='alternate' href='/1'/><id>urn:1</id>\
     <updated>2026-11-16T03:15:42Z</updated></entry></feed>",
];

const TEXTS: &[&str] = &[
    "A plain text, of two sentences. It was read 1,204 times at 12:30:59 on Monday, May 5, 2026!",
    "{\"name\":\"x\",\"views\":17,\"list\":[1,2.5,\"d41d8cd98f00b204e9800998ecf8427e\"],\"at\":1794798942}",
    "\u{7f51}\u{7edc}\u{722c}\u{866b}\u{4fdd}\u{5b58}\u{3002} \u{43f}\u{440}\u{438}\u{432}\u{435}\u{442} \u{20ac}5 caf\u{e9} v1.2.3 3 hours ago",
];

/// Pieces that mean something to one of the parsers.
const TOKENS: &[&str] = &[
    "<",
    ">",
    "</",
    "/>",
    "<!--",
    "-->",
    "--!>",
    "<![CDATA[",
    "]]>",
    "<?xml ",
    "?>",
    "<!DOCTYPE ",
    "&",
    "&amp;",
    "&#x41;",
    "&#99999999;",
    "&copy",
    ";",
    "\"",
    "'",
    "=",
    " ",
    "\n",
    "\r",
    "\t",
    "\0",
    "\u{FEFF}",
    "é",
    "中",
    "<a href=/z>",
    "<a href='",
    "</a>",
    "<script>",
    "</script>",
    "<style>",
    "</style>",
    "<title>",
    "</title>",
    "<svg>",
    "</svg>",
    "<math>",
    "<template>",
    "</template>",
    "<plaintext>",
    "<base href=//h/>",
    "<div>",
    "</div>",
    "<table>",
    "<url>",
    "</url>",
    "<loc>",
    "</loc>",
    "<item>",
    "<link>",
    "<entry>",
    "xmlns:a='",
    "encoding='utf-16'",
    "charset=",
    "2026-02-30",
    "99:99",
    "1.2.3.4",
    "$",
    "€",
    "ago",
    "views",
    "May",
    "0",
];

#[test]
fn pages() {
    let address = Url::parse("https://example.org/a/b").expect("a URL");
    let mut compared = 0;
    fuzz("pages", PAGES, TOKENS, |input| {
        let page = read_page(input, None, &address);
        assert!(page.links.iter().all(|link| link.href.len() <= 4_096));
        for link in &page.links {
            assert!(!link.href.contains(['\t', '\n', '\r']) || link.kind == LinkKind::Refresh);
            page.resolve(&link.href);
        }
        let again = read_page(input, None, &address);
        assert_eq!(again.text, page.text, "reading is a function of the bytes");
        let format = parse::charset::Format::Html;
        let (text, _) = parse::charset::decode(input, None, format, Some("org"));
        // with more the reader is at its limit
        if oracle::is_comparable(&text) && page.meta_robots.len() < 16 {
            assert_eq!(oracle::ours(&page), oracle::html5ever(&text, &address));
            compared += 1;
        }
    });
    assert!(compared > 0, "no page could be compared with the oracle");
    eprintln!("pages: {compared} compared with html5ever");
}

#[test]
fn sitemaps() {
    fuzz("sitemaps", SITEMAPS, TOKENS, |input| {
        let sitemap = read_sitemap(input, None);
        let bytes: usize = sitemap
            .entries
            .iter()
            .map(|entry| entry.location.len())
            .sum();
        assert!(bytes <= 4 * input.len(), "nothing is expanded");
        assert!(
            sitemap
                .entries
                .iter()
                .all(|entry| entry.last_modified.is_none_or(f64::is_finite))
        );
    });
}

#[test]
fn feeds() {
    fuzz("feeds", FEEDS, TOKENS, |input| {
        let feed = read_feed(input, None);
        let links = feed.entries.iter().filter_map(|entry| entry.link.as_ref());
        assert!(
            links.map(String::len).sum::<usize>() <= 4 * input.len(),
            "nothing is expanded"
        );
    });
}

#[test]
fn texts() {
    fuzz("texts", TEXTS, TOKENS, |input| {
        assert_eq!(read_text(input, None), read_text(input, None));
        if let Ok(text) = std::str::from_utf8(input) {
            assert!(parse::dates::parse_date(text).is_none_or(f64::is_finite));
            // a header is hostile too
            read_page(
                b"<p>x",
                Some(text),
                &Url::parse("http://e.org/").expect("a URL"),
            );
            assert_ne!(kind_of(b"", Some(text)), Kind::Sitemap);
        }
    });
}
