//! Changes: what visits found, newest first, each with what differs.

use crate::frame::{self, Place};
use crate::log::{self, Found};
use crate::routes::{Answer, Asked, Made, Trouble};
use crate::server::Window;
use crate::words::{self, clock, outside, query, shown, split, when};
use crate::{difference, feed};
use hyper::StatusCode;
use maud::{Markup, html};
use regex::{Regex, RegexBuilder};
use robot::changes::Change;
use robot::watch::Watch;
use std::time::{Duration, Instant};
use storage::{Observation, Outcome, PageId, Position, Reader, Time};

/// Changes on a page, and in a feed.
const SHOWN: usize = 30;
const IN_FEED: usize = 50;
/// Blocks of a difference in the list, and on its own page.
const FEW: usize = 6;
const MANY: usize = 200;
/// Differences are looked for no longer than this for one page; the others have a link.
const PATIENCE: Duration = Duration::from_millis(900);
/// Differences kept at hand.
const KEPT: usize = 500;
/// Bytes of a copy that are compared.
const LARGEST: u64 = 4 << 20;
/// How far back: name, words, milliseconds.
const SINCE: [(&str, &str, Time); 5] = [
    ("", "at any time", Time::MAX),
    ("1h", "in the last hour", 3_600_000),
    ("1d", "in the last day", 86_400_000),
    ("7d", "in the last week", 604_800_000),
    ("30d", "in the last 30 days", 2_592_000_000),
];
/// Which ones: name and words.
const KINDS: [(&str, &str); 4] = [
    ("", "changed and gone"),
    ("first", "first copies too"),
    ("minor", "minor ones too"),
    ("all", "all of them"),
];

/// A change with what differs, as far as that is known.
#[derive(Clone)]
pub(crate) struct Kept(Option<robot::difference::Difference>);

struct Entry {
    place: Position,
    page: PageId,
    change: Change,
}

struct Filter {
    host: Option<String>,
    pattern: Option<Regex>,
    since: Time,
    kinds: String,
    trouble: Option<String>,
}

impl Filter {
    fn of(asked: &Asked) -> Self {
        let mut trouble = None;
        let pattern = asked.get("pattern").and_then(|text| {
            let pattern = RegexBuilder::new(text).size_limit(1 << 20).build();
            pattern
                .map_err(|_| {
                    trouble = Some(format!(
                        "{text} is not a regular expression and was ignored."
                    ));
                })
                .ok()
        });
        let span = SINCE
            .iter()
            .find(|(name, ..)| Some(*name) == asked.get("since"));
        let since = span.map_or(Time::MIN, |(_, _, span)| words::now().saturating_sub(*span));
        Self {
            host: asked.get("host").map(str::to_ascii_lowercase),
            pattern,
            since,
            kinds: asked.get("kinds").unwrap_or_default().to_owned(),
            trouble,
        }
    }

    fn has_kind(&self, outcome: Outcome) -> bool {
        match outcome {
            Outcome::Changed | Outcome::Gone => true,
            Outcome::FirstSeen => matches!(self.kinds.as_str(), "first" | "all"),
            Outcome::Minor => matches!(self.kinds.as_str(), "minor" | "all"),
            Outcome::Unchanged | Outcome::Failed(_) => false,
        }
    }

    fn has(&self, url: &str) -> bool {
        let is_host = |wanted: &String| split(url).0.to_ascii_lowercase().contains(wanted.as_str());
        self.host.as_ref().is_none_or(is_host)
            && self
                .pattern
                .as_ref()
                .is_none_or(|pattern| pattern.is_match(url))
    }

    fn entry(&self, reader: &Reader, place: Position, visit: &Observation) -> Option<Entry> {
        if !self.has_kind(visit.outcome) {
            return None;
        }
        let url = reader.address(visit.page).ok()?.url;
        let change = self
            .has(&url)
            .then(|| Change::of(visit, url, None, true))??;
        Some(Entry {
            place,
            page: visit.page,
            change,
        })
    }

    fn find(
        &self,
        reader: &Reader,
        before: Option<Position>,
        most: usize,
    ) -> storage::Result<Found<Entry>> {
        log::backwards(reader, before, self.since, most, |place, visit| {
            self.entry(reader, place, visit)
        })
    }
}

/// What differs, from what is kept or from the archive; nothing where there are no two copies.
fn compare(window: &Window, entry: &mut Entry) -> Kept {
    if let Ok(kept) = window.cache.differences.lock()
        && let Some(kept) = kept.get(&entry.place)
    {
        return kept.clone();
    }
    let config = &window.crawl.config;
    let archive = robot::archive_directory(&window.crawl.data);
    let watch = Watch::new(&config.watch).unwrap_or_default();
    let limit = config.fetch.max_decoded_bytes.min(LARGEST);
    if let Err(error) = entry.change.compare(&archive, &watch, limit) {
        tracing::debug!(%error, "a copy cannot be read");
    }
    let found = Kept(entry.change.words.take());
    if let Ok(mut kept) = window.cache.differences.lock() {
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(entry.place, found.clone());
    }
    found
}

pub(crate) fn page(window: &Window, asked: &Asked) -> Made {
    let reader = window.crawl.reader()?;
    let filter = Filter::of(asked);
    let before = asked.number("before").map(Position);
    let mut found = filter.find(&reader, before, SHOWN)?;
    let began = Instant::now();
    let now = words::now();
    let again = |more: &[(&str, &str)]| {
        let mut pairs: Vec<(&str, &str)> = ["host", "pattern", "since", "kinds"]
            .iter()
            .map(|name| (*name, asked.get(name).unwrap_or_default()))
            .collect();
        pairs.extend(more);
        query(&pairs)
    };
    let list = html! {
        @if let Some(trouble) = &filter.trouble { p.alert role="alert" { (shown(trouble)) } }
        @if found.all.is_empty() && found.more.is_none() {
            p.empty { "Nothing found. Changes appear here as visits find them." }
        }
        ol.feed {
            @for entry in &mut found.all {
                @let kept = (began.elapsed() < PATIENCE).then(|| compare(window, entry));
                li { (item(entry, kept, now)) }
            }
        }
        @if let Some(more) = found.more {
            p.paging { a href=(format!("/changes{}", again(&[("before", &more.0.to_string())]))) {
                @if found.all.len() < SHOWN { "Look further back" } @else { "Older changes" }
            } }
        }
    };
    let live = before.is_none().then_some("log");
    let body = html! {
        h1 { "Changes" }
        (form(asked))
        p.feeds id="feeds" data-found {
            "As a feed: "
            a href=(format!("/changes.atom{}", again(&[]))) { "Atom" } " · "
            a href=(format!("/changes.rss{}", again(&[]))) { "RSS" }
        }
        div id="list" data-found data-live=[live] { (list) }
    };
    Ok(Answer::page(
        StatusCode::OK,
        frame::page(window, Place::Changes, "Changes", &body),
    ))
}

fn form(asked: &Asked) -> Markup {
    html! {
        form.filter method="get" action="/changes" data-look {
            label { "Host " input type="search" name="host" value=[asked.get("host")] placeholder="any"; }
            label { "Pattern " input type="search" name="pattern" value=[asked.get("pattern")] placeholder="regular expression"; }
            label { "Found "
                select name="since" {
                    @for (name, text, _) in SINCE {
                        option value=(name) selected[asked.get("since") == Some(name)] { (text) }
                    }
                }
            }
            label { "Show "
                select name="kinds" {
                    @for (name, text) in KINDS {
                        option value=(name) selected[asked.get("kinds") == Some(name)] { (text) }
                    }
                }
            }
            button { "Filter" }
        }
    }
}

fn item(entry: &Entry, kept: Option<Kept>, now: Time) -> Markup {
    let change = &entry.change;
    let (host, path) = split(&change.url);
    html! {
        p.head {
            span class=(format!("kind {}", change.kind)) { (change.kind) }
            " " a.url href=(format!("/page/{}", entry.page.0)) { (shown(host)) span.path { (shown(path)) } }
            " " span.time { (when(change.at, now)) }
        }
        @if let Some(reason) = change.reason { p.quiet { "minor: " (reason) } }
        @match kept {
            Some(Kept(Some(words))) => {
                (difference::coloured(&words, FEW))
                p.links { a href=(format!("/change/{}", entry.place.0)) { "Side by side" } }
            },
            Some(Kept(None)) => {},
            None => p.links { a href=(format!("/change/{}", entry.place.0)) { "Show what differs" } },
        }
    }
}

/// One change with all that differs.
pub(crate) fn one(window: &Window, number: &str) -> Made {
    let reader = window.crawl.reader()?;
    let missing = || Trouble::missing("The log has no such change; old entries are dropped.");
    let place = Position(number.parse().map_err(|_| missing())?);
    let visit = reader.observations(place)?.read()?.ok_or_else(missing)?;
    let filter = Filter {
        host: None,
        pattern: None,
        since: Time::MIN,
        kinds: "all".into(),
        trouble: None,
    };
    let mut entry = filter.entry(&reader, place, &visit).ok_or_else(missing)?;
    let Kept(words) = compare(window, &mut entry);
    let change = &entry.change;
    let body = html! {
        h1 { "Change" }
        p.subject { (outside(&change.url, &shown(&change.url))) }
        p {
            span class=(format!("kind {}", change.kind)) { (change.kind) }
            " found at " (clock(change.at)) " UTC · "
            a href=(format!("/page/{}", entry.page.0)) { "all about this page" }
        }
        @match words {
            Some(words) => {
                section { h2 { "Side by side" } (difference::beside(&words)) }
                section { h2 { "One after the other" } (difference::coloured(&words, MANY)) }
            },
            None => p.empty { "The archive does not have two copies to compare." },
        }
    };
    Ok(Answer::page(
        StatusCode::OK,
        frame::page(window, Place::Changes, "Change", &body),
    ))
}

/// What was asked for, in words of its own; nothing if it was all.
fn choice(asked: &Asked) -> String {
    let given = ["host", "pattern", "since", "kinds"].into_iter();
    let given = given.filter_map(|name| Some(format!("\n{name}={}", asked.get(name)?)));
    given.collect()
}

/// The same changes for feed readers.
pub(crate) fn feed(window: &Window, asked: &Asked, is_atom: bool) -> Made {
    let reader = window.crawl.reader()?;
    let found = Filter::of(asked).find(&reader, None, IN_FEED)?;
    let began = Instant::now();
    let changes: Vec<Change> = (found.all.into_iter())
        .map(|mut entry| {
            if began.elapsed() < 3 * PATIENCE {
                let Kept(words) = compare(window, &mut entry);
                entry.change.words = words;
            }
            entry.change
        })
        .collect();
    let config = window.crawl.config_now();
    let link = config.seeds.first().map_or("", |seed| &seed.url);
    Ok(if is_atom {
        Answer::feed(
            "application/atom+xml; charset=utf-8",
            feed::atom(&window.crawl.data, &choice(asked), &changes),
        )
    } else {
        Answer::feed(
            "application/rss+xml; charset=utf-8",
            feed::rss(&window.crawl.data, link, &changes),
        )
    })
}
