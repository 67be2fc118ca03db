//! Each feature once over real sockets, with a client that knows just enough HTTP.

use super::{
    Charset, Clock, Corner, Mix, Robots, Sitemap, Validators, Web, WebSpec, main_text, only,
};
use crate::web::{Audit, Rules, Running, Server, Visit, check_politeness, politeness::Fault};
use flate2::read::GzDecoder;
use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
    sync::Arc,
    time::{Duration, Instant},
};

const HOST: &str = "h001.demo.test";

struct Reply {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Reply {
    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
    }

    fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("UTF-8")
    }
}

/// One connection.
struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    fn connect(running: &Running, host: &str) -> Self {
        let stream = TcpStream::connect((running.addresses[host], running.port)).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        Self {
            stream: BufReader::new(stream),
        }
    }

    fn ask(&mut self, method: &str, host: &str, target: &str, headers: &str) {
        let request = format!("{method} {target} HTTP/1.1\r\nHost: {host}:1\r\n{headers}\r\n");
        self.stream.get_mut().write_all(request.as_bytes()).unwrap();
    }

    fn hear(&mut self, has_body: bool) -> io::Result<Reply> {
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

fn serve(spec: &WebSpec) -> (Arc<Web>, Running) {
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
fn odd_host() -> (Arc<Web>, Running) {
    serve(&WebSpec {
        hosts: 2,
        corners: Corner::ALL.map(|corner| (corner, 1.0)).into(),
        ..WebSpec::plain()
    })
}

fn get_with(running: &Running, host: &str, target: &str, headers: &str) -> io::Result<Reply> {
    let mut client = Client::connect(running, host);
    client.ask("GET", host, target, headers);
    client.hear(true)
}

fn get(running: &Running, target: &str) -> Reply {
    get_with(running, HOST, target, "").unwrap()
}

fn unzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut out).unwrap();
    out
}

#[test]
fn redirects_lead_where_they_say() {
    let (_web, running) = odd_host();
    let location = |target: &str| {
        let reply = get(&running, target);
        let location = reply.header("Location").map(str::to_owned);
        (reply.status, location.unwrap_or_default())
    };
    let port = running.port;
    let is = |status: u16, to: &str| (status, to.to_owned());
    assert_eq!(location("/moved/permanent"), is(308, "/"));
    assert_eq!(location("/moved/chain/30"), is(301, "/moved/chain/29"));
    assert_eq!(location("/moved/chain/0"), is(301, "/"));
    assert_eq!(location("/moved/loop/a"), is(302, "/moved/loop/b"));
    assert_eq!(location("/moved/loop/b"), is(302, "/moved/loop/a"));
    assert_eq!(location("/moved/self"), is(301, "/moved/self"));
    assert_eq!(
        location("/moved/away"),
        is(302, &format!("http://h002.demo.test:{port}/"))
    );
    assert_eq!(
        location("/moved/private"),
        is(302, "http://10.0.0.1/secret")
    );
    assert_eq!(location("/moved/empty"), is(302, ""));
}

#[test]
fn errors_say_when_to_come_back() {
    let (_web, running) = odd_host();
    for status in [404, 410, 500] {
        assert_eq!(get(&running, &format!("/error/{status}")).status, status);
    }
    for status in [429, 503] {
        let retry = |form: &str| {
            let reply = get(&running, &format!("/error/{status}/{form}"));
            assert_eq!(reply.status, status);
            reply.header("Retry-After").map(str::to_owned)
        };
        assert_eq!(retry("seconds").unwrap(), "2");
        assert_eq!(retry("decimal").unwrap(), "2.5");
        assert!(httpdate::parse_http_date(&retry("date").unwrap()).is_ok());
        assert_eq!(retry("absent"), None);
    }
    assert_eq!(get(&running, "/nowhere").status, 404);
    let stranger = get_with(&running, HOST, "/", "Host: elsewhere.test\r\n");
    assert_eq!(stranger.unwrap().status, 421);
}

#[test]
fn traps_have_no_end() {
    let (_web, running) = odd_host();
    assert!(
        get(&running, "/calendar/2026/12")
            .text()
            .contains("/calendar/2027/1\"")
    );
    assert!(
        get(&running, "/calendar/")
            .text()
            .contains("/calendar/2025/12\"")
    );
    assert!(
        get(&running, "/repeat/again/and/again/")
            .text()
            .contains("\"again/\"")
    );
    assert!(
        get(&running, "/endless/5.xml")
            .text()
            .contains("/endless/12.xml<")
    );
    let (one, two) = (
        get(&running, "/print/17").text(),
        get(&running, "/print/18").text(),
    );
    assert!(one.contains("\"/print/18\"") && two.contains("\"/print/19\""));
    let bytes = one.bytes().zip(two.bytes());
    assert!(
        bytes.filter(|(a, b)| a != b).count() < 20,
        "not nearly the same"
    );
    let session = || get(&running, "/shop/item-3?sid=x").text();
    let (one, two) = (session(), session());
    assert_ne!(one, two);
    assert!(one.contains("/shop/item-9?sid="));
}

#[test]
fn broken_servers_break() {
    let (_web, running) = odd_host();
    let broken = |name: &str| get_with(&running, HOST, &format!("/broken/{name}"), "");
    let whole = broken("until-close").unwrap();
    assert!(whole.body.ends_with(b"</a>"));
    for name in ["cut", "short"] {
        let kind = broken(name).err().map(|error| error.kind());
        assert_eq!(kind, Some(io::ErrorKind::UnexpectedEof), "{name}");
    }
    // as many bytes as declared, but they are not all
    assert!(!broken("long").unwrap().body.ends_with(b"</a>"));
    assert_eq!(
        broken("not-http").err().map(|e| e.kind()),
        Some(io::ErrorKind::UnexpectedEof)
    );
    let torn = broken("torn-gzip").unwrap();
    assert_eq!(torn.header("Content-Encoding"), Some("gzip"));
    assert!(
        GzDecoder::new(&*torn.body)
            .read_to_end(&mut Vec::new())
            .is_err()
    );
    let visits = running.record.visits();
    assert!(
        visits.iter().all(|visit| visit.complete
            == (visit.path.ends_with("until-close") || visit.path.ends_with("torn-gzip"))),
        "{visits:?}"
    );
}

/// The visit that was last to begin, once it has ended.
fn last_visit(running: &Running) -> Visit {
    let patience = Instant::now();
    loop {
        let visit = running.record.visits().pop().expect("a visit");
        if visit.end != Visit::RUNNING || patience.elapsed() > Duration::from_secs(5) {
            return visit;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn slow_servers_take_their_time_until_the_client_leaves() {
    let (_web, running) = odd_host();
    for (name, status) in [("slow", 0), ("silent", 0), ("drip", 200)] {
        let mut client = Client::connect(&running, HOST);
        client.ask("GET", HOST, &format!("/broken/{name}"), "");
        std::thread::sleep(Duration::from_millis(350));
        let mut some = [0; 1000];
        client.stream.get_mut().set_nonblocking(true).unwrap();
        let arrived = client.stream.read(&mut some);
        match status {
            // some pieces of twenty bytes; two on a machine that has time
            200 => assert!(matches!(arrived, Ok(20 | 40 | 60 | 80 | 100))),
            _ => assert_eq!(arrived.unwrap_err().kind(), io::ErrorKind::WouldBlock),
        }
        drop(client);
        let visit = last_visit(&running);
        assert_eq!((visit.status, visit.complete), (status, false), "{name}");
        let took = Duration::from_micros(visit.end - visit.start);
        assert!(took >= Duration::from_millis(340), "{name} took {took:?}");
        assert!(took < Duration::from_millis(2500), "{name} took {took:?}");
    }
}

#[test]
fn hostile_servers_are_hostile() {
    let (_web, running) = odd_host();
    let hostile = |name: &str| get(&running, &format!("/hostile/{name}"));
    let bomb = hostile("bomb");
    assert!(bomb.body.len() < 3 << 20);
    let expanded = io::copy(&mut GzDecoder::new(&*bomb.body), &mut io::sink());
    assert_eq!(expanded.unwrap(), 256 << 20);
    assert_eq!(hostile("headers").head.matches("X-Flood").count(), 20_000);
    assert!(hostile("long-header").head.len() > 1 << 20);
    assert!(hostile("control").head.contains('\x1b'));
    assert!(
        hostile("controls-in-location")
            .header("Location")
            .unwrap()
            .contains('\x1b')
    );
    assert!(hostile("nul").body.contains(&0));
    assert!(hostile("long-links").body.len() > 1 << 20);
    assert_eq!(
        hostile("many-links").text().matches("href").count(),
        100_000
    );
    assert!(hostile("soup").text().contains("<!--"));
    let mut client = Client::connect(&running, HOST);
    client.ask("GET", HOST, "/hostile/endless", "");
    let mut first = vec![0; 20 << 20];
    client.stream.read_exact(&mut first).unwrap();
    drop(client);
    let visit = last_visit(&running);
    assert!(visit.bytes >= 20 << 20 && !visit.complete);
}

#[test]
fn robots_of_every_kind() {
    let robots = |robots: Robots, target: &str| {
        let (_web, running) = serve(&WebSpec {
            robots: only(robots),
            sitemaps: only(Sitemap::Truthful),
            ..WebSpec::plain()
        });
        (get(&running, target), running.port)
    };
    assert_eq!(robots(Robots::Absent, "/robots.txt").0.status, 404);
    assert_eq!(robots(Robots::Failing, "/robots.txt").0.status, 500);
    let (plain, port) = robots(Robots::Plain, "/robots.txt");
    let sitemap = format!("Sitemap: http://{HOST}:{port}/sitemap.xml\n");
    assert_eq!(
        plain.text(),
        format!("User-agent: *\nDisallow: /private/\n\n{sitemap}")
    );
    let (delay, _) = robots(Robots::Delay, "/robots.txt");
    assert!(delay.text().contains("\nCrawl-delay: 0.5\n"));
    let (moved, _) = robots(Robots::Redirected, "/robots.txt");
    assert_eq!(
        (moved.status, moved.header("Location")),
        (302, Some("/rules/robots.txt"))
    );
    let (rules, _) = robots(Robots::Redirected, "/rules/robots.txt");
    assert!(rules.text().contains("Disallow: /private/"));
    let huge = robots(Robots::Huge, "/robots.txt").0.text();
    assert!(huge.find("Disallow: /\n").unwrap() > 500 * 1024);
}

#[test]
fn sitemaps_and_feeds_are_served() {
    let (web, running) = serve(&WebSpec {
        sitemaps: only(Sitemap::Index),
        feeds: 1.0,
        ..WebSpec::plain()
    });
    let index = get(&running, "/sitemap.xml").text();
    assert_eq!(index.matches("<sitemap>").count(), 2);
    assert!(index.contains(&format!("http://{HOST}:{}/sitemap-1.xml.gz", running.port)));
    let part = unzip(&get(&running, "/sitemap-1.xml.gz").body);
    let part = String::from_utf8(part).unwrap();
    assert_eq!(part.matches("<url>").count(), 50);
    assert!(part.contains(&web.url(99, running.port)));
    assert_eq!(get(&running, "/sitemap-2.xml.gz").status, 404);
    let feed = get(&running, "/feed.xml").text();
    assert_eq!(feed.matches("<item>").count(), 10);
    // the newest of all changes comes first
    let now = running.clock.web(last_visit(&running).start);
    let newest = (0..100).max_by(|&a, &b| {
        web.pages()[a]
            .changed(now)
            .total_cmp(&web.pages()[b].changed(now))
    });
    let first = feed.split("<link>").nth(1).unwrap();
    assert!(
        first.starts_with(&web.url(newest.unwrap(), running.port)),
        "{feed}"
    );
}

#[test]
fn bodies_are_compressed_chunked_and_of_odd_charsets() {
    let charsets: [(Charset, &encoding_rs::Encoding, &str); 3] = [
        (Charset::Windows1251, encoding_rs::WINDOWS_1251, "ре"),
        (Charset::ShiftJis, encoding_rs::SHIFT_JIS, "博物館"),
        (Charset::Utf16, encoding_rs::UTF_16LE, "the"),
    ];
    for (charset, encoding, sample) in charsets {
        let (_web, running) = serve(&WebSpec {
            hosts: 1,
            charsets: only(charset),
            compressed: 1.0,
            chunked: 1.0,
            ..WebSpec::plain()
        });
        let plain = get(&running, "/");
        assert_eq!(plain.header("Transfer-Encoding"), Some("chunked"));
        assert_eq!(plain.header("Content-Encoding"), None);
        let zipped = get_with(&running, HOST, "/", "Accept-Encoding: br, gzip\r\n").unwrap();
        assert_eq!(zipped.header("Content-Encoding"), Some("gzip"));
        assert!(zipped.body.len() < plain.body.len());
        let body = unzip(&zipped.body);
        assert!(std::str::from_utf8(&body).is_err());
        let (text, _, failed) = encoding.decode(&body);
        assert!(!failed);
        assert!(main_text(text.as_bytes()).contains(sample), "{charset:?}");
    }
}

#[test]
fn the_record_has_every_request() {
    let (web, running) = serve(&WebSpec {
        hosts: 2,
        validators: only(Validators::Tag),
        kinds: Mix::from([(crate::small_web::Kind::Never, 1.0)]),
        ..WebSpec::plain()
    });
    // three requests over one connection, then one to the other host
    let mut client = Client::connect(&running, HOST);
    client.ask("GET", HOST, "/", "");
    let first = client.hear(true).unwrap();
    let tag = first.header("ETag").unwrap();
    client.ask("GET", HOST, "/", &format!("If-None-Match: {tag}\r\n"));
    assert_eq!(client.hear(true).unwrap().status, 304);
    client.ask("HEAD", HOST, "/?query", "Connection: close\r\n");
    let head = client.hear(false).unwrap();
    assert_eq!(
        head.header("Content-Length").unwrap(),
        first.body.len().to_string()
    );
    assert_eq!(head.header("Connection"), Some("close"));
    assert_eq!(client.stream.read(&mut [0]).unwrap(), 0);
    get_with(&running, "h002.demo.test", "/nothing", "").unwrap();

    let visits = running.record.visits();
    let brief: Vec<_> = visits
        .iter()
        .map(|v| (&*v.host, &*v.path, v.status, v.conditional, v.complete))
        .collect();
    let expected = [
        (HOST, "/", 200, false, true),
        (HOST, "/", 304, true, false),
        (HOST, "/?query", 200, false, false),
        ("h002.demo.test", "/nothing", 404, false, false),
    ];
    assert_eq!(brief, expected);
    assert!(visits.iter().all(|visit| visit.start <= visit.end));
    assert!(visits.windows(2).all(|pair| pair[0].end <= pair[1].start));
    assert_eq!(visits[0].address, web.hosts()[0].address);
    assert_eq!(visits[3].address, web.hosts()[1].address);
    // the epoch lies ten seconds back
    assert!(visits[0].start >= 10_000_000);
    assert!(visits[0].bytes > first.body.len() as u64);

    let rules = Rules {
        host_delay: 3600.0,
        ..Rules::default()
    };
    assert_eq!(check_politeness(&visits, &rules).len(), 2);
    assert!(check_politeness(&visits, &Rules::default()).is_empty());
    let audit = Audit::new(&web, running.clock, &visits);
    let (now, all) = (running.now(), web.pages().len() as f64);
    assert!((audit.freshness_at(now) - 1.0 / all).abs() < 1e-12);
    assert_eq!(audit.requests(0.0, now), 3);
}

#[test]
fn the_record_shows_requests_at_the_same_time() {
    let (_web, running) = odd_host();
    let mut client = Client::connect(&running, HOST);
    client.ask("GET", HOST, "/broken/silent", "");
    while running.record.is_empty() {
        std::thread::sleep(Duration::from_millis(1));
    }
    get(&running, "/");
    let violations = check_politeness(&running.record.visits(), &Rules::default());
    let places: Vec<&str> = violations.iter().map(|v| &*v.place).collect();
    assert_eq!(places, [HOST, "127.1.0.1"]);
    assert!(violations.iter().all(|v| v.fault == Fault::Overlap));
}

#[test]
fn what_cannot_be_read_is_refused_and_recorded() {
    let (_web, running) = odd_host();
    let mut client = Client::connect(&running, HOST);
    client.ask("BREW", HOST, "/", "");
    assert_eq!(client.hear(true).unwrap().status, 421);
    let visit = last_visit(&running);
    assert_eq!((&*visit.host, &*visit.path, visit.status), ("", "", 421));
}

#[test]
fn a_stopped_server_is_gone_and_its_port_free() {
    let (web, running) = odd_host();
    let (address, port) = (web.hosts()[0].address, running.port);
    assert!(TcpStream::connect((address, port)).is_ok());
    let started = Instant::now();
    running.stop();
    assert!(started.elapsed() < Duration::from_secs(2));
    assert!(TcpStream::connect((address, port)).is_err());
}
