//! A lenient walk over an XML document: elements by what they mean to us, and their text.
//!
//! Document type definitions are skipped and no entity is ever expanded but the five predefined
//! ones and numbers, so a document cannot grow while it is read.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// Elements of sitemaps and feeds, by local name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    UrlSet,
    SitemapIndex,
    Url,
    Sitemap,
    Location,
    LastModified,
    /// `rss`, `RDF` or `feed`.
    FeedRoot,
    Channel,
    /// `item` or `entry`.
    Entry,
    Link,
    Id,
    /// `updated`, `pubDate`, `published`, `date`, `lastBuildDate`.
    Date,
    Other,
}

impl Element {
    fn named(local: &str) -> Self {
        match local {
            "urlset" => Self::UrlSet,
            "sitemapindex" => Self::SitemapIndex,
            "url" => Self::Url,
            "sitemap" => Self::Sitemap,
            "loc" => Self::Location,
            "lastmod" => Self::LastModified,
            "rss" | "RDF" | "feed" => Self::FeedRoot,
            "channel" => Self::Channel,
            "item" | "entry" => Self::Entry,
            "link" => Self::Link,
            "guid" | "id" => Self::Id,
            "updated" | "modified" | "pubDate" | "published" | "issued" | "date"
            | "lastBuildDate" => Self::Date,
            _ => Self::Other,
        }
    }
}

/// The deepest document that is read; sitemaps need 3, feeds with markup in them a few more.
const DEEPEST: usize = 256;
/// Longer texts are cut: none of an element we read is.
const LONGEST_TEXT: usize = 16 * 1024;

/// What a walk meets. The path ends with the element itself.
pub(crate) enum Step<'a> {
    /// A start tag.
    Open(&'a [Element], &'a BytesStart<'a>),
    /// The end of an element, with the text directly in it.
    Close(&'a [Element], &'a str),
}

/// Walks over `document` until `visit` returns false; whether it was whole and well enough formed.
pub(crate) fn walk(document: &str, mut visit: impl FnMut(Step) -> bool) -> bool {
    let mut reader = Reader::from_str(document);
    let config = reader.config_mut();
    config.allow_dangling_amp = true;
    config.allow_unmatched_ends = true;
    config.check_end_names = false;
    config.expand_empty_elements = true;
    let mut path = Vec::new();
    let mut text = String::new();
    let mut seen_root = false;
    loop {
        match reader.read_event() {
            Ok(Event::Start(start)) => {
                if path.len() >= DEEPEST {
                    return false;
                }
                seen_root = true;
                text.clear();
                path.push(Element::named(start.local_name().into_inner()));
                if !visit(Step::Open(&path, &start)) {
                    return false;
                }
            }
            Ok(Event::End(_)) => {
                if !path.is_empty() && !visit(Step::Close(&path, text.trim())) {
                    return false;
                }
                path.pop();
                text.clear();
            }
            Ok(Event::Text(part)) => append(&mut text, &part),
            Ok(Event::CData(part)) => append(&mut text, &part),
            Ok(Event::GeneralRef(reference)) => match (&*reference, reference.resolve_char_ref()) {
                ("amp", _) => text.push('&'),
                ("lt", _) => text.push('<'),
                ("gt", _) => text.push('>'),
                ("quot", _) => text.push('"'),
                ("apos", _) => text.push('\''),
                (_, Ok(Some(character))) => text.push(character),
                _ => {}
            },
            Ok(Event::Eof) => return seen_root && path.is_empty(),
            Ok(_) => {}
            Err(_) => return false,
        }
    }
}

fn append(text: &mut String, part: &str) {
    // cut, it is still longer than any address that is taken
    let room = LONGEST_TEXT.saturating_sub(text.len());
    text.push_str(&part[..part.floor_char_boundary(room)]);
}
