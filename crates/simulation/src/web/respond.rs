//! From a request and an instant to a response.

use super::{
    Site,
    build::{Host, Page, Web},
    clock::{Clock, http_date},
    content, corners, hostile,
    http::{Framing, Request, Response},
    listings,
    spec::{Corner, Noise, Validators},
};
use crate::run::derive;
use flate2::{Compression, write::GzEncoder};
use std::{io::Write, net::Ipv4Addr};

impl Site for Web {
    fn hosts(&self) -> Vec<(String, Ipv4Addr)> {
        let named = |host: &Host| (host.name.clone(), host.address);
        self.hosts.iter().map(named).collect()
    }

    fn respond(&self, request: &Request, at: f64, clock: &Clock) -> Response {
        Web::respond(self, request, at, clock)
    }
}

impl Web {
    /// The answer to a request at an instant of web time, in days. The clock serves for dates only.
    pub fn respond(&self, request: &Request, at: f64, clock: &Clock) -> Response {
        let Some(number) = self.host(request.host) else {
            return Response::error(421);
        };
        let host = &self.hosts[number];
        let mut response = match self.find(request.host, request.target) {
            Some(_) if host.flaky && fails(number, at) => {
                Response::error(503).with("Retry-After", "1")
            }
            Some(page) if at < self.pages[page].gone_at => self.page(page, request, at, clock),
            Some(_) => Response::error(410),
            None => listings::respond(self, number, request, at, clock)
                .or_else(|| self.corner(number, request, at, clock))
                .unwrap_or_else(|| Response::error(404)),
        };
        response.wait = response.wait.max(host.latency);
        response.with("Date", http_date(clock.unix(at)))
    }

    /// Answers for the corners that the host has, each under a prefix of its own.
    fn corner(&self, number: usize, request: &Request, at: f64, clock: &Clock) -> Option<Response> {
        let (prefix, rest) = request.target.strip_prefix('/')?.split_once('/')?;
        let corner = Corner::ALL
            .into_iter()
            .find(|&corner| corners::prefix(corner) == prefix)?;
        if !self.hosts[number].corners.contains(&corner) {
            return None;
        }
        match corner {
            Corner::Broken | Corner::Hostile => hostile::respond(corner, rest),
            _ => corners::respond(self, number, corner, rest, request.port, at, clock),
        }
    }

    /// An ordinary page that exists.
    fn page(&self, number: usize, request: &Request, at: f64, clock: &Clock) -> Response {
        let page = &self.pages[number];
        let host = &self.hosts[page.host];
        let validators = Validation::of(host, page, at, clock);
        if validators.matches(request) {
            let mut response = Response::error(304);
            response.headers.clear();
            response.body.clear();
            return validators.add_to(response);
        }
        let html = content::html(self, number, request.port, at);
        let (content_type, body) = content::encode(host.charset, &html);
        let response = Response::new(200, content_type, body);
        let mut response = validators.add_to(response);
        if host.compressed && request.gzip {
            response = compress(response);
        }
        if host.chunked {
            response.framing = Framing::Chunked;
        }
        response
    }
}

/// Whether a flaky host fails at an instant.
fn fails(host: usize, at: f64) -> bool {
    let half_days = (at * 2.0).floor().max(0.0) as u64;
    derive(host as u64, half_days).is_multiple_of(10)
}

/// The response with its body compressed.
pub(super) fn compress(mut response: Response) -> Response {
    response.body = gzip(&response.body);
    response
        .with("Content-Encoding", "gzip")
        .with("Vary", "Accept-Encoding")
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.expect("writing to memory cannot fail")
}

/// What a host says about the version of a page.
struct Validation {
    etag: Option<String>,
    modified: Option<u64>,
}

impl Validation {
    fn of(host: &Host, page: &Page, at: f64, clock: &Clock) -> Self {
        let version = page.version(at);
        // the bytes differ with the noise, so the tag is a weak one
        let weak = if host.noise == Noise::None { "" } else { "W/" };
        let etag = Some(format!("{weak}\"{:x}-{version}\"", page.seed));
        // A second may hold several changes: a date is sent only once its second is over (RFC
        // 9110, 8.8.2.2). What is true then stays true.
        let changed = clock.unix(page.changed(at));
        let modified = (changed < clock.unix(at)).then_some(changed);
        match host.validators {
            Validators::Absent => Self {
                etag: None,
                modified: None,
            },
            Validators::Truthful => Self { etag, modified },
            Validators::Tag => Self {
                etag,
                modified: None,
            },
            Validators::Date => Self {
                etag: None,
                modified,
            },
            Validators::Frozen => Self {
                etag: Some(format!("\"{:x}\"", page.seed)),
                modified: Some(clock.unix(page.created)),
            },
            Validators::Restless => Self {
                etag: Some(format!("\"{:x}\"", derive(page.seed, at.to_bits()))),
                modified: Some(clock.unix(at)),
            },
        }
    }

    /// Whether the client has this version; a tag counts before a date.
    fn matches(&self, request: &Request) -> bool {
        let plain = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
        match (request.etag, &self.etag) {
            (Some(asked), Some(tag)) => asked.split(',').any(|asked| plain(asked) == plain(tag)),
            (Some(_), None) => false,
            (None, _) => self
                .modified
                .zip(
                    request
                        .since
                        .and_then(|since| httpdate::parse_http_date(since).ok()),
                )
                .is_some_and(|(modified, since)| {
                    since
                        .duration_since(std::time::UNIX_EPOCH)
                        .is_ok_and(|since| modified <= since.as_secs())
                }),
        }
    }

    fn add_to(self, mut response: Response) -> Response {
        if let Some(etag) = self.etag {
            response = response.with("ETag", etag);
        }
        if let Some(modified) = self.modified {
            response = response.with("Last-Modified", http_date(modified));
        }
        response
    }
}
