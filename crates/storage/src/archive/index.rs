//! CDXJ: a line for each record that can be looked up by URL.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

use super::lines::Lines;
use super::surt::surt;
use super::{Place, clean_url, date, open_index, sealed_index};
use crate::error::{Context, Result};
use crate::{Digest, Time};

/// The media type of records whose content is in another one.
pub(crate) const REVISIT: &str = "warc/revisit";

/// The line up to where the place comes. Needs no order of its own: lines are sorted as bytes.
pub(crate) fn head(url: &str, time: Time, mime: &str, status: u16, digest: &Digest) -> String {
    let url = clean_url(url);
    format!(
        r#"{} {} {{"url": {}, "mime": {}, "status": "{status}", "digest": "{}""#,
        surt(&url),
        date::digits(time),
        quoted(&url),
        quoted(mime),
        digest_text(digest),
    )
}

/// The rest of the line.
pub(crate) fn tail(place: Place, file: &str) -> String {
    format!(
        ", \"length\": \"{}\", \"offset\": \"{}\", \"filename\": {}}}\n",
        place.length,
        place.offset,
        quoted(file)
    )
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// `sha1:` and the digest in base 32.
pub fn digest_text(digest: &Digest) -> String {
    const LETTERS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let mut text = String::from("sha1:");
    for five in digest.chunks(5) {
        let bits = five
            .iter()
            .fold(0u64, |bits, &byte| bits << 8 | u64::from(byte));
        for i in (0..8).rev() {
            text.push(char::from(LETTERS[(bits >> (5 * i) & 31) as usize]));
        }
    }
    text
}

/// The media type of a `Content-Type`, in lower case, or `unk`.
pub(crate) fn media_type(value: &[u8]) -> String {
    let end = value.iter().position(|&b| b == b';').unwrap_or(value.len());
    let name = value[..end].trim_ascii().to_ascii_lowercase();
    let plain = |&b: &u8| b.is_ascii_graphic() && b != b'"';
    if name.is_empty() || name.len() > 127 || !name.iter().all(plain) {
        return "unk".into();
    }
    String::from_utf8_lossy(&name).into_owned()
}

/// A line read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexEntry {
    /// The URL.
    pub url: String,
    /// When it was fetched, to the second.
    pub time: Time,
    /// The media type; `warc/revisit` where the content is in an earlier record.
    pub mime: String,
    /// The HTTP status.
    pub status: u16,
    /// The digest of the content, `sha1:…`.
    pub digest: String,
    /// Where the record is.
    pub place: Place,
}

impl IndexEntry {
    /// Whether it tells what was there, and not that nothing was.
    pub fn is_copy(&self) -> bool {
        self.status < 400 || self.mime == REVISIT
    }
}

#[derive(serde::Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    url: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    mime: std::borrow::Cow<'a, str>,
    status: &'a str,
    digest: &'a str,
    length: &'a str,
    offset: &'a str,
}

/// Reads a line of the index of the archive file `file`.
pub(crate) fn parse(line: &str, file: u32) -> Option<IndexEntry> {
    let (_, rest) = line.split_once(' ')?;
    let (time, json) = rest.split_once(' ')?;
    let line: Line = serde_json::from_str(json).ok()?;
    Some(IndexEntry {
        url: line.url.into_owned(),
        time: date::parse(time)?,
        mime: line.mime.into_owned(),
        status: line.status.parse().ok()?,
        digest: line.digest.to_string(),
        place: Place {
            file,
            offset: line.offset.parse().ok()?,
            length: line.length.parse().ok()?,
        },
    })
}

/// Every line of a file's index, the sealed one if there is one; lines that are none are passed over.
pub(super) fn each(directory: &Path, number: u32, mut tell: impl FnMut(IndexEntry)) -> Result<()> {
    for path in [
        sealed_index(directory, number),
        open_index(directory, number),
    ] {
        let file = match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            file => file.context("open", &path)?,
        };
        let mut lines = Lines::from(file, 0).context("read", &path)?;
        while let Some(line) = lines.next().context("read", &path)? {
            if let Some(entry) = parse(&String::from_utf8_lossy(line.bytes), number) {
                tell(entry);
            }
        }
        break;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_back() {
        let place = Place {
            file: 7,
            offset: 1234,
            length: 567,
        };
        let url = "http://example.org/a\"b\\?q=1\r\nevil: yes";
        let line = head(url, 951_782_400_123, "text/html", 200, &crate::digest(b""))
            + &tail(place, "x.warc.gz");
        assert_eq!(line.matches('\n').count(), 1);
        let entry = parse(&line, 7).unwrap();
        assert_eq!(entry.url, "http://example.org/a\"b\\?q=1%0D%0Aevil:%20yes");
        assert_eq!(entry.time, 951_782_400_000);
        assert_eq!(entry.digest, "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
        assert_eq!(entry.place, place);
    }

    #[test]
    fn media_types() {
        assert_eq!(media_type(b"Text/HTML; charset=x"), "text/html");
        assert_eq!(media_type(b" a\r\nb"), "unk");
        assert_eq!(media_type(b""), "unk");
    }
}
