//! Odd corners of a web that means no harm: redirects, errors, traps.

use super::{
    build::Web,
    clock::{Clock, http_date},
    content::front_page,
    http::Response,
    listings,
    spec::{Charset, Corner},
    words,
};
use crate::run::derive;
use std::fmt::Write;

/// Seconds that a refusing server asks for.
const RETRY_SECONDS: u64 = 2;

/// The first path segment of a corner.
pub(super) fn prefix(corner: Corner) -> &'static str {
    match corner {
        Corner::Redirects => "moved",
        Corner::Errors => "error",
        Corner::Calendar => "calendar",
        Corner::Sessions => "shop",
        Corner::Repeats => "repeat",
        Corner::NearDuplicates => "print",
        Corner::EndlessSitemap => "endless",
        Corner::Broken => "broken",
        Corner::Hostile => "hostile",
    }
}

/// Answers below the prefix of a corner.
pub(super) fn respond(
    web: &Web,
    host: usize,
    corner: Corner,
    rest: &str,
    port: u16,
    at: f64,
    clock: &Clock,
) -> Option<Response> {
    match corner {
        Corner::Redirects => moved(web, host, rest, port),
        Corner::Errors => error(rest, at, clock),
        Corner::Calendar => calendar(rest),
        Corner::Sessions => shop(rest, at),
        Corner::Repeats => Some(repeat(rest)),
        Corner::NearDuplicates => print(rest),
        Corner::EndlessSitemap if rest.is_empty() => Some(list(&["0.xml"])),
        Corner::EndlessSitemap => listings::endless(web, host, rest, port),
        Corner::Broken | Corner::Hostile => None,
    }
}

/// A page of links, relative to it.
pub(super) fn list(links: &[impl AsRef<str>]) -> Response {
    page("Contents", "", links)
}

fn page(title: &str, text: &str, links: &[impl AsRef<str>]) -> Response {
    let mut out = format!("<!DOCTYPE html><title>{title}</title><h1>{title}</h1><p>{text}</p><ul>");
    for link in links {
        let link = link.as_ref();
        let _ = write!(out, "<li><a href=\"{link}\">{link}</a></li>");
    }
    out.push_str("</ul>");
    Response::html(out)
}

fn moved(web: &Web, host: usize, rest: &str, port: u16) -> Option<Response> {
    let neighbour = &web.hosts[(host + 1) % web.hosts.len()];
    let secret = "http://10.0.0.1/secret";
    Some(match rest {
        "" => list(&[
            "permanent",
            "temporary",
            "chain/5",
            "chain/30",
            "loop/a",
            "self",
            "away",
            "private",
            "mapped",
            "link-local",
            "odd",
            "empty",
        ]),
        "permanent" => Response::redirect(308, "/"),
        "temporary" => Response::redirect(307, "/"),
        "loop/a" => Response::redirect(302, "/moved/loop/b"),
        "loop/b" => Response::redirect(302, "/moved/loop/a"),
        "self" => Response::redirect(301, "/moved/self"),
        "away" => Response::redirect(302, front_page(neighbour, port)),
        "private" => Response::redirect(302, secret),
        "mapped" => Response::redirect(302, "http://[::ffff:10.0.0.1]/secret"),
        "link-local" => Response::redirect(302, "http://169.254.169.254/latest/meta-data/"),
        "odd" => Response::redirect(302, "javascript:alert(1)"),
        "empty" => Response::error(302),
        _ => match rest.strip_prefix("chain/")?.parse::<u32>().ok()? {
            0 => Response::redirect(301, "/"),
            left => Response::redirect(301, format!("/moved/chain/{}", left - 1)),
        },
    })
}

fn error(rest: &str, at: f64, clock: &Clock) -> Option<Response> {
    let (status, retry) = rest.split_once('/').unwrap_or((rest, ""));
    if rest.is_empty() {
        let refused = ["seconds", "decimal", "date", "absent"];
        let mut links: Vec<String> = ["404", "410", "500"].map(String::from).into();
        for status in [429, 503] {
            links.extend(refused.map(|form| format!("{status}/{form}")));
        }
        return Some(list(&links));
    }
    let response = Response::error(match status {
        "404" => 404,
        "410" => 410,
        "429" => 429,
        "500" => 500,
        "503" => 503,
        _ => return None,
    });
    Some(match retry {
        "seconds" => response.with("Retry-After", RETRY_SECONDS.to_string()),
        "decimal" => response.with("Retry-After", format!("{RETRY_SECONDS}.5")),
        "date" => response.with("Retry-After", http_date(clock.unix(at) + RETRY_SECONDS)),
        _ => response,
    })
}

/// Months without end, in both directions.
fn calendar(rest: &str) -> Option<Response> {
    let (year, month) = if rest.is_empty() {
        (2026, 1)
    } else {
        let (year, month) = rest.split_once('/')?;
        (year.parse::<i32>().ok()?, month.parse::<i32>().ok()?)
    };
    let months = year.checked_mul(12)?.checked_add(month)?.checked_sub(1)?;
    let other = |step: i32| {
        let months = months.saturating_add(step);
        format!(
            "/calendar/{}/{}",
            months.div_euclid(12),
            months.rem_euclid(12) + 1
        )
    };
    let text = "There are no events in this month.";
    Some(page(
        &format!("{year}-{month:02}"),
        text,
        &[other(-1), other(1), other(12)],
    ))
}

/// A shop of ten items, each link with a session id made up for this visit.
fn shop(rest: &str, at: f64) -> Option<Response> {
    let item = rest.split('?').next()?;
    let number = match item {
        "" => 0,
        _ => item.strip_prefix("item-")?.parse::<u64>().ok()?,
    };
    if number > 10 {
        return None;
    }
    let session = derive(number, at.to_bits());
    let links: Vec<String> = (1..=10)
        .map(|item| format!("/shop/item-{item}?sid={session:016x}"))
        .collect();
    let text = words::paragraph(number, Charset::Utf8, 600);
    Some(page(&format!("Item {number}"), &text, &links))
}

/// The same page at every depth; its relative links lead ever deeper.
fn repeat(rest: &str) -> Response {
    let depth = rest.matches('/').count();
    let text = words::paragraph(depth as u64 % 3, Charset::Utf8, 600);
    page("Again", &text, &["again/", "and/again/"])
}

/// An endless run of pages that differ in a number.
fn print(rest: &str) -> Option<Response> {
    let number = match rest {
        "" => 0,
        _ => rest.parse::<u64>().ok()?,
    };
    let text = words::paragraph(7, Charset::Utf8, 2000);
    let next: Vec<String> = (1..=3)
        .map(|k| format!("/print/{}", number.saturating_add(k)))
        .collect();
    Some(page(&format!("Printed page {number}"), &text, &next))
}
