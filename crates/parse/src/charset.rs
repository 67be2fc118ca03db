//! Character sets: which one a body is in, and its text.
//!
//! The order is the browsers': byte order mark, HTTP header, what the document says in its first
//! 1,024 bytes, and last a guess from the bytes. A body that is UTF-8 already is not copied.

mod prescan;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};
use std::borrow::Cow;

/// How much of a body the guess looks at: more does not change it in practice.
const GUESSED_BYTES: usize = 64 * 1024;

/// What a body may say about its own character set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `<meta charset>` or `<meta http-equiv=content-type>`.
    Html,
    /// The XML declaration; UTF-8 without it.
    Xml,
    /// Nothing.
    Text,
}

/// The text of a body, and the character set it was in. Malformed sequences become U+FFFD.
/// `tld` is the top-level domain it came from, which helps the guess.
pub fn decode<'a>(
    body: &'a [u8],
    content_type: Option<&str>,
    format: Format,
    tld: Option<&str>,
) -> (Cow<'a, str>, &'static Encoding) {
    if let Some((encoding, mark)) = Encoding::for_bom(body) {
        return (
            encoding.decode_without_bom_handling(&body[mark..]).0,
            encoding,
        );
    }
    let declared = content_type
        .and_then(charset_parameter)
        .and_then(for_label)
        .or_else(|| match format {
            Format::Html => prescan::html(body),
            Format::Xml => Some(prescan::xml(body).unwrap_or(UTF_8)),
            Format::Text => None,
        });
    if let Some(encoding) = declared {
        return (encoding.decode_without_bom_handling(body).0, encoding);
    }
    if let Ok(text) = std::str::from_utf8(body) {
        return (Cow::Borrowed(text), UTF_8);
    }
    let encoding = guess(body, tld);
    (encoding.decode_without_bom_handling(body).0, encoding)
}

/// The value of `charset` in a Content-Type header.
pub(crate) fn charset_parameter(content_type: &str) -> Option<&str> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        name.trim().eq_ignore_ascii_case("charset").then_some(value)
    })
}

fn for_label(label: &str) -> Option<&'static Encoding> {
    Encoding::for_label_no_replacement(label.as_bytes())
}

/// What a declaration that was read as ASCII can mean: not UTF-16.
fn for_declared_label(label: &str) -> Option<&'static Encoding> {
    for_label(label).map(|encoding| {
        if encoding == UTF_16BE || encoding == UTF_16LE {
            UTF_8
        } else if encoding == X_USER_DEFINED {
            WINDOWS_1252
        } else {
            encoding
        }
    })
}

fn guess(body: &[u8], tld: Option<&str>) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(
        &body[..body.len().min(GUESSED_BYTES)],
        body.len() <= GUESSED_BYTES,
    );
    // the detector refuses by panic what is no lower-case label
    let tld = tld.filter(|tld| {
        tld.bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    });
    // a body cut in the middle of a character, or with one bad byte, is still UTF-8
    detector.guess(tld.map(str::as_bytes), Utf8Detection::Allow)
}

#[cfg(test)]
mod tests;
