//! Tokens read into links, metadata and text.

use super::foreign::{Foreign, Space};
use super::names::{self, Name, Traits};
use super::references::{self, decode, decode_into};
use super::tokens::{Attribute, Attributes, Token, Tokens};
use super::{Limits, Link, LinkKind, Refresh, refresh, region};
use crate::print::{Builder, Form, PageText, Shown};

/// Longer titles are cut, in bytes.
const TITLE_BYTES: usize = 1_024;
/// Robots directives of one `meta`, and how many different ones; a page needs one or two.
const DIRECTIVE_BYTES: usize = 512;
const MOST_DIRECTIVES: usize = 16;

/// All that one pass over a page finds.
#[derive(Default)]
pub(super) struct Found {
    pub(super) links: Vec<Link>,
    pub(super) dropped_links: usize,
    pub(super) base: Option<String>,
    pub(super) meta_robots: Vec<(String, String)>,
    pub(super) refresh: Option<Refresh>,
    pub(super) title: Option<String>,
    pub(super) text: PageText,
    /// The blocks, if they were asked for.
    pub(super) shown: Vec<Shown>,
}

/// Reads a whole page, its text into `text`.
pub(super) fn read(page: &str, limits: Limits, text: Builder) -> Found {
    let mut reader = Reader {
        limits,
        found: Found::default(),
        text,
        scratch: String::new(),
        templates: 0,
        in_link: false,
        form: Form::Plain,
    };
    let mut tokens = Tokens::new(page);
    let mut foreign = Foreign::default();
    while let Some(token) = tokens.next(foreign.inside()) {
        match token {
            Token::Text(text) => reader.text(text),
            Token::Characters(text) => reader.characters(text),
            Token::Start { name, self_closing } => {
                let traits = names::traits(name);
                let space = foreign.start(name, &tokens.attributes, self_closing);
                if traits != 0 {
                    reader.start(name, traits, space, &tokens.attributes);
                }
                if traits & names::RAW != 0 && space == Space::Html {
                    reader.raw_content(name, &mut tokens);
                }
            }
            Token::End(name) => {
                foreign.end(name);
                reader.end(name, foreign.inside());
            }
        }
    }
    reader.finish()
}

struct Reader {
    limits: Limits,
    found: Found,
    text: Builder,
    /// Decoded text, reused.
    scratch: String,
    /// Open `template` elements: what they hold is not in the page.
    templates: usize,
    in_link: bool,
    /// What the current block is.
    form: Form,
}

impl Reader {
    fn text(&mut self, text: &str) {
        if references::has_reference(text) {
            let mut scratch = std::mem::take(&mut self.scratch);
            scratch.clear();
            decode_into(text, references::Place::Text, &mut scratch);
            self.characters(&scratch);
            self.scratch = scratch;
        } else {
            self.characters(text);
        }
    }

    fn characters(&mut self, text: &str) {
        self.text.text(text, self.in_link);
    }

    fn end_block(&mut self) {
        self.text.end_block(self.form);
    }

    fn start(&mut self, name: Name, traits: Traits, space: Space, attributes: &Attributes) {
        if traits & names::BLOCK != 0 {
            self.end_block();
            self.form = match name {
                names::H1 => Form::Headline,
                _ if traits & names::HEADING != 0 => Form::Heading,
                _ => Form::Plain,
            };
        }
        if traits & names::CONTAINER != 0 {
            let region = region::of(name, attributes, self.text.traits());
            if traits & names::BLOCK == 0 && region != 0 {
                self.end_block();
            }
            self.text.open(names::number(name), region);
        }
        if traits & names::APART != 0 {
            self.text.stand_apart();
        }
        if traits & names::LINKS == 0 {
            return;
        }
        if name == names::A {
            self.in_link = attributes.get(Attribute::Href).is_some();
        }
        if space != Space::Html {
            if name == names::A && space == Space::Svg && self.templates == 0 {
                self.anchor(attributes);
            }
            return;
        }
        if name == names::TEMPLATE {
            self.templates += 1;
        }
        if self.templates > 0 {
            return;
        }
        match name {
            names::A | names::AREA => self.anchor(attributes),
            names::LINK => self.link_element(attributes),
            names::IFRAME | names::FRAME => {
                if let Some(src) = attributes.get(Attribute::Src) {
                    self.add_link(src, LinkKind::Frame, false);
                }
            }
            names::BASE => {
                // every link is joined to it: a long one would cost that much for each
                let href = attributes.get(Attribute::Href);
                let href = href.filter(|href| href.len() <= self.limits.href);
                if let (None, Some(href)) = (&self.found.base, href) {
                    self.found.base = Some(clean(&decode(href, references::Place::Attribute)));
                }
            }
            names::META => self.meta(attributes),
            _ => {}
        }
    }

    /// Reads past the content of elements that hold no markup.
    fn raw_content(&mut self, name: Name, tokens: &mut Tokens) {
        match name {
            names::SCRIPT => tokens.script(),
            names::STYLE => drop(tokens.raw_text("style")),
            names::IFRAME => drop(tokens.raw_text("iframe")),
            names::NOEMBED => drop(tokens.raw_text("noembed")),
            names::NOFRAMES => drop(tokens.raw_text("noframes")),
            names::TEXTAREA => drop(tokens.raw_text("textarea")),
            names::XMP => {
                let text = tokens.raw_text("xmp");
                self.characters(text);
            }
            names::PLAINTEXT => {
                let text = tokens.remainder();
                self.characters(text);
            }
            names::TITLE => {
                let title = tokens.raw_text("title");
                if self.found.title.is_none() && self.templates == 0 {
                    self.title(title);
                }
            }
            _ => {}
        }
    }

    fn title(&mut self, raw: &str) {
        let raw = &raw[..raw.floor_char_boundary(4 * TITLE_BYTES)];
        let title = decode(raw, references::Place::Text);
        let mut collapsed = String::with_capacity(title.len().min(TITLE_BYTES));
        for word in title.split_whitespace() {
            if !collapsed.is_empty() {
                collapsed.push(' ');
            }
            collapsed.push_str(word);
        }
        collapsed.truncate(collapsed.floor_char_boundary(TITLE_BYTES));
        self.end_block();
        self.text.text(without_counter(&collapsed), false);
        self.text.end_block(Form::Title);
        self.found.title = Some(collapsed);
    }

    fn end(&mut self, name: Name, foreign: bool) {
        let traits = names::traits(name);
        if traits & names::BLOCK != 0 {
            self.end_block();
            self.form = Form::Plain;
        }
        if traits & names::CONTAINER != 0 {
            if traits & names::BLOCK == 0 {
                self.end_block();
            }
            self.text.close(names::number(name));
        }
        match name {
            names::A => self.in_link = false,
            names::TEMPLATE if !foreign => self.templates = self.templates.saturating_sub(1),
            _ => {}
        }
    }

    fn anchor(&mut self, attributes: &Attributes) {
        if let Some(href) = attributes.get(Attribute::Href) {
            let nofollow = attributes.get(Attribute::Rel).is_some_and(|rel| {
                let rel = decode(rel, references::Place::Attribute);
                ["nofollow", "ugc", "sponsored"]
                    .iter()
                    .any(|token| has_token(&rel, token))
            });
            self.add_link(href, LinkKind::Anchor, nofollow);
        }
    }

    fn link_element(&mut self, attributes: &Attributes) {
        let (Some(href), Some(rel)) = (
            attributes.get(Attribute::Href),
            attributes.get(Attribute::Rel),
        ) else {
            return;
        };
        let rel = decode(rel, references::Place::Attribute);
        let has = |token| has_token(&rel, token);
        let kind = if has("canonical") {
            LinkKind::Canonical
        } else if has("next") {
            LinkKind::Next
        } else if has("prev") || has("previous") {
            LinkKind::Prev
        } else if has("feed") {
            LinkKind::Feed
        } else if has("alternate") && !has("stylesheet") {
            let of_type = attributes.get(Attribute::Type).unwrap_or("").trim_ascii();
            let is = |feed: &str| of_type.eq_ignore_ascii_case(feed);
            if is("application/rss+xml") || is("application/atom+xml") {
                LinkKind::Feed
            } else {
                LinkKind::Alternate
            }
        } else {
            return;
        };
        self.add_link(href, kind, has("nofollow"));
    }

    fn meta(&mut self, attributes: &Attributes) {
        let Some(content) = attributes.get(Attribute::Content) else {
            return;
        };
        let value = |written| decode(written, references::Place::Attribute);
        if let Some(name) = attributes.get(Attribute::Name) {
            let agent = value(name).trim_ascii().to_ascii_lowercase();
            let is_agent = ["bot", "crawl", "spider", "slurp"]
                .iter()
                .any(|part| agent.contains(part));
            if is_agent && agent.len() <= 64 && self.found.meta_robots.len() < MOST_DIRECTIVES {
                let mut directives = value(content).into_owned();
                directives.truncate(directives.floor_char_boundary(DIRECTIVE_BYTES));
                let said = (agent, directives);
                if !self.found.meta_robots.contains(&said) {
                    self.found.meta_robots.push(said);
                }
            }
        }
        let equivalent = attributes.get(Attribute::HttpEquiv);
        if equivalent.is_some_and(|header| value(header).eq_ignore_ascii_case("refresh"))
            && self.found.refresh.is_none()
            && content.len() <= self.limits.href
            && let Some(refresh) = refresh::read(&value(content))
        {
            if let Some(href) = &refresh.href {
                self.push_link(href.clone(), LinkKind::Refresh, false);
            }
            self.found.refresh = Some(refresh);
        }
    }

    fn add_link(&mut self, written: &str, kind: LinkKind, nofollow: bool) {
        // references only shrink a text, and what they leave out of an honest link is little
        if written.len() > 2 * self.limits.href {
            self.found.dropped_links += 1;
            return;
        }
        let href = clean(&decode(written, references::Place::Attribute));
        self.push_link(href, kind, nofollow);
    }

    fn push_link(&mut self, href: String, kind: LinkKind, nofollow: bool) {
        if href.len() > self.limits.href {
            self.found.dropped_links += 1;
        } else {
            self.found.links.push(Link {
                href,
                kind,
                nofollow,
            });
        }
    }

    fn finish(mut self) -> Found {
        self.end_block();
        (self.found.text, self.found.shown) = self.text.finish_showing();
        self.found
    }
}

/// A reference as the URL standard takes it: no spaces or controls around, no tabs or newlines
/// within.
pub(super) fn clean(href: &str) -> String {
    let trimmed = href.trim_matches(|c: char| c <= ' ');
    if trimmed.bytes().any(|b| matches!(b, b'\t' | b'\n' | b'\r')) {
        trimmed
            .chars()
            .filter(|c| !matches!(c, '\t' | '\n' | '\r'))
            .collect()
    } else {
        trimmed.to_owned()
    }
}

pub(super) fn has_token(list: &str, token: &str) -> bool {
    list.split_ascii_whitespace()
        .any(|word| word.eq_ignore_ascii_case(token))
}

/// A title without the number of unread messages in front.
fn without_counter(title: &str) -> &str {
    let rest = title
        .strip_prefix('(')
        .and_then(|rest| rest.split_once(')'));
    match rest {
        Some((count, rest)) if count.trim_end_matches('+').parse::<u32>().is_ok() => rest,
        _ => title,
    }
}
