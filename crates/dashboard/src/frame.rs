//! What all pages have around them.

use crate::server::Window;
use crate::words::{self, duration};
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
}

impl Place {
    const ALL: [Self; 6] = [
        Self::Now,
        Self::Changes,
        Self::Sites,
        Self::Pages,
        Self::Budget,
        Self::Actions,
    ];

    fn link(self) -> (&'static str, &'static str) {
        match self {
            Self::Now => ("/", "Now"),
            Self::Changes => ("/changes", "Changes"),
            Self::Sites => ("/sites", "Sites"),
            Self::Pages => ("/pages", "Pages"),
            Self::Budget => ("/budget", "Budget"),
            Self::Actions => ("/actions", "Actions"),
        }
    }
}

/// A page at a place.
pub(crate) fn page(window: &Window, place: Place, title: &str, body: &Markup) -> Markup {
    let name = window.crawl.name();
    let places = Place::ALL.into_iter();
    let places = places.filter(|&to| to != Place::Actions || window.guard.has_actions());
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
                (state(window))
            }
        }
        main id="main" { (body) }
    };
    document(&format!("{title} · {name}"), true, &main)
}

/// Whether the crawl is at work, in a few words.
fn state(window: &Window) -> Markup {
    let status = window.pulse.status();
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
    document("evercrawl", false, &body)
}

/// What went wrong, in words.
pub(crate) fn trouble(window: &Window, title: &str, what: &str) -> Markup {
    let body = html! {
        h1 { (title) }
        p { (words::shown(what)) }
        p { a href="/" { "Back to Now" } }
    };
    page(window, Place::Now, title, &body)
}

fn document(title: &str, live: bool, body: &Markup) -> Markup {
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
                @if live {
                    link rel="alternate" type="application/atom+xml" title="Changes" href="/changes.atom";
                    link rel="alternate" type="application/rss+xml" title="Changes" href="/changes.rss";
                    script src="/live.js" defer {}
                }
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
