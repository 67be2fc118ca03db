//! The lines of a robots.txt: what each one says, whatever else it holds.

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'a> {
    /// `User-agent:` with its value.
    Agent(&'a [u8]),
    /// `Allow:` with its path.
    Allow(&'a [u8]),
    /// `Disallow:` with its path.
    Disallow(&'a [u8]),
    /// `Crawl-delay:` with its value.
    Delay(&'a [u8]),
    /// `Sitemap:` with its address.
    Sitemap(&'a [u8]),
}

/// The lines that say something, with their numbers from 1. CR, LF and CRLF end a line.
pub fn lines(text: &[u8]) -> impl Iterator<Item = (u32, Line<'_>)> {
    let mut rest = text;
    let mut number = 0;
    std::iter::from_fn(move || {
        loop {
            if rest.is_empty() {
                return None;
            }
            let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
            let end = rest.iter().position(is_end).unwrap_or(rest.len());
            let line = &rest[..end];
            let skip = if rest[end..].starts_with(b"\r\n") {
                2
            } else {
                1
            };
            rest = rest.get(end + skip..).unwrap_or_default();
            number += 1;
            if let Some(said) = read(line) {
                return Some((number, said));
            }
        }
    })
}

fn read(line: &[u8]) -> Option<Line<'_>> {
    let comment = line.iter().position(|&byte| byte == b'#');
    let line = trim(&line[..comment.unwrap_or(line.len())]);
    let (name, value) = if let Some(colon) = line.iter().position(|&byte| byte == b':') {
        (trim(&line[..colon]), trim(&line[colon + 1..]))
    } else {
        // "Disallow /private": a forgotten colon is understood when nothing else can be meant
        let space = line.iter().position(u8::is_ascii_whitespace)?;
        let value = trim(&line[space..]);
        if value.iter().any(u8::is_ascii_whitespace) {
            return None;
        }
        (&line[..space], value)
    };
    let is = |names: &[&str]| {
        names
            .iter()
            .any(|n| name.eq_ignore_ascii_case(n.as_bytes()))
    };
    if is(&[
        "disallow",
        "dissallow",
        "dissalow",
        "disalow",
        "diasllow",
        "disallaw",
    ]) {
        Some(Line::Disallow(value))
    } else if is(&["allow"]) {
        Some(Line::Allow(value))
    } else if is(&["user-agent", "useragent", "user agent"]) {
        Some(Line::Agent(value))
    } else if is(&["crawl-delay", "crawldelay"]) {
        Some(Line::Delay(value))
    } else if is(&["sitemap", "site-map"]) {
        Some(Line::Sitemap(value))
    } else {
        None
    }
}

/// NULs too: a file in a wider encoding, or one cut short, has them at the ends of its lines.
fn trim(mut text: &[u8]) -> &[u8] {
    let is_blank = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, 0 | 0x0b);
    while let [first, rest @ ..] = text
        && is_blank(first)
    {
        text = rest;
    }
    while let [rest @ .., last] = text
        && is_blank(last)
    {
        text = rest;
    }
    text
}
