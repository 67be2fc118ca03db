//! What is where.

use crate::{
    actions, assets, budget, changes, fleet, frame, hosts, map, now, page, pages, server::House,
    server::Window, versions,
};
use bytes::Bytes;
use hyper::StatusCode;
use maud::Markup;
use std::collections::HashMap;
use std::sync::Mutex;
use storage::{PageId, Position};

const HTML: &str = "text/html; charset=utf-8";
/// Fields of a request that are looked at, and letters of each.
const MOST_FIELDS: usize = 20;
const LONGEST_FIELD: usize = 8192;

/// What is worth keeping between requests.
#[derive(Default)]
pub(crate) struct Cache {
    /// Differences by their place in the log; they never change.
    pub differences: Mutex<HashMap<Position, changes::Kept>>,
    pub budget: Mutex<Option<budget::Found>>,
    pub searches: pages::search::Searches,
}

/// A request that was let in.
pub(crate) struct Asked {
    pub path: String,
    pub is_post: bool,
    fields: HashMap<String, String>,
}

impl Asked {
    pub fn new(path: String, query: &str, form: &[u8], is_post: bool) -> Self {
        let from = if is_post { form } else { query.as_bytes() };
        let fields = url::form_urlencoded::parse(from).take(MOST_FIELDS);
        let fields = fields.filter(|(_, value)| value.len() <= LONGEST_FIELD);
        Self {
            path,
            is_post,
            fields: fields
                .map(|(name, value)| (name.into_owned(), value.into_owned()))
                .collect(),
        }
    }

    /// A field that is not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        let value = self.fields.get(name).map(|value| value.trim());
        value.filter(|value| !value.is_empty())
    }

    pub fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.get(name)?.parse().ok()
    }
}

/// What is sent back.
pub(crate) struct Answer {
    pub status: StatusCode,
    pub kind: &'static str,
    pub body: Bytes,
    pub location: Option<String>,
    pub cookie: Option<String>,
    /// It comes from the Web.
    pub is_copy: bool,
}

impl Answer {
    fn new(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Self {
        Self {
            status,
            kind,
            body: body.into(),
            location: None,
            cookie: None,
            is_copy: false,
        }
    }

    pub fn page(status: StatusCode, page: Markup) -> Self {
        Self::new(status, HTML, page.into_string())
    }

    pub fn words(status: StatusCode, words: &str) -> Self {
        Self::new(status, "text/plain; charset=utf-8", format!("{words}\n"))
    }

    pub fn feed(kind: &'static str, feed: String) -> Self {
        Self::new(StatusCode::OK, kind, feed)
    }

    /// What a server once sent, as text that no browser obeys.
    pub fn copy(text: &str) -> Self {
        Self {
            is_copy: true,
            ..Self::words(StatusCode::OK, text)
        }
    }

    /// Look there.
    pub fn see(place: &str) -> Self {
        Self {
            location: Some(place.to_owned()),
            ..Self::words(StatusCode::SEE_OTHER, place)
        }
    }
}

/// What anybody may have: it says nothing of the crawl.
pub(crate) fn asset(path: &str) -> Option<Answer> {
    let (kind, text) = match path {
        "/style.css" => ("text/css; charset=utf-8", assets::STYLE),
        "/live.js" => ("text/javascript; charset=utf-8", assets::LIVE),
        "/icon.svg" => ("image/svg+xml", assets::ICON),
        _ => return None,
    };
    Some(Answer::new(StatusCode::OK, kind, text))
}

/// What is not there.
pub(crate) struct NotFound(pub String);

/// Why there is no page.
pub(crate) enum Trouble {
    NotFound(NotFound),
    Other(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Trouble {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

impl Trouble {
    pub fn missing(what: &str) -> Self {
        Self::NotFound(NotFound(what.to_owned()))
    }
}

pub(crate) type Made = Result<Answer, Trouble>;

/// Answers a request; may take as long as disks do.
pub(crate) fn answer(house: &House, asked: &Asked) -> Answer {
    match find(house, asked) {
        Ok(answer) => answer,
        Err(Trouble::NotFound(NotFound(what))) => Answer::page(
            StatusCode::NOT_FOUND,
            frame::trouble(house, "Not found", &what),
        ),
        Err(Trouble::Other(error)) => {
            tracing::warn!(%error, path = asked.path, "a page of the dashboard cannot be made");
            let text = format!("{error:#}");
            let page = frame::trouble(house, "This cannot be shown", &text);
            Answer::page(StatusCode::INTERNAL_SERVER_ERROR, page)
        }
    }
}

fn find(house: &House, asked: &Asked) -> Made {
    let parts: Vec<&str> = asked.path.trim_matches('/').split('/').collect();
    let is_alone = house.crawl.is_none();
    match (parts.as_slice(), asked.is_post) {
        (["fleet"], false) => return fleet::page::page(house, asked),
        ([""], false) if is_alone => return fleet::page::page(house, asked),
        (["fleet", "servers"], false) => return fleet::servers::page(house, asked),
        (["map"], false) => return map::page(house, asked),
        _ => {}
    }
    let Some(window) = house.window() else {
        return Err(Trouble::missing("There is nothing at this address."));
    };
    find_in_crawl(&window, asked, &parts)
}

fn find_in_crawl(window: &Window, asked: &Asked, parts: &[&str]) -> Made {
    let page = |text: &str| {
        let number = text.parse().map(PageId);
        number.map_err(|_| Trouble::missing("There is no page with this number."))
    };
    if asked.is_post {
        return match parts {
            ["actions", what] => actions::act(window, asked, what),
            _ => Err(Trouble::missing("Nothing can be done there.")),
        };
    }
    match parts {
        [""] => Ok(now::page(window, asked)),
        ["changes"] => changes::page(window, asked),
        ["changes.atom"] => changes::feed(window, asked, true),
        ["changes.rss"] => changes::feed(window, asked, false),
        ["change", number] => changes::one(window, number),
        ["sites"] => hosts::page(window, asked),
        ["pages"] => pages::page(window, asked),
        ["page", id] => page::page(window, asked, page(id)?),
        ["page", id, "versions"] => versions::page(window, asked, page(id)?),
        ["page", id, "copy"] => versions::copy(window, asked, page(id)?),
        ["budget"] => budget::page(window, asked),
        ["actions"] => actions::page(window, asked),
        _ => Err(Trouble::missing("There is nothing at this address.")),
    }
}
