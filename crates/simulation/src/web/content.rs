//! The HTML of an ordinary page: text by version, links, and the noise of its host.

use super::{
    build::{Host, Web},
    corners,
    spec::{Charset, Noise},
    words,
};
use crate::run::derive;
use std::fmt::Write;

/// Bytes of a paragraph, roughly.
const PARAGRAPH: usize = 400;
/// Links to any page of the same host, beside the tree.
const CROSS_LINKS: u64 = 3;
/// An advertisement is one of so many.
const ADVERTISEMENTS: u64 = 50;

/// The page at an instant.
pub(super) fn html(web: &Web, number: usize, port: u16, at: f64) -> String {
    let page = &web.pages[number];
    let host = &web.hosts[page.host];
    let title = words::title(page.seed, host.charset);
    // differs with every instant, and so with every request
    let noise = derive(page.seed, at.to_bits());
    let mut out = String::with_capacity(web.spec.page_bytes + 1024);
    out.push_str("<!DOCTYPE html>\n<html><head>");
    if host.charset == Charset::ShiftJis {
        out.push_str("<meta charset=\"shift_jis\">");
    }
    let _ = write!(out, "<title>{title}</title>");
    if host.feed {
        out.push_str("<link rel=\"alternate\" type=\"application/rss+xml\" href=\"/feed.xml\">");
    }
    if host.noise == Noise::Nonce {
        let _ = write!(out, "<script nonce=\"{noise:x}\">var t={noise};</script>");
    }
    let _ = write!(out, "</head>\n<body><header><b>{}</b>", host.name);
    if host.noise == Noise::Clock {
        let second = (at * 86_400.0).rem_euclid(86_400.0) as u64;
        let micro = (at * 86_400e6).rem_euclid(1e6) as u64;
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        let _ = write!(
            out,
            " <time>{hour:02}:{minute:02}:{second:02}.{micro:06}</time>"
        );
    }
    out.push_str("</header>\n<nav><ul>\n");
    links(web, number, port, &mut out);
    let _ = write!(out, "</ul></nav>\n<main><h1>{title}</h1>\n");
    text(web, number, page.version(at), out.len(), &mut out);
    out.push_str("</main>\n");
    if host.noise == Noise::Nonce {
        let _ = writeln!(
            out,
            "<form action=\"/search\"><input type=\"hidden\" name=\"csrf\" value=\"{noise:x}\"></form>"
        );
    }
    if host.noise == Noise::Advertisement {
        let which = noise % ADVERTISEMENTS;
        let slogan = words::title(which, host.charset);
        let _ = writeln!(
            out,
            "<aside class=\"advertisement\" id=\"ad-{noise:x}\"><p>{slogan}</p></aside>"
        );
    }
    out.push_str("<footer>");
    if host.noise == Noise::Counter {
        // views only ever grow
        let views = (at * 86_400e3).max(0.0) as u64;
        let _ = write!(out, "<p>Views: {views}</p>");
    }
    out.push_str("</footer></body></html>\n");
    out
}

/// Paragraphs; each version writes one of them anew.
fn text(web: &Web, number: usize, version: usize, before: usize, out: &mut String) {
    let page = &web.pages[number];
    let charset = web.hosts[page.host].charset;
    let paragraphs = (web.spec.page_bytes.saturating_sub(before) / PARAGRAPH).max(1);
    for k in 0..paragraphs {
        // the last version up to this one that is k modulo the number of paragraphs
        let written = if version < k {
            0
        } else {
            version - (version - k) % paragraphs
        };
        let seed = derive(derive(page.seed, 100 + k as u64), written as u64);
        let paragraph = words::paragraph(seed, charset, PARAGRAPH);
        let _ = writeln!(out, "<p>{paragraph}</p>");
    }
}

/// The tree, cross links on the host and those to other hosts; on front pages the corners and the
/// next hosts, so that everything is within reach of the first page.
fn links(web: &Web, number: usize, port: u16, out: &mut String) {
    let page = &web.pages[number];
    let host = &web.hosts[page.host];
    let mut link = |href: &str, seed: u64| {
        let text = words::title(seed, host.charset);
        let _ = writeln!(out, "<li><a href=\"{href}\">{text}</a></li>");
    };
    for relative in web.family(number) {
        link(&web.pages[relative].path, web.pages[relative].seed);
    }
    for k in 0..CROSS_LINKS {
        let offset = derive(page.seed, 10 + k) as usize % host.pages.len();
        let other = &web.pages[host.pages.start + offset];
        link(&other.path, other.seed);
    }
    for far in web.far(number) {
        link(&web.url(far, port), web.pages[far].seed);
    }
    if number == host.pages.start {
        for corner in &host.corners {
            link(&format!("/{}/", corners::prefix(*corner)), 0);
        }
        let next = 2 * page.host + 1;
        for other in web.hosts.iter().skip(next).take(2) {
            link(&front_page(other, port), web.pages[other.pages.start].seed);
        }
    }
}

/// The URL of a host's front page.
pub(super) fn front_page(host: &Host, port: u16) -> String {
    format!("http://{}:{port}/", host.name)
}

/// Content type and bytes of a page in a character set.
pub(super) fn encode(charset: Charset, html: &str) -> (&'static str, Vec<u8>) {
    match charset {
        Charset::Utf8 => ("text/html; charset=utf-8", html.as_bytes().to_vec()),
        Charset::Windows1251 => {
            let (bytes, ..) = encoding_rs::WINDOWS_1251.encode(html);
            ("text/html; charset=windows-1251", bytes.into_owned())
        }
        Charset::ShiftJis => {
            let (bytes, ..) = encoding_rs::SHIFT_JIS.encode(html);
            ("text/html", bytes.into_owned())
        }
        Charset::Utf16 => {
            let marked = std::iter::once(0xfeff).chain(html.encode_utf16());
            ("text/html", marked.flat_map(u16::to_le_bytes).collect())
        }
    }
}
