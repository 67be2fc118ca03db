//! Fleet: who is at work, who is in which group, and what moves between robots.

use super::watch::{Sample, Watch};
use super::{Fleet, Group, Robot};
use crate::chart::{Along, Chart, from_zero};
use crate::frame::{self, Place, table, tile};
use crate::routes::{Answer, Asked, Made, Trouble};
use crate::server::House;
use crate::words::{self, clock, number, percent, query, shown, when};
use desk::terminal::count;
use hyper::StatusCode;
use maud::{Markup, html};
use std::sync::Arc;

/// Robots that have a line in the chart: more could not be told apart.
const MOST_LINES: usize = 7;

pub(crate) fn watch(house: &House) -> Result<&Watch, Trouble> {
    let watch = house.fleet.as_ref();
    watch.ok_or_else(|| Trouble::missing("This crawl is not part of a fleet."))
}

pub(crate) fn page(house: &House, asked: &Asked) -> Made {
    let watch = watch(house)?;
    let fleet = watch.latest();
    let host = asked.get("host");
    let way = host.map(|host| watch.way(host));
    let body = html! {
        h1 { "Fleet " span.quiet { (watch.name()) } }
        div id="fleet" data-live="fleet" {
            (trouble(watch, &fleet))
            section.tiles aria-label="Figures" { (tiles(&fleet)) }
            section { h2 { "Robots" } (robots(&fleet, watch.trouble().is_some())) }
            (chart(&fleet, &watch.samples()))
            div.columns {
                section {
                    h2 { "Groups" }
                    (tree(&fleet, &fleet.tree))
                    p.quiet { "These shares apply to servers that no table lists." }
                }
                section { h2 { "Moves" } (moves(&fleet)) }
            }
        }
        section {
            h2 { "Which robot owns a host?" }
            form.filter method="get" action="/fleet" data-look {
                label { "Host " input name="host" value=[host] placeholder="www.example.org"; }
                button { "Show" }
            }
            div id="way" data-live="none" {
                @match way {
                    Some(Ok(way)) => pre { (way.lines().map(shown).collect::<Vec<_>>().join("\n")) },
                    Some(Err(error)) => p.alert { (shown(&format!("{error:#}"))) },
                    None => {}
                }
            }
            p { a href="/fleet/servers" { "All servers" } }
        }
    };
    Ok(Answer::page(
        StatusCode::OK,
        frame::page(house, Place::Fleet, "Fleet", &body),
    ))
}

/// What somebody should look at, in words.
fn trouble(watch: &Watch, fleet: &Fleet) -> Markup {
    let silent: Vec<&Robot> = (fleet.robots.iter())
        .filter(|robot| !robot.at_work && robot.state != "away" && robot.state != "dead")
        .collect();
    let without: Vec<&Robot> = (fleet.robots.iter())
        .filter(|robot| robot.at_work && robot.state.contains("without a lease"))
        .collect();
    html! {
        ul.alerts {
            @if let Some(trouble) = watch.trouble() {
                li.bad { "The fleet cannot be reached: " (shown(&trouble)) }
            }
            @for robot in silent {
                li.bad { (shown(&robot.name)) " does not answer (" (shown(&robot.state)) "): if it stays away, others take over its servers." }
            }
            @for robot in without {
                li { (shown(&robot.name)) " has no lease and makes no requests until it gets one." }
            }
            @if fleet.dead_letters > 0 {
                li { (count(fleet.dead_letters, "message")) " could not be delivered (dead letters)." }
            }
            @if fleet.seeds_waiting > 0 {
                li.note { (count(fleet.seeds_waiting as u64, "seed")) " waiting for a robot." }
            }
        }
    }
}

fn tiles(fleet: &Fleet) -> Markup {
    let sum = |value: fn(&Robot) -> u64| fleet.robots.iter().map(value).sum::<u64>();
    let rate: f64 = (fleet.robots.iter())
        .map(|robot| robot.requests_per_second)
        .sum();
    let moving = sum(|robot| (robot.arriving + robot.going) as u64);
    let pages = sum(|robot| robot.pages);
    // of the robots that know how fresh their copies are, by copies
    let known = || {
        fleet
            .robots
            .iter()
            .filter_map(|robot| Some((robot.fresh?, robot.pages as f64)))
    };
    let weight: f64 = known().map(|(_, pages)| pages).sum();
    let fresh = known().map(|(fresh, pages)| fresh * pages).sum::<f64>() / weight;
    let of = format!("of {} that ever joined", fleet.robots.len());
    html! {
        (tile("Robots at work", &fleet.at_work().to_string(), &html! { p { (of) } }))
        (tile("Pages with a copy", &number(pages), &html! {
            @if weight > 0.0 { p { (percent(fresh)) " of them fresh, by the model" } }
            p { (number(sum(|robot| robot.waiting))) " wait for their first visit" }
            @if fleet.once { p { "everything was tried once" } }
        }))
        (tile("Requests", &format!("{rate:.1}/s"), &html! { p { (number(sum(|robot| robot.requests))) " since the robots started" } }))
        (tile("Servers", &number(sum(|robot| robot.servers as u64)), &html! { p { (number(moving)) " moving between robots" } }))
        (tile("URLs under way", &number(sum(|robot| robot.in_custody as u64)), &html! { p { "found by one robot for another" } }))
    }
}

fn robots(fleet: &Fleet, is_out_of_reach: bool) -> Markup {
    if fleet.robots.is_empty() && is_out_of_reach {
        return html! { p.empty { "The dashboard has not reached the fleet yet." } };
    }
    if fleet.robots.is_empty() {
        return html! { p.empty { "No robot has joined yet: " code { "evercrawl fleet join --as NAME" } } };
    }
    let rows = html! {
        thead { tr {
            th { "Robot" } th { "Group" } th { "State" } th { "Lease" } th.n { "Load" } th.n { "Servers" } th.n { "Moving" }
            th.n { "Pages" } th.n { "Waiting" } th.n { "Requests/s" } th.n { "URLs under way" } th.n { "Fresh" }
        } }
        tbody {
            @for robot in &fleet.robots {
                tr {
                    td.who { a href=(format!("/fleet/servers{}", query(&[("q", &robot.name)]))) { (fleet.mark(&robot.name)) } }
                    td { (shown(&robot.group)) }
                    td { span class=(if robot.at_work { "badge live" } else { "badge gone" }) { (shown(&robot.state)) } }
                    td.who { (robot.lease) }
                    td.n { @if let Some(load) = robot.load { (load) " %" } }
                    @if robot.at_work {
                        td.n { (number(robot.servers as u64)) }
                        td.n { (number((robot.arriving + robot.going) as u64)) }
                        td.n { (number(robot.pages)) }
                        td.n { (number(robot.waiting)) }
                        td.n { (format!("{:.1}", robot.requests_per_second)) }
                        td.n { (number(robot.in_custody as u64)) }
                        td.n { @if let Some(fresh) = robot.fresh { (percent(fresh)) } @else { "–" } }
                    } @else {
                        td colspan="7" {}
                    }
                }
            }
        }
    };
    table("Robots", &rows)
}

/// Requests a second by robot; a robot that stops answering has a gap.
fn chart(fleet: &Fleet, samples: &[Arc<Sample>]) -> Markup {
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else {
        return html! {};
    };
    if fleet.robots.len() > MOST_LINES || last.at - first.at < 5.0 {
        return html! {};
    }
    let mut lines = Vec::new();
    let mut owners = Vec::new();
    for (number, robot) in fleet.robots.iter().enumerate() {
        let rate = |sample: &Sample| {
            let own = sample.rates.iter().find(|(name, _)| *name == robot.name);
            own.map(|(_, rate)| (sample.at, *rate))
        };
        let rates: Vec<Option<(f64, f64)>> = samples.iter().map(|sample| rate(sample)).collect();
        for piece in rates
            .split(Option::is_none)
            .filter(|piece| !piece.is_empty())
        {
            lines.push(piece.iter().flatten().copied().collect());
            owners.push(number);
        }
    }
    let chart = Chart {
        label: "Requests a second by robot over time".into(),
        along: Along::Time,
        x: (first.at, last.at),
        y: from_zero(&lines),
        unit: words::rough,
        lines,
        robots: owners,
        bands: Vec::new(),
        dots: Vec::new(),
        height: 180.0,
    };
    html! {
        section {
            figure {
                figcaption {
                    "Requests a second "
                    @for robot in &fleet.robots { span.key { (fleet.mark(&robot.name)) } " " }
                }
                (chart.draw())
            }
        }
    }
}

/// A group with all that is below it.
fn tree(fleet: &Fleet, group: &Group) -> Markup {
    html! {
        ul.tree { (branch(fleet, group)) }
    }
}

fn branch(fleet: &Fleet, group: &Group) -> Markup {
    html! {
        li {
            strong { (shown(&group.name)) }
            @if !group.share.is_empty() { " " span.quiet { (group.share) } }
            " " span.quiet { (shown(&group.plan)) }
            @if !group.groups.is_empty() || !group.robots.is_empty() {
                ul {
                    @for below in &group.groups { (branch(fleet, below)) }
                    @for (robot, share) in &group.robots {
                        li { (fleet.mark(robot)) " " span.quiet { (share) } }
                    }
                }
            }
        }
    }
}

fn moves(fleet: &Fleet) -> Markup {
    if fleet.moves.is_empty() {
        return html! { p.quiet { "Nothing has moved yet." } };
    }
    let now = words::now();
    let rows = html! {
        thead { tr { th { "When" } th { "Robot" } th { "What" } } }
        tbody {
            @for event in &fleet.moves {
                tr {
                    td.time title=(clock(event.at)) { (when(event.at, now)) }
                    td.who { (fleet.mark(&event.robot)) }
                    td { (shown(&event.what)) }
                }
            }
        }
    };
    table("Moves", &rows)
}
