//! Feeds: RSS 2.0 and 1.0, and Atom. References are given as written; they are relative to the
//! feed's own address.

use crate::charset::{Format, decode};
use crate::dates::parse_date;
use crate::sitemap::{LONGEST_LOCATION, MOST_BYTES};
use crate::xml::{Element, Step, walk};
use quick_xml::events::BytesStart;

/// One entry of a feed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FeedEntry {
    /// The page it is about.
    pub link: Option<String>,
    /// Its `guid` or `id`.
    pub id: Option<String>,
    /// The latest of its dates, in seconds since 1970.
    pub updated: Option<f64>,
}

/// What a feed says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Feed {
    /// The site it belongs to.
    pub link: Option<String>,
    /// The latest date of the feed as a whole, in seconds since 1970.
    pub updated: Option<f64>,
    /// The entries in their order.
    pub entries: Vec<FeedEntry>,
    /// Addresses left out because they are too long.
    pub dropped: usize,
    /// False when the feed was cut off, broken, too large or no feed at all.
    pub complete: bool,
}

/// Reads a feed.
pub fn read_feed(body: &[u8], content_type: Option<&str>) -> Feed {
    let whole = body.len() <= MOST_BYTES;
    let (text, _) = decode(
        &body[..body.len().min(MOST_BYTES)],
        content_type,
        Format::Xml,
        None,
    );
    let mut feed = read_xml(&text);
    feed.complete &= whole;
    feed
}

pub(crate) fn read_xml(text: &str) -> Feed {
    let mut feed = Feed::default();
    let mut entry = FeedEntry::default();
    let mut id_is_address = false;
    let complete = walk(text, |step| {
        match step {
            Step::Open([root], _) if *root != Element::FeedRoot => return false,
            Step::Open([.., parent, Element::Link], start) => {
                let link = linked_page(start);
                match parent {
                    Element::Entry => keep(&mut entry.link, link),
                    Element::Channel | Element::FeedRoot => keep(&mut feed.link, link),
                    _ => {}
                }
            }
            Step::Open([.., Element::Entry, Element::Id], start) => {
                id_is_address = attribute(start, "isPermaLink").as_deref() != Some("false");
            }
            Step::Open([.., Element::Entry], _) => entry = FeedEntry::default(),
            Step::Close([.., Element::Entry, element], text) => match element {
                Element::Link => {
                    feed.dropped += usize::from(text.trim().len() > LONGEST_LOCATION);
                    keep(&mut entry.link, usable(text));
                }
                Element::Id => entry.id = usable(text),
                Element::Date => latest(&mut entry.updated, text),
                _ => {}
            },
            Step::Close([.., Element::Channel | Element::FeedRoot, Element::Link], text) => {
                keep(&mut feed.link, usable(text));
            }
            Step::Close([.., Element::Channel | Element::FeedRoot, Element::Date], text) => {
                latest(&mut feed.updated, text);
            }
            Step::Close([.., Element::Entry], _) => {
                let id = entry
                    .id
                    .as_deref()
                    .filter(|id| id_is_address && id.starts_with("http"));
                keep(&mut entry.link, id.map(str::to_owned));
                feed.entries.push(std::mem::take(&mut entry));
            }
            _ => {}
        }
        true
    });
    feed.complete = complete;
    feed
}

/// The target of an Atom link, when it is the page itself and not an enclosure or a reply.
fn linked_page(start: &BytesStart) -> Option<String> {
    let relation = attribute(start, "rel");
    let is_page = relation.is_none_or(|relation| relation == "alternate");
    attribute(start, "href")
        .filter(|_| is_page)
        .and_then(|href| usable(&href))
}

fn attribute(start: &BytesStart, name: &str) -> Option<String> {
    let mut attributes = start.html_attributes();
    attributes.with_checks(false);
    let attribute = attributes
        .flatten()
        .find(|attribute| attribute.key.into_inner() == name)?;
    let value = attribute.value;
    Some(quick_xml::escape::unescape(&value).map_or_else(|_| value.to_string(), String::from))
}

fn usable(text: &str) -> Option<String> {
    let text = text.trim();
    (1..=LONGEST_LOCATION)
        .contains(&text.len())
        .then(|| text.to_owned())
}

/// The first link counts.
fn keep(link: &mut Option<String>, found: Option<String>) {
    if link.is_none() {
        *link = found;
    }
}

fn latest(date: &mut Option<f64>, text: &str) {
    if let Some(found) = parse_date(text) {
        *date = Some(date.map_or(found, |date: f64| date.max(found)));
    }
}

#[cfg(test)]
mod tests;
