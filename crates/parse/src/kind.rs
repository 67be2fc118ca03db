//! What kind of document a body is, by its header and, where that says little, by its first bytes.

use memchr::memmem;

/// How a body is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// [`read_page`](crate::read_page).
    Html,
    /// [`read_sitemap`](crate::read_sitemap).
    Sitemap,
    /// [`read_feed`](crate::read_feed).
    Feed,
    /// [`read_text`](crate::read_text): plain text, JSON, scripts, other XML.
    Text,
    /// Nothing here reads it: images, archives, fonts.
    Binary,
}

/// How far into a body its root element is looked for.
const SNIFFED_BYTES: usize = 2048;

/// The kind of a body. A header that names one kind is believed, except that XML is looked into. For
/// a body that was unpacked (`sitemap.xml.gz`), whose header speaks of the package, pass `None`.
pub fn kind_of(body: &[u8], content_type: Option<&str>) -> Kind {
    let essence = content_type.map_or("", |value| value.split(';').next().unwrap_or("").trim());
    let is = |name: &str| essence.eq_ignore_ascii_case(name);
    let lower_suffix = essence
        .rsplit(['/', '+'])
        .next()
        .unwrap_or("")
        .to_ascii_lowercase();
    if is("text/html") || is("application/xhtml+xml") {
        return Kind::Html;
    }
    if is("application/rss+xml") || is("application/atom+xml") || is("application/rdf+xml") {
        return Kind::Feed;
    }
    let head = &body[..body.len().min(SNIFFED_BYTES)];
    match lower_suffix.as_str() {
        "xml" => xml_kind(head),
        "json" | "javascript" | "ecmascript" => Kind::Text,
        "" | "octet-stream" | "plain" | "unknown" => sniff(head, is("text/plain")),
        _ if essence
            .get(..5)
            .is_some_and(|start| start.eq_ignore_ascii_case("text/")) =>
        {
            Kind::Text
        }
        _ => Kind::Binary,
    }
}

/// The kind of an XML document by its root element.
fn xml_kind(head: &[u8]) -> Kind {
    let has = |root: &[u8]| memmem::find(head, root).is_some();
    if has(b"<urlset") || has(b"<sitemapindex") || has(b":urlset") || has(b":sitemapindex") {
        Kind::Sitemap
    } else if has(b"<rss") || has(b"<feed") || has(b"<rdf:RDF") || has(b":feed") {
        Kind::Feed
    } else if has(b"<html") {
        Kind::Html
    } else {
        Kind::Text
    }
}

fn sniff(head: &[u8], declared_text: bool) -> Kind {
    let marked = [&b"\xEF\xBB\xBF"[..], b"\xFF\xFE", b"\xFE\xFF"]
        .iter()
        .any(|m| head.starts_with(m));
    if !marked && head.contains(&0) {
        return Kind::Binary;
    }
    let start = head
        .strip_prefix(b"\xEF\xBB\xBF")
        .unwrap_or(head)
        .trim_ascii_start();
    if start.starts_with(b"<?xml")
        || start.starts_with(b"<urlset")
        || start.starts_with(b"<sitemapindex")
    {
        return xml_kind(head);
    }
    let markup = [
        &b"<!doctype html"[..],
        b"<html",
        b"<head",
        b"<body",
        b"<title",
        b"<!--",
    ];
    let is_markup = markup.iter().any(|m| {
        start
            .get(..m.len())
            .is_some_and(|s| s.eq_ignore_ascii_case(m))
    });
    if is_markup && !declared_text {
        Kind::Html
    } else {
        Kind::Text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_believed_and_xml_is_looked_into() {
        let check = |content_type: Option<&str>, body: &[u8], kind: Kind| {
            assert_eq!(
                kind_of(body, content_type),
                kind,
                "{content_type:?} {body:?}"
            );
        };
        check(Some("text/html; charset=utf-8"), b"{}", Kind::Html);
        check(Some("TEXT/HTML"), b"", Kind::Html);
        check(Some("application/xhtml+xml"), b"", Kind::Html);
        check(
            Some("application/xml"),
            b"<?xml version='1.0'?><urlset>",
            Kind::Sitemap,
        );
        check(
            Some("text/xml"),
            b"<sm:sitemapindex xmlns:sm=''>",
            Kind::Sitemap,
        );
        check(Some("text/xml"), b"<rss version='2.0'>", Kind::Feed);
        check(Some("application/atom+xml"), b"", Kind::Feed);
        check(Some("text/xml"), b"<note/>", Kind::Text);
        check(Some("image/svg+xml"), b"<svg/>", Kind::Text);
        check(Some("application/json"), b"{}", Kind::Text);
        check(Some("application/ld+json"), b"{}", Kind::Text);
        check(Some("text/css"), b"a{}", Kind::Text);
        check(Some("image/png"), b"\x89PNG", Kind::Binary);
        check(Some("application/pdf"), b"%PDF", Kind::Binary);
        check(None, b"  <!DOCTYPE HTML>", Kind::Html);
        check(None, b"\xEF\xBB\xBF<urlset>", Kind::Sitemap);
        check(Some("application/octet-stream"), b"a\0b", Kind::Binary);
        check(Some("text/plain"), b"<html>", Kind::Text);
        check(None, b"hello", Kind::Text);
        check(Some("网络/x"), b"", Kind::Binary);
    }
}
