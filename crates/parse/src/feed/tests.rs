//! Feeds of the three formats, and broken ones.

use super::*;

fn read(text: &str) -> Feed {
    read_feed(text.as_bytes(), None)
}

fn entry(link: Option<&str>, id: Option<&str>, updated: Option<f64>) -> FeedEntry {
    FeedEntry {
        link: link.map(str::to_owned),
        id: id.map(str::to_owned),
        updated,
    }
}

#[test]
fn rss_2() {
    let feed = read(
        "<rss version='2.0' xmlns:atom='http://www.w3.org/2005/Atom' xmlns:content='c'><channel>
         <atom:link href='http://e.org/rss' rel='self'/><link>http://e.org/</link>
         <lastBuildDate>Mon, 16 Nov 2026 03:15:42 GMT</lastBuildDate>
         <image><link>http://e.org/logo</link></image>
         <item><title>One</title><link>http://e.org/1?a=1&amp;b=2</link><guid isPermaLink='false'>g1</guid>
           <pubDate>Mon, 16 Nov 2026 00:00:00 +0000</pubDate>
           <content:encoded><![CDATA[<link>no</link>]]></content:encoded></item>
         <item><guid>http://e.org/2</guid></item>
         <item><title>Three</title></item></channel></rss>",
    );
    assert_eq!(feed.link.as_deref(), Some("http://e.org/"));
    assert_eq!(feed.updated, Some(1_794_798_942.0));
    assert_eq!(
        feed.entries,
        [
            entry(
                Some("http://e.org/1?a=1&b=2"),
                Some("g1"),
                Some(1_794_787_200.0)
            ),
            entry(Some("http://e.org/2"), Some("http://e.org/2"), None),
            entry(None, None, None),
        ]
    );
    assert!(feed.complete);
}

#[test]
fn rss_1() {
    let feed = read(
        "<rdf:RDF xmlns:rdf='r' xmlns='http://purl.org/rss/1.0/' xmlns:dc='d'>
         <channel rdf:about='x'><link>http://e.org/</link></channel>
         <item rdf:about='http://e.org/1'><link>http://e.org/1</link><dc:date>2026-11-16</dc:date></item>
         </rdf:RDF>",
    );
    assert_eq!(feed.link.as_deref(), Some("http://e.org/"));
    assert_eq!(
        feed.entries,
        [entry(Some("http://e.org/1"), None, Some(1_794_787_200.0))]
    );
    assert!(feed.complete);
}

#[test]
fn atom() {
    let feed = read(
        "<a:feed xmlns:a='http://www.w3.org/2005/Atom'><a:link rel='self' href='/atom'/>
         <a:link href='/?a&amp;b'/><a:updated>2026-11-16T03:15:42Z</a:updated>
         <a:entry><a:link rel='enclosure' href='/file'/><a:link rel='alternate' href='/1'/>
           <a:id>urn:1</a:id><a:published>2026-01-01</a:published><a:updated>2026-11-16</a:updated>
           <a:source><a:id>other</a:id><a:updated>2030-01-01</a:updated></a:source></a:entry></a:feed>",
    );
    assert_eq!(feed.link.as_deref(), Some("/?a&b"));
    assert_eq!(feed.updated, Some(1_794_798_942.0));
    assert_eq!(
        feed.entries,
        [entry(Some("/1"), Some("urn:1"), Some(1_794_787_200.0))]
    );
    assert!(feed.complete);
}

#[test]
fn broken_feeds_give_what_was_read() {
    let feed = read("<rss><channel><item><link>http://e.org/1</link></item><item><link>http:");
    assert_eq!(feed.entries.len(), 1);
    assert!(!feed.complete);
    assert_eq!(read("<html><link href=x>"), Feed::default());
    assert_eq!(read(""), Feed::default());
}
