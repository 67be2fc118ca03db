//! Sitemaps, good and bad.

use super::*;
use std::fmt::Write;

fn read(text: &str) -> Sitemap {
    read_sitemap(text.as_bytes(), Some("application/xml"))
}

fn locations(sitemap: &Sitemap) -> Vec<&str> {
    sitemap
        .entries
        .iter()
        .map(|entry| entry.location.as_str())
        .collect()
}

#[test]
fn pages_with_dates() {
    let sitemap = read(
        "<?xml version='1.0' encoding='UTF-8'?>
        <urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' xmlns:image='http://i'>
          <url><loc> http://e.org/a?x=1&amp;y=2 </loc><lastmod>2026-11-16</lastmod>
            <image:image><image:loc>http://e.org/i.png</image:loc></image:image></url>
          <url><lastmod>never</lastmod><loc><![CDATA[http://e.org/b]]></loc></url>
          <url><loc>http://e.org/?a=1&b=2</loc></url>
          <url><loc></loc></url><url><loc/></url>
        </urlset>",
    );
    assert!(sitemap.complete);
    assert_eq!(sitemap.kind, SitemapKind::Pages);
    assert_eq!(
        locations(&sitemap),
        [
            "http://e.org/a?x=1&y=2",
            "http://e.org/b",
            "http://e.org/?a=1&b=2"
        ]
    );
    let dates: Vec<_> = sitemap
        .entries
        .iter()
        .map(|entry| entry.last_modified)
        .collect();
    assert_eq!(dates, [Some(1_794_787_200.0), None, None]);
}

#[test]
fn an_index_with_a_prefix() {
    let sitemap = read(
        "<s:sitemapindex xmlns:s='x'><s:sitemap><s:loc>http://e.org/1.xml.gz</s:loc>\
         <s:lastmod>2026-11-16T03:15:42+00:00</s:lastmod></s:sitemap></s:sitemapindex>",
    );
    assert_eq!(sitemap.kind, SitemapKind::Index);
    assert_eq!(sitemap.entries[0].last_modified, Some(1_794_798_942.0));
    assert!(sitemap.complete);
}

#[test]
fn broken_files_give_what_was_read() {
    let check = |text: &str, expected: &[&str]| {
        let sitemap = read(text);
        assert_eq!(locations(&sitemap), expected, "{text}");
        assert!(!sitemap.complete, "{text}");
    };
    check(
        "<urlset><url><loc>http://e.org/1</loc></url><url><loc>http://e.o",
        &["http://e.org/1"],
    );
    check(
        "<urlset><url><loc>http://e.org/1</loc></url><url a='",
        &["http://e.org/1"],
    );
    check(
        "<urlset><url><loc>http://e.org/1</loc></url>",
        &["http://e.org/1"],
    );
    check("<html><body><a href=x>Not found</a></body></html>", &[]);
    check("", &[]);
    check("no addresses here", &[]);
    check(&"<urlset>".repeat(1_000), &[]);
}

#[test]
fn entities_are_not_expanded() {
    let mut bomb = String::from("<?xml version='1.0'?><!DOCTYPE urlset [<!ENTITY a0 'aaaaaaaaaa'>");
    for i in 1..30 {
        let before = i - 1;
        let _ = write!(bomb, "<!ENTITY a{i} '&a{before};&a{before};'>");
    }
    bomb.push_str("<!ENTITY x SYSTEM 'file:///etc/passwd'>]><urlset>");
    bomb.push_str("<url><loc>http://e.org/&a29;&x;&#x2F;z</loc></url></urlset>");
    assert_eq!(locations(&read(&bomb)), ["http://e.org//z"]);
}

#[test]
fn limits_hold() {
    let entry = "<url><loc>http://e.org/</loc></url>";
    let sitemap = read(&format!("<urlset>{}</urlset>", entry.repeat(60_000)));
    assert_eq!((sitemap.entries.len(), sitemap.dropped), (60_000, 0));
    assert!(sitemap.complete);
    let long = format!(
        "<urlset><url><loc>http://e.org/{}</loc></url>{entry}</urlset>",
        "x".repeat(1 << 20)
    );
    assert_eq!(locations(&read(&long)), ["http://e.org/"]);
    assert_eq!(read(&long).dropped, 1);
    let lines = "http://e.org/\n".repeat(60_000);
    let lines = read(&format!("{lines}http://e.org/{}", "x".repeat(5_000)));
    assert_eq!((lines.entries.len(), lines.dropped), (60_000, 1));
}

#[test]
fn lines_and_feeds_serve_too() {
    let lines = read_sitemap(
        b"\xEF\xBB\xBFhttp://e.org/a\r\n\r\nHTTPS://e.org/b \nnonsense",
        None,
    );
    assert_eq!(locations(&lines), ["http://e.org/a", "HTTPS://e.org/b"]);
    assert!(lines.complete);
    let feed =
        read("<rss><channel><item><link>http://e.org/1</link></item><item/></channel></rss>");
    assert_eq!(locations(&feed), ["http://e.org/1"]);
    assert!(feed.complete);
}
