//! Sitemaps: the list of a site's addresses, or of further sitemaps, in XML or plain text.
//!
//! Compressed ones are unpacked by the caller, and a sitemap that names itself is the caller's to
//! notice: nothing here follows anything.

use crate::charset::{Format, decode};
use crate::dates::parse_date;
use crate::feed;
use crate::xml::{Element, Step, walk};

/// The protocol's limit of the size of one file, unpacked. Its limit of 50,000 entries is not kept:
/// many sites exceed it, and what they list exists.
pub const MOST_BYTES: usize = 50 * 1024 * 1024;
/// Longer addresses are left out and counted.
pub(crate) const LONGEST_LOCATION: usize = 4_096;

/// What the entries of a sitemap are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SitemapKind {
    /// Pages.
    Pages,
    /// Further sitemaps.
    Index,
}

/// One address in a sitemap.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SitemapEntry {
    /// The address as written, trimmed: normally absolute.
    pub location: String,
    /// When it is said to have changed last, in seconds since 1970.
    pub last_modified: Option<f64>,
}

/// What a sitemap says.
#[derive(Clone, Debug, PartialEq)]
pub struct Sitemap {
    /// What the entries are.
    pub kind: SitemapKind,
    /// The entries in their order.
    pub entries: Vec<SitemapEntry>,
    /// Entries left out because their address is too long.
    pub dropped: usize,
    /// False when the file was cut off, broken, too large or no sitemap at all: there may be
    /// more than the entries given.
    pub complete: bool,
}

/// Reads a sitemap: XML, a feed used as one, or one address per line.
pub fn read_sitemap(body: &[u8], content_type: Option<&str>) -> Sitemap {
    let whole = body.len() <= MOST_BYTES;
    let body = &body[..body.len().min(MOST_BYTES)];
    let (text, _) = decode(body, content_type, Format::Xml, None);
    let mut sitemap = if text.trim_start().starts_with('<') {
        read_xml(&text)
    } else {
        read_lines(&text)
    };
    sitemap.complete &= whole;
    sitemap
}

fn read_xml(text: &str) -> Sitemap {
    let mut kind = SitemapKind::Pages;
    let mut entries: Vec<SitemapEntry> = Vec::new();
    let mut is_feed = false;
    let mut is_sitemap = false;
    let mut current = SitemapEntry::default();
    let mut dropped = 0;
    let complete = walk(text, |step| {
        match step {
            Step::Open([Element::FeedRoot], _) => {
                is_feed = true;
                return false;
            }
            Step::Open([Element::SitemapIndex], _) => {
                kind = SitemapKind::Index;
                is_sitemap = true;
            }
            Step::Open([Element::UrlSet], _) => is_sitemap = true,
            Step::Open([_], _) => return false,
            Step::Open([_, Element::Url | Element::Sitemap], _) => {
                current = SitemapEntry::default();
            }
            Step::Close([_, Element::Url | Element::Sitemap, Element::Location], text) => {
                text.clone_into(&mut current.location);
            }
            Step::Close([_, Element::Url | Element::Sitemap, Element::LastModified], text) => {
                current.last_modified = parse_date(text);
            }
            Step::Close([_, Element::Url | Element::Sitemap], _) => {
                let entry = std::mem::take(&mut current);
                if entry.location.len() > LONGEST_LOCATION {
                    dropped += 1;
                } else if !entry.location.is_empty() {
                    entries.push(entry);
                }
            }
            _ => {}
        }
        true
    });
    if is_feed {
        return from_feed(text);
    }
    Sitemap {
        kind,
        entries,
        dropped,
        complete: complete && is_sitemap,
    }
}

fn from_feed(text: &str) -> Sitemap {
    let feed = feed::read_xml(text);
    let entries = feed.entries.into_iter().filter_map(|entry| {
        Some(SitemapEntry {
            location: entry.link?,
            last_modified: entry.updated,
        })
    });
    Sitemap {
        kind: SitemapKind::Pages,
        entries: entries.collect(),
        dropped: feed.dropped,
        complete: feed.complete,
    }
}

fn read_lines(text: &str) -> Sitemap {
    let is_address = |line: &&str| {
        let starts = |scheme: &str| {
            line.get(..scheme.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        };
        starts("http://") || starts("https://")
    };
    let lines = text.lines().map(str::trim).filter(is_address);
    let (mut entries, mut dropped) = (Vec::new(), 0);
    for line in lines {
        if line.len() > LONGEST_LOCATION {
            dropped += 1;
        } else {
            entries.push(SitemapEntry {
                location: line.to_owned(),
                last_modified: None,
            });
        }
    }
    Sitemap {
        kind: SitemapKind::Pages,
        complete: !entries.is_empty(),
        entries,
        dropped,
    }
}

#[cfg(test)]
mod tests;
