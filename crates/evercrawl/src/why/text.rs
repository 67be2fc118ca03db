//! The answer in words.

use super::Why;
use crate::crawl::bytes;
use crate::moment::{Moment, duration};
use crate::page_view::PageView;
use crate::terminal::{count, plain};
use desk::often::{how_often, interval, rough};
use frontier::retry_after::LONGEST;
use parse::change::Noise;
use std::fmt::Write;

pub fn text(why: &Why) -> String {
    let mut text = format!("{}\n", plain(&why.url));
    for (name, value) in rows(why) {
        let _ = writeln!(text, "  {name:<10} {}", plain(&value));
    }
    text
}

/// What there is to say, in order, each under its name.
pub fn rows(why: &Why) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    let mut row = |name: &'static str, value: &str| rows.push((name, value.to_owned()));
    let Some(page) = &why.page else {
        row("page", "not known");
        row("scope", &scope(why));
        row("robots.txt", &robots(why));
        if let Some(told) = rules(why) {
            row("rules", &told);
        }
        if let Some(trap) = &why.trap {
            row("trap", trap);
        }
        row("waits for", &why.waits_for);
        return rows;
    };
    row("page", &origin(why, page));
    if page.url != why.url {
        row("requested", &page.url);
    }
    row("scope", &scope(why));
    if let Some(cause) = why.no_address {
        row("address", &format!("none for its host: {}", advised(cause)));
    }
    row("robots.txt", &robots(why));
    if let Some(told) = rules(why) {
        row("rules", &told);
    }
    row("fetched", &fetched(page));
    if let Some(reason) = page.minor_because {
        let noise = Noise::ALL.into_iter().find(|noise| noise.word() == reason);
        let meaning = noise.map_or(reason, Noise::meaning);
        row(
            "minor",
            &format!("the last difference ({reason}): {meaning}"),
        );
    }
    if page.cut {
        let cut = "the copy is incomplete: it is longer than fetch.max_bytes or fetch.max_decoded_bytes, or it broke off; links and text after its end are not known";
        row("cut", cut);
    }
    if page.cut_links > 0 {
        row(
            "cut",
            &format!(
                "{} on it too long to follow",
                count(u64::from(page.cut_links), "link")
            ),
        );
    }
    if let Some(target) = &why.redirects_to {
        row("leads to", target);
    }
    if let Some(target) = &why.leads_out_to {
        let why = if why.trap.is_some() {
            ""
        } else {
            ": it is out of scope"
        };
        row("leads to", &format!("{target}, which is not followed{why}"));
    }
    if let Some(trap) = &why.trap {
        row("trap", trap);
    }
    if let (Some(at), Some(cause)) = (page.last_failure, page.failure) {
        row("failed", &format!("{at}: {cause}"));
    }
    if let (Some(rate), Some((low, high))) = (why.changes_per_day, why.changes_per_day_interval) {
        let (middle, ends) = (how_often(rate), interval(rate, (low, high)));
        let mut changes = format!("{middle} (95 %: {ends})");
        if page.visits < 2 {
            changes.push_str(", judged by its host: the page was never revisited");
        }
        row("changes", &changes);
    }
    if let Some(chance) = why.chance_fresh {
        row("current", &format!("{:.0} % likely", 100.0 * chance));
    }
    if let Some(weight) = why.weight {
        row("weight", &format!("{} (others: 1)", rough(weight)));
    }
    if let Some(due) = why.due {
        let left = due.seconds() - Moment::now().seconds();
        let when = if left >= 0.5 {
            format!("in {}", duration(left))
        } else {
            "now".into()
        };
        row("due", &format!("{due} ({when})"));
    }
    row("waits for", &why.waits_for);
    rows
}

/// What rules say of it.
fn rules(why: &Why) -> Option<String> {
    let told = |told: &robot::overrides::Told| {
        format!("{} = {} (rule {})", told.key, told.value, told.rule)
    };
    let all: Vec<String> = why.rules.iter().map(told).collect();
    (!all.is_empty()).then(|| all.join(" · "))
}

fn scope(why: &Why) -> String {
    let word = if why.scope.inside { "in" } else { "out" };
    let doubt = if why.known && !why.scope.inside {
        "; it was in when it was found: -c gives the crawl's configuration"
    } else {
        ""
    };
    format!("{word}: {}{doubt}", why.scope.why)
}

/// A cause, and what can be done about it.
fn advised(cause: u8) -> String {
    let hint = robot::cause::advice(cause).map_or_else(String::new, |hint| format!(" ({hint})"));
    format!("{}{hint}", robot::cause::word(cause))
}

fn robots(why: &Why) -> String {
    let mut robots = why.robots.why.clone();
    if let Some(cause) = why.no_robots {
        let _ = write!(robots, "; last request failed: {}", advised(cause));
    }
    if let Some(delay) = why.robots.crawl_delay {
        let _ = write!(robots, "; Crawl-delay {delay} s");
        if delay > LONGEST {
            let _ = write!(robots, " (treated as a day, the longest allowed)");
        }
    }
    if let Some(until) = why.robots.until {
        let _ = write!(robots, "; holds until {until}");
    }
    robots
}

fn origin(why: &Why, page: &PageView) -> String {
    let mut origin = format!("{}; known since {}", page.state.word(), page.added);
    let _ = match (&why.found_on, page.depth.unwrap_or(0)) {
        (Some(from), _) if page.is_requisite() => write!(origin, ", embedded by {from}"),
        (None, _) => write!(origin, ", where the crawl began"),
        (Some(from), depth) => {
            let links = count(u64::from(depth), "link");
            write!(origin, ", {links} from a seed, found on {from}")
        }
    };
    origin
}

fn fetched(page: &PageView) -> String {
    let (Some(last), Some(status)) = (page.last_visit, page.status) else {
        return "never".into();
    };
    let mut fetched = format!("{last}: {status}");
    if let Some(kind) = &page.content_type {
        let _ = write!(fetched, ", {kind}");
    }
    if let Some(length) = page.length {
        let _ = write!(fetched, ", {}", bytes(length));
    }
    if page.cut {
        fetched.push_str(" (cut)");
    }
    let _ = write!(
        fetched,
        "; {}, {}, {} minor",
        count(u64::from(page.visits), "visit"),
        count(u64::from(page.changes), "change"),
        page.minor
    );
    if let Some(change) = page.last_change {
        let _ = write!(fetched, "; last changed {change}");
    }
    fetched
}
