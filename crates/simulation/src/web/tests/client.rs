//! A client that knows just enough HTTP, and servers for it.

use super::{Clock, Corner, Web, WebSpec};
use crate::web::{Running, Server, Visit};
use flate2::read::GzDecoder;
use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
    sync::Arc,
    time::{Duration, Instant},
};

pub(super) const HOST: &str = "h001.demo.test";

pub(super) struct Reply {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("UTF-8")
    }
}

/// One connection.
pub(super) struct Client {
    pub stream: BufReader<TcpStream>,
}

impl Client {
    pub fn connect(running: &Running, host: &str) -> Self {
        let stream = TcpStream::connect((running.addresses[host], running.port)).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        Self {
            stream: BufReader::new(stream),
        }
    }

    pub fn ask(&mut self, method: &str, host: &str, target: &str, headers: &str) {
        let request = format!("{method} {target} HTTP/1.1\r\nHost: {host}:1\r\n{headers}\r\n");
        self.stream.get_mut().write_all(request.as_bytes()).unwrap();
    }

    pub fn hear(&mut self, has_body: bool) -> io::Result<Reply> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            if self.stream.read_until(b'\n', &mut head)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        let mut reply = Reply {
            status: status.ok_or(io::ErrorKind::InvalidData)?,
            head,
            body: Vec::new(),
        };
        if !has_body || reply.status == 304 {
            return Ok(reply);
        }
        let body = &mut reply.body;
        if reply.head.contains("chunked") {
            loop {
                let mut line = String::new();
                self.stream.read_line(&mut line)?;
                let length = usize::from_str_radix(line.trim(), 16)
                    .map_err(|_| io::ErrorKind::InvalidData)?;
                let start = body.len();
                body.resize(start + length + 2, 0);
                self.stream.read_exact(&mut body[start..])?;
                body.truncate(start + length);
                if length == 0 {
                    break;
                }
            }
        } else if let Some(length) = reply.head.split("Content-Length: ").nth(1) {
            let length = length.lines().next().and_then(|digits| digits.parse().ok());
            body.resize(length.ok_or(io::ErrorKind::InvalidData)?, 0);
            self.stream.read_exact(body)?;
        } else {
            self.stream.read_to_end(body)?;
        }
        Ok(reply)
    }
}

pub(super) fn serve(spec: &WebSpec) -> (Arc<Web>, Running) {
    let web = Arc::new(Web::new(spec).unwrap());
    // the epoch lies back, so that dates differ from those of the first versions
    let clock = Clock {
        epoch: std::time::SystemTime::now() - Duration::from_secs(10),
        speed: 3600.0,
    };
    let running = Server::start(Arc::clone(&web), clock).unwrap();
    (web, running)
}

/// One host with everything.
pub(super) fn odd_host() -> (Arc<Web>, Running) {
    serve(&WebSpec {
        hosts: 2,
        corners: Corner::ALL.map(|corner| (corner, 1.0)).into(),
        ..WebSpec::plain()
    })
}

pub(super) fn get_with(
    running: &Running,
    host: &str,
    target: &str,
    headers: &str,
) -> io::Result<Reply> {
    let mut client = Client::connect(running, host);
    client.ask("GET", host, target, headers);
    client.hear(true)
}

pub(super) fn get(running: &Running, target: &str) -> Reply {
    get_with(running, HOST, target, "").unwrap()
}

pub(super) fn unzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut out).unwrap();
    out
}

/// The visit that was last to begin, once it has ended.
pub(super) fn last_visit(running: &Running) -> Visit {
    let patience = Instant::now();
    loop {
        let visit = running.record.visits().pop().expect("a visit");
        if visit.end != Visit::RUNNING || patience.elapsed() > Duration::from_secs(5) {
            return visit;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
