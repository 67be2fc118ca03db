//! Changes as a feed: Atom (RFC 4287) or RSS 2.0.

use crate::difference;
use crate::words;
use desk::html::escape;
use desk::terminal::plain;
use ground::calendar;
use robot::changes::Change;
use std::fmt::Write;
use std::path::Path;
use storage::Time;
use storage::archive::digest_text;

const XML: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n";

/// An Atom feed of these changes, newest first; those of other choices among the changes are other feeds.
pub fn atom(data: &Path, choice: &str, changes: &[Change]) -> String {
    let updated = calendar::iso(newest(changes));
    let (name, title) = names(data);
    let id = identity(&format!("{name}{choice}"));
    let mut feed = format!(
        "{XML}<feed xmlns=\"http://www.w3.org/2005/Atom\">\n<title>{title}</title>\n\
         <id>{id}</id>\n<updated>{updated}</updated>\n<author><name>evercrawl</name></author>\n\
         <generator>evercrawl</generator>\n"
    );
    for change in changes {
        let (url, kind) = (text(&change.url), change.kind);
        let _ = writeln!(
            feed,
            "<entry>\n<title>{kind}: {url}</title>\n<id>{}</id>\n<updated>{}</updated>\n\
             <link href=\"{url}\"/>\n<category term=\"{kind}\"/>",
            identity_of(change),
            change.time
        );
        if let Some(html) = content(change) {
            let _ = writeln!(feed, "<content type=\"html\">{html}</content>");
        }
        feed += "</entry>\n";
    }
    finished(&(feed + "</feed>\n"))
}

/// An RSS feed of these changes, newest first; `link` is where the crawl begins.
pub fn rss(data: &Path, link: &str, changes: &[Change]) -> String {
    let (_, title) = names(data);
    let mut feed = format!(
        "{XML}<rss version=\"2.0\">\n<channel>\n<title>{title}</title>\n<link>{}</link>\n\
         <description>Changes that evercrawl found</description>\n<generator>evercrawl</generator>\n\
         <lastBuildDate>{}</lastBuildDate>\n",
        text(link),
        mail_date(newest(changes))
    );
    for change in changes {
        let (url, kind) = (text(&change.url), change.kind);
        let _ = writeln!(
            feed,
            "<item>\n<title>{kind}: {url}</title>\n<link>{url}</link>\n\
             <guid isPermaLink=\"false\">{}</guid>\n<pubDate>{}</pubDate>\n<category>{kind}</category>",
            identity_of(change),
            mail_date(change.at)
        );
        if let Some(html) = content(change) {
            let _ = writeln!(feed, "<description>{html}</description>");
        }
        feed += "</item>\n";
    }
    finished(&(feed + "</channel>\n</rss>\n"))
}

/// What XML does not know is left out.
fn finished(feed: &str) -> String {
    feed.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

fn newest(changes: &[Change]) -> Time {
    let newest = changes.first();
    newest.map_or_else(words::now, |newest| newest.at)
}

/// The identity and the title of a feed.
fn names(data: &Path) -> (String, String) {
    let name = data.canonicalize().unwrap_or_else(|_| data.to_owned());
    let last = name.file_name().unwrap_or_default().to_string_lossy();
    (
        name.to_string_lossy().into_owned(),
        format!("Changes of {}", text(&last)),
    )
}

/// What differs, as HTML within XML.
fn content(change: &Change) -> Option<String> {
    let difference = change.words.as_ref().filter(|words| !words.is_empty())?;
    Some(escape(&difference::paragraphs(difference)))
}

fn identity_of(change: &Change) -> String {
    identity(&format!("{} {} {}", change.url, change.time, change.kind))
}

/// The same for the same thing, and for nothing else.
fn identity(of: &str) -> String {
    let digest = digest_text(&storage::digest(of.as_bytes()));
    format!("urn:{}", digest.to_ascii_lowercase())
}

/// Text as it may stand in XML, which knows no control characters.
fn text(text: &str) -> String {
    escape(&plain(text))
}

/// A time as in mail (RFC 5322).
fn mail_date(at: Time) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let [year, month, day, hour, minute, second, _] = calendar::civil(at);
    let weekday = DAYS[at.div_euclid(86_400_000).rem_euclid(7) as usize];
    let month = MONTHS[month as usize - 1];
    format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} +0000")
}
