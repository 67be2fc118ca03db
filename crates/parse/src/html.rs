//! What an HTML page says: links, base, robots directives, title and text.
#![doc = include_str!("html/README.md")]

mod foreign;
mod names;
mod raw;
mod reader;
mod references;
mod refresh;
mod region;
mod requisites;
mod table;
mod tokens;

use crate::charset::{Format, decode};
use crate::print::{Builder, PageText, Shown};
use encoding_rs::{Encoding, UTF_8};
pub use requisites::{Requisites, read_requisites, read_stylesheet};
use url::Url;

/// What a link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LinkKind {
    /// `a` and `area`.
    Anchor,
    /// `link rel=canonical`.
    Canonical,
    /// `link rel=alternate`, not a feed.
    Alternate,
    /// `link rel=next`.
    Next,
    /// `link rel=prev`.
    Prev,
    /// `link rel=alternate` of type RSS or Atom, or `rel=feed`.
    Feed,
    /// `iframe` and `frame`.
    Frame,
    /// `meta http-equiv=refresh`.
    Refresh,
}

/// A link as the page has it: character references and character set decoded, trimmed, without
/// tabs and newlines, not resolved.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Link {
    /// The reference, to be resolved by [`PageContent::resolve`].
    pub href: String,
    /// What it is.
    pub kind: LinkKind,
    /// `rel` has nofollow, ugc or sponsored.
    pub nofollow: bool,
}

/// A `meta` refresh: where the page sends its reader after some seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refresh {
    /// The delay.
    pub seconds: u32,
    /// The target as written; `None` for the page itself.
    pub href: Option<String>,
}

/// How much is taken from one page. The number of links is bounded by its bytes alone.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// A link longer than this, in bytes, is dropped and counted.
    pub href: usize,
}

impl Default for Limits {
    fn default() -> Self {
        // longer than browsers and servers agree on
        Self { href: 4_096 }
    }
}

/// What a page says.
#[derive(Clone, Debug)]
pub struct PageContent {
    /// The links in document order, repeated ones too.
    pub links: Vec<Link>,
    /// Links left out because they are longer than the [`Limits`] allow.
    pub dropped_links: usize,
    /// What links are relative to: the first usable `base`, or the page's own address.
    pub base: Url,
    /// The first canonical address that is one.
    pub canonical: Option<Url>,
    /// Agent (`robots`, `googlebot`, …, in lower case) and directives of each robots `meta`.
    pub meta_robots: Vec<(String, String)>,
    /// The first refresh that is one.
    pub refresh: Option<Refresh>,
    /// The title with its white space collapsed.
    pub title: Option<String>,
    /// The character set's name by the Encoding Standard.
    pub charset: &'static str,
    /// What it says, as fingerprints.
    pub text: PageText,
}

impl PageContent {
    /// The address a reference in this page means, if it is one of the Web (http or https). The
    /// query is encoded in the page's character set, as browsers do.
    pub fn resolve(&self, href: &str) -> Option<Url> {
        let encoding = Encoding::for_label(self.charset.as_bytes()).unwrap_or(UTF_8);
        resolve(&self.base, href, encoding)
    }
}

fn resolve(base: &Url, href: &str, encoding: &'static Encoding) -> Option<Url> {
    let encoding = encoding.output_encoding();
    let url = if encoding == UTF_8 || href.is_ascii() {
        base.join(href)
    } else {
        Url::options()
            .base_url(Some(base))
            .encoding_override(Some(&|text| encoding.encode(text).0))
            .parse(href)
    };
    url.ok()
        .filter(|url| matches!(url.scheme(), "http" | "https"))
}

/// Reads a page. Any bytes will do.
pub fn read_page(body: &[u8], content_type: Option<&str>, address: &Url) -> PageContent {
    read_page_within(body, content_type, address, Limits::default())
}

/// The text of a page in blocks, as people read it.
pub fn show_page(
    body: &[u8],
    content_type: Option<&str>,
    address: Option<&Url>,
) -> (PageText, Vec<Shown>) {
    let tld = address
        .and_then(Url::domain)
        .and_then(|domain| domain.rsplit('.').next());
    let (page, _) = decode(body, content_type, Format::Html, tld);
    let found = reader::read(&page, Limits::default(), Builder::showing());
    (found.text, found.shown)
}

/// Reads a page within the given limits.
pub fn read_page_within(
    body: &[u8],
    content_type: Option<&str>,
    address: &Url,
    limits: Limits,
) -> PageContent {
    let tld = address
        .domain()
        .and_then(|domain| domain.rsplit('.').next());
    let (page, encoding) = decode(body, content_type, Format::Html, tld);
    let found = reader::read(&page, limits, Builder::default());
    // a base of another scheme would take every link out of the Web
    let base = found
        .base
        .and_then(|href| resolve(address, &href, encoding))
        .unwrap_or_else(|| address.clone());
    let canonical = found
        .links
        .iter()
        .filter(|link| link.kind == LinkKind::Canonical)
        .find_map(|link| resolve(&base, &link.href, encoding));
    PageContent {
        links: found.links,
        dropped_links: found.dropped_links,
        base,
        canonical,
        meta_robots: found.meta_robots,
        refresh: found.refresh,
        title: found.title,
        charset: encoding.name(),
        text: found.text,
    }
}

#[cfg(test)]
mod tests;
