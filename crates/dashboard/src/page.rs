//! One page: its visits, how often it changes, when it is due and why, its versions.

use crate::frame::{self, Place};
use crate::pages::state_word;
use crate::routes::{Answer, Asked, Made, Trouble};
use crate::server::Window;
use crate::visits::{self, Visit};
use crate::words::{self, clock, number, outside, percent, shown, when};
use desk::often::{how_often, interval_with_unit};
use hyper::StatusCode;
use maud::{Markup, html};
use robot::copies::Copies;
use robot::view::DUE_TIME;
use storage::archive::IndexEntry;
use storage::{PageId, Time};
use url::Url;

/// Versions listed.
const MOST_VERSIONS: usize = 50;

pub(crate) fn page(window: &Window, asked: &Asked, id: PageId) -> Made {
    let reader = window.crawl.reader()?;
    let missing = || Trouble::missing("There is no page with this number.");
    let address = reader.address(id).map_err(|_| missing())?;
    let url = Url::parse(&address.url)?;
    let row = reader.page(id)?;
    let copies = Copies::of(&robot::archive_directory(&window.crawl.data), &address.url).ok();
    let visits = visits::last(&reader, id, copies.as_ref())?;
    let why = window.crawl.why(&url)?;
    let now = words::now();
    let state = row.as_ref().map_or("new", |row| state_word(row.state));
    let body = html! {
        h1 { "Page" }
        p.subject { (outside(&address.url, &shown(&address.url))) }
        @if asked.get("done").is_some() { p.done role="status" { "Requested: it will be visited as soon as politeness allows." } }
        div id="page" data-live="log" {
            p.lead {
                span class=(format!("badge {state}")) { (state) } " "
                (sentence(why.due, &why.waits_for, now))
            }
            section.tiles {
                (rate(why.rate))
                (frame::tile("Copy is current", &why.chance_fresh.map_or_else(|| "–".into(), percent), &html! { p { "the chance, by the model" } }))
                (frame::tile("Visits", &number(row.as_ref().map_or(0, |row| row.visits).into()), &html! {
                    p { (number(row.as_ref().map_or(0, |row| row.changes).into())) " found a change, " (number(row.as_ref().map_or(0, |row| row.minor).into())) " a minor one" }
                }))
                @if let Some(last) = row.as_ref().and_then(|row| row.last_visit) {
                    (frame::tile("Last visit", &ago(last, now), &html! { p { (clock(last)) " UTC" } }))
                }
            }
            section {
                h2 { "Visits" }
                @if visits.is_empty() { p.quiet { "It has not been visited yet." } } @else { (strip(&visits)) }
            }
            (versions(window, id, &address.url, copies.as_ref()))
            section {
                h2 { "Why" }
                dl.rows {
                    @for (name, value) in &why.rows {
                        dt { (name) } dd { (shown(value)) }
                    }
                }
            }
        }
        @if window.guard.has_actions() {
            form method="post" action="/actions/visit" {
                input type="hidden" name="url" value=(address.url);
                input type="hidden" name="back" value=(format!("/page/{}", id.0));
                button { "Visit now" }
            }
        }
    };
    Ok(Answer::page(
        StatusCode::OK,
        frame::page(window, Place::Pages, "Page", &body),
    ))
}

fn ago(at: Time, now: Time) -> String {
    if words::is_now(at, now) {
        return "now".into();
    }
    format!("{} ago", words::duration((now - at) as f64 / 1e3))
}

fn strip(visits: &[Visit]) -> Markup {
    html! {
        @if let (Some(first), Some(last)) = (visits.first(), visits.last()) {
            p.quiet { "From " (clock(first.at)) " to " (clock(last.at)) " UTC, oldest first." }
        }
        (visits::strip(visits))
    }
}

/// When it is due, and what it waits for.
fn sentence(due: Option<Time>, waits_for: &str, now: Time) -> Markup {
    let later = due.filter(|due| *due > now && !words::is_now(*due, now));
    // where only its time has to come, the rest says why it does not come sooner
    let reason = waits_for.strip_prefix(DUE_TIME);
    html! {
        @match (due, later, reason) {
            (None, ..) => { "It waits for " (shown(waits_for)) "." },
            (_, Some(due), Some(reason)) => { "Due " (when(due, now)) (shown(reason)) "." },
            (_, Some(due), None) => { "Due " (when(due, now)) "; it waits for " (shown(waits_for)) "." },
            (_, None, Some(_)) => { "Due now." },
            (_, None, None) => { "Due now; it waits for " (shown(waits_for)) "." },
        }
    }
}

fn rate(rate: Option<(f64, f64, f64)>) -> Markup {
    let Some((rate, low, high)) = rate else {
        return frame::tile("Changes", "–", &html! { p { "not known yet" } });
    };
    frame::tile(
        "Changes",
        &how_often(rate),
        &html! {
            p { "95 % interval: " (interval_with_unit(rate, (low, high))) }
        },
    )
}

/// The contents that the archive has, newest first.
pub(crate) fn contents(copies: &Copies) -> Vec<(usize, &IndexEntry)> {
    let mut found: Vec<(usize, &IndexEntry)> = Vec::new();
    for (at, entry) in copies
        .entries
        .iter()
        .enumerate()
        .filter(|(_, entry)| entry.status < 300)
    {
        if found
            .last()
            .is_none_or(|(_, last)| last.digest != entry.digest)
        {
            found.push((at, entry));
        }
    }
    found.reverse();
    found
}

fn versions(window: &Window, id: PageId, url: &str, copies: Option<&Copies>) -> Markup {
    let contents = copies.map(contents).unwrap_or_default();
    let page = format!("/page/{}", id.0);
    html! {
        section {
            h2 { "Versions" }
            @if contents.is_empty() {
                p.quiet { "The archive has no copy." }
            } @else {
                form method="get" action=(format!("{page}/versions")) {
                    ul.versions {
                        @for (place, (at, entry)) in contents.iter().take(MOST_VERSIONS).enumerate() {
                            li {
                                @if contents.len() > 1 {
                                    label { input type="radio" name="from" value=(at) checked[place == 1]; "from" }
                                    " " label { input type="radio" name="to" value=(at) checked[place == 0]; "to" }
                                }
                                " " span.time { (clock(entry.time)) }
                                " " a href=(format!("{page}/copy?at={at}")) { "source" }
                                @if let Some(link) = replay(window, url, entry.time) {
                                    " " (outside(&link, "replay"))
                                }
                            }
                        }
                    }
                    @if contents.len() > 1 { button { "Compare side by side" } }
                    @if contents.len() > MOST_VERSIONS {
                        p.quiet { "and " (contents.len() - MOST_VERSIONS) " older ones: " code { "evercrawl get --versions" } " lists all." }
                    }
                }
            }
        }
    }
}

/// Where a replay program shows the copy of that time.
fn replay(window: &Window, url: &str, at: Time) -> Option<String> {
    let base = window.settings.replay.as_ref()?;
    let digits: String = clock(at).chars().filter(char::is_ascii_digit).collect();
    Some(format!(
        "{}/{digits}/{url}",
        base.as_str().trim_end_matches('/')
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_within_a_moment_does_not_wait_for_its_time() {
        let said = |due, waits_for| {
            let text = sentence(due, waits_for, 1_000_000).into_string();
            let parts = text.split('<').map(|part| part.rsplit('>').next().unwrap());
            parts.collect::<String>()
        };
        let unlikely = format!("{DUE_TIME}; until then a change is unlikely");
        assert_eq!(said(Some(1_001_000), DUE_TIME), "Due now.");
        assert_eq!(said(Some(1_000_000), &unlikely), "Due now.");
        assert_eq!(said(Some(900_000), &unlikely), "Due now.");
        assert_eq!(
            said(Some(1_060_000), &unlikely),
            "Due in 60 s; until then a change is unlikely."
        );
        assert_eq!(said(Some(1_060_000), DUE_TIME), "Due in 60 s.");
        assert_eq!(
            said(Some(1_001_000), "its turn"),
            "Due now; it waits for its turn."
        );
        assert_eq!(said(None, "a robot"), "It waits for a robot.");
    }
}
