//! What the first 1,024 bytes of a document say about its character set: the prescan of the HTML
//! standard, and the XML declaration.

use super::{for_declared_label, for_label};
use encoding_rs::Encoding;
use memchr::{memchr, memmem};

const PRESCANNED_BYTES: usize = 1024;

/// The encoding in the first `<meta>` that names one.
pub(super) fn html(body: &[u8]) -> Option<&'static Encoding> {
    let head = &body[..body.len().min(PRESCANNED_BYTES)];
    let mut at = 0;
    loop {
        at += memchr(b'<', &head[at..])?;
        let rest = &head[at..];
        if rest.starts_with(b"<!--") {
            // from the opening dashes: `<!-->` is a comment
            at += 2 + memmem::find(&rest[2..], b"-->")? + 3;
        } else if is_meta(rest) {
            let mut attributes = Attributes {
                bytes: head,
                at: at + 5,
            };
            if let Some(encoding) = meta(&mut attributes) {
                return Some(encoding);
            }
            at = attributes.at;
        } else if starts_tag(rest) {
            let name = rest
                .iter()
                .position(|b| b.is_ascii_whitespace() || *b == b'>')?;
            let mut attributes = Attributes {
                bytes: head,
                at: at + name,
            };
            while attributes.next().is_some() {}
            at = attributes.at;
        } else if matches!(rest.get(1), Some(b'!' | b'/' | b'?')) {
            at += memchr(b'>', rest)? + 1;
        } else {
            at += 1;
        }
    }
}

/// The encoding in an XML declaration.
pub(super) fn xml(body: &[u8]) -> Option<&'static Encoding> {
    let head = &body[..body.len().min(PRESCANNED_BYTES)];
    let declaration = &head[..memchr(b'>', head)?];
    if !declaration.starts_with(b"<?xml") {
        return None;
    }
    let after = memmem::find(declaration, b"encoding")? + b"encoding".len();
    let value = declaration[after..]
        .trim_ascii_start()
        .strip_prefix(b"=")?
        .trim_ascii_start();
    let quote = *value
        .first()
        .filter(|quote| matches!(quote, b'"' | b'\''))?;
    let length = memchr(quote, &value[1..])?;
    for_declared_label(std::str::from_utf8(&value[1..=length]).ok()?)
}

fn is_meta(rest: &[u8]) -> bool {
    rest.len() > 5
        && rest[1..5].eq_ignore_ascii_case(b"meta")
        && (rest[5].is_ascii_whitespace() || rest[5] == b'/')
}

fn starts_tag(rest: &[u8]) -> bool {
    let name = if rest.get(1) == Some(&b'/') {
        rest.get(2)
    } else {
        rest.get(1)
    };
    name.is_some_and(u8::is_ascii_alphabetic)
}

fn meta(attributes: &mut Attributes) -> Option<&'static Encoding> {
    let (mut charset, mut content, mut is_content_type) = (None, None, false);
    while let Some((name, value)) = attributes.next() {
        // the first of several attributes with one name counts
        if name.eq_ignore_ascii_case(b"charset") {
            charset.get_or_insert(value);
        } else if name.eq_ignore_ascii_case(b"content") {
            content.get_or_insert(value);
        } else if name.eq_ignore_ascii_case(b"http-equiv") {
            is_content_type |= value.eq_ignore_ascii_case(b"content-type");
        }
    }
    if let Some(charset) = charset {
        return for_declared_label(std::str::from_utf8(charset).ok()?);
    }
    let label = content
        .filter(|_| is_content_type)
        .and_then(label_in_content)?;
    for_label(label).and_then(|_| for_declared_label(label))
}

/// The label after `charset=` in `text/html; charset=…`.
fn label_in_content(content: &[u8]) -> Option<&str> {
    let mut rest = std::str::from_utf8(content).ok()?;
    loop {
        let found = rest
            .as_bytes()
            .windows(7)
            .position(|w| w.eq_ignore_ascii_case(b"charset"))?;
        rest = rest[found + 7..].trim_ascii_start();
        if let Some(value) = rest.strip_prefix('=') {
            let value = value.trim_ascii_start();
            return match value.chars().next()? {
                quote @ ('"' | '\'') => value[1..].split_once(quote).map(|(label, _)| label),
                _ => value.split([';', ' ', '\t', '\n', '\r', '\x0C']).next(),
            };
        }
    }
}

/// The attributes of a tag as bytes, before the encoding is known.
struct Attributes<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Attributes<'a> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip(&mut self, skipped: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&skipped) {
            self.at += 1;
        }
    }

    fn next(&mut self) -> Option<(&'a [u8], &'a [u8])> {
        let bytes = self.bytes;
        self.skip(|b| b.is_ascii_whitespace() || b == b'/');
        if self.peek()? == b'>' {
            return None;
        }
        let start = self.at;
        self.at += 1;
        self.skip(|b| !b.is_ascii_whitespace() && !matches!(b, b'/' | b'>' | b'='));
        let name = &bytes[start..self.at];
        self.skip(|b| b.is_ascii_whitespace());
        if self.peek() != Some(b'=') {
            return Some((name, b""));
        }
        self.at += 1;
        self.skip(|b| b.is_ascii_whitespace());
        let first = self.peek()?;
        if matches!(first, b'"' | b'\'') {
            let start = self.at + 1;
            let Some(length) = memchr(first, &bytes[start..]) else {
                self.at = bytes.len();
                return None;
            };
            self.at = start + length + 1;
            return Some((name, &bytes[start..start + length]));
        }
        let start = self.at;
        self.skip(|b| !b.is_ascii_whitespace() && b != b'>');
        Some((name, &bytes[start..self.at]))
    }
}
