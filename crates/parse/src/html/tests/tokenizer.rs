//! The token stream compared with html5ever's tokenizer, tag by tag, in both languages.

use super::super::names::{self, Name, pack};
use super::super::references::{Place, decode};
use super::super::tokens::{Attribute, Token, Tokens};
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::{RawKind, Rawtext, Rcdata, ScriptData};
use html5ever::tokenizer::{
    BufferQueue, CharacterTokens, EndTag, NullCharacterToken, StartTag, TagToken, TokenSink,
    TokenSinkResult, Tokenizer, TokenizerOpts,
};
use proptest::prelude::*;
use std::cell::RefCell;

/// A tag: whether it opens, its name, whether it closes itself, and the attributes we ask for.
#[derive(Debug, PartialEq)]
struct Tag {
    opens: bool,
    name: Name,
    self_closing: bool,
    attributes: Vec<Option<String>>,
}

const ASKED: [(&str, Attribute); 5] = [
    ("href", Attribute::Href),
    ("src", Attribute::Src),
    ("rel", Attribute::Rel),
    ("name", Attribute::Name),
    ("content", Attribute::Content),
];

/// How an element's content is read; the same for both.
fn raw_kind(name: Name) -> Option<RawKind> {
    Some(match name {
        names::SCRIPT => ScriptData,
        names::TITLE | names::TEXTAREA => Rcdata,
        names::STYLE | names::XMP | names::IFRAME | names::NOEMBED | names::NOFRAMES => Rawtext,
        _ => return None,
    })
}

fn raw_name(name: Name) -> &'static str {
    match name {
        names::TITLE => "title",
        names::TEXTAREA => "textarea",
        names::STYLE => "style",
        names::XMP => "xmp",
        names::IFRAME => "iframe",
        names::NOEMBED => "noembed",
        _ => "noframes",
    }
}

#[derive(Default)]
struct Recorder {
    foreign: bool,
    tags: RefCell<Vec<Tag>>,
    text: RefCell<String>,
    in_raw: RefCell<bool>,
}

impl TokenSink for Recorder {
    type Handle = ();

    fn process_token(&self, token: html5ever::tokenizer::Token, _: u64) -> TokenSinkResult<()> {
        match token {
            TagToken(tag) => {
                *self.in_raw.borrow_mut() = false;
                let name = pack(tag.name.replace('\u{FFFD}', "\0").as_bytes());
                let opens = tag.kind == StartTag;
                let get = |wanted: &str| {
                    let found = tag
                        .attrs
                        .iter()
                        .find(|attribute| &*attribute.name.local == wanted);
                    found.map(|attribute| attribute.value.to_string())
                };
                let asked = ASKED.iter().map(|(wanted, _)| get(wanted));
                self.tags.borrow_mut().push(Tag {
                    opens,
                    name,
                    self_closing: opens && tag.self_closing,
                    attributes: if opens { asked.collect() } else { Vec::new() },
                });
                if opens && name == names::PLAINTEXT {
                    *self.in_raw.borrow_mut() = true;
                    return TokenSinkResult::Plaintext;
                }
                if let Some(kind) = raw_kind(name).filter(|_| opens && !self.foreign) {
                    *self.in_raw.borrow_mut() = true;
                    return TokenSinkResult::RawData(kind);
                }
                debug_assert!(opens || tag.kind == EndTag);
            }
            CharacterTokens(text) if !*self.in_raw.borrow() => {
                self.text.borrow_mut().push_str(&text);
            }
            NullCharacterToken if !*self.in_raw.borrow() => self.text.borrow_mut().push('\u{FFFD}'),
            _ => {}
        }
        TokenSinkResult::Continue
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.foreign
    }
}

fn theirs(page: &str, foreign: bool) -> (Vec<Tag>, String) {
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(page));
    let sink = Recorder {
        foreign,
        ..Recorder::default()
    };
    let tokenizer = Tokenizer::new(
        sink,
        TokenizerOpts {
            discard_bom: false,
            ..TokenizerOpts::default()
        },
    );
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    (tokenizer.sink.tags.take(), tokenizer.sink.text.take())
}

fn ours(page: &str, foreign: bool) -> (Vec<Tag>, String) {
    let mut tokens = Tokens::new(page);
    let (mut tags, mut text) = (Vec::new(), String::new());
    while let Some(token) = tokens.next(foreign) {
        match token {
            Token::Text(part) => text.push_str(&decode(part, Place::Text)),
            Token::Characters(part) => text.push_str(&part.replace('\0', "\u{FFFD}")),
            Token::End(name) => {
                tags.push(Tag {
                    opens: false,
                    name,
                    self_closing: false,
                    attributes: Vec::new(),
                });
            }
            Token::Start { name, self_closing } => {
                let get = |attribute| {
                    let value = tokens.attributes.get(attribute)?;
                    Some(
                        decode(value, Place::Attribute)
                            .replace("\r\n", "\n")
                            .replace('\r', "\n"),
                    )
                };
                let attributes = ASKED.iter().map(|(_, attribute)| get(*attribute)).collect();
                tags.push(Tag {
                    opens: true,
                    name,
                    self_closing,
                    attributes,
                });
                match raw_kind(name) {
                    _ if name == names::PLAINTEXT => drop(tokens.remainder()),
                    Some(ScriptData) if !foreign => tokens.script(),
                    Some(_) if !foreign => drop(tokens.raw_text(raw_name(name))),
                    _ => {}
                }
            }
        }
    }
    (tags, text)
}

/// Elements of whose tags we do not read the attributes.
fn without_unread(mut tags: Vec<Tag>) -> Vec<Tag> {
    for tag in &mut tags {
        let read = [
            names::A,
            names::LINK,
            names::META,
            names::IFRAME,
            names::BASE,
            names::AREA,
        ];
        if !read.contains(&tag.name) {
            tag.attributes.clear();
        }
    }
    tags
}

fn compare(page: &str) -> Result<(), TestCaseError> {
    for foreign in [false, true] {
        let (our_tags, our_text) = ours(page, foreign);
        let (their_tags, their_text) = theirs(page, foreign);
        prop_assert_eq!(
            without_unread(our_tags),
            without_unread(their_tags),
            "{:?} {}",
            page,
            foreign
        );
        // a carriage return is a newline, which text does not tell apart from others
        let lines = |text: String| text.replace(['\r', '\n'], "");
        prop_assert_eq!(lines(our_text), lines(their_text), "{:?} {}", page, foreign);
    }
    Ok(())
}

const PIECES: &[&str] = &[
    "<a",
    "<a ",
    "</a",
    "<iframe",
    "</iframe",
    "<meta",
    "<p>",
    "</p>",
    "<script>",
    "</script>",
    "<SCRIPT>",
    "</script ",
    "</script/",
    "<style>",
    "</style>",
    "<title>",
    "</title\n>",
    "<xmp>",
    "</xmp>",
    "<textarea>",
    "</textarea>",
    "<noframes>",
    "</noframes>",
    "<plaintext>",
    "<!--",
    "-->",
    "--!>",
    "<!-->",
    "<!--->",
    "--",
    "<!",
    "<!doctype",
    "<?",
    "</",
    "</>",
    "<![CDATA[",
    "]]>",
    "]]",
    "]>",
    " href",
    " HREF",
    " src",
    " rel",
    " content",
    "=",
    "\"",
    "'",
    ">",
    "/>",
    "/",
    "<",
    " ",
    "\n",
    "\r",
    "\t",
    "\u{C}",
    "\0",
    "x",
    "y1",
    "-",
    "!",
    "&amp;",
    "&amp",
    "&",
    "&copy",
    "&copy;",
    "&notit;",
    "&#38;",
    "&#x",
    "&#0;",
    "&#150",
    "&#xFFFFFFFFF;",
    "&NotEqualTilde;",
    ";",
    "é",
    "中",
    "\u{FEFF}",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 6_000, ..ProptestConfig::default() })]

    #[test]
    fn tokens_are_the_same(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..30)) {
        compare(&pieces.concat())?;
    }
}

#[test]
fn every_named_reference_is_the_same() {
    for name in include_str!("../entities.txt")
        .lines()
        .filter_map(|line| line.split(' ').next())
    {
        for after in ["", "=", "x", ";", " "] {
            let page = format!("&{name}{after}<a href=\"&{name}{after}\">");
            compare(&page).unwrap();
        }
    }
}
