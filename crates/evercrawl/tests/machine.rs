//! What a crawl does to the machine it runs on, and what others on that machine can do to it.

mod crawling;

use crawling::answers::{Answers, answer, html, missing};
use crawling::{Crawler, Process};
use flate2::{Compression, write::GzEncoder};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// A command that looks at the crawl.
fn look(crawler: &Crawler, arguments: &[&str]) -> Output {
    let (command, rest) = arguments.split_at(1 + usize::from(arguments[0] == "archive"));
    let mut look = Command::new(env!("CARGO_BIN_EXE_evercrawl"));
    look.args(command)
        .arg("-c")
        .arg(crawler.config())
        .args(rest);
    look.output().unwrap()
}

/// What it says, if it succeeds.
fn say(crawler: &Crawler, arguments: &[&str]) -> String {
    let output = look(crawler, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[track_caller]
fn wait_until(mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "it never happens"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn is_running(crawler: &Crawler) -> bool {
    let status = look(crawler, &["status", "--json"]);
    status.status.success() && json(&String::from_utf8_lossy(&status.stdout))["running"] == true
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// What the metrics page says.
fn metrics(address: SocketAddr) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    Some(text).filter(|text| text.contains("evercrawl_requests_total"))
}

/// The lowest limit of descriptors for a process that leaves it no more than a few.
fn limit_descriptors(process: &Process, more: usize) -> bool {
    let open = std::fs::read_dir(format!("/proc/{}/fd", process.id())).unwrap();
    let most = open.count() + more;
    let limited = Command::new("prlimit")
        .args(["--pid", &process.id().to_string()])
        .arg(format!("--nofile={most}:4096"))
        .status();
    limited.is_ok_and(|status| status.success())
}

#[test]
fn listeners_survive_running_out_of_descriptors_and_callers_who_say_nothing() {
    let server = Answers::new(31, |_| html("<p>Here.</p>"));
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let mut crawler = Crawler::new(&[server.url("/")])
        .with("metrics.listen", format!("\"{address}\""))
        .with("revisit.budget", "\"1/day\"");
    let mut process = crawler.start(&[]);
    wait_until(|| is_running(&crawler) && metrics(address).is_some());
    // what it needs besides is open
    wait_until(|| metrics(address).is_some_and(|said| said.contains("pages_fetched 1\n")));
    std::thread::sleep(Duration::from_secs(2));
    if !limit_descriptors(&process, 6) {
        eprintln!("skipped: there is no `prlimit` here");
        return;
    }
    // more callers than there are descriptors, on both doors; none of them says a word
    let mut callers = Vec::new();
    let socket = crawler.state().join("robot.sock");
    let mut others = Vec::new();
    for _ in 0..40 {
        callers.extend(TcpStream::connect(address));
        others.extend(std::os::unix::net::UnixStream::connect(&socket));
    }
    assert!(callers.len() + others.len() > 40);
    std::thread::sleep(Duration::from_millis(500));
    drop((callers, others));
    assert!(!process.is_over(), "{}", process.errors_so_far());
    wait_until(|| metrics(address).is_some());
    wait_until(|| is_running(&crawler));
    assert!(limit_descriptors(&process, 200));

    // callers who stay and say nothing are sent away
    let silent: Vec<TcpStream> = (0..64)
        .map(|_| TcpStream::connect(address).unwrap())
        .collect();
    let began = Instant::now();
    wait_until(|| metrics(address).is_some());
    assert!(began.elapsed() < Duration::from_secs(15));
    drop(silent);
    process.interrupted_after(0.0);
}

#[test]
fn only_its_owner_can_ask_a_crawl_whatever_the_umask() {
    let server = Answers::new(32, |_| html("<p>Here.</p>"));
    let mut crawler = Crawler::new(&[server.url("/")]);
    let config = crawler.config();
    let mut command = Command::new("sh");
    let line = "umask 000; exec \"$0\" crawl -c \"$1\"";
    command.args(["-c", line, env!("CARGO_BIN_EXE_evercrawl")]);
    command.arg(config);
    let process = crawler.start_as(command);
    // it can be asked before it asks
    wait_until(|| !server.asked().is_empty());
    let socket = crawler.state().join("robot.sock");
    assert_eq!(mode(&crawler.state()), 0o700);
    assert_eq!(mode(&socket), 0o600);
    // may hold credentials
    assert_eq!(mode(&crawler.data().join("config.toml")), 0o600);
    process.interrupted_after(0.0);
}

#[test]
fn a_spreadsheet_runs_nothing_and_a_pipe_gets_no_controls() {
    const FORMULA: &str = "=HYPERLINK(\"http://evil.test/\")";
    let server = Answers::new(33, |path| match path {
        "/" => html("<a href=/formula>1</a> <a href=/loud>2</a>"),
        "/formula" => answer(&format!("200 OK\r\nContent-Type: {FORMULA}"), b"text"),
        "/loud" => answer(
            "200 OK\r\nContent-Type: text/html\r\nX-Loud: a\u{9b}31m\u{202e}b\u{2066}",
            b"<p>Loud</p>",
        ),
        _ => missing(),
    });
    let mut crawler = Crawler::new(&[server.url("/")]);
    crawler.once(20);
    let cells = |arguments: &[&str]| -> Vec<String> {
        let text = say(&crawler, arguments);
        let mut rows = csv::Reader::from_reader(text.as_bytes());
        let all = rows.records().map(Result::unwrap);
        all.flat_map(|row| row.iter().map(str::to_owned).collect::<Vec<_>>())
            .collect()
    };
    let inert = cells(&["export", "--format", "csv"]);
    assert!(inert.contains(&format!("'{FORMULA}")), "{inert:?}");
    assert!(!inert.iter().any(|cell| cell.starts_with(['=', '+', '@'])));
    let raw = cells(&["export", "--format", "csv", "--raw"]);
    assert!(raw.contains(&FORMULA.to_owned()), "{raw:?}");

    let loud = server.url("/loud");
    let shown = say(&crawler, &["get", "--headers", &loud]);
    let obeyed = |c: char| {
        c.is_control() && c != '\n'
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert!(
        shown.contains("X-Loud: a") && !shown.contains(obeyed),
        "{shown:?}"
    );
    let raw = look(&crawler, &["get", "--headers", "--raw", &loud]);
    assert!(String::from_utf8_lossy(&raw.stdout).contains('\u{9b}'));
}

#[test]
fn an_export_follows_no_planted_link() {
    let server = Answers::new(34, |_| html("<p>Here.</p>"));
    let mut crawler = Crawler::new(&[server.url("/")]);
    crawler.once(20);
    let precious = crawler.directory.path().join("precious");
    std::fs::write(&precious, "precious").unwrap();
    let target = crawler.directory.path().join("pages.csv");
    std::os::unix::fs::symlink(&precious, &target).unwrap();
    let out = target.to_str().unwrap();
    say(&crawler, &["export", "--format", "csv", "--out", out]);
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
    assert!(
        std::fs::read_to_string(&target)
            .unwrap()
            .starts_with("url,")
    );
}

/// Seconds from now until `why` says that the page is due.
fn due_in(crawler: &Crawler, url: &str) -> Option<f64> {
    let why = json(&say(crawler, &["why", "--json", url]));
    let due = why["due"].as_str()?;
    let now = Command::new("date")
        .args(["+%s", "-d", due])
        .output()
        .unwrap();
    let due: f64 = String::from_utf8_lossy(&now.stdout).trim().parse().ok()?;
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Some(due - since.unwrap().as_secs_f64())
}

#[test]
fn why_tells_when_a_host_that_asked_for_a_day_is_asked_again() {
    let server = Answers::new(35, |path| match path {
        "/" => answer("429 Too Many Requests\r\nRetry-After: 86400", b""),
        _ => missing(),
    });
    let mut crawler = Crawler::new(&[server.url("/")]);
    let url = server.url("/");
    let process = crawler.start(&[]);
    let is_a_day =
        |left: Option<f64>| left.is_some_and(|left| (86_000.0..=86_500.0).contains(&left));
    wait_until(|| is_running(&crawler) && is_a_day(due_in(&crawler, &url)));
    let words = say(&crawler, &["why", &url]);
    assert!(
        words.contains("when its host may be asked again"),
        "{words}"
    );
    process.interrupted_after(0.0);
    assert!(is_a_day(due_in(&crawler, &url)));
    let asked = server.asked();
    assert_eq!(
        asked.iter().filter(|path| *path == "/").count(),
        1,
        "{asked:?}"
    );
}

#[test]
fn why_tells_when_a_copy_that_could_not_be_had_again_is_tried_again() {
    let visits = std::sync::atomic::AtomicU64::new(0);
    let server = Answers::new(46, move |path| match path {
        "/" if visits.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0 => {
            html("<p>Here.</p>")
        }
        "/" => answer("500 Internal Server Error", b""),
        _ => missing(),
    });
    let mut crawler = Crawler::new(&[server.url("/")])
        .with("revisit.budget", "\"100/second\"")
        .with("revisit.first_guess_days", "1e-5");
    let url = server.url("/");
    let process = crawler.start(&[]);
    let told = || say(&crawler, &["why", &url]);
    let tried_again = "another try after a failure (server-error), in ";
    wait_until(|| is_running(&crawler) && told().contains(tried_again));
    let is_soon = |left: Option<f64>| left.is_some_and(|left| (1.0..=31.0).contains(&left));
    assert!(is_soon(due_in(&crawler, &url)));
    process.interrupted_after(0.0);
    assert!(told().contains(tried_again), "{}", told());
    assert!(is_soon(due_in(&crawler, &url)));
}

#[test]
fn endless_fresh_redirects_are_a_trap_that_is_counted_and_told() {
    let fresh = std::sync::atomic::AtomicU64::new(0);
    let server = Answers::new(36, move |path| match path {
        "/" => html("<a href=/r/start>in</a>"),
        path if path.starts_with("/r/") => {
            let next = fresh.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            answer(&format!("302 Found\r\nLocation: /r/{next}"), b"")
        }
        _ => missing(),
    });
    let mut crawler = Crawler::new(&[server.url("/")])
        .with("revisit.budget", "\"100/second\"")
        .with("revisit.first_guess_days", "1e-5");
    let first = crawler.start(&["--once", "--json"]).within(30);
    assert!(first.figures().trapped >= 1, "{}", first.out);
    let known = crawler.pages().len();
    assert!(known <= 13, "{known}");
    let last = &server.asked().pop().unwrap();
    let words = say(&crawler, &["why", &server.url(last)]);
    assert!(
        words.contains("trap") && words.contains("redirects"),
        "{words}"
    );
    // nor do visits to those that are known find ever more
    let mut pages = Vec::new();
    for _ in 0..3 {
        crawler.start(&["--once", "--json"]).within(60);
        pages.push(crawler.pages().len());
    }
    assert!(pages[2] <= known + 36, "{pages:?}");
    let asked = server.asked().len();
    assert!(asked > 2 * known, "{asked}");
}

#[test]
fn a_crawl_delay_beyond_reason_is_a_day_and_said_to_be() {
    let server = Answers::new(37, |path| match path {
        "/robots.txt" => answer("200 OK", b"User-agent: *\nCrawl-delay: 1e30\n"),
        _ => html("<p>Here.</p>"),
    });
    let mut crawler = Crawler::new(&[server.url("/")]);
    let process = crawler.start(&[]);
    let hosts = || say(&crawler, &["hosts", "--json"]);
    wait_until(|| is_running(&crawler) && hosts().contains("86400"));
    // its row may come a moment later
    wait_until(|| say(&crawler, &["why", &server.url("/")]).contains("treated as a day"));
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(server.asked(), ["/robots.txt"]);
    process.interrupted_after(0.0);
}

#[test]
fn a_file_of_no_bytes_is_refused() {
    let mut crawler = Crawler::new(&["http://127.0.0.1/".into()]).with("archive.rotate_bytes", "0");
    let ended = crawler.start(&[]).within(10);
    ended.failed(2, &["archive.rotate_bytes"]);
}

/// A page of 32 MB, packed.
fn large_page() -> Vec<u8> {
    let mut text = String::from("<title>Large</title>");
    let mut number = 1u64;
    while text.len() < (32 << 20) - 200 {
        number = number
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let _ = write!(
            text,
            "<p>word{} of many<a href=\"/p{}\">",
            number >> 50,
            number >> 40
        );
    }
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    let body = gzip.finish().unwrap();
    answer(
        "200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip",
        &body,
    )
}

#[test]
fn status_is_answered_while_many_large_pages_are_read() {
    let page = large_page();
    let server = Answers::new(38, move |path| match path {
        path if path.starts_with("/large") => page.clone(),
        _ => missing(),
    });
    let seeds: Vec<String> = (0..64).map(|k| server.url(&format!("/large{k}"))).collect();
    let mut crawler = Crawler::new(&seeds)
        .with("politeness.at_once", "64")
        .with("politeness.robots", "false")
        .with("scope.max_depth", "0")
        .with("fetch.body_seconds", "60")
        .with("fetch.first_byte_seconds", "60")
        .delay(0.0);
    let process = crawler.start(&[]);
    wait_until(|| server.asked().len() > 32);
    let mut took = Vec::new();
    for _ in 0..12 {
        let began = Instant::now();
        assert!(is_running(&crawler));
        took.push(began.elapsed());
        std::thread::sleep(Duration::from_millis(200));
    }
    took.sort();
    assert!(took[6] < Duration::from_secs(1), "{took:?}");
    assert!(took[11] < Duration::from_secs(3), "{took:?}");
    drop(process);
}

/// What `archive verify` says, and its exit code.
fn verify(crawler: &Crawler, more: &[&str]) -> (String, Option<i32>) {
    let output = look(crawler, &[&["archive", "verify"], more].concat());
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    (said, output.status.code())
}

#[test]
fn what_the_archive_lost_is_said_and_fetched_again() {
    let server = Answers::new(39, |path| match path {
        "/" => html("<a href=/a>1</a> <a href=/b>2</a> <a href=/c>3</a>"),
        "/a" | "/b" | "/c" => html(&format!("<p>The page {path}</p>")),
        _ => missing(),
    });
    for harm in ["deleted", "cut", "all deleted"] {
        let mut crawler = Crawler::new(&[server.url("/")]);
        crawler.once(20);
        let (said, code) = verify(&crawler, &[]);
        assert!(said.contains("0 lost") && code == Some(0), "{said}");
        let asked = server.asked().len();

        let file = crawler.archive().join("evercrawl-00001.warc.gz");
        match harm {
            "deleted" => std::fs::remove_file(&file).unwrap(),
            "cut" => {
                let bytes = std::fs::read(&file).unwrap();
                std::fs::write(&file, &bytes[..bytes.len() / 3]).unwrap();
            }
            _ => std::fs::remove_dir_all(crawler.archive()).unwrap(),
        }
        let (said, code) = verify(&crawler, &[]);
        assert_eq!(code, Some(1), "{said}");
        assert!(
            said.contains(&server.url("/c")) && said.contains("--refetch"),
            "{said}"
        );
        let (said, code) = verify(&crawler, &["--refetch"]);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("the next crawl fetches"), "{said}");

        crawler.once(20);
        assert!(server.asked().len() > asked);
        let (said, code) = verify(&crawler, &[]);
        assert!(said.contains("0 lost") && code == Some(0), "{said}");
        for path in ["/a", "/b", "/c"] {
            let body = say(&crawler, &["get", &server.url(path)]);
            assert_eq!(body, format!("<p>The page {path}</p>"));
        }
    }
}
