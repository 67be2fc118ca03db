//! What hosts serve and what the server records, over real sockets.

use super::{
    Charset, Mix, Robots, Sitemap, Validators, WebSpec,
    client::{Client, HOST, get, get_with, last_visit, odd_host, serve, unzip},
    main_text, only,
};
use crate::web::{Audit, Rules, check_politeness, politeness::Fault};
use std::{
    io::Read,
    net::TcpStream,
    time::{Duration, Instant},
};

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
