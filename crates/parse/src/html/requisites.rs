//! What a page embeds: stylesheets, scripts, images, fonts, sound and pictures. A pass of its own, for
//! those who archive pages; all others pay nothing for it.

use super::foreign::{Foreign, Space};
use super::names::{self, Name};
use super::reader::{clean, has_token};
use super::references::{Place, decode};
use super::tokens::{Attribute, Attributes, Token, Tokens};
use super::{Limits, resolve};
use crate::charset::{self, Format};
use crate::css;
use encoding_rs::Encoding;
use std::collections::HashSet;
use url::Url;

/// What a page or stylesheet embeds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requisites {
    /// The addresses, each once.
    pub urls: Vec<Url>,
    /// References left out because they are too long.
    pub dropped: usize,
}

/// What a page embeds. Frames are links.
pub fn read_requisites(body: &[u8], content_type: Option<&str>, address: &Url) -> Requisites {
    let (page, encoding) = charset::decode(body, content_type, Format::Html, None);
    let mut gathered = Gathered::default();
    let mut tokens = Tokens::with_all_attributes(&page);
    let mut foreign = Foreign::default();
    while let Some(token) = tokens.next(foreign.inside()) {
        match token {
            Token::Start { name, self_closing } => {
                let space = foreign.start(name, &tokens.attributes, self_closing);
                gathered.element(name, &tokens.attributes);
                if space == Space::Html {
                    gathered.content(name, &mut tokens);
                }
            }
            Token::End(name) => foreign.end(name),
            Token::Text(_) | Token::Characters(_) => {}
        }
    }
    gathered.resolved(address, encoding)
}

/// What a stylesheet embeds.
pub fn read_stylesheet(body: &[u8], content_type: Option<&str>, address: &Url) -> Requisites {
    let (text, encoding) = charset::decode(body, content_type, Format::Text, None);
    let mut gathered = Gathered::default();
    css::references(&text, |reference| gathered.add(reference));
    gathered.resolved(address, encoding)
}

#[derive(Default)]
struct Gathered {
    base: Option<String>,
    known: HashSet<String>,
    references: Vec<String>,
    dropped: usize,
}

impl Gathered {
    fn element(&mut self, name: Name, attributes: &Attributes) {
        let written = |attribute| attributes.get(attribute).filter(|text| !text.is_empty());
        if let Some(style) = written(Attribute::Style) {
            let style = decode(style, Place::Attribute);
            css::references(&style, |reference| self.add(reference));
        }
        if let Some(background) = written(Attribute::Background) {
            self.attribute(background);
        }
        let embeds: &[Attribute] = match name {
            names::SCRIPT | names::EMBED | names::AUDIO | names::TRACK | names::INPUT => {
                &[Attribute::Src]
            }
            names::IMG | names::SOURCE => &[Attribute::Src, Attribute::Srcset],
            names::VIDEO => &[Attribute::Src, Attribute::Poster],
            names::OBJECT => &[Attribute::Data],
            names::IMAGE => &[Attribute::Href],
            names::LINK if is_embedded(attributes) => &[Attribute::Href, Attribute::ImageSrcset],
            names::BASE => {
                let href = written(Attribute::Href);
                let href = href.filter(|href| href.len() <= Limits::default().href);
                if let (None, Some(href)) = (&self.base, href) {
                    self.base = Some(clean(&decode(href, Place::Attribute)));
                }
                return;
            }
            _ => return,
        };
        for &attribute in embeds {
            match (attribute, written(attribute)) {
                (Attribute::Srcset | Attribute::ImageSrcset, Some(set)) => {
                    let set = decode(set, Place::Attribute);
                    candidates(&set, |reference| self.add(reference));
                }
                (_, Some(reference)) => self.attribute(reference),
                (_, None) => {}
            }
        }
    }

    /// Reads past the content of elements that hold no markup.
    fn content(&mut self, name: Name, tokens: &mut Tokens) {
        match name {
            names::SCRIPT => tokens.script(),
            names::STYLE => {
                let style = tokens.raw_text("style");
                css::references(style, |reference| self.add(reference));
            }
            names::IFRAME => drop(tokens.raw_text("iframe")),
            names::NOEMBED => drop(tokens.raw_text("noembed")),
            names::NOFRAMES => drop(tokens.raw_text("noframes")),
            names::TEXTAREA => drop(tokens.raw_text("textarea")),
            names::XMP => drop(tokens.raw_text("xmp")),
            names::TITLE => drop(tokens.raw_text("title")),
            names::PLAINTEXT => drop(tokens.remainder()),
            _ => {}
        }
    }

    fn attribute(&mut self, written: &str) {
        self.add(&decode(written, Place::Attribute));
    }

    fn add(&mut self, reference: &str) {
        let reference = clean(reference);
        let is_inline = |scheme: &str| {
            let start = reference.get(..scheme.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        };
        if reference.is_empty() || reference.starts_with('#') || is_inline("data:") {
            return;
        }
        if reference.len() > Limits::default().href {
            self.dropped += 1;
        } else if self.known.insert(reference.clone()) {
            self.references.push(reference);
        }
    }

    fn resolved(self, address: &Url, encoding: &'static Encoding) -> Requisites {
        let base = self.base.and_then(|href| resolve(address, &href, encoding));
        let base = base.as_ref().unwrap_or(address);
        let urls = self.references.iter();
        Requisites {
            urls: urls
                .filter_map(|reference| resolve(base, reference, encoding))
                .collect(),
            dropped: self.dropped,
        }
    }
}

/// What makes a `link` part of what the page looks like.
const EMBEDDED: [&str; 8] = [
    "stylesheet",
    "icon",
    "apple-touch-icon",
    "apple-touch-icon-precomposed",
    "mask-icon",
    "preload",
    "modulepreload",
    "manifest",
];

fn is_embedded(attributes: &Attributes) -> bool {
    let rel = attributes.get(Attribute::Rel).unwrap_or("");
    let rel = decode(rel, Place::Attribute);
    EMBEDDED.iter().any(|token| has_token(&rel, token))
}

/// The addresses in a `srcset`, without their descriptors.
fn candidates(set: &str, mut take: impl FnMut(&str)) {
    let is_space = |c: char| c.is_ascii_whitespace();
    let mut rest = set;
    loop {
        rest = rest.trim_start_matches(|c| is_space(c) || c == ',');
        if rest.is_empty() {
            return;
        }
        let end = rest.find(is_space).unwrap_or(rest.len());
        let (address, after) = rest.split_at(end);
        take(address.trim_end_matches(','));
        rest = if address.ends_with(',') {
            after
        } else {
            after.split_once(',').map_or("", |(_, next)| next)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(page: &str) -> Vec<String> {
        let address = Url::parse("http://h.example/dir/page").unwrap();
        let found = read_requisites(page.as_bytes(), None, &address);
        let path = |url: Url| url.as_str().replace("http://h.example", "");
        found.urls.into_iter().map(path).collect()
    }

    #[test]
    fn all_that_a_page_embeds_is_found_once() {
        let page = "<link rel=stylesheet href=a.css><link rel='shortcut icon' href=/b.ico>
            <link rel=preload as=font href=c.woff2><link rel=next href=no><script src='d.js'></script>
            <script>var x = '<img src=no.png>'</script><style>@import 'e.css'; p{background:url(f.png)}</style>
            <img src=g.png srcset='g2.png 2x, g3.png 3x,g4.png'><img src=g.png>
            <picture><source srcset=h.webp></picture><video src=i.mp4 poster=j.jpg><track src=k.vtt></video>
            <audio src=l.ogg></audio><object data=m.svg></object><embed src=n.swf><input type=image src=o.gif>
            <p style='background: url(&quot;p.png&quot;)'>text</p><svg><image href=q.png /></svg>
            <img src='data:image/png;base64,AAAA'><img src=''><a href=no.html>no</a><iframe src=no.html></iframe>
            <body background=r.gif><noscript><img src=s.png></noscript><img src='//cdn.example/t.png?a=1&amp;b=2'>";
        let expected = [
            "/dir/a.css",
            "/b.ico",
            "/dir/c.woff2",
            "/dir/d.js",
            "/dir/e.css",
            "/dir/f.png",
            "/dir/g.png",
            "/dir/g2.png",
            "/dir/g3.png",
            "/dir/g4.png",
            "/dir/h.webp",
            "/dir/i.mp4",
            "/dir/j.jpg",
            "/dir/k.vtt",
            "/dir/l.ogg",
            "/dir/m.svg",
            "/dir/n.swf",
            "/dir/o.gif",
            "/dir/p.png",
            "/dir/q.png",
            "/dir/r.gif",
            "/dir/s.png",
            "http://cdn.example/t.png?a=1&b=2",
        ];
        assert_eq!(of(page), expected);
        assert_eq!(of("<base href=/other/><img src=a.png>"), ["/other/a.png"]);
        let long = format!("<img src='{}'>", "a".repeat(5000));
        let address = Url::parse("http://h.example/").unwrap();
        assert_eq!(read_requisites(long.as_bytes(), None, &address).dropped, 1);
    }

    #[test]
    fn a_stylesheet_embeds_relative_to_itself() {
        let address = Url::parse("http://h.example/css/a.css").unwrap();
        let found = read_stylesheet(b"b{background:url(../x.png)}", Some("text/css"), &address);
        assert_eq!(found.urls[0].as_str(), "http://h.example/x.png");
    }
}
