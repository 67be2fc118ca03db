//! Pages: all that are known, sorted, searched and paged in the store.

pub(crate) mod search;

use crate::frame::{self, Place, table};
use crate::routes::{Answer, Asked, Made};
use crate::server::Window;
use crate::words::{self, number, query, shown, when};
use hyper::StatusCode;
use maud::{Markup, html};
use search::Way;
use storage::{Mark, Order, PageBrief, PageId, PageState, Reader, Time, Wanted};

/// Pages shown at a time.
pub(crate) const SHOWN: usize = 50;
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
    let known = reader.page_count()?;
    let embedded = window.pulse.status().requisites.known;
    let way = Way {
        reader: &reader,
        wanted: &wanted,
        order,
    };
    let listed = search::list(&way, field("q"), after, &window.cache.searches)?;
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
        // what a search found so far is not loaded anew
        div id="list" data-found data-live=[(is_first && !listed.is_unfinished()).then_some("log")] {
            p.quiet {
                (desk::terminal::count(u64::from(known), "page")) " known"
                @if embedded > 0 { ", " (number(embedded)) " of them embedded in others (images, stylesheets and so on)" }
                @if let Some(host) = host { "; those of " b { (shown(host)) } " (" a href=(at("", "")) { "show all" } ")" }
                "."
            }
            @if rows.is_empty() && listed.more.is_none() && listed.searched.is_none() { p.empty { "No page found." } }
            @if !rows.is_empty() { (table_of(&rows)) }
            p.paging {
                @if !is_first { a href=(at(field("host"), "")) { "First" } " " }
                @if let Some(searched) = listed.searched {
                    "Searched " (number(u64::from(searched))) " of " (number(u64::from(known))) " pages. "
                }
                // a search before anything can be sorted goes on at the same place
                @let next = listed.more.as_ref().map(place_text);
                @let next = next.or_else(|| listed.searched.map(|_| field("after").to_owned()));
                @if let Some(next) = next {
                    @let next = at(field("host"), &next);
                    @if listed.is_unfinished() { a href=(next) data-further { "Continue the search" } }
                    @else { a href=(next) { "Next" } }
                }
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
