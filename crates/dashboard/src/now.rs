//! Now: how fresh the copies are, how far the crawl is, and what holds it up.

use crate::alerts::Alert;
use crate::chart::{Along, Chart, from_zero};
use crate::frame::{self, Place, table, tile};
use crate::history::Sample;
use crate::routes::{Answer, Asked};
use crate::server::Window;
use crate::words::{answering, bytes, duration, number, percent, query, rough, shown};
use desk::terminal::count;
use hyper::StatusCode;
use maud::{Markup, html};
use robot::view::Status;

/// How far back one can look: name, words, seconds.
const SPANS: [(&str, &str, f64); 5] = [
    ("10m", "10 minutes", 600.0),
    ("1h", "hour", 3600.0),
    ("1d", "day", 86_400.0),
    ("7d", "week", 604_800.0),
    ("all", "all", f64::INFINITY),
];
/// Causes of failures shown.
const MOST_CAUSES: usize = 8;

pub(crate) fn page(window: &Window, asked: &Asked) -> Answer {
    let status = window.pulse.status();
    let samples = window.pulse.samples();
    let wanted = asked.get("span").unwrap_or_default();
    let span = SPANS.iter().find(|(name, ..)| *name == wanted);
    let &(name, _, seconds) = span.unwrap_or_else(|| suitable(&samples));
    let latest = samples.last().map_or(0, |last| last.at);
    let is_within = |sample: &&Sample| ((latest - sample.at) as f64) < seconds * 1e3;
    let samples: Vec<Sample> = samples.iter().filter(is_within).copied().collect();
    let body = html! {
        h1 { "Now" }
        (alerts(&window.pulse.alerts()))
        div id="now" data-live="requests" {
            section.hero aria-label="Freshness" {
                (freshness(&status))
                div.chartbox {
                    (freshness_chart(&samples))
                    p.spans {
                        @for (to, text, _) in SPANS {
                            a href=(format!("/{}", query(&[("span", to)]))) aria-current=[(to == name).then_some("true")] { (text) }
                        }
                    }
                }
            }
            section.tiles aria-label="Figures" { (tiles(&status)) }
            section.charts aria-label="Rates" { (rates(&samples)) }
            div.columns {
                (held_up(&status))
                (failures(&status))
            }
        }
    };
    Answer::page(
        StatusCode::OK,
        frame::page(window, Place::Now, "Now", &body),
    )
}

/// The shortest span that has all there is, up to a day.
fn suitable(samples: &[Sample]) -> &'static (&'static str, &'static str, f64) {
    let first = samples.first().map_or(0, |first| first.at);
    let last = samples.last().map_or(0, |last| last.at);
    let seconds = (last - first) as f64 / 1e3;
    let fits = |(_, _, span): &&(&str, &str, f64)| seconds <= *span;
    SPANS[..3].iter().find(fits).unwrap_or(&SPANS[2])
}

pub(crate) fn alerts(alerts: &[Alert]) -> Markup {
    html! {
        div id="alerts" data-live="requests" {
            @if !alerts.is_empty() {
                ul.alerts role="status" aria-label="Alerts" {
                    @for alert in alerts {
                        li class=(alert.class()) { (shown(&alert.text)) }
                    }
                }
            }
        }
    }
}

fn freshness(status: &Status) -> Markup {
    let Some(freshness) = status.estimated_freshness else {
        return html! {
            div.freshness {
                h2 { "Freshness" }
                p.huge { "–" }
                p.quiet { "No copies yet." }
            }
        };
    };
    let (never, copies) = (status.never_revisited, status.pages_fetched);
    html! {
        div.freshness {
            h2 { "Freshness" }
            p.huge { (percent(freshness)) }
            @if let Some((low, high)) = status.freshness_interval {
                p.interval { "95 % interval: " (percent(low)) " to " (percent(high)) }
            }
            p.quiet {
                "The estimated share of copies that still match their servers, minor differences aside. "
                @if never >= copies {
                    "No copy has been revisited yet, so this is a guess."
                } @else {
                    (number(copies - never)) " of " (count(copies, "copy")) " revisited at least once."
                }
            }
        }
    }
}

/// The parts of a series that hang together, each with its seconds.
fn pieces<T>(samples: &[Sample], value: impl Fn(&Sample) -> Option<T>) -> Vec<Vec<(f64, T)>> {
    let latest = samples.last().map_or(0, |last| last.at);
    let mut pieces: Vec<Vec<(f64, T)>> = Vec::new();
    let mut before = None;
    for sample in samples {
        let gap = ((latest - sample.at) / 30).max(120_000);
        let hangs = before.is_some_and(|before| sample.at - before <= gap);
        before = Some(sample.at);
        let Some(value) = value(sample) else {
            before = None;
            continue;
        };
        let point = (sample.at as f64 / 1e3, value);
        match pieces.last_mut().filter(|_| hangs) {
            Some(piece) => piece.push(point),
            None => pieces.push(vec![point]),
        }
    }
    pieces
}

fn times(samples: &[Sample]) -> (f64, f64) {
    let first = samples.first().map_or(0.0, |first| first.at as f64 / 1e3);
    let last = samples.last().map_or(1.0, |last| last.at as f64 / 1e3);
    (first.min(last - 10.0), last)
}

fn freshness_chart(samples: &[Sample]) -> Markup {
    let pieces = pieces(samples, |sample| sample.freshness);
    if pieces.is_empty() {
        return html! { p.empty { "The curve begins with the first copy." } };
    }
    let lowest = pieces
        .iter()
        .flatten()
        .map(|(_, (_, low, _))| *low)
        .fold(1.0, f64::min);
    let floor = if lowest < 0.5 {
        0.0
    } else {
        (lowest * 10.0 - 0.5).floor().max(0.0) / 10.0
    };
    let line = |piece: &Vec<(f64, (f64, f64, f64))>| {
        piece.iter().map(|&(x, (mean, ..))| (x, mean)).collect()
    };
    let band = |piece: &Vec<(f64, (f64, f64, f64))>| {
        piece
            .iter()
            .map(|&(x, (_, low, high))| (x, low, high))
            .collect()
    };
    Chart {
        label: "Estimated freshness over time (UTC), with its 95 % interval".into(),
        along: Along::Time,
        x: times(samples),
        y: (floor, 1.0),
        unit: |value| format!("{:.0} %", 100.0 * value),
        lines: pieces.iter().map(line).collect(),
        robots: Vec::new(),
        bands: pieces.iter().map(band).collect(),
        dots: Vec::new(),
        height: 220.0,
    }
    .draw()
}

fn tiles(status: &Status) -> Markup {
    let s = status;
    let done = s.pages_known.saturating_sub(s.new_waiting);
    let pass = if s.new_waiting == 0 {
        "done".to_owned()
    } else {
        let left = s.first_pass_seconds.filter(|_| s.running);
        left.map_or_else(
            || "waiting".into(),
            |left| format!("{} left", duration(left)),
        )
    };
    html! {
        (tile("First pass", &pass, &html! {
            progress max=(s.pages_known.max(1)) value=(done) { (percent(done as f64 / s.pages_known.max(1) as f64)) }
            p { (number(done)) " of " (count(s.pages_known, "page")) " fetched, gone or excluded" }
        }))
        (tile("Copies", &number(s.pages_fetched), &html! {
            p { (number(s.pages_gone)) " gone · " (number(s.pages_excluded)) " excluded · " (count(s.hosts, "host")) }
        }))
        (tile("Requests", &number(s.requests), &html! {
            @if s.running {
                p { (rough(s.requests_per_second)) "/s · " (number(s.under_way)) " under way · " (bytes(s.bytes)) }
            } @else {
                p { (bytes(s.bytes)) }
            }
        }))
        (tile("Changes", &number(s.changes), &html! {
            p { (number(s.minor_changes)) " minor · " a href="/changes" { "show them" } }
        }))
        (tile("Revisits", &number(s.revisits), &html! {
            @if s.running {
                p { (number(s.due_waiting)) " due now · " (rough(s.revisit_budget)) "/s allowed" }
                @if let Some(next) = s.next_due_in.filter(|next| *next > 1.0) { p { "next due in " (duration(next)) } }
            } @else {
                p { "since the crawl began" }
            }
        }))
    }
}

/// What was done per second or hour between one sample and the next; a restart counts from zero.
fn rate(samples: &[Sample], counted: impl Fn(&Sample) -> u64, per: f64) -> Vec<Vec<(f64, f64)>> {
    let (from, until) = times(samples);
    // as many points as can be told apart
    let step = ((until - from) / 90.0).max(4.0);
    let mut grown = 0u64;
    let mut totals: Vec<(f64, u64)> = Vec::new();
    for pair in samples.windows(2) {
        let (before, after) = (counted(&pair[0]), counted(&pair[1]));
        grown += if after >= before {
            after - before
        } else {
            after
        };
        let at = pair[1].at as f64 / 1e3;
        if totals.is_empty() {
            totals.push((pair[0].at as f64 / 1e3, 0));
        }
        if totals.last().is_some_and(|last| at - last.0 >= step) {
            totals.push((at, grown));
        }
    }
    let rates = totals.windows(2).map(|pair| {
        let (seconds, count) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
        (pair[1].0, per * count as f64 / seconds)
    });
    let line: Vec<(f64, f64)> = rates.collect();
    if line.is_empty() {
        Vec::new()
    } else {
        vec![line]
    }
}

fn rates(samples: &[Sample]) -> Markup {
    let small = |title: &str, lines: Vec<Vec<(f64, f64)>>, least: f64, unit: fn(f64) -> String| {
        let (low, high) = from_zero(&lines);
        let chart = Chart {
            label: format!("{title} over time (UTC)"),
            along: Along::Time,
            x: times(samples),
            y: (low, high.max(least)),
            unit,
            lines,
            robots: Vec::new(),
            bands: Vec::new(),
            dots: Vec::new(),
            height: 150.0,
        };
        html! {
            figure {
                figcaption { (title) }
                @if chart.lines.is_empty() { p.empty { "No data yet." } } @else { (chart.draw()) }
            }
        }
    };
    html! {
        (small("Requests per second", rate(samples, |s| s.requests, 1.0), 1.0, rough))
        (small("Changes per hour", rate(samples, |s| s.changes, 3600.0), 1.0, rough))
        (small("Bytes per second", rate(samples, |s| s.bytes, 1.0), 1e3, |value| bytes(value as u64).replace(".0 ", " ")))
    }
}

fn held_up(status: &Status) -> Markup {
    html! {
        section {
            h2 { "What holds things up" }
            @if status.held_up.is_empty() {
                p.quiet {
                    @if !status.running {
                        "No robot is at work."
                    } @else if status.due_waiting > 0 {
                        "Every known page has been tried. Revisits wait for their turn."
                    } @else {
                        "Nothing: every known page has been tried, and no revisit is late."
                    }
                }
            } @else {
                (table("Hosts that new pages wait for", &html! {
                    tr { th { "Host" } th.n { "New pages" } th.n { "Takes" } th { "Waits for" } }
                    @for host in &status.held_up {
                        tr {
                            td.url { (shown(&host.host)) }
                            td.n { (number(host.new_waiting)) }
                            td.n { (duration(host.seconds)) }
                            td { (shown(&host.waits_for)) }
                        }
                    }
                }))
            }
            @if !status.slowest_hosts.is_empty() {
                h3 { "Slowest to answer" }
                (table("Slowest hosts", &html! {
                    @for (host, seconds) in &status.slowest_hosts {
                        tr { td.url { (shown(host)) } td.n { (answering(*seconds)) } }
                    }
                }))
            }
        }
    }
}

fn failures(status: &Status) -> Markup {
    let mut causes: Vec<(&String, &u64)> = status.failures.iter().collect();
    causes.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let most = causes.first().map_or(1, |(_, count)| **count);
    html! {
        section {
            h2 { "Visits without a copy" }
            @if causes.is_empty() {
                p.quiet { "None." }
            } @else {
                (table("Failures by cause", &html! {
                    @for (cause, number_of) in causes.iter().take(MOST_CAUSES) {
                        tr {
                            td { (shown(cause)) }
                            td.n { (number(**number_of)) }
                            td.meter { meter min="0" max=(most) value=(number_of) {} }
                        }
                    }
                }))
                @if causes.len() > MOST_CAUSES { p.quiet { "and " (count((causes.len() - MOST_CAUSES) as u64, "other cause")) } }
            }
        }
    }
}
