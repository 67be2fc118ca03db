//! What all pages have around them.

use crate::fleet::watch::Watch;
use crate::server::House;
use crate::words::{self, duration};
use desk::terminal::count;
use maud::{DOCTYPE, Markup, html};

/// Where one can go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Now,
    Changes,
    Sites,
    Pages,
    Budget,
    Actions,
    Fleet,
    Map,
}

impl Place {
    const ALL: [Self; 8] = [
        Self::Now,
        Self::Changes,
        Self::Sites,
        Self::Pages,
        Self::Budget,
        Self::Fleet,
        Self::Map,
        Self::Actions,
    ];

    /// Whether there is anything to see there.
    fn is_open(self, house: &House) -> bool {
        match self {
            Self::Fleet => house.fleet.is_some(),
            Self::Map => house.map.is_some(),
            Self::Actions => house.crawl.is_some() && house.guard.has_actions(),
            _ => house.crawl.is_some(),
        }
    }

    fn link(self) -> (&'static str, &'static str) {
        match self {
            Self::Now => ("/", "Now"),
            Self::Changes => ("/changes", "Changes"),
            Self::Sites => ("/sites", "Sites"),
            Self::Pages => ("/pages", "Pages"),
            Self::Budget => ("/budget", "Budget"),
            Self::Actions => ("/actions", "Actions"),
            Self::Fleet => ("/fleet", "Fleet"),
            Self::Map => ("/map", "Map"),
        }
    }
}

/// A page at a place.
pub(crate) fn page(house: &House, place: Place, title: &str, body: &Markup) -> Markup {
    let name = house.name();
    let places = Place::ALL.into_iter();
    let places = places.filter(|to| to.is_open(house));
    let main = html! {
        header.top {
            div.bar {
                p.brand { a href="/" { "evercrawl" } " " span.crawl { (name) } }
                nav aria-label="Main" {
                    @for to in places {
                        @let (link, text) = to.link();
                        a href=(link) aria-current=[(to == place).then_some("page")] { (text) }
                    }
                }
                (state(house))
            }
        }
        main id="main" { (body) }
    };
    let heard = if house.crawl.is_some() {
        Heard::Changes
    } else {
        Heard::News
    };
    document(&format!("{title} · {name}"), heard, &main)
}

/// Whether the crawl is at work, in a few words.
fn state(house: &House) -> Markup {
    if house.crawl.is_none() {
        let fleet = house.fleet.as_ref().map(Watch::latest).unwrap_or_default();
        let (class, text) = match fleet.at_work() {
            0 => ("dot stopped", "no robot at work".to_owned()),
            at_work => (
                "dot running",
                format!(
                    "{at_work} of {} at work",
                    count(fleet.robots.len() as u64, "robot")
                ),
            ),
        };
        return html! {
            p.state id="state" data-live="fleet" { span class=(class) {} (text) }
        };
    }
    let status = house.pulse.status();
    let (class, text) = match (status.running, status.paused) {
        (true, true) => ("dot paused", "paused".to_owned()),
        (true, false) => (
            "dot running",
            format!("running for {}", duration(status.seconds)),
        ),
        (false, _) => ("dot stopped", "not running".to_owned()),
    };
    html! {
        p.state id="state" data-live="requests" { span class=(class) {} (text) }
    }
}

/// For those who have yet to give the token.
pub(crate) fn door(trouble: Option<&str>) -> Markup {
    let body = html! {
        main.door id="main" {
            h1 { "evercrawl" }
            @if let Some(trouble) = trouble { p.alert role="alert" { (trouble) } }
            form method="post" action="/enter" {
                label for="token" { "Token" }
                input id="token" name="token" type="password" autocomplete="current-password" required autofocus;
                button { "Open the dashboard" }
            }
            p.quiet { "It is in the file or variable that dashboard.token_file or dashboard.token_env names." }
        }
    };
    document("evercrawl", Heard::Nothing, &body)
}

/// What went wrong, in words.
pub(crate) fn trouble(house: &House, title: &str, what: &str) -> Markup {
    let body = html! {
        h1 { (title) }
        p { (words::shown(what)) }
        p { a href="/" { "Back to the first page" } }
    };
    let place = if house.crawl.is_some() {
        Place::Now
    } else {
        Place::Fleet
    };
    page(house, place, title, &body)
}

/// What a page is told while it is open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Heard {
    Nothing,
    News,
    /// And there are feeds.
    Changes,
}

fn document(title: &str, heard: Heard, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                link rel="stylesheet" href="/style.css";
                link rel="icon" href="/icon.svg" type="image/svg+xml";
                @if heard == Heard::Changes {
                    link rel="alternate" type="application/atom+xml" title="Changes" href="/changes.atom";
                    link rel="alternate" type="application/rss+xml" title="Changes" href="/changes.rss";
                }
                @if heard != Heard::Nothing { script src="/live.js" defer {} }
            }
            body {
                a.skip href="#main" { "Skip to content" }
                (body)
            }
        }
    }
}

/// A table that may be wider than the screen.
pub(crate) fn table(label: &str, rows: &Markup) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(label) {
            table { (rows) }
        }
    }
}

/// A figure with its name.
pub(crate) fn tile(name: &str, value: &str, more: &Markup) -> Markup {
    html! {
        div.tile {
            h3 { (name) }
            p.figure { (value) }
            div.more { (more) }
        }
    }
}
