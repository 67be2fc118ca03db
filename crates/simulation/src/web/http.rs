//! Requests and responses as the demo web knows them, and their form on the wire.

use std::{io::Write, time::Duration};

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The name in `Host`, without a port.
    pub host: &'a str,
    /// The port of the server, which links to other hosts need.
    pub port: u16,
    /// Path and query.
    pub target: &'a str,
    /// Whether only the head is asked for.
    pub head: bool,
    /// Whether the client takes gzip.
    pub gzip: bool,
    /// `If-None-Match`.
    pub etag: Option<&'a str>,
    /// `If-Modified-Since`.
    pub since: Option<&'a str>,
    /// Whether the client keeps the connection.
    pub keep_alive: bool,
}

impl<'a> Request<'a> {
    /// A plain request on port 80.
    pub fn get(host: &'a str, target: &'a str) -> Self {
        Self {
            host,
            port: 80,
            target,
            head: false,
            gzip: false,
            etag: None,
            since: None,
            keep_alive: true,
        }
    }

    /// Whether it is conditional.
    pub fn is_conditional(&self) -> bool {
        self.etag.is_some() || self.since.is_some()
    }

    /// The target without its query.
    pub fn path(&self) -> &'a str {
        self.target
            .split_once('?')
            .map_or(self.target, |(path, _)| path)
    }

    /// Reads a head, up to and without its empty line. `None` when it is none that we serve.
    pub(super) fn parse(head: &'a str, port: u16) -> Option<Self> {
        let mut lines = head.split("\r\n");
        let mut first = lines.next()?.split(' ');
        let (method, target, version) = (first.next()?, first.next()?, first.next()?);
        // absolute form: what goes before the path is said again in Host
        let target = match target.strip_prefix("http://") {
            Some(rest) => rest.find('/').map_or("/", |at| &rest[at..]),
            None => target,
        };
        let mut request = Self::get("", target);
        request.port = port;
        request.head = match method {
            "GET" => false,
            "HEAD" => true,
            _ => return None,
        };
        request.keep_alive = version == "HTTP/1.1";
        for line in lines {
            let (name, value) = line.split_once(':')?;
            let value = value.trim();
            let is = |known: &str| name.eq_ignore_ascii_case(known);
            if is("host") {
                request.host = value.split(':').next()?;
            } else if is("accept-encoding") {
                request.gzip = value.to_ascii_lowercase().contains("gzip");
            } else if is("if-none-match") {
                request.etag = Some(value);
            } else if is("if-modified-since") {
                request.since = Some(value);
            } else if is("connection") {
                request.keep_alive = !value.eq_ignore_ascii_case("close");
            }
        }
        Some(request)
    }
}

/// What the web answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status code; zero for what is not HTTP at all.
    pub status: u16,
    /// Headers, without those of the framing. They go out as they are, be they fit for HTTP or not.
    pub headers: Vec<(&'static str, String)>,
    /// The body, content-encoded.
    pub body: Vec<u8>,
    /// How the end of the body is told.
    pub framing: Framing,
    /// How it is delivered.
    pub manner: Manner,
    /// How long the server thinks before it answers.
    pub wait: Duration,
}

/// How the end of a body is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// By its true length.
    Length,
    /// By a length that need not be true.
    Declared(usize),
    /// In chunks.
    Chunked,
    /// By the end of the connection.
    UntilClose,
}

/// How a response is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// At once and whole.
    Plain,
    /// In pieces of so many bytes, with a pause after each.
    Drip {
        /// Bytes of a piece.
        piece: usize,
        /// Time between pieces.
        pause: Duration,
    },
    /// The connection ends after so many bytes of the body.
    Cut {
        /// Bytes that still arrive.
        after: usize,
    },
    /// Nothing is ever sent.
    Silent,
    /// The body is repeated for as long as the client reads.
    Endless,
}

impl Response {
    /// A response of this status with this body.
    pub fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: vec![("Content-Type", content_type.to_owned())],
            body: body.into(),
            framing: Framing::Length,
            manner: Manner::Plain,
            wait: Duration::ZERO,
        }
    }

    /// An HTML page in UTF-8.
    pub(super) fn html(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, "text/html; charset=utf-8", body)
    }

    /// A short page that says what went wrong.
    pub(super) fn error(status: u16) -> Self {
        let body = format!(
            "<!DOCTYPE html><title>{status}</title><p>{}</p>",
            reason(status)
        );
        Self {
            status,
            ..Self::html(body)
        }
    }

    /// Points to another URL.
    pub(super) fn redirect(status: u16, location: impl Into<String>) -> Self {
        Self::error(status).with("Location", location)
    }

    /// The same with one more header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// A header by name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let is = |known: &&(&'static str, String)| known.0.eq_ignore_ascii_case(name);
        self.headers.iter().find(is).map(|(_, value)| &**value)
    }

    /// Whether the connection can be used again.
    pub(super) fn keeps_connection(&self) -> bool {
        self.manner == Manner::Plain && matches!(self.framing, Framing::Length | Framing::Chunked)
    }

    /// Whether a client that has read it to its end has the body that was meant.
    pub(super) fn is_honest(&self) -> bool {
        let whole = matches!(self.manner, Manner::Plain | Manner::Drip { .. });
        whole && !matches!(self.framing, Framing::Declared(_))
    }

    /// Appends the head, the empty line included; nothing when there is no status, since then it is
    /// not HTTP.
    pub(super) fn write_head(&self, keep_alive: bool, out: &mut Vec<u8>) {
        if self.status == 0 {
            return;
        }
        let failed = "writing to memory cannot fail";
        let line = (self.status, reason(self.status));
        write!(out, "HTTP/1.1 {} {}\r\n", line.0, line.1).expect(failed);
        for (name, value) in &self.headers {
            write!(out, "{name}: {value}\r\n").expect(failed);
        }
        let length = match self.framing {
            _ if self.status == 304 => None,
            Framing::Length => Some(self.body.len()),
            Framing::Declared(length) => Some(length),
            Framing::Chunked => {
                out.extend(b"Transfer-Encoding: chunked\r\n");
                None
            }
            Framing::UntilClose => None,
        };
        if let Some(length) = length {
            write!(out, "Content-Length: {length}\r\n").expect(failed);
        }
        if !keep_alive {
            out.extend(b"Connection: close\r\n");
        }
        out.extend(b"\r\n");
    }

    /// Appends the body as its framing has it.
    pub(super) fn write_body(&self, out: &mut Vec<u8>) {
        const CHUNK: usize = 4096;
        if self.framing != Framing::Chunked {
            out.extend(&self.body);
            return;
        }
        for chunk in self.body.chunks(CHUNK) {
            write!(out, "{:x}\r\n", chunk.len()).expect("writing to memory cannot fail");
            out.extend(chunk);
            out.extend(b"\r\n");
        }
        out.extend(b"0\r\n\r\n");
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        301 => "Moved Permanently",
        302 => "Found",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        404 => "Not Found",
        410 => "Gone",
        421 => "Misdirected Request",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Unknown",
    }
}
