//! A request and what came back.

use crate::decode::{self, DecodeError, Decoded};
use crate::error::FetchError;
use crate::head::{Head, Headers};
use crate::request::Validators;
use bytes::Bytes;
use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::time::{Duration, SystemTime};

/// A request and what came back.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The status, such as 200.
    pub status: u16,
    /// The protocol spoken.
    pub version: Version,
    /// The words after the status; empty if there were none.
    pub reason: String,
    /// The header fields of the response.
    pub headers: Headers,
    /// The request's head as sent; over HTTP/2, as HTTP/1.1 would have sent it.
    pub request_head: Vec<u8>,
    /// The response's head, status line to empty line, byte for byte; over HTTP/2, as HTTP/1.1
    /// would have written it. A `Transfer-Encoding` named here is already off the body.
    pub head: Bytes,
    /// The body without transfer encoding, its content encoding still on.
    pub body: Bytes,
    /// Why the body is not all of it.
    pub truncated: Option<Truncation>,
    /// The address that answered.
    pub address: IpAddr,
    /// TCP and TLS handshakes; zero if the connection was there already.
    pub connect_time: Duration,
    /// From the request to the first byte of the response.
    pub first_byte: Duration,
    /// From the call to the last byte.
    pub total: Duration,
    /// Was the connection there already?
    pub reused: bool,
}

/// Why a body is not all of it; the names are those of `WARC-Truncated`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truncation {
    /// Longer than the limit.
    Length,
    /// Took too long, or came too slowly.
    Time,
    /// The connection ended early.
    Disconnect,
    /// The framing (chunks) was broken.
    Unspecified,
}

impl Truncation {
    /// As `WARC-Truncated` writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Time => "time",
            Self::Disconnect => "disconnect",
            Self::Unspecified => "unspecified",
        }
    }
}

/// The protocol spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0
    Http10,
    /// HTTP/1.1
    Http11,
    /// HTTP/2
    Http2,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http10 => "HTTP/1.0",
            Self::Http11 => "HTTP/1.1",
            Self::Http2 => "HTTP/2",
        })
    }
}

impl Exchange {
    /// An answer of long ago, from its head and its body as they were kept; what else an exchange
    /// tells is left at nothing.
    pub fn kept(head: Bytes, body: Bytes, address: IpAddr) -> Result<Self, FetchError> {
        let head = Head::parse(head, usize::MAX)?;
        Ok(Self {
            status: head.status,
            version: if head.old {
                Version::Http10
            } else {
                Version::Http11
            },
            reason: head.reason(),
            headers: head.headers,
            request_head: Vec::new(),
            head: head.raw,
            body,
            truncated: None,
            address,
            connect_time: Duration::ZERO,
            first_byte: Duration::ZERO,
            total: Duration::ZERO,
            reused: false,
        })
    }

    /// The body without its content encodings, at most `limit` bytes of it.
    pub fn decoded(&self, limit: u64) -> Result<Decoded, DecodeError> {
        decode::decode(&self.body, self.headers.words("content-encoding"), limit)
    }

    /// The first header field of this name, if it is text. Bytes that are not UTF-8 are taken
    /// for Latin-1, as the first standards had it.
    pub fn header(&self, name: &str) -> Option<Cow<'_, str>> {
        let value = self.headers.get(name)?;
        Some(match std::str::from_utf8(value) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => value.iter().map(|&b| char::from(b)).collect(),
        })
    }

    /// The media type with its parameters.
    pub fn content_type(&self) -> Option<Cow<'_, str>> {
        self.header("content-type")
    }

    /// Where a redirect leads, as written: relative or not, valid or not.
    pub fn location(&self) -> Option<Cow<'_, str>> {
        self.header("location")
    }

    /// How long to stay away, as written.
    pub fn retry_after(&self) -> Option<Cow<'_, str>> {
        self.header("retry-after")
    }

    /// The version's tag, word for word.
    pub fn etag(&self) -> Option<Cow<'_, str>> {
        self.header("etag")
    }

    /// When the page says it last changed.
    pub fn last_modified(&self) -> Option<SystemTime> {
        httpdate::parse_http_date(&self.header("last-modified")?).ok()
    }

    /// What to send along next time, if the response said anything about its version.
    pub fn validators(&self) -> Option<Validators> {
        let validators = Validators {
            etag: self.etag().map(Cow::into_owned),
            last_modified: self.header("last-modified").map(Cow::into_owned),
        };
        (validators != Validators::default()).then_some(validators)
    }

    /// How long the response says it stays fresh (`Cache-Control: max-age`).
    pub fn max_age(&self) -> Option<Duration> {
        self.headers.words("cache-control").find_map(|word| {
            let (name, seconds) = std::str::from_utf8(word).ok()?.split_once('=')?;
            let seconds = seconds.trim().trim_matches('"').parse().ok()?;
            name.trim()
                .eq_ignore_ascii_case("max-age")
                .then(|| Duration::from_secs(seconds))
        })
    }
}
