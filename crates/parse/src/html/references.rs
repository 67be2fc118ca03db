//! Character references: `&amp;`, `&#38;`, `&#x26;` and the 2,231 names of the standard.

use memchr::memchr;
use std::borrow::Cow;
use std::sync::LazyLock;

/// Name (with its semicolon, if it has one) and code points in hexadecimal, sorted by name.
static NAMED: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    include_str!("entities.txt")
        .lines()
        .filter_map(|line| line.split_once(' '))
        .collect()
});

/// The longest name that may stand without a semicolon.
const LONGEST_LEGACY: usize = 6;

/// Where a reference stands: in an attribute, `&copy=1` is no copyright sign.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Attribute,
    Text,
}

/// The text with its references replaced, and NUL by U+FFFD as in attributes; borrowed when
/// there is none.
pub(super) fn decode(text: &str, place: Place) -> Cow<'_, str> {
    if memchr::memchr2(b'&', 0, text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut decoded = String::with_capacity(text.len());
    decode_into(text, place, &mut decoded);
    Cow::Owned(decoded)
}

/// As [`decode`], appended to `decoded`.
pub(super) fn decode_into(text: &str, place: Place, decoded: &mut String) {
    let mut rest = text;
    while let Some(at) = memchr::memchr2(b'&', 0, rest.as_bytes()) {
        decoded.push_str(&rest[..at]);
        let length = if rest.as_bytes()[at] == 0 {
            decoded.push('\u{FFFD}');
            1
        } else {
            reference(&rest[at..], place, decoded)
        };
        rest = &rest[at + length..];
    }
    decoded.push_str(rest);
}

/// Appends what the reference at the front of `text` stands for, or the ampersand itself; how many
/// bytes were read.
fn reference(text: &str, place: Place, decoded: &mut String) -> usize {
    let after = &text[1..];
    let read = match after.as_bytes().first() {
        Some(b'#') => numeric(&after[1..], decoded).map(|read| read + 1),
        Some(letter) if letter.is_ascii_alphanumeric() => named(after, place, decoded),
        _ => None,
    };
    read.map_or_else(
        || {
            decoded.push('&');
            1
        },
        |read| read + 1,
    )
}

fn numeric(text: &str, decoded: &mut String) -> Option<usize> {
    let hexadecimal = text.starts_with(['x', 'X']);
    let radix = if hexadecimal { 16 } else { 10 };
    let start = usize::from(hexadecimal);
    let digits = text[start..]
        .bytes()
        .take_while(|b| char::from(*b).is_digit(radix))
        .count();
    if digits == 0 {
        return None;
    }
    let end = start + digits;
    let value = text[start..end].bytes().fold(0u32, |value, digit| {
        let digit = char::from(digit).to_digit(radix).unwrap_or(0);
        value.saturating_mul(radix).saturating_add(digit)
    });
    decoded.push(character(value));
    Some(end + usize::from(text[end..].starts_with(';')))
}

/// The character of a number: the C1 controls mean what windows-1252 has there.
fn character(value: u32) -> char {
    const WINDOWS_1252: [u32; 32] = [
        0x20AC, 0x81, 0x201A, 0x192, 0x201E, 0x2026, 0x2020, 0x2021, 0x2C6, 0x2030, 0x160, 0x2039,
        0x152, 0x8D, 0x17D, 0x8F, 0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
        0x2DC, 0x2122, 0x161, 0x203A, 0x153, 0x9D, 0x17E, 0x178,
    ];
    let value = match value {
        0 => 0xFFFD,
        0x80..=0x9F => WINDOWS_1252[value as usize - 0x80],
        other => other,
    };
    char::from_u32(value).unwrap_or('\u{FFFD}')
}

fn named(text: &str, place: Place, decoded: &mut String) -> Option<usize> {
    let bytes = text.as_bytes();
    let run = bytes
        .iter()
        .take_while(|b| b.is_ascii_alphanumeric())
        .count();
    if bytes.get(run) == Some(&b';') && push_named(&text[..=run], decoded) {
        return Some(run + 1);
    }
    if place == Place::Attribute {
        // a shorter name would be followed by a letter or digit, which forbids it here
        let allowed = run <= LONGEST_LEGACY && bytes.get(run) != Some(&b'=');
        return (allowed && push_named(&text[..run], decoded)).then_some(run);
    }
    (1..=run.min(LONGEST_LEGACY))
        .rev()
        .find(|length| push_named(&text[..*length], decoded))
}

fn push_named(name: &str, decoded: &mut String) -> bool {
    match name {
        "amp;" => decoded.push('&'),
        "nbsp;" => decoded.push('\u{A0}'),
        _ => {
            let Ok(found) = NAMED.binary_search_by_key(&name, |(name, _)| name) else {
                return false;
            };
            let codes = NAMED[found].1.split(' ');
            decoded.extend(
                codes.filter_map(|code| char::from_u32(u32::from_str_radix(code, 16).ok()?)),
            );
        }
    }
    true
}

/// Whether `text` may hold a reference at all.
pub(super) fn has_reference(text: &str) -> bool {
    memchr(b'&', text.as_bytes()).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_and_text_differ_in_legacy_names() {
        let check = |written: &str, attribute: &str, text: &str| {
            assert_eq!(decode(written, Place::Attribute), attribute, "{written}");
            assert_eq!(decode(written, Place::Text), text, "{written}");
        };
        check("a&amp;b", "a&b", "a&b");
        check("?a=1&copy=2", "?a=1&copy=2", "?a=1©=2");
        check("?a&copy", "?a©", "?a©");
        check("&copyx", "&copyx", "©x");
        check("&notit;", "&notit;", "¬it;");
        check("&notin;", "∉", "∉");
        check("&#38;&#x26;&#X26", "&&&", "&&&");
        check(
            "&#0;&#xD800;&#x110000;&#99999999999;",
            "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}",
            "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}",
        );
        check("&#150;", "–", "–");
        check(
            "&;&#;&#x;& &unknown;",
            "&;&#;&#x;& &unknown;",
            "&;&#;&#x;& &unknown;",
        );
        check("&NotEqualTilde;", "≂̸", "≂̸");
        check("é&eacute;\0", "éé\u{FFFD}", "éé\u{FFFD}");
    }

    #[test]
    fn the_table_is_sorted_and_whole() {
        assert_eq!(NAMED.len(), 2231);
        assert!(NAMED.is_sorted_by(|a, b| a.0 < b.0));
        let longest = NAMED
            .iter()
            .filter(|(name, _)| !name.ends_with(';'))
            .map(|(name, _)| name.len());
        assert_eq!(longest.max(), Some(LONGEST_LEGACY));
    }
}
