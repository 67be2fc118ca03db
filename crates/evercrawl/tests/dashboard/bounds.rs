//! Connections and pages are bounded: a real crawl, its dashboard, and more clients than it lets in.

use super::crawling::Crawler;
use super::crawling::answers::{Answers, html, missing};
use super::doors::get;
use super::{address, wait_until};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// As the dashboard's documentation states them.
const CONNECTIONS: usize = 64;
const LISTENERS: usize = 24;
const LARGEST_COPY: usize = 1 << 20;
const ROWS: usize = 50;
/// A client that says nothing keeps its place for longer than this.
const SILENCE: Duration = Duration::from_millis(4500);
/// Clients that ask for megabytes and read nothing.
const GREEDY: usize = 8;

/// A site that has always something to fetch: each page links to two new ones. `/large` is larger than any page may be.
fn endless(last: u8) -> Answers {
    Answers::new(last, |path| match path {
        "/robots.txt" => missing(),
        "/large" => html(&format!("<p>{}</p>", "large ".repeat(1 << 20))),
        _ => {
            let number: u64 = path[1..].parse().unwrap_or(0);
            let (left, right) = (2 * number + 1, 2 * number + 2);
            html(&format!(
                "<a href='/large'></a> <a href='/{left}'>{left}</a> <a href='/{right}'>{right}</a>"
            ))
        }
    })
}

fn crawl(server: &Answers) -> Crawler {
    Crawler::new(&[server.url("/0")])
        .delay(0.02)
        .with("traps.least_per_prefix", "1000000")
}

fn call(host: &str, requests: &str) -> TcpStream {
    let mut stream = TcpStream::connect(host).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_mins(2)))
        .unwrap();
    stream.write_all(requests.as_bytes()).unwrap();
    stream
}

fn request(host: &str, path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n")
}

/// Whether an answer, or the end, comes within this time.
fn is_answered(stream: &mut TcpStream, within: Duration) -> bool {
    stream.set_read_timeout(Some(within)).unwrap();
    match stream.peek(&mut [0]) {
        Ok(_) => true,
        Err(error) => {
            assert!(
                matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
                "{error}"
            );
            false
        }
    }
}

/// Reads a stream of news until something has happened.
fn hear(stream: &mut BufReader<TcpStream>) {
    for line in stream.lines() {
        if line.unwrap().starts_with("data: ") {
            return;
        }
    }
    panic!("the stream ended");
}

#[test]
fn connections_are_bounded_and_the_crawl_goes_on() {
    let server = endless(97);
    let mut crawler = crawl(&server);
    let process = crawler.start(&["--dashboard=127.0.0.1:0"]);
    let host = address(&process).trim_start_matches("http://").to_owned();
    let root = request(&host, "/");
    wait_until("the crawl", || server.asked().len() > 20);

    // as many streams of news as are allowed; one more is refused
    let live = request(&host, "/live");
    let mut listeners: Vec<_> = (0..LISTENERS)
        .map(|_| BufReader::new(call(&host, &live)))
        .collect();
    listeners.iter_mut().for_each(hear);
    let refused = get(&host, "/live", &[]);
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");

    // all other places are taken by clients that say nothing; others then wait outside
    let mut tries = 0;
    let (silent, mut surplus) = loop {
        let before = server.asked().len();
        let began = Instant::now();
        let silent: Vec<TcpStream> = (LISTENERS..CONNECTIONS).map(|_| call(&host, "")).collect();
        let mut surplus: Vec<TcpStream> = (0..20).map(|_| call(&host, &root)).collect();
        let answered = is_answered(&mut surplus[0], Duration::from_secs(1));
        // those inside are served meanwhile, and the crawl goes on
        listeners.iter_mut().for_each(hear);
        let fetched = server.asked().len() - before;
        // on a busy machine the silent ones may have been sent away by now: nothing is told by that
        if began.elapsed() < SILENCE {
            assert!(!answered, "there is no bound");
            assert!(fetched > 0, "the crawl stands still");
            break (silent, surplus);
        }
        tries += 1;
        assert!(tries < 10, "the machine is too busy for this test");
    };

    // the silent ones are sent away; then everybody gets an answer
    for mut stream in silent {
        let _ = stream.read_to_end(&mut Vec::new()).unwrap();
    }
    for stream in &mut surplus {
        assert!(is_answered(stream, Duration::from_secs(20)), "forgotten");
        let mut first = [0; 12];
        stream.read_exact(&mut first).unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
    }
    // a place that a listener leaves is free again
    drop(listeners);
    wait_until("a free place", || {
        let mut stream = BufReader::new(call(&host, &live));
        let mut first = String::new();
        stream.read_line(&mut first).unwrap();
        first.starts_with("HTTP/1.1 200")
    });
}

#[test]
fn slow_clients_lose_their_places() {
    let server = endless(98);
    let mut crawler = crawl(&server);
    let process = crawler.start(&["--dashboard=127.0.0.1:0"]);
    let host = address(&process).trim_start_matches("http://").to_owned();
    let mut copy = String::new();
    wait_until("the large page", || {
        let pages = get(&host, "/pages?q=%2Flarge", &[]);
        let link = pages.split("/page/").nth(1).and_then(|rest| {
            let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
            (!number.is_empty()).then_some(number)
        });
        copy = format!("/page/{}/copy?at=0", link.unwrap_or_default());
        get(&host, &copy, &[]).starts_with("HTTP/1.1 200")
    });

    // no page is larger than its bound, whatever was crawled, and a list has as many rows as it may have
    let shown = get(&host, &copy, &[]);
    assert!(shown.len() < LARGEST_COPY + 4096, "{}", shown.len());
    assert!(shown.contains("cut"), "the reader is not told");
    let changes = get(&host, "/changes?kinds=all", &[]);
    assert!(changes.len() < LARGEST_COPY, "{}", changes.len());
    wait_until("more pages than a list shows", || {
        let pages = get(&host, "/pages", &[]);
        let rows = pages.matches("<tr>").count() - 1;
        assert!(rows <= ROWS, "{rows}");
        rows == ROWS && pages.contains("after=")
    });

    // some clients ask for megabytes and read nothing, the others send a letter a second
    let greedy = request(&host, &copy).repeat(20);
    let mut readers: Vec<TcpStream> = (0..GREEDY).map(|_| call(&host, &greedy)).collect();
    let mut writers: Vec<TcpStream> = (GREEDY..CONNECTIONS).map(|_| call(&host, "G")).collect();
    let before = server.asked().len();
    let began = Instant::now();
    let mut head = format!("ET / HTTP/1.1\r\nHost: {host}\r\n");
    for k in 0..60 {
        write!(head, "X-{k}: {k}\r\n").unwrap();
    }
    let mut letters = head.bytes();
    while !writers.is_empty() {
        let letter = [letters.next().unwrap()];
        // a connection that was closed answers with an error at the second letter
        writers.retain_mut(|stream| stream.write_all(&letter).is_ok());
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "they are still there"
        );
        std::thread::sleep(Duration::from_secs(1));
    }
    // somebody else is served, though the readers hold their places
    assert!(get(&host, "/", &[]).starts_with("HTTP/1.1 200"));
    assert!(server.asked().len() > before + 20, "the crawl stood still");
    // a reader that reads at last finds less than it asked for: it was cut off
    let left = Duration::from_secs(75).saturating_sub(began.elapsed());
    std::thread::sleep(left);
    for stream in &mut readers {
        let mut read = Vec::new();
        let _ = stream.read_to_end(&mut read);
        assert!(read.len() < 19 * LARGEST_COPY, "{}", read.len());
    }
}
