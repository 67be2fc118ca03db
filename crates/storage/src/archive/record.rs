//! Records as they are written: built and compressed on any thread, from their input alone.

use std::net::IpAddr;

use libdeflater::{CompressionLvl, Compressor};
use siphasher::sip128::SipHasher24;

use super::{date, index};
use crate::{Digest, Time};

const IDENTICAL: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
pub(super) const NOT_MODIFIED: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";

/// The HTTP version of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpVersion {
    /// HTTP/1.0
    Http10,
    /// HTTP/1.1
    Http11,
    /// HTTP/2; archived in the form of HTTP/1.1, with `WARC-Protocol: h2`.
    Http2,
}

/// Why a body is not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truncated {
    /// Longer than we take.
    Length,
    /// It took too long.
    Time,
    /// The connection ended early.
    Disconnect,
    /// For another reason.
    Unspecified,
}

/// A request and its answer.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    /// What was requested.
    pub url: &'a str,
    /// When the request was sent.
    pub time: Time,
    /// The address connected to.
    pub ip: Option<IpAddr>,
    /// The version of the answer.
    pub version: HttpVersion,
    /// The status of the answer.
    pub status: u16,
    /// The words after the status, if any.
    pub reason: &'a [u8],
    /// The headers of the answer as they came, in order.
    pub headers: &'a [(&'a [u8], &'a [u8])],
    /// The body: transfer coding (chunks) undone, content coding (gzip) kept.
    pub body: &'a [u8],
    /// [`crate::digest`] of the body.
    pub digest: Digest,
    /// Whether the body was cut.
    pub truncated: Option<Truncated>,
    /// The head of the request, request line and headers, in the form of HTTP/1.1.
    pub request: &'a [u8],
}

/// The earlier record that a revisit record stands in for.
#[derive(Clone, Copy, Debug)]
pub struct Original<'a> {
    /// Its URL.
    pub url: &'a str,
    /// Its time.
    pub time: Time,
    /// Its digest.
    pub digest: Digest,
}

/// How it is known that the content is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revisit {
    /// The body had the digest of the original.
    IdenticalDigest,
    /// The server answered 304.
    NotModified,
}

/// A compressed record, ready for [`super::Archive::append`].
#[derive(Clone, Debug)]
pub struct Packed {
    pub(crate) bytes: Vec<u8>,
    /// Bytes before compression.
    pub(crate) unpacked: usize,
    pub(crate) time: Time,
    /// The line of the index up to where the place comes; none for records not looked up by URL.
    pub(crate) index: Option<String>,
}

impl Packed {
    /// Bytes it will take.
    pub fn length(&self) -> usize {
        self.bytes.len()
    }
}

/// Builds records. Holds the compressor's tables; one for each thread.
pub struct Packer {
    compressor: Compressor,
    seed: [u8; 16],
    block: Vec<u8>,
    record: Vec<u8>,
    compressed: Vec<u8>,
}

impl Packer {
    /// `level` 0 stores, 1 is fast, 12 is small. Record ids follow from `seed` and what the record
    /// is about, so a revisit knows the id of its original.
    pub fn new(level: u8, seed: u128) -> Self {
        let level = CompressionLvl::new(i32::from(level.min(12))).unwrap_or_default();
        Self {
            compressor: Compressor::new(level),
            seed: seed.to_le_bytes(),
            block: Vec::new(),
            record: Vec::new(),
            compressed: Vec::new(),
        }
    }

    /// A full copy.
    pub fn response(&mut self, exchange: &Exchange) -> Packed {
        self.start("response", exchange.url, exchange.time);
        self.of_answer(exchange);
        let digest = exchange.digest;
        self.field("WARC-Payload-Digest", &index::digest_text(&digest));
        if let Some(reason) = exchange.truncated {
            let reason = match reason {
                Truncated::Length => "length",
                Truncated::Time => "time",
                Truncated::Disconnect => "disconnect",
                Truncated::Unspecified => "unspecified",
            };
            self.field("WARC-Truncated", reason);
        }
        self.block.clear();
        put_head(&mut self.block, exchange, exchange.body.len());
        self.block.extend_from_slice(exchange.body);
        let mime = mime(exchange.headers);
        self.finish(
            "application/http; msgtype=response",
            exchange.time,
            Some(index::head(
                exchange.url,
                exchange.time,
                &mime,
                exchange.status,
                &digest,
            )),
        )
    }

    /// The request of an exchange, beside its response or revisit record.
    pub fn request(&mut self, exchange: &Exchange, answer: Option<Revisit>) -> Packed {
        self.start("request", exchange.url, exchange.time);
        self.of_answer_address(exchange);
        let kind = if answer.is_some() {
            "revisit"
        } else {
            "response"
        };
        let id = record_id(&self.seed, kind, exchange.url, exchange.time);
        self.field("WARC-Concurrent-To", &id);
        self.block.clear();
        self.block.extend_from_slice(exchange.request);
        if !self.block.ends_with(b"\r\n\r\n") {
            let ends = if self.block.ends_with(b"\r\n") {
                "\r\n"
            } else {
                "\r\n\r\n"
            };
            self.block.extend_from_slice(ends.as_bytes());
        }
        self.finish("application/http; msgtype=request", exchange.time, None)
    }

    /// The content was the same as before: the answer's head, and where the content is. The body
    /// of the exchange is not stored; nor is the head of a 304, which others (pywb) would replay
    /// in place of the original's.
    pub fn revisit(&mut self, exchange: &Exchange, original: &Original, how: Revisit) -> Packed {
        self.start("revisit", exchange.url, exchange.time);
        self.of_answer(exchange);
        let profile = match how {
            Revisit::IdenticalDigest => IDENTICAL,
            Revisit::NotModified => NOT_MODIFIED,
        };
        self.field("WARC-Profile", profile);
        self.field("WARC-Payload-Digest", &index::digest_text(&original.digest));
        let id = record_id(&self.seed, "response", original.url, original.time);
        self.field("WARC-Refers-To", &id);
        self.field("WARC-Refers-To-Target-URI", &super::clean_url(original.url));
        self.field("WARC-Refers-To-Date", &date::iso(original.time));
        self.block.clear();
        if how == Revisit::IdenticalDigest {
            put_head(&mut self.block, exchange, exchange.body.len());
        }
        let digest = original.digest;
        self.finish(
            "application/http; msgtype=response",
            exchange.time,
            Some(index::head(
                exchange.url,
                exchange.time,
                index::REVISIT,
                exchange.status,
                &digest,
            )),
        )
    }

    /// What begins a file: who made it. `fields` are lines such as `software: …`.
    pub fn info(&mut self, file: &str, time: Time, fields: &[(&str, &str)]) -> Packed {
        self.record.clear();
        self.record.extend_from_slice(b"WARC/1.1\r\n");
        self.field("WARC-Type", "warcinfo");
        let id = record_id(&self.seed, "warcinfo", file, time);
        self.field("WARC-Record-ID", &id);
        self.field("WARC-Date", &date::iso(time));
        self.field("WARC-Filename", file);
        self.block.clear();
        for (name, value) in fields {
            put_field(&mut self.block, name.as_bytes(), value.as_bytes());
        }
        self.finish("application/warc-fields", time, None)
    }

    fn start(&mut self, kind: &str, url: &str, time: Time) {
        self.record.clear();
        self.record.extend_from_slice(b"WARC/1.1\r\n");
        self.field("WARC-Type", kind);
        let id = record_id(&self.seed, kind, url, time);
        self.field("WARC-Record-ID", &id);
        self.field("WARC-Date", &date::iso(time));
        self.field("WARC-Target-URI", &super::clean_url(url));
    }

    fn of_answer(&mut self, exchange: &Exchange) {
        self.of_answer_address(exchange);
        if exchange.version == HttpVersion::Http2 {
            self.field("WARC-Protocol", "h2");
        }
    }

    fn of_answer_address(&mut self, exchange: &Exchange) {
        if let Some(ip) = exchange.ip {
            self.field("WARC-IP-Address", &ip.to_string());
        }
    }

    fn field(&mut self, name: &str, value: &str) {
        put_field(&mut self.record, name.as_bytes(), value.as_bytes());
    }

    fn finish(&mut self, content_type: &str, time: Time, index: Option<String>) -> Packed {
        let length = self.block.len().to_string();
        self.field("Content-Type", content_type);
        self.field("Content-Length", &length);
        self.record.extend_from_slice(b"\r\n");
        self.record.extend_from_slice(&self.block);
        self.record.extend_from_slice(b"\r\n\r\n");
        let room = self.compressor.gzip_compress_bound(self.record.len());
        if self.compressed.len() < room {
            self.compressed.resize(room, 0);
        }
        let written = self
            .compressor
            .gzip_compress(&self.record, &mut self.compressed)
            .expect("the bound is what the compressor itself said it may take");
        Packed {
            bytes: self.compressed[..written].to_vec(),
            unpacked: self.record.len(),
            time,
            index,
        }
    }
}

/// The answer's head as HTTP/1.1. Headers that would make a reader take the body for something
/// else keep their value under another name: chunks are undone, and a length that does not match
/// `length`, the body stored, is replaced.
fn put_head(out: &mut Vec<u8>, exchange: &Exchange, length: usize) {
    let version = match exchange.version {
        HttpVersion::Http10 => "HTTP/1.0",
        HttpVersion::Http11 | HttpVersion::Http2 => "HTTP/1.1",
    };
    out.extend_from_slice(format!("{version} {:03} ", exchange.status).as_bytes());
    put_clean(out, exchange.reason);
    out.extend_from_slice(b"\r\n");
    let mut replaced = false;
    for &(name, value) in exchange.headers {
        let false_length = name.eq_ignore_ascii_case(b"content-length")
            && value.trim_ascii() != length.to_string().as_bytes();
        replaced |= false_length;
        if false_length || name.eq_ignore_ascii_case(b"transfer-encoding") {
            out.extend_from_slice(b"X-Crawler-");
        }
        put_field(out, name, value);
    }
    if replaced {
        put_field(out, b"Content-Length", length.to_string().as_bytes());
    }
    out.extend_from_slice(b"\r\n");
}

fn put_field(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    put_clean(out, name);
    out.extend_from_slice(b": ");
    put_clean(out, value);
    out.extend_from_slice(b"\r\n");
}

/// What came from the Web cannot end a line.
fn put_clean(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend(bytes.iter().map(|&b| {
        if matches!(b, b'\r' | b'\n' | 0) {
            b' '
        } else {
            b
        }
    }));
}

/// The media type, without parameters.
fn mime(headers: &[(&[u8], &[u8])]) -> String {
    let value = headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(b"content-type"));
    index::media_type(value.map_or(&b""[..], |(_, value)| value))
}

/// `<urn:uuid:…>`, the same for the same record, different for all others.
fn record_id(seed: &[u8; 16], kind: &str, url: &str, time: Time) -> String {
    let mut text = Vec::with_capacity(kind.len() + url.len() + 9);
    text.extend_from_slice(kind.as_bytes());
    text.push(0);
    text.extend_from_slice(&time.to_le_bytes());
    text.extend_from_slice(url.as_bytes());
    let hash = SipHasher24::new_with_key(seed).hash(&text).as_u128();
    // version 4, variant 1
    let id = hash & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let hex = format!("{id:032x}");
    let (a, b, c, d, e) = (
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    );
    format!("<urn:uuid:{a}-{b}-{c}-{d}-{e}>")
}
