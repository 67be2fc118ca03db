//! The main text of a page and what it says of itself, for search engines and models.

use crate::copies::Copy;
use ground::calendar;
use parse::{Kind, Shown, kind_of};
use scraper::{Html, Selector};
use serde::Serialize;
use std::borrow::Cow;
use std::sync::LazyLock;
use storage::Time;
use url::Url;

/// No field of a page's own is longer, in letters.
const LONGEST: usize = 2_000;

/// A version of a page, as text.
#[derive(Clone, Debug, Serialize)]
pub struct Document {
    /// By which the page was requested.
    pub url: String,
    /// When this version was fetched, in UTC.
    pub time: String,
    /// The same in milliseconds since the epoch.
    #[serde(skip)]
    pub at: Time,
    /// The status of the answer.
    pub status: u16,
    /// Its content type.
    pub content_type: Option<String>,
    /// What the page says of itself.
    #[serde(flatten)]
    pub own: Own,
    /// Whether the copy is not whole.
    pub cut: bool,
    /// The content, a paragraph for each block; menus, footers and the like are left out.
    pub text: String,
}

/// What a page says of itself, in its head.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)] // the names say it
pub struct Own {
    pub title: Option<String>,
    pub description: Option<String>,
    pub language: Option<String>,
    pub author: Option<String>,
    pub published: Option<String>,
    pub modified: Option<String>,
    pub canonical: Option<String>,
}

impl Document {
    /// Of a copy fetched then; nothing if it is no text.
    pub fn of(copy: &Copy, url: &Url, at: Time) -> Option<Self> {
        let content_type = copy.exchange.content_type();
        let kind = content_type.as_deref();
        let (own, blocks) = match kind_of(&copy.body, kind) {
            Kind::Html => {
                let (_, blocks) = parse::show_page(&copy.body, kind, Some(url));
                (Own::of(&copy.body, kind, url), blocks)
            }
            Kind::Text => (Own::default(), parse::show_text(&copy.body, kind).1),
            Kind::Sitemap | Kind::Feed | Kind::Binary => return None,
        };
        Some(Self {
            url: url.to_string(),
            time: calendar::iso(at),
            at,
            status: copy.exchange.status,
            content_type: content_type.map(Cow::into_owned),
            text: text(&blocks, own.title.as_deref()),
            own,
            cut: copy.cut,
        })
    }
}

/// The blocks of the content; the title is told apart.
fn text(blocks: &[Shown], title: Option<&str>) -> String {
    let mut content = blocks.iter().filter(|block| block.counts).peekable();
    content.next_if(|first| Some(first.text.as_str()) == title);
    let content: Vec<&str> = content.map(|block| block.text.as_str()).collect();
    content.join("\n\n")
}

/// Where pages have it, the best place first.
struct Places {
    title: [Selector; 2],
    description: [Selector; 2],
    author: [Selector; 2],
    published: [Selector; 3],
    modified: [Selector; 2],
    canonical: Selector,
    language: [Selector; 2],
}

static PLACES: LazyLock<Places> = LazyLock::new(|| {
    let css = |text: &str| Selector::parse(text).expect("a selector");
    Places {
        title: [css("title"), css("meta[property='og:title']")],
        description: [
            css("meta[name='description' i]"),
            css("meta[property='og:description']"),
        ],
        author: [
            css("meta[name='author' i]"),
            css("meta[property='article:author']"),
        ],
        published: [
            css("meta[property='article:published_time']"),
            css("meta[itemprop='datePublished']"),
            css("time[datetime]"),
        ],
        modified: [
            css("meta[property='article:modified_time']"),
            css("meta[itemprop='dateModified']"),
        ],
        canonical: css("link[rel='canonical' i]"),
        language: [
            css("html[lang]"),
            css("meta[http-equiv='content-language' i]"),
        ],
    }
});

impl Own {
    fn of(body: &[u8], content_type: Option<&str>, url: &Url) -> Self {
        let (page, _) =
            parse::charset::decode(body, content_type, parse::charset::Format::Html, None);
        let page = Html::parse_document(&page);
        let first = |places: &[Selector]| {
            places.iter().find_map(|place| {
                let found = page.select(place).next()?;
                let said = ["content", "datetime", "lang"];
                let said = said.iter().find_map(|name| found.attr(name));
                tidy(&said.map_or_else(|| found.text().collect(), str::to_owned))
            })
        };
        let canonical = page.select(&PLACES.canonical).next();
        let canonical = canonical.and_then(|link| url.join(link.attr("href")?).ok());
        Self {
            title: first(&PLACES.title),
            description: first(&PLACES.description),
            language: first(&PLACES.language),
            author: first(&PLACES.author),
            published: first(&PLACES.published),
            modified: first(&PLACES.modified),
            canonical: canonical.map(Into::into),
        }
    }
}

/// White space collapsed, and no longer than is sensible; nothing if nothing is left.
fn tidy(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    let cut = text
        .char_indices()
        .nth(LONGEST)
        .map_or(text.len(), |(end, _)| end);
    Some(text[..cut].to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fetch::Exchange;
    use std::net::{IpAddr, Ipv4Addr};

    #[test]
    fn a_page_is_read_as_people_and_models_would() {
        let body = "<html lang=en><head><title> The \n Pot </title>\
            <meta name=Description content='All about it'><meta property='article:published_time' content='2026-11-16'>\
            <link rel=canonical href=/pot></head><body><nav><a href=/>Home</a> <a href=/a>About</a></nav>\
            <main><h1>Pots</h1><p>A pot keeps warm what is in it, and that for a long time.</p></main>\
            <footer>Imprint</footer>";
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n";
        let copy = Copy {
            exchange: Exchange::kept(head.into(), body.into(), IpAddr::V4(Ipv4Addr::UNSPECIFIED))
                .unwrap(),
            body: body.into(),
            cut: false,
        };
        let url = Url::parse("https://shop.example/item?1").unwrap();
        let read = Document::of(&copy, &url, 0).unwrap();
        assert_eq!(
            read.text,
            "Pots\n\nA pot keeps warm what is in it, and that for a long time."
        );
        assert_eq!(read.own.title.as_deref(), Some("The Pot"));
        assert_eq!(read.own.description.as_deref(), Some("All about it"));
        assert_eq!(read.own.language.as_deref(), Some("en"));
        assert_eq!(read.own.published.as_deref(), Some("2026-11-16"));
        assert_eq!(
            read.own.canonical.as_deref(),
            Some("https://shop.example/pot")
        );
        assert_eq!(read.own.author, None);
    }
}
