//! What a host tells crawlers: robots.txt, sitemaps, a feed.

use super::{
    build::{Page, Web},
    clock::{Clock, http_date, iso_date},
    http::{Request, Response},
    respond::gzip,
    spec::{Corner, Robots, Sitemap},
    words,
};
use crate::small_web::Kind;
use std::fmt::Write;
use std::ops::Range;

/// RFC 9309 lets a crawler stop reading after 500 KiB; the rule behind this much must not count.
const HUGE: usize = 600 * 1024;
/// URLs in one file of an indexed sitemap.
const URLS_PER_FILE: usize = 50;
/// Entries of a feed.
const ENTRIES: usize = 10;
/// Changes a day of a sitemap that claims that everything has just changed: as good as always.
const LYING: f64 = 10_000.0;

/// A sitemap or a feed as a document that changes like a page.
pub(super) fn document(web: &Web, number: usize, path: &str, clock: &Clock) -> Option<Page> {
    let host = &web.hosts[number];
    let changes = match (path, host.sitemap) {
        ("/feed.xml", _) if host.feed => feed_changes(web, number, clock),
        ("/sitemap.xml", Sitemap::Truthful) => times(&events(web, host.pages.clone())),
        ("/sitemap.xml", Sitemap::Lying) => {
            let last = (web.spec.days * LYING) as u64;
            (1..=last).map(|k| k as f64 / LYING).collect()
        }
        ("/sitemap.xml", Sitemap::Index) => Vec::new(),
        (_, Sitemap::Index) => times(&events(web, part(host.pages.clone(), path)?)),
        _ => return None,
    };
    Some(Page {
        host: number,
        path: path.to_owned(),
        kind: if changes.is_empty() {
            Kind::Never
        } else {
            // many pages at once, of all kinds
            Kind::Bursty
        },
        rate: changes.len() as f64 / web.spec.days,
        allowed: true,
        open_from: 0.0,
        gone_at: f64::INFINITY,
        changes,
        created: 0.0,
        seed: 0,
    })
}

/// When one of these pages changes or goes, and which, ascending.
fn events(web: &Web, pages: Range<usize>) -> Vec<(f64, usize)> {
    let of = |number: usize| {
        let page = &web.pages[number];
        let changes = page.changes.iter().copied();
        let changes = changes.take_while(|&at| at < page.gone_at);
        let gone = Some(page.gone_at).filter(|at| at.is_finite());
        changes.chain(gone).map(move |at| (at, number))
    };
    let mut events: Vec<(f64, usize)> = pages.flat_map(of).collect();
    events.sort_by(|a, b| a.0.total_cmp(&b.0));
    events
}

fn times(events: &[(f64, usize)]) -> Vec<f64> {
    events.iter().map(|event| event.0).collect()
}

/// A feed dates by seconds: not every change of a page shows in it.
fn feed_changes(web: &Web, number: usize, clock: &Clock) -> Vec<f64> {
    let mut latest = latest(web, number, 0.0);
    let shown = |latest: &[(f64, usize)]| -> Vec<(u64, usize)> {
        let entries = latest.iter().take(ENTRIES);
        entries.map(|&(at, page)| (clock.unix(at), page)).collect()
    };
    let mut last = shown(&latest);
    let mut changes = Vec::new();
    for (at, page) in events(web, web.hosts[number].pages.clone()) {
        if !web.pages[page].allowed {
            continue;
        }
        latest.retain(|entry| entry.1 != page);
        if at < web.pages[page].gone_at {
            latest.insert(0, (at, page));
        }
        let now = shown(&latest);
        if now != last {
            changes.push(at);
            last = now;
        }
    }
    changes
}

/// The pages in one file of an indexed sitemap.
fn part(pages: Range<usize>, path: &str) -> Option<Range<usize>> {
    let middle = path.strip_prefix("/sitemap-")?.strip_suffix(".xml.gz")?;
    let part = middle.parse::<usize>().ok()?;
    let start = pages.start.checked_add(part.checked_mul(URLS_PER_FILE)?)?;
    (start < pages.end).then(|| start..(start + URLS_PER_FILE).min(pages.end))
}

/// Answers for the well-known names; `None` for any other.
pub(super) fn respond(
    web: &Web,
    number: usize,
    request: &Request,
    at: f64,
    clock: &Clock,
) -> Option<Response> {
    let host = &web.hosts[number];
    let lying = host.sitemap == Sitemap::Lying;
    match (request.path(), host.sitemap) {
        ("/robots.txt", _) => Some(robots(web, number, request.port, at)),
        ("/rules/robots.txt", _) if host.robots == Robots::Redirected => {
            Some(rules(web, number, request.port))
        }
        ("/sitemap.xml", Sitemap::Truthful | Sitemap::Lying) => {
            let pages = host.pages.clone();
            let list = url_set(web, pages, request.port, at, clock, lying);
            Some(Response::new(200, "application/xml", list))
        }
        ("/sitemap.xml", Sitemap::Index) => Some(index(web, number, request.port)),
        (path, Sitemap::Index) if path.starts_with("/sitemap-") => {
            let pages = part(host.pages.clone(), path)?;
            let list = url_set(web, pages, request.port, at, clock, false);
            Some(Response::new(
                200,
                "application/gzip",
                gzip(list.as_bytes()),
            ))
        }
        ("/feed.xml", _) if host.feed => Some(feed(web, number, request.port, at, clock)),
        _ => None,
    }
}

fn robots(web: &Web, number: usize, port: u16, at: f64) -> Response {
    match web.hosts[number].robots {
        Robots::Absent => Response::error(404),
        Robots::Failing if at < web.spec.trouble_days => Response::error(500),
        Robots::Redirected => Response::redirect(302, "/rules/robots.txt"),
        _ => rules(web, number, port),
    }
}

fn rules(web: &Web, number: usize, port: u16) -> Response {
    let host = &web.hosts[number];
    let mut text = String::from("User-agent: *\nDisallow: /private/\n");
    if host.robots == Robots::Delay {
        let _ = writeln!(text, "Crawl-delay: {}", web.spec.crawl_delay);
    }
    if host.sitemap != Sitemap::Absent {
        let _ = writeln!(text, "\nSitemap: http://{}:{port}/sitemap.xml", host.name);
    }
    if host.corners.contains(&Corner::EndlessSitemap) {
        let _ = writeln!(text, "Sitemap: http://{}:{port}/endless/0.xml", host.name);
    }
    if host.robots == Robots::Huge {
        while text.len() < HUGE {
            text.push_str("# rules are made to be read\n");
        }
        text.push_str("User-agent: *\nDisallow: /\n");
    }
    Response::new(200, "text/plain", text)
}

const XML: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
const NAMESPACE: &str = "xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"";

/// The pages that exist, with the instants of their last changes, or of this one where it lies.
fn url_set(
    web: &Web,
    pages: Range<usize>,
    port: u16,
    at: f64,
    clock: &Clock,
    lying: bool,
) -> String {
    let mut out = format!("{XML}<urlset {NAMESPACE}>\n");
    for number in pages {
        let page = &web.pages[number];
        if at < page.gone_at {
            let modified = if lying { at } else { page.changed(at) };
            let (url, date) = (web.url(number, port), iso_date(clock.wall(modified)));
            let _ = writeln!(out, "<url><loc>{url}</loc><lastmod>{date}</lastmod></url>");
        }
    }
    out.push_str("</urlset>\n");
    out
}

fn index(web: &Web, number: usize, port: u16) -> Response {
    let host = &web.hosts[number];
    let mut out = format!("{XML}<sitemapindex {NAMESPACE}>\n");
    for part in 0..host.pages.len().div_ceil(URLS_PER_FILE) {
        let _ = writeln!(
            out,
            "<sitemap><loc>http://{}:{port}/sitemap-{part}.xml.gz</loc></sitemap>",
            host.name
        );
    }
    out.push_str("</sitemapindex>\n");
    Response::new(200, "application/xml", out)
}

/// One file of a sitemap of sitemaps that has no end: each leads to two more.
pub(super) fn endless(web: &Web, number: usize, rest: &str, port: u16) -> Option<Response> {
    let part = rest.strip_suffix(".xml")?.parse::<u32>().ok()?;
    let host = &web.hosts[number].name;
    let mut out = format!("{XML}<sitemapindex {NAMESPACE}>\n");
    for next in 1..=2 {
        let next = part.wrapping_mul(2).wrapping_add(next);
        let _ = writeln!(
            out,
            "<sitemap><loc>http://{host}:{port}/endless/{next}.xml</loc></sitemap>"
        );
    }
    out.push_str("</sitemapindex>\n");
    Some(Response::new(200, "application/xml", out))
}

/// The pages that a feed may show and when they changed, the latest first.
fn latest(web: &Web, number: usize, at: f64) -> Vec<(f64, usize)> {
    let exists = |page: &usize| at < web.pages[*page].gone_at && web.pages[*page].allowed;
    let pages = web.hosts[number].pages.clone().filter(exists);
    let mut latest: Vec<(f64, usize)> = pages
        .map(|page| (web.pages[page].changed(at), page))
        .collect();
    latest.sort_by(|a, b| b.0.total_cmp(&a.0));
    latest
}

/// RSS with the latest changes of the host.
fn feed(web: &Web, number: usize, port: u16, at: f64, clock: &Clock) -> Response {
    let host = &web.hosts[number];
    let mut out = format!(
        "{XML}<rss version=\"2.0\"><channel><title>{}</title>\n",
        host.name
    );
    for &(changed, page) in latest(web, number, at).iter().take(ENTRIES) {
        let url = web.url(page, port);
        let title = words::title(web.pages[page].seed, host.charset);
        let date = http_date(clock.unix(changed));
        let _ = writeln!(
            out,
            "<item><title>{title}</title><link>{url}</link><guid>{url}</guid><pubDate>{date}</pubDate></item>"
        );
    }
    out.push_str("</channel></rss>\n");
    Response::new(200, "application/rss+xml; charset=utf-8", out)
}
