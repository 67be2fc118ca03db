//! Sites: the hosts, their pages by state, and how they are spared.

use crate::frame::{self, Place, table};
use crate::log::PATIENCE;
use crate::routes::{Answer, Asked, Made};
use crate::server::Window;
use crate::words::{answering, number, pause, query, shown};
use hyper::StatusCode;
use maud::html;
use robot::offline;
use robot::overrides::Overrides;
use std::cmp::Reverse;
use std::time::Instant;
use storage::{HostId, PageState, Reader, StateCounts};

/// Hosts on a page.
const SHOWN: usize = 50;
/// What hosts can be sorted by: name, words.
const SORTS: [(&str, &str); 6] = [
    ("", "Pages"),
    ("copies", "Copies"),
    ("new", "New"),
    ("gone", "Gone"),
    ("excluded", "Excluded"),
    ("found", "As found"),
];

fn weight(sort: &str, pages: &StateCounts) -> u64 {
    let state = |state: PageState| u64::from(pages[state]);
    match sort {
        "copies" => state(PageState::Live) + state(PageState::Redirect),
        "new" => state(PageState::New),
        "gone" => state(PageState::Gone),
        "excluded" => state(PageState::Excluded),
        "found" => 0,
        _ => pages.all(),
    }
}

/// Hosts in order, after the first `skipped`; where to go on, if there are more.
struct Listed {
    hosts: Vec<(HostId, String, Vec<u8>)>,
    more: Option<usize>,
}

fn list(reader: &Reader, order: &[u32], wanted: &str, skipped: usize) -> storage::Result<Listed> {
    let began = Instant::now();
    let mut hosts = Vec::new();
    for (at, &id) in order.iter().enumerate().skip(skipped) {
        if hosts.len() >= SHOWN || began.elapsed() > PATIENCE {
            return Ok(Listed {
                hosts,
                more: Some(at),
            });
        }
        let Some(row) = reader.host(HostId(id))? else {
            continue;
        };
        if wanted.is_empty() || row.name.to_ascii_lowercase().contains(wanted) {
            hosts.push((HostId(id), row.name, row.blob));
        }
    }
    Ok(Listed { hosts, more: None })
}

pub(crate) fn page(window: &Window, asked: &Asked) -> Made {
    let reader = window.crawl.reader()?;
    let pages = reader.host_pages()?;
    let sort = asked.get("sort").unwrap_or_default();
    let wanted = asked.get("q").unwrap_or_default().to_ascii_lowercase();
    let skipped = asked.number("after").unwrap_or(0);
    let mut order: Vec<u32> = (0..pages.len() as u32).collect();
    order.sort_by_key(|&host| (Reverse(weight(sort, &pages[host as usize])), host));
    let listed = list(&reader, &order, &wanted, skipped)?;
    let overrides = Overrides::new(&window.crawl.config).unwrap_or_default();
    let at = |after: usize| {
        let after = if after == 0 {
            String::new()
        } else {
            after.to_string()
        };
        let q = asked.get("q").unwrap_or_default();
        format!(
            "/sites{}",
            query(&[("q", q), ("sort", sort), ("after", &after)])
        )
    };
    let rows = html! {
        thead { tr {
            th { "Host" } th.n { "Pages" } th.n { "Copies" } th.n { "New" } th.n { "Gone" } th.n { "Excluded" } th.n { "Interval" } th.n { "Answers in" } th { "robots.txt" }
        } }
        tbody {
            @for (id, name, blob) in &listed.hosts {
                @let counted = pages.get(id.0 as usize).copied().unwrap_or_default();
                @let view = offline::host_view(name, blob, counted.all() as u32, &overrides, "");
                tr {
                    td.url { a href=(format!("/pages{}", query(&[("host", name)]))) { (shown(name)) } }
                    td.n { (number(counted.all())) }
                    td.n { (number(weight("copies", &counted))) }
                    td.n { (number(weight("new", &counted))) }
                    td.n { (number(weight("gone", &counted))) }
                    td.n { (number(weight("excluded", &counted))) }
                    td.n { (pause(view.interval)) }
                    td.n { @if view.response > 0.0 { (answering(view.response)) } @else { "–" } }
                    td { (shown(&view.robots)) }
                }
            }
        }
    };
    let body = html! {
        h1 { "Sites" }
        form.filter method="get" action="/sites" data-look {
            label { "Search " input type="search" name="q" value=[asked.get("q")] placeholder="part of a name"; }
            label { "Sort by "
                select name="sort" {
                    @for (name, text) in SORTS {
                        option value=(name) selected[name == sort] { (text) }
                    }
                }
            }
            button { "Show" }
        }
        div id="list" data-live="log" {
            p.quiet { (desk::terminal::count(pages.len() as u64, "host")) " known." }
            @if listed.hosts.is_empty() { p.empty { "No host found here." } } @else { (table("Hosts", &rows)) }
            p.paging {
                @if skipped > 0 { a href=(at(0)) { "First" } " " }
                @if let Some(more) = listed.more { a href=(at(more)) {
                    @if listed.hosts.len() < SHOWN { "Continue the search" } @else { "Next" }
                } }
            }
        }
    };
    Ok(Answer::page(
        StatusCode::OK,
        frame::page(window, Place::Sites, "Sites", &body),
    ))
}
