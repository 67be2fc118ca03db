//! The tokenizer: text, tags and the few attributes that are asked for, without copying.

use super::names::{self, Name, pack, pack_at};
use super::raw;
use memchr::memchr;

/// An attribute that some caller reads.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Attribute {
    Href,
    Src,
    Rel,
    Type,
    Name,
    Content,
    HttpEquiv,
    Encoding,
    Class,
    Id,
    Role,
    Style,
    Hidden,
    /// `color`, `face` or `size`: what makes `font` leave foreign content.
    FontStyle,
    Srcset,
    ImageSrcset,
    Poster,
    Data,
    Background,
}

const ATTRIBUTES: usize = 19;

/// The attributes of one tag, as written. The first of several with one name counts.
#[derive(Default)]
pub(super) struct Attributes<'a> {
    values: [Option<&'a str>; ATTRIBUTES],
}

impl<'a> Attributes<'a> {
    #[inline]
    pub(super) fn get(&self, attribute: Attribute) -> Option<&'a str> {
        self.values[attribute as usize]
    }

    #[inline]
    fn add(&mut self, name: Name, value: &'a str) {
        let Some(attribute) = known(name) else { return };
        self.values[attribute as usize].get_or_insert(value);
    }
}

#[inline]
fn known(name: Name) -> Option<Attribute> {
    const HREF: Name = pack(b"href");
    const SRC: Name = pack(b"src");
    const REL: Name = pack(b"rel");
    const TYPE: Name = pack(b"type");
    const NAME: Name = pack(b"name");
    const CONTENT: Name = pack(b"content");
    const HTTP_EQUIV: Name = pack(b"http-equiv");
    const ENCODING: Name = pack(b"encoding");
    const CLASS: Name = pack(b"class");
    const ID: Name = pack(b"id");
    const ROLE: Name = pack(b"role");
    const STYLE: Name = pack(b"style");
    const HIDDEN: Name = pack(b"hidden");
    const COLOR: Name = pack(b"color");
    const FACE: Name = pack(b"face");
    const SIZE: Name = pack(b"size");
    const SRCSET: Name = pack(b"srcset");
    const IMAGE_SRCSET: Name = pack(b"imagesrcset");
    const POSTER: Name = pack(b"poster");
    const DATA: Name = pack(b"data");
    const BACKGROUND: Name = pack(b"background");
    Some(match name {
        HREF => Attribute::Href,
        SRC => Attribute::Src,
        REL => Attribute::Rel,
        TYPE => Attribute::Type,
        NAME => Attribute::Name,
        CONTENT => Attribute::Content,
        HTTP_EQUIV => Attribute::HttpEquiv,
        ENCODING => Attribute::Encoding,
        CLASS => Attribute::Class,
        ID => Attribute::Id,
        ROLE => Attribute::Role,
        STYLE => Attribute::Style,
        HIDDEN => Attribute::Hidden,
        COLOR | FACE | SIZE => Attribute::FontStyle,
        SRCSET => Attribute::Srcset,
        IMAGE_SRCSET => Attribute::ImageSrcset,
        POSTER => Attribute::Poster,
        DATA => Attribute::Data,
        BACKGROUND => Attribute::Background,
        _ => return None,
    })
}

/// What comes next in a page.
pub(super) enum Token<'a> {
    /// Characters, with their character references as written.
    Text(&'a str),
    /// The characters of a CDATA section: no references in it.
    Characters(&'a str),
    /// A start tag; its attributes are in [`Tokens::attributes`].
    Start { name: Name, self_closing: bool },
    /// An end tag.
    End(Name),
}

/// A position in a page.
pub(super) struct Tokens<'a> {
    page: &'a str,
    at: usize,
    /// The attributes of the last start tag.
    pub(super) attributes: Attributes<'a>,
    /// Also of elements that the reader does not ask about.
    all_attributes: bool,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(page: &'a str) -> Self {
        Self {
            page,
            at: 0,
            attributes: Attributes::default(),
            all_attributes: false,
        }
    }

    /// Reads the attributes of every element.
    pub(super) fn with_all_attributes(page: &'a str) -> Self {
        Self {
            all_attributes: true,
            ..Self::new(page)
        }
    }

    /// The next token; `foreign` says that the innermost open element is not HTML's, so that
    /// `<![CDATA[` opens a CDATA section. A tag cut off by the end of the page is no tag.
    pub(super) fn next(&mut self, foreign: bool) -> Option<Token<'a>> {
        let bytes = self.page.as_bytes();
        loop {
            let rest = &bytes[self.at..];
            if rest.is_empty() {
                return None;
            }
            let text = memchr(b'<', rest).unwrap_or(rest.len());
            if text > 0 {
                return Some(Token::Text(self.take(text)));
            }
            match rest.get(1) {
                Some(letter) if letter.is_ascii_alphabetic() => return self.start_tag(),
                Some(b'/') => match rest.get(2) {
                    Some(letter) if letter.is_ascii_alphabetic() => return self.end_tag(),
                    Some(b'>') => self.at += 3,
                    Some(_) => self.at += raw::past(rest, b'>'),
                    None => return Some(Token::Text(self.take(2))),
                },
                Some(b'!') if rest.starts_with(b"<!--") => self.at += raw::comment(rest),
                Some(b'!') if foreign && rest.starts_with(b"<![CDATA[") => {
                    let (content, end) = raw::cdata(rest);
                    let characters = &self.page[self.at..][content];
                    self.at += end;
                    return Some(Token::Characters(characters));
                }
                Some(b'!' | b'?') => self.at += raw::past(rest, b'>'),
                _ => return Some(Token::Text(self.take(1))),
            }
        }
    }

    /// Everything up to the end tag of the raw text element `name`, or to the end of the page.
    pub(super) fn raw_text(&mut self, name: &str) -> &'a str {
        let length = raw::element(&self.page.as_bytes()[self.at..], name.as_bytes());
        self.take(length)
    }

    /// The content of a script: like raw text, but for the comments of old that hide it.
    pub(super) fn script(&mut self) {
        self.at += raw::script(&self.page.as_bytes()[self.at..]);
    }

    /// All that is left.
    pub(super) fn remainder(&mut self) -> &'a str {
        self.take(self.page.len() - self.at)
    }

    fn take(&mut self, length: usize) -> &'a str {
        let taken = &self.page[self.at..self.at + length];
        self.at += length;
        taken
    }

    fn tag_name(&mut self) -> Name {
        let bytes = self.page.as_bytes();
        let start = self.at;
        while self.at < bytes.len() && !ends_tag_name(bytes[self.at]) {
            self.at += 1;
        }
        pack_at(bytes, start, self.at - start)
    }

    fn start_tag(&mut self) -> Option<Token<'a>> {
        self.at += 1;
        let name = self.tag_name();
        let is_asked = self.all_attributes || names::traits(name) & names::ATTRIBUTES != 0;
        let self_closing = if is_asked {
            self.attributes = Attributes::default();
            self.scan_attributes(|attributes, name, value| {
                attributes.add(pack_at(name.0, name.1, name.2), value);
            })?
        } else {
            self.scan_attributes(|_, _, _| ())?
        };
        Some(Token::Start { name, self_closing })
    }

    fn end_tag(&mut self) -> Option<Token<'a>> {
        self.at += 2;
        let name = self.tag_name();
        if self.page.as_bytes().get(self.at) == Some(&b'>') {
            self.at += 1;
        } else {
            self.scan_attributes(|_, _, _| ())?;
        }
        Some(Token::End(name))
    }

    /// Passes the attributes and the closing `>`; whether the tag closes itself. `None` at the end
    /// of the page.
    #[inline]
    fn scan_attributes(
        &mut self,
        mut add: impl FnMut(&mut Attributes<'a>, (&[u8], usize, usize), &'a str),
    ) -> Option<bool> {
        let page = self.page;
        let bytes = page.as_bytes();
        let mut at = self.at;
        self.at = bytes.len();
        loop {
            at = skip_space(bytes, at);
            match *bytes.get(at)? {
                b'>' => {
                    self.at = at + 1;
                    return Some(false);
                }
                b'/' => {
                    at += 1;
                    if bytes.get(at) == Some(&b'>') {
                        self.at = at + 1;
                        return Some(true);
                    }
                    continue;
                }
                _ => {}
            }
            let start = at;
            // an equals sign in front belongs to the name
            at += 1;
            while !ends_attribute_name(*bytes.get(at)?) {
                at += 1;
            }
            let name = (bytes, start, at - start);
            at = skip_space(bytes, at);
            if *bytes.get(at)? != b'=' {
                add(&mut self.attributes, name, "");
                continue;
            }
            at = skip_space(bytes, at + 1);
            let first = *bytes.get(at)?;
            let value = if first == b'"' || first == b'\'' {
                let start = at + 1;
                let length = memchr(first, &bytes[start..])?;
                at = start + length + 1;
                &page[start..start + length]
            } else {
                let start = at;
                while !ends_unquoted(*bytes.get(at)?) {
                    at += 1;
                }
                &page[start..at]
            };
            add(&mut self.attributes, name, value);
        }
    }
}

/// The white space of markup.
#[inline]
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0C)
}

#[inline]
fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(|b| is_space(*b)) {
        at += 1;
    }
    at
}

#[inline]
fn ends_tag_name(byte: u8) -> bool {
    is_space(byte) || byte == b'/' || byte == b'>'
}

#[inline]
fn ends_attribute_name(byte: u8) -> bool {
    ends_tag_name(byte) || byte == b'='
}

#[inline]
fn ends_unquoted(byte: u8) -> bool {
    is_space(byte) || byte == b'>'
}
