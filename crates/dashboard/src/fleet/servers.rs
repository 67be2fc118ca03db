//! Servers: which robot has which, by what the robots say.

use super::page::watch;
use super::{Fleet, Server};
use crate::frame::{self, Place, table};
use crate::routes::{Answer, Asked, Made};
use crate::server::House;
use crate::words::{answering, number, query, shown};
use hyper::StatusCode;
use maud::{Markup, html};

/// Servers on a page.
const SHOWN: usize = 100;

/// Whether a server is what somebody looks for.
fn is_wanted(server: &Server, wanted: &str) -> bool {
    wanted.is_empty()
        || server.robot.eq_ignore_ascii_case(wanted)
        || server.address.to_string().starts_with(wanted)
        || (server.names.iter()).any(|name| name.to_ascii_lowercase().contains(wanted))
}

pub(crate) fn page(house: &House, asked: &Asked) -> Made {
    let watch = watch(house)?;
    let fleet = watch.latest();
    let servers = watch.servers()?;
    let wanted = asked.get("q").unwrap_or_default().to_ascii_lowercase();
    let skipped: usize = asked.number("after").unwrap_or(0);
    let found: Vec<&Server> = (servers.all.iter())
        .filter(|server| is_wanted(server, &wanted))
        .collect();
    let some: Vec<&Server> = found.iter().skip(skipped).take(SHOWN).copied().collect();
    let at = |after: usize| {
        let after = if after == 0 {
            String::new()
        } else {
            after.to_string()
        };
        format!(
            "/fleet/servers{}",
            query(&[("q", &wanted), ("after", &after)])
        )
    };
    let body = html! {
        h1 { "Servers" }
        form.filter method="get" action="/fleet/servers" data-look {
            label { "Search " input type="search" name="q" value=[asked.get("q")] placeholder="host, address or robot"; }
            button { "Show" }
        }
        div id="list" data-live="fleet" {
            p.quiet {
                (number(found.len() as u64)) " of " (number((servers.all.len() + servers.left_out) as u64)) " servers"
                @if servers.left_out > 0 { "; " (number(servers.left_out as u64)) " of them are not searched" }
                "."
            }
            @if some.is_empty() { p.empty { "No server found here." } } @else { (listed(&fleet, &some)) }
            p.paging {
                @if skipped > 0 { a href=(at(0)) { "First" } " " }
                @if skipped + SHOWN < found.len() { a href=(at(skipped + SHOWN)) { "Next" } }
            }
        }
    };
    Ok(Answer::page(
        StatusCode::OK,
        frame::page(house, Place::Fleet, "Servers", &body),
    ))
}

fn listed(fleet: &Fleet, servers: &[&Server]) -> Markup {
    let rows = html! {
        thead { tr { th { "Server" } th { "Robot" } th { "State" } th { "Hosts" } th.n { "Pages read" } th.n { "Answers in" } } }
        tbody {
            @for server in servers {
                tr {
                    td { (server.address) }
                    td.who { (fleet.mark(&server.robot)) }
                    td { (server.held) }
                    td.url { (server.names.iter().map(|name| shown(name)).collect::<Vec<_>>().join(", ")) }
                    td.n { (number(server.pages)) }
                    td.n { @match server.answers_in { Some(ms) => { (answering(ms / 1e3)) } None => { "–" } } }
                }
            }
        }
    };
    table("Servers", &rows)
}
