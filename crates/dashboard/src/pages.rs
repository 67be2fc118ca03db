//! Pages: all that are known, sorted, searched and paged in the store.

use crate::frame::{self, Place, table};
use crate::log::PATIENCE;
use crate::routes::{Answer, Asked, Made};
use crate::server::Window;
use crate::words::{self, number, query, shown, when};
use hyper::StatusCode;
use maud::{Markup, html};
use regex::RegexBuilder;
use std::time::Instant;
use storage::{Mark, Order, PageBrief, PageId, PageState, Reader, Time, Wanted};

/// Pages shown at a time.
const SHOWN: usize = 50;
/// Pages looked at together in a search.
const PART: usize = 2048;
/// With more pages than this a search goes on when it is asked to.
const MOST_AT_ONCE: u32 = 5_000_000;
/// Orders: name, words.
const SORTS: [(&str, &str, Order); 5] = [
    ("", "As found", Order::Found),
    ("url", "URL", Order::Url),
    ("visit", "Last visited", Order::Visit),
    ("change", "Last changed", Order::Change),
    ("changes", "Most changes", Order::Changes),
];
const STATES: [(&str, PageState); 6] = [
    ("live", PageState::Live),
    ("new", PageState::New),
    ("redirect", PageState::Redirect),
    ("gone", PageState::Gone),
    ("excluded", PageState::Excluded),
    ("elsewhere", PageState::Elsewhere),
];

pub(crate) fn state_word(state: PageState) -> &'static str {
    let known = STATES.iter().find(|(_, of)| *of == state);
    known.map_or("new", |(word, _)| word)
}

/// What a row shows.
struct Row {
    id: PageId,
    url: String,
    state: PageState,
    status: u16,
    last_visit: Option<Time>,
    last_change: Option<Time>,
    visits: u32,
    changes: u32,
}

impl Row {
    fn of(reader: &Reader, id: PageId) -> storage::Result<Self> {
        let url = reader.address(id)?.url;
        reader.brief(id, |brief: PageBrief| Self {
            id,
            url,
            state: brief.state,
            status: brief.status,
            last_visit: brief.last_visit,
            last_change: brief.last_change,
            visits: brief.visits,
            changes: brief.changes,
        })
    }
}

/// Pages in order, and where the list goes on.
struct Listed {
    pages: Vec<PageId>,
    more: Option<Mark>,
    /// Not all were looked at.
    is_partial: bool,
}

fn list(
    reader: &Reader,
    wanted: &Wanted,
    order: Order,
    text: &str,
    after: Option<Mark>,
) -> storage::Result<Listed> {
    if text.is_empty() {
        let found = reader.select(wanted, order, SHOWN, after.as_ref())?;
        return Ok(Listed {
            pages: found.pages,
            more: found.more,
            is_partial: false,
        });
    }
    if order == Order::Found && reader.page_count()? <= MOST_AT_ONCE {
        return search_all(reader, wanted, text, after);
    }
    let began = Instant::now();
    let has = finder(text);
    let (mut pages, mut after) = (Vec::new(), after);
    loop {
        let found = reader.select(wanted, order, PART, after.as_ref())?;
        for &page in &found.pages {
            if reader.address(page).is_ok_and(|known| has(&known.url)) {
                pages.push(page);
            }
        }
        after = found.more;
        // whole parts only, or the list could not go on where it stopped
        if after.is_none() || pages.len() >= SHOWN || began.elapsed() > PATIENCE {
            let is_partial = after.is_some() && pages.len() < SHOWN;
            return Ok(Listed {
                pages,
                more: after,
                is_partial,
            });
        }
    }
}

/// Looks at the URLs of all pages after a place.
fn search_all(
    reader: &Reader,
    wanted: &Wanted,
    text: &str,
    after: Option<Mark>,
) -> storage::Result<Listed> {
    let from = after.map_or(PageId(0), |after| {
        PageId(after.place().0.0.saturating_add(1))
    });
    let host = wanted
        .hosts
        .as_ref()
        .and_then(|hosts| hosts.iter().next().copied());
    let has = finder(text);
    let mut pages = Vec::new();
    reader.scan_urls(
        from,
        host,
        |page, url| has(url).then_some(page),
        |page| {
            let is_wanted = |page: &PageId| {
                let state = wanted.state;
                state.is_none_or(|state| {
                    reader
                        .brief(*page, |brief| brief.state == state)
                        .unwrap_or(false)
                })
            };
            if pages.len() <= SHOWN {
                pages.extend(page.filter(is_wanted));
            }
        },
    )?;
    let is_more = pages.len() > SHOWN;
    pages.truncate(SHOWN);
    let last = pages.last().filter(|_| is_more);
    let more = last
        .map(|&page| reader.mark(Order::Found, (page, None)))
        .transpose()?;
    Ok(Listed {
        pages,
        more,
        is_partial: false,
    })
}

/// Finds a text in URLs, written small or large; much faster than looking letter by letter.
fn finder(text: &str) -> impl Fn(&str) -> bool + Sync {
    let built = RegexBuilder::new(&regex::escape(text))
        .case_insensitive(true)
        .build();
    // an escaped text is an expression, unless it is too long for one: nothing has that
    move |url| built.as_ref().is_ok_and(|found| found.is_match(url))
}

/// Where a list goes on, in a link.
fn place_text(mark: &Mark) -> String {
    match mark.place() {
        (page, Some(value)) => format!("{}.{value}", page.0),
        (page, None) => page.0.to_string(),
    }
}

fn read_place(reader: &Reader, order: Order, text: &str) -> Option<Mark> {
    let (page, value) = match text.split_once('.') {
        Some((page, value)) => (page, Some(value.parse().ok()?)),
        None => (text, None),
    };
    reader.mark(order, (PageId(page.parse().ok()?), value)).ok()
}

pub(crate) fn page(window: &Window, asked: &Asked) -> Made {
    let reader = window.crawl.reader()?;
    let field = |name: &str| asked.get(name).unwrap_or_default();
    let sort = SORTS.iter().find(|(name, ..)| *name == field("sort"));
    let &(sort, _, order) = sort.unwrap_or(&SORTS[0]);
    let state = STATES.iter().find(|(word, _)| *word == field("state"));
    let host = asked.get("host");
    let known_host = host
        .map(|host| reader.find_host(host))
        .transpose()?
        .flatten();
    let wanted = Wanted {
        state: state.map(|(_, state)| *state),
        // a host that is not known has no pages
        hosts: host.map(|_| known_host.into_iter().collect()),
        seeds: false,
    };
    let after = asked
        .get("after")
        .and_then(|text| read_place(&reader, order, text));
    let is_first = after.is_none();
    let listed = list(&reader, &wanted, order, field("q"), after)?;
    let rows: Vec<Row> = (listed.pages.iter())
        .filter_map(|&id| Row::of(&reader, id).ok())
        .collect();
    let at = |host: &str, after: &str| {
        let pairs = [
            ("host", host),
            ("q", field("q")),
            ("state", field("state")),
            ("sort", sort),
            ("after", after),
        ];
        format!("/pages{}", query(&pairs))
    };
    let body = html! {
        h1 { "Pages" }
        form.filter method="get" action="/pages" data-look {
            @if let Some(host) = host { input type="hidden" name="host" value=(host); }
            label { "Search " input type="search" name="q" value=(field("q")) placeholder="part of a URL"; }
            label { "State "
                select name="state" {
                    option value="" { "any" }
                    @for (word, _) in STATES { option value=(word) selected[field("state") == word] { (word) } }
                }
            }
            label { "Sort by "
                select name="sort" {
                    @for (name, text, _) in SORTS { option value=(name) selected[name == sort] { (text) } }
                }
            }
            button { "Show" }
        }
        div id="list" data-live=[is_first.then_some("log")] {
            p.quiet {
                (desk::terminal::count(u64::from(reader.page_count()?), "page")) " known"
                @if let Some(host) = host { "; those of " b { (shown(host)) } " (" a href=(at("", "")) { "show all" } ")" }
                "."
            }
            @if rows.is_empty() && listed.more.is_none() { p.empty { "No page found." } }
            @if !rows.is_empty() { (table_of(&rows)) }
            p.paging {
                @if !is_first { a href=(at(field("host"), "")) { "First" } " " }
                @if let Some(more) = &listed.more { a href=(at(field("host"), &place_text(more))) {
                    @if listed.is_partial { "Search further" } @else { "Next" }
                } }
            }
        }
    };
    Ok(Answer::page(
        StatusCode::OK,
        frame::page(window, Place::Pages, "Pages", &body),
    ))
}

fn table_of(rows: &[Row]) -> Markup {
    let now = words::now();
    let time = |at: Option<Time>| html! { @match at { Some(at) => (when(at, now)), None => "–" } };
    table(
        "Pages",
        &html! {
            thead { tr {
                th { "URL" } th { "State" } th.n { "Status" } th { "Last visit" } th { "Last change" } th.n { "Visits" } th.n { "Changes" }
            } }
            tbody {
                @for row in rows {
                    tr {
                        td.url { a href=(format!("/page/{}", row.id.0)) { (shown(&row.url)) } }
                        td { span class=(format!("badge {}", state_word(row.state))) { (state_word(row.state)) } }
                        td.n { @if row.status > 0 { (row.status) } @else { "–" } }
                        td.time { (time(row.last_visit)) }
                        td.time { (time(row.last_change)) }
                        td.n { (number(u64::from(row.visits))) }
                        td.n { (number(u64::from(row.changes))) }
                    }
                }
            }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_match_in_any_case() {
        assert!(finder("a.TEST/p")("http://A.test/Page"));
        assert!(!finder("http://a/longer")("http://a/"));
        assert!(!finder("a.c")("http://abc/"), "no expression");
    }
}
