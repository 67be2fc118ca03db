//! Pages: all that are known, sorted, searched and paged in the store.

use crate::frame::{self, Place, table};
use crate::log::PATIENCE;
use crate::routes::{Answer, Asked, Made};
use crate::server::Window;
use crate::words::{self, number, query, shown, when};
use hyper::StatusCode;
use maud::{Markup, html};
use regex::RegexBuilder;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use storage::{HostId, Mark, Order, PageBrief, PageId, PageState, Reader, Time, Wanted};

/// Pages shown at a time.
const SHOWN: usize = 50;
/// Pages put in order together in a search, at first and at most.
const LEAST_PART: usize = 2048;
const MOST_PART: usize = 65_536;
/// With no more pages than this all URLs are looked at in one go …
const ALL_AT_ONCE: u32 = 1_500_000;
/// … and no more than this are sorted.
const MOST_SORTED: usize = 5000;
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
    /// A search that ran out of time before the page was full.
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
        Ok(Listed {
            pages: found.pages,
            more: found.more,
            is_partial: false,
        })
    } else if (wanted.hosts.as_ref()).is_some_and(std::collections::HashSet::is_empty) {
        Ok(Listed {
            pages: Vec::new(),
            more: None,
            is_partial: false,
        })
    } else if order == Order::Found {
        search_as_found(reader, wanted, text, after, PATIENCE)
    } else {
        // a text that few URLs have: found in all of them, then sorted
        let few = match reader.page_count()? {
            pages if pages <= ALL_AT_ONCE => {
                search_all(reader, wanted, order, text, after.as_ref(), PATIENCE)?
            }
            _ => None,
        };
        few.map_or_else(
            || search_sorted(reader, wanted, order, text, after, PATIENCE),
            Ok,
        )
    }
}

/// The host that is wanted, if only one is.
fn only_host(wanted: &Wanted) -> Option<HostId> {
    let hosts = wanted.hosts.as_ref();
    hosts.and_then(|hosts| hosts.iter().next().copied())
}

/// Whether a page is in the state that is wanted.
fn has_state(reader: &Reader, wanted: &Wanted, page: PageId) -> bool {
    let is_in = |state| reader.brief(page, |brief| brief.state == state);
    wanted
        .state
        .is_none_or(|state| is_in(state).unwrap_or(false))
}

/// Looks at all URLs and sorts those that have the text; nothing if that takes too long or they are too many.
fn search_all(
    reader: &Reader,
    wanted: &Wanted,
    order: Order,
    text: &str,
    after: Option<&Mark>,
    patience: Duration,
) -> storage::Result<Option<Listed>> {
    let began = Instant::now();
    let mut found = Vec::new();
    let next = reader.search_urls(PageId(0), only_host(wanted), finder(text), |some| {
        found.extend(some);
        if found.len() > MOST_SORTED || began.elapsed() >= patience {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    if next.is_some() {
        return Ok(None);
    }
    let mut marks = Vec::with_capacity(found.len());
    for page in found {
        if !has_state(reader, wanted, page) {
            continue;
        }
        let value = reader.brief(page, |brief| match order {
            Order::Visit => brief.last_visit,
            Order::Change => brief.last_change,
            Order::Changes => Some(i64::from(brief.changes)),
            Order::Found | Order::Url => None,
        });
        let mark = value.and_then(|value| reader.mark(order, (page, value)));
        marks.extend(
            mark.into_iter()
                .filter(|mark| after.is_none_or(|after| mark > after)),
        );
    }
    marks.sort();
    let is_more = marks.len() > SHOWN;
    marks.truncate(SHOWN);
    Ok(Some(Listed {
        pages: marks.iter().map(|mark| mark.place().0).collect(),
        more: marks.pop().filter(|_| is_more),
        is_partial: false,
    }))
}

/// Reads URLs block by block, on all cores, until a page is full or the time is up.
fn search_as_found(
    reader: &Reader,
    wanted: &Wanted,
    text: &str,
    after: Option<Mark>,
    patience: Duration,
) -> storage::Result<Listed> {
    let began = Instant::now();
    let from = after.map_or(PageId(0), |after| {
        PageId(after.place().0.0.saturating_add(1))
    });
    let mut pages = Vec::new();
    let next = reader.search_urls(from, only_host(wanted), finder(text), |found| {
        let found = found.into_iter();
        pages.extend(found.filter(|&page| has_state(reader, wanted, page)));
        if pages.len() > SHOWN || began.elapsed() >= patience {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    let last = if pages.len() > SHOWN {
        pages.truncate(SHOWN);
        pages.last().copied()
    } else {
        next.map(|next| PageId(next.0.saturating_sub(1)))
    };
    let more = last.map(|last| reader.mark(Order::Found, (last, None)));
    Ok(Listed {
        is_partial: last.is_some() && pages.len() < SHOWN,
        pages,
        more: more.transpose()?,
    })
}

/// Looks at the URLs of pages in order until a page is full or the time is up.
fn search_sorted(
    reader: &Reader,
    wanted: &Wanted,
    order: Order,
    text: &str,
    mut after: Option<Mark>,
    patience: Duration,
) -> storage::Result<Listed> {
    let began = Instant::now();
    let has = finder(text);
    let (mut pages, mut part) = (Vec::new(), LEAST_PART);
    loop {
        let found = reader.select(wanted, order, part, after.as_ref())?;
        for (at, (&page, mark)) in found.pages.iter().zip(found.marks).enumerate() {
            if reader.address(page).is_ok_and(|known| has(&known.url)) {
                pages.push(page);
            }
            let is_full = pages.len() >= SHOWN;
            if is_full || at % 256 == 255 && began.elapsed() >= patience {
                return Ok(Listed {
                    pages,
                    more: Some(mark),
                    is_partial: !is_full,
                });
            }
        }
        if found.more.is_none() {
            return Ok(Listed {
                pages,
                more: None,
                is_partial: false,
            });
        }
        after = found.more;
        // each part goes through all pages: the fewer parts, the better, if the text is rare
        part = (part * 2).min(MOST_PART);
    }
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
    let known = reader.page_count()?;
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
        // what a search found so far is not loaded anew
        div id="list" data-found data-live=[(is_first && !listed.is_partial).then_some("log")] {
            p.quiet {
                (desk::terminal::count(u64::from(known), "page")) " known"
                @if let Some(host) = host { "; those of " b { (shown(host)) } " (" a href=(at("", "")) { "show all" } ")" }
                "."
            }
            @if rows.is_empty() && listed.more.is_none() { p.empty { "No page found." } }
            @if !rows.is_empty() { (table_of(&rows)) }
            p.paging {
                @if !is_first { a href=(at(field("host"), "")) { "First" } " " }
                @if let Some(more) = &listed.more {
                    @let next = at(field("host"), &place_text(more));
                    @if listed.is_partial {
                        @if order == Order::Found {
                            "Searched " (number(u64::from(more.place().0.0) + 1)) " of " (number(u64::from(known))) " pages. "
                        }
                        a href=(next) data-further { "Go on searching" }
                    } @else { a href=(next) { "Next" } }
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

#[cfg(test)]
mod tests {
    use super::*;

    use storage::{Batch, Candidate, Durability, PageRow, Store, StoreOptions};

    const PAGES: u32 = 9000;

    /// Every hundredth page has the word, every second one a visit.
    fn store(directory: &std::path::Path) -> Reader {
        let options = StoreOptions {
            durability: Durability::Buffered,
            ..StoreOptions::default()
        };
        let mut store = Store::open(directory, options).unwrap();
        let host = store.host("http://a.test").unwrap();
        let mut batch = Batch::default();
        for number in 0..PAGES {
            let word = if number % 100 == 7 { "Needle" } else { "hay" };
            let url = format!("http://a.test/{word}/{number}");
            let candidate = Candidate {
                key: &url,
                url: &url,
                host,
                depth: 0,
                from: None,
                at: 0,
            };
            store.admit(&[candidate]).unwrap();
            let row = PageRow {
                state: PageState::Live,
                last_visit: Some(i64::from(number % 977)),
                ..PageRow::default()
            };
            if number % 2 == 1 {
                batch.pages.push((PageId(number), row));
            }
        }
        store.commit(&batch).unwrap();
        drop(store);
        Reader::open(directory).unwrap()
    }

    #[test]
    fn a_search_without_time_goes_on_where_it_stopped() {
        let directory = tempfile::tempdir().unwrap();
        let reader = store(directory.path());
        let of_one_host = Wanted {
            hosts: Some([HostId(0)].into()),
            ..Wanted::default()
        };
        for wanted in [Wanted::default(), of_one_host] {
            for order in [Order::Found, Order::Url, Order::Visit] {
                let (mut found, mut after, mut slices) = (Vec::new(), None, 0);
                loop {
                    let (wanted, text, none) = (&wanted, "needle", Duration::ZERO);
                    let listed = match order {
                        Order::Found => search_as_found(&reader, wanted, text, after, none),
                        _ => search_sorted(&reader, wanted, order, text, after, none),
                    };
                    let listed = listed.unwrap();
                    assert!(listed.pages.len() <= SHOWN);
                    let is_full = listed.pages.len() == SHOWN;
                    found.extend(listed.pages);
                    slices += 1;
                    after = listed.more;
                    if after.is_none() {
                        break;
                    }
                    assert_eq!(listed.is_partial, !is_full);
                }
                assert!(slices > 2, "{order:?}: {slices}");
                // in one go, page by page
                let (mut at_once, mut after) = (Vec::new(), None);
                loop {
                    let (text, long) = ("needle", Duration::from_mins(1));
                    let all = search_all(&reader, &wanted, order, text, after.as_ref(), long);
                    let all = all.unwrap().expect("there is time");
                    at_once.extend(all.pages);
                    after = all.more;
                    if after.is_none() {
                        break;
                    }
                }
                assert_eq!(at_once, found, "{order:?}");
                let all = reader.select(&wanted, order, PAGES as usize, None).unwrap();
                let has = |page: &PageId| page.0 % 100 == 7;
                let expected: Vec<PageId> = all.pages.into_iter().filter(has).collect();
                assert_eq!(found, expected, "{order:?}");
            }
        }
    }

    #[test]
    fn letters_match_in_any_case() {
        assert!(finder("a.TEST/p")("http://A.test/Page"));
        assert!(!finder("http://a/longer")("http://a/"));
        assert!(!finder("a.c")("http://abc/"), "no expression");
    }
}
