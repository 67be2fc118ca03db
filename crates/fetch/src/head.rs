//! The head of a response: status and header fields, kept as they came. Pure.

use crate::error::FetchError;
use bytes::Bytes;
use std::ops::Range;

/// Header fields in their order and, over HTTP/1, in their original letters.
///
/// Fields that are not well-formed (control characters, no colon, continuation lines) are left
/// out here, though still part of [`crate::Exchange::head`]; values hold no control character
/// but the tab.
#[derive(Clone, Debug, Default)]
pub struct Headers {
    raw: Bytes,
    fields: Vec<(Range<u32>, Range<u32>)>,
}

impl Headers {
    /// Name and value of each field.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.fields
            .iter()
            .map(|(name, value)| (self.slice(name), self.slice(value)))
    }

    /// The first field of this name, in whatever letters.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.all(name).next()
    }

    /// Every field of this name.
    pub fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.iter()
            .filter(|(n, _)| n.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| value)
    }

    /// Is one of the comma-separated words of the fields of this name `word`?
    pub(crate) fn has_word(&self, name: &str, word: &str) -> bool {
        self.words(name)
            .any(|w| w.eq_ignore_ascii_case(word.as_bytes()))
    }

    pub(crate) fn words<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.all(name)
            .flat_map(|value| value.split(|&b| b == b','))
            .map(<[u8]>::trim_ascii)
            .filter(|word| !word.is_empty())
    }

    fn slice(&self, range: &Range<u32>) -> &[u8] {
        &self.raw[range.start as usize..range.end as usize]
    }
}

/// Status line and header fields.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    /// As it came; over HTTP/2 as HTTP/1.1 would have written it.
    pub raw: Bytes,
    pub status: u16,
    /// HTTP/1.0 rather than 1.1.
    pub old: bool,
    pub reason: Range<u32>,
    pub headers: Headers,
}

impl Head {
    /// `raw` is a whole head, up to and with its empty line.
    pub fn parse(raw: Bytes, max_headers: usize) -> Result<Self, FetchError> {
        let range = |part: &[u8]| {
            let start = (part.as_ptr().addr() - raw.as_ptr().addr()) as u32;
            start..start + part.len() as u32
        };
        let mut lines = raw
            .split(|&b| b == b'\n')
            .map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let line = lines.next().unwrap_or_default();
        let (old, status, reason) =
            status_line(line).ok_or_else(|| FetchError::protocol("no status line"))?;
        let reason = range(reason);
        let mut fields = Vec::with_capacity(16);
        for (count, line) in lines.take_while(|line| !line.is_empty()).enumerate() {
            if count == max_headers {
                return Err(FetchError::HeadersTooLarge);
            }
            if let Some((name, value)) = field(line) {
                fields.push((range(name), range(value)));
            }
        }
        Ok(Self {
            status,
            old,
            reason,
            headers: Headers {
                raw: raw.clone(),
                fields,
            },
            raw,
        })
    }

    /// The words after the status.
    pub fn reason(&self) -> String {
        let range = self.reason.start as usize..self.reason.end as usize;
        String::from_utf8_lossy(&self.raw[range]).into_owned()
    }

    /// A head of HTTP/2, written as HTTP/1.1 would.
    pub fn from_parts(parts: &http::response::Parts) -> Self {
        let mut raw = format!("HTTP/1.1 {}", parts.status.as_u16()).into_bytes();
        raw.push(b' ');
        let reason_start = raw.len() as u32;
        raw.extend_from_slice(parts.status.canonical_reason().unwrap_or("").as_bytes());
        let reason = reason_start..raw.len() as u32;
        raw.extend_from_slice(b"\r\n");
        let mut fields = Vec::with_capacity(parts.headers.len());
        for (name, value) in &parts.headers {
            let start = raw.len() as u32;
            raw.extend_from_slice(name.as_str().as_bytes());
            let name = start..raw.len() as u32;
            raw.extend_from_slice(b": ");
            let start = raw.len() as u32;
            raw.extend_from_slice(value.as_bytes());
            fields.push((name, start..raw.len() as u32));
            raw.extend_from_slice(b"\r\n");
        }
        raw.extend_from_slice(b"\r\n");
        let raw = Bytes::from(raw);
        Self {
            status: parts.status.as_u16(),
            old: false,
            reason,
            headers: Headers {
                raw: raw.clone(),
                fields,
            },
            raw,
        }
    }
}

/// Is it HTTP/1.0, its status, and its reason.
fn status_line(line: &[u8]) -> Option<(bool, u16, &[u8])> {
    let (minor, rest) = line.strip_prefix(b"HTTP/1.")?.split_first()?;
    if !minor.is_ascii_digit() || !rest.starts_with(b" ") {
        return None;
    }
    let (digits, reason) = rest.trim_ascii_start().split_at_checked(3)?;
    let well_formed = digits.iter().all(u8::is_ascii_digit)
        && reason.first().is_none_or(|&b| b == b' ')
        && reason.iter().all(|&b| is_plain(b));
    let status = std::str::from_utf8(digits).ok()?.parse().ok()?;
    well_formed.then(|| (*minor == b'0', status, reason.trim_ascii()))
}

/// Name and value of a well-formed field.
fn field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|&b| b == b':')?;
    let (name, value) = (
        line[..colon].trim_ascii_end(),
        line[colon + 1..].trim_ascii(),
    );
    let is_token = |b: &u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(b);
    let well_formed =
        !name.is_empty() && name.iter().all(is_token) && value.iter().all(|&b| is_plain(b));
    well_formed.then_some((name, value))
}

/// Not a control character, but for the tab.
fn is_plain(byte: u8) -> bool {
    byte == b'\t' || !byte.is_ascii_control()
}

/// Where the body of a response ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Empty,
    Length(u64),
    Chunked,
    UntilClose,
}

/// How the body of the answer to a HEAD or GET is framed, and whether the connection may serve
/// another request. What could be read in two ways is refused, or ends the connection.
pub(crate) fn framing(head: &Head, to_head: bool) -> Result<(Framing, bool), FetchError> {
    let headers = &head.headers;
    let mut reusable = if head.old {
        headers.has_word("connection", "keep-alive")
    } else {
        !headers.has_word("connection", "close")
    };
    if to_head || matches!(head.status, 204 | 304) {
        return Ok((Framing::Empty, reusable));
    }
    let length = content_length(headers)?;
    let mut chunked = false;
    for coding in headers.words("transfer-encoding") {
        if coding.eq_ignore_ascii_case(b"identity") {
            continue;
        }
        if chunked || !coding.eq_ignore_ascii_case(b"chunked") {
            return Err(FetchError::protocol(
                "transfer encoding that was not requested",
            ));
        }
        chunked = true;
    }
    let framing = match (chunked, length) {
        (true, length) => {
            reusable &= length.is_none() && !head.old;
            Framing::Chunked
        }
        (false, Some(0)) => Framing::Empty,
        (false, Some(length)) => Framing::Length(length),
        (false, None) => {
            reusable = false;
            Framing::UntilClose
        }
    };
    Ok((framing, reusable))
}

/// All lengths must agree.
fn content_length(headers: &Headers) -> Result<Option<u64>, FetchError> {
    let mut length = None;
    for word in headers.words("content-length") {
        let parsed = std::str::from_utf8(word)
            .ok()
            .filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()))
            .and_then(|digits| digits.parse::<u64>().ok())
            .ok_or_else(|| FetchError::protocol("content length is not a number"))?;
        if length.is_some_and(|earlier| earlier != parsed) {
            return Err(FetchError::protocol("content lengths disagree"));
        }
        length = Some(parsed);
    }
    Ok(length)
}

#[cfg(test)]
mod tests;
