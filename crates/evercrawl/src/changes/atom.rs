//! Changes as an Atom feed (RFC 4287).

use crate::difference_view;
use crate::html::escape;
use crate::moment::Moment;
use crate::terminal::plain;
use robot::changes::Change;
use std::fmt::Write;
use std::path::Path;
use storage::archive::digest_text;

/// A feed of these changes, newest first.
pub fn feed(data: &Path, changes: &[Change]) -> String {
    let mut feed = String::from("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n");
    let updated = changes
        .first()
        .map_or_else(|| Moment::now().to_string(), |newest| newest.time.clone());
    let name = data.canonicalize().unwrap_or_else(|_| data.to_owned());
    let id = identity(&name.to_string_lossy());
    let _ = writeln!(
        feed,
        "<feed xmlns=\"http://www.w3.org/2005/Atom\">\n<title>Changes of {}</title>\n\
         <id>{id}</id>\n<updated>{updated}</updated>\n<author><name>evercrawl</name></author>\n\
         <generator>evercrawl</generator>",
        text(&name.file_name().unwrap_or_default().to_string_lossy())
    );
    for change in changes {
        entry(&mut feed, change);
    }
    feed += "</feed>\n";
    // which XML does not know
    feed.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

fn entry(feed: &mut String, change: &Change) {
    let url = text(&change.url);
    let id = identity(&format!("{} {} {}", change.url, change.time, change.kind));
    let _ = writeln!(
        feed,
        "<entry>\n<title>{}: {url}</title>\n<id>{id}</id>\n<updated>{}</updated>\n\
         <link href=\"{url}\"/>\n<category term=\"{}\"/>",
        change.kind, change.time, change.kind
    );
    if let Some(difference) = change.words.as_ref().filter(|words| !words.is_empty()) {
        let html = difference_view::html(difference);
        let _ = writeln!(feed, "<content type=\"html\">{}</content>", escape(&html));
    }
    *feed += "</entry>\n";
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
