//! What people do who watch pages: ask for one now, see what differs, follow a feed, change the
//! seeds while the crawl runs.

mod crawling;

use crawling::Crawler;
use crawling::answers::{Answers, html, missing};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A command with the configuration of the crawl.
fn run(crawler: &Crawler, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evercrawl"));
    let words = if arguments[0] == "seeds" { 2 } else { 1 };
    command
        .args(&arguments[..words])
        .arg("-c")
        .arg(crawler.config());
    command.args(&arguments[words..]).output().unwrap()
}

#[track_caller]
fn say(crawler: &Crawler, arguments: &[&str]) -> String {
    let output = run(crawler, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(30), "never: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

const TEXT: &str =
    "A pot that keeps what is in it warm for as long as anybody likes to eat from it.";

/// A shop with one page, whose price is what the test says.
fn shop(last: u8) -> (Answers, Arc<AtomicUsize>) {
    let price = Arc::new(AtomicUsize::new(19));
    let now = price.clone();
    let shop = Answers::new(last, move |path| match path {
        "/robots.txt" => missing(),
        _ => html(&format!(
            "<title>Pot</title><main><h1>Pot</h1><p>Now {},99 EUR only</p><p>{TEXT}</p></main>",
            now.load(Ordering::Relaxed)
        )),
    });
    (shop, price)
}

#[test]
fn a_page_is_asked_for_and_its_change_is_shown() {
    let (shop, price) = shop(91);
    let page = shop.url("/item");
    let mut crawler = Crawler::new(std::slice::from_ref(&page));
    let refused = run(&crawler, &["visit", &page]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let crawl = crawler.start(&[]);
    wait_until("a first copy", || {
        run(&crawler, &["get", &page]).status.success()
    });
    let only = run(&crawler, &["diff", &page]);
    assert!(
        String::from_utf8_lossy(&only.stderr).contains("one version only"),
        "{only:?}"
    );

    let asked = shop.asked().len();
    assert!(say(&crawler, &["visit", &page]).ends_with(": 200, not changed\n"));
    price.store(17, Ordering::Relaxed);
    assert!(say(&crawler, &["visit", &page]).ends_with(": 200, changed\n"));
    assert!(shop.asked().len() >= asked + 2);
    let told: Value = serde_json::from_str(&say(&crawler, &["visit", "--json", &page])).unwrap();
    assert_eq!(
        (&told["status"], &told["changed"]),
        (&200.into(), &false.into())
    );
    // a page nobody knew of, and one that does not belong to the crawl
    assert!(say(&crawler, &["visit", &shop.url("/other")]).ends_with(": 200, first copy\n"));
    let outside = run(&crawler, &["visit", "http://127.0.0.92:1/"]);
    assert_eq!(outside.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&outside.stderr).contains("out of scope"));

    let difference = say(&crawler, &["diff", &page]);
    let lines: Vec<&str> = difference.lines().collect();
    assert_eq!(lines[0], format!("{page}: changed"));
    assert_eq!(
        lines[3..],
        ["  - Now 19,99 EUR only", "  + Now 17,99 EUR only"]
    );
    let shown = say(&crawler, &["diff", "--html", &page]);
    assert!(shown.contains("Now <del>19,99</del> EUR only"), "{shown}");
    assert!(shown.contains("Now <ins>17,99</ins> EUR only"), "{shown}");
    let told: Value = serde_json::from_str(&say(&crawler, &["diff", "--json", &page])).unwrap();
    assert_eq!(told["verdict"], "changed");
    assert_eq!(told["added"][0], "Now 17,99 EUR only");
    let early = run(&crawler, &["diff", "--from", "2001-01-01", &page]);
    assert!(String::from_utf8_lossy(&early.stderr).contains("--from: no copy from that time"));

    let changes = say(&crawler, &["changes", "--diff"]);
    let changed = changes
        .lines()
        .find(|line| line.contains("\"changed\""))
        .unwrap();
    let changed: Value = serde_json::from_str(changed).unwrap();
    assert_eq!(changed["difference"]["removed"][0], "Now 19,99 EUR only");
    let feed = say(&crawler, &["changes", "--format", "atom"]);
    let entries = entries(&feed);
    assert!(
        entries.iter().any(|entry| {
            entry.contains(&format!("changed: {page}")) && entry.contains("<del>19,99</del>")
        }),
        "{feed}"
    );
    crawl.interrupted_after(0.0);
}

/// The text of each entry of a feed, by a reader of XML that is not ours.
fn entries(feed: &str) -> Vec<String> {
    use quick_xml::events::Event;
    let mut reader = quick_xml::Reader::from_str(feed);
    let (mut entries, mut depth) = (Vec::new(), 0);
    loop {
        match reader.read_event().unwrap() {
            Event::Start(start) => {
                depth += 1;
                if start.name().as_ref() == "entry" {
                    entries.push(String::new());
                }
            }
            Event::End(_) => depth -= 1,
            Event::Text(text) => {
                if let Some(entry) = entries.last_mut() {
                    *entry += &text;
                }
            }
            Event::GeneralRef(name) => {
                if let Some(entry) = entries.last_mut() {
                    let meant = quick_xml::escape::resolve_predefined_entity(&name);
                    *entry += meant.expect("an entity of XML");
                }
            }
            Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!(depth, 0);
    entries
}

#[test]
fn seeds_come_and_go_while_it_runs_and_while_it_does_not() {
    let sites: Vec<Answers> = (93..96).map(|last| shop(last).0).collect();
    let seeds: Vec<String> = sites.iter().map(|site| site.url("/")).collect();
    let mut crawler = Crawler::new(&seeds[..1]);
    let crawl = crawler.start(&[]);
    wait_until("a first copy", || {
        run(&crawler, &["get", &seeds[0]]).status.success()
    });

    let said = say(&crawler, &["seeds", "add", &seeds[1]]);
    assert_eq!(said, "1 added; the running crawl has 2 now\n");
    wait_until("the added seed is visited", || {
        run(&crawler, &["get", &seeds[1]]).status.success()
    });
    // what it reaches is in scope, what nobody reaches is not
    assert!(say(&crawler, &["visit", &sites[1].url("/deep")]).contains("200"));
    assert_eq!(run(&crawler, &["visit", &seeds[2]]).status.code(), Some(2));

    let said = say(&crawler, &["seeds", "remove", &seeds[0]]);
    assert_eq!(said, "1 removed; the running crawl has 1 now\n");
    assert_eq!(run(&crawler, &["visit", &seeds[0]]).status.code(), Some(2));
    assert!(say(&crawler, &["why", &seeds[0]]).contains("scope      out"));
    crawl.kill();

    // all of that holds after a crash, though the configuration says otherwise
    assert_eq!(say(&crawler, &["seeds", "list"]), format!("{}\n", seeds[1]));
    let file = crawler.directory.path().join("more.txt");
    std::fs::write(&file, format!("# more\n\n{}\n", seeds[2])).unwrap();
    let from = file.to_str().unwrap();
    let said = say(&crawler, &["seeds", "add", "--from", from]);
    assert_eq!(said, "1 added; from the next start on\n");
    std::fs::write(&file, "http://a/\nno url\n").unwrap();
    let wrong = run(&crawler, &["seeds", "add", "--from", from]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&wrong.stderr).contains("more.txt: line 2"),
        "{wrong:?}"
    );

    let asked = sites[0].asked().len();
    let crawl = crawler.start(&[]);
    wait_until("the seed of the file is visited", || {
        run(&crawler, &["get", &seeds[2]]).status.success()
    });
    assert_eq!(sites[0].asked().len(), asked);
    // and back again
    say(&crawler, &["seeds", "add", &seeds[0]]);
    wait_until("the first seed is visited again", || {
        sites[0].asked().len() > asked
    });
    crawl.interrupted_after(0.0);
}

/// A receiver of webhooks: what it was posted, and what it answers.
struct Receiver {
    port: u16,
    posts: Arc<Mutex<Vec<(String, String)>>>,
    status: Arc<AtomicUsize>,
}

impl Receiver {
    fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let receiver = Self {
            port: listener.local_addr().unwrap().port(),
            posts: Arc::default(),
            status: Arc::new(AtomicUsize::new(503)),
        };
        let (posts, status) = (receiver.posts.clone(), receiver.status.clone());
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let status = status.load(Ordering::Relaxed);
                let Some((head, body)) = take(&mut stream) else {
                    continue;
                };
                if status == 200 {
                    posts.lock().unwrap().push((head, body));
                }
                let answer = format!(
                    "HTTP/1.1 {status} X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                );
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        receiver
    }

    fn posts(&self) -> Vec<(String, String)> {
        self.posts.lock().unwrap().clone()
    }
}

/// Head and body of a request.
fn take(stream: &mut TcpStream) -> Option<(String, String)> {
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    let mut bytes = Vec::new();
    let mut some = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = header(head, "content-length")?.parse::<usize>().ok()?;
            if body.len() >= length {
                return Some((head.to_owned(), body.to_owned()));
            }
        }
        match stream.read(&mut some).ok()? {
            0 => return None,
            read => bytes.extend_from_slice(&some[..read]),
        }
    }
}

fn header(head: &str, name: &str) -> Option<String> {
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    lines
        .find(|(found, _)| found.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.to_owned())
}

/// The signature of a post by Python's own library.
fn signature(secret: &str, head: &str, body: &str) -> String {
    let sign = "import base64,hashlib,hmac,sys\n\
        m='.'.join(sys.argv[2:5]).encode()\n\
        print('v1,'+base64.b64encode(hmac.new(sys.argv[1].encode(),m,hashlib.sha256).digest()).decode())";
    let [id, time] = ["webhook-id", "webhook-timestamp"].map(|name| header(head, name).unwrap());
    let output = Command::new("python3")
        .args(["-c", sign, secret, &id, &time, body])
        .output();
    String::from_utf8(output.expect("python3").stdout)
        .unwrap()
        .trim()
        .to_owned()
}

#[test]
fn every_change_is_posted_though_receiver_and_crawl_come_and_go() {
    let (shop, price) = shop(97);
    let page = shop.url("/item");
    let receiver = Receiver::open();
    let secret = "correct horse battery staple";
    let mut crawler = Crawler::new(std::slice::from_ref(&page));
    let file = crawler.directory.path().join("secret");
    std::fs::write(&file, format!("{secret}\n")).unwrap();
    crawler = crawler.with(
        "webhooks",
        format!(
            "[{{ url = \"http://127.0.0.1:{}/T0P/changes\", secret_file = {file:?} }}]",
            receiver.port
        ),
    );
    let crawl = crawler.start(&["-v"]);
    wait_until("a first copy", || {
        run(&crawler, &["get", &page]).status.success()
    });
    // the receiver is away, and the crawl is killed
    for cents in [17, 18] {
        price.store(cents, Ordering::Relaxed);
        assert!(say(&crawler, &["visit", &page]).ends_with("changed\n"));
    }
    wait_until("status says that it is away", || {
        say(&crawler, &["status"]).contains("503")
    });
    let told = say(&crawler, &["status", "--json"]);
    let ended = crawl.kill();
    for said in [
        &told,
        &ended.err,
        &std::fs::read_to_string(crawler.data().join("config.toml")).unwrap(),
    ] {
        assert!(!said.contains("horse"), "the secret is told: {said}");
    }
    assert!(!ended.err.contains("T0P"), "the URL may be a secret");
    assert_eq!(receiver.posts().len(), 0);

    receiver.status.store(200, Ordering::Relaxed);
    let crawl = crawler.start(&[]);
    wait_until("both are posted", || receiver.posts().len() >= 2);
    price.store(21, Ordering::Relaxed);
    assert!(say(&crawler, &["visit", &page]).ends_with("changed\n"));
    wait_until("the third is posted", || receiver.posts().len() >= 3);
    crawl.interrupted_after(0.0);
    let posts = receiver.posts();
    let prices: Vec<Value> = (posts.iter())
        .map(|(_, body)| {
            serde_json::from_str::<Value>(body).unwrap()["difference"]["added"][0].clone()
        })
        .collect();
    let expected = [17, 18, 21].map(|cents| Value::from(format!("Now {cents},99 EUR only")));
    assert_eq!(prices, expected);
    for (head, body) in &posts {
        assert!(head.starts_with("POST /T0P/changes HTTP/1.1"), "{head}");
        assert_eq!(
            header(head, "webhook-signature").unwrap(),
            signature(secret, head, body)
        );
    }
    let ids: std::collections::HashSet<_> = posts
        .iter()
        .map(|(head, _)| header(head, "webhook-id"))
        .collect();
    assert_eq!(ids.len(), 3);
}

#[test]
fn the_text_of_any_version_is_had() {
    let (shop, price) = shop(98);
    let page = shop.url("/item");
    let mut crawler = Crawler::new(std::slice::from_ref(&page));
    crawler.once(30);
    // the index knows versions by the second
    std::thread::sleep(Duration::from_millis(1100));
    let then = Instant::now();
    std::thread::sleep(Duration::from_millis(1100));
    price.store(17, Ordering::Relaxed);
    crawler.once(30);
    let expected = |cents: u32| format!("Pot\n\nPot\n\nNow {cents},99 EUR only\n\n{TEXT}\n");
    assert_eq!(say(&crawler, &["get", "--text", &page]), expected(17));
    let ago = format!("{}s ago", then.elapsed().as_secs() + 1);
    assert_eq!(
        say(&crawler, &["get", "--text", "--at", &ago, &page]),
        expected(19)
    );
    let told: Value =
        serde_json::from_str(&say(&crawler, &["get", "--text", "--json", &page])).unwrap();
    assert_eq!(told["title"], "Pot");
    let lines = say(&crawler, &["export", "--what", "text", "--format", "jsonl"]);
    let told: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["url"], page);
    assert_eq!(
        told[0]["text"],
        format!("Pot\n\nNow 17,99 EUR only\n\n{TEXT}")
    );
    let packed = run(
        &crawler,
        &["export", "--what", "text", "--format", "parquet"],
    );
    assert!(packed.stdout.starts_with(b"PAR1") && packed.stdout.ends_with(b"PAR1"));
    let wrong = run(&crawler, &["export", "--what", "text", "--format", "csv"]);
    assert_eq!(wrong.status.code(), Some(2));
}

/// Pages without end: each links to the next.
fn endless(last: u8) -> Answers {
    Answers::new(last, |path| match path {
        "/robots.txt" => missing(),
        path => {
            let number: u32 = path.trim_start_matches('/').parse().unwrap_or(0);
            let text = format!("Page {number} of very many pages. ").repeat(20);
            html(&format!("<p>{text}</p><a href=/{}>more</a>", number + 1))
        }
    })
}

#[test]
fn a_crawl_ends_by_its_limits() {
    let site = endless(99);
    let mut crawler = Crawler::new(&[site.url("/1")]);
    let ended = crawler
        .start(&["--pages", "7", "--json"])
        .succeeds_within(30);
    assert!(ended.err.contains("limits.pages = 7"), "{}", ended.err);
    let pages = || {
        site.asked()
            .iter()
            .filter(|path| *path != "/robots.txt")
            .count()
    };
    let figures = ended.figures();
    let visits = figures.first_visits + figures.revisits;
    assert_eq!((visits, pages()), (7, 7));
    // the limit was of that start alone; the next one goes on
    let ended = crawler
        .start(&["--bytes", "5000", "--json"])
        .succeeds_within(30);
    assert!(ended.err.contains("limits.bytes = 5000"), "{}", ended.err);
    assert!(
        (5_000..8_000).contains(&ended.figures().bytes),
        "{:?}",
        ended.figures()
    );
    let mut crawler = crawler.with("limits.time", "\"1s\"");
    let ended = crawler.start(&["--json"]).succeeds_within(30);
    assert!(ended.err.contains("limits.time"), "{}", ended.err);
    let wrong = crawler
        .with("limits.time", "\"soon\"")
        .start(&[])
        .within(10);
    wrong.failed(2, &["limits.time", "expected a time"]);
}

#[test]
fn old_versions_are_taken_out() {
    let (shop, price) = shop(100);
    let page = shop.url("/item");
    let mut crawler = Crawler::new(std::slice::from_ref(&page));
    let prune = |crawler: &Crawler, arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evercrawl"));
        command
            .args(["archive", "prune", "-c"])
            .arg(crawler.config());
        command.args(arguments).output().unwrap()
    };
    for cents in 11..16 {
        price.store(cents, Ordering::Relaxed);
        crawler.once(30);
    }
    let full = |crawler: &Crawler| {
        let versions = say(crawler, &["get", "--versions", &page]);
        versions
            .lines()
            .filter(|line| line.contains("text/html"))
            .count()
    };
    assert_eq!(full(&crawler), 5);
    assert_eq!(prune(&crawler, &[]).status.code(), Some(2));
    let said = prune(&crawler, &["--keep-versions", "2"]);
    let text = String::from_utf8_lossy(&said.stdout);
    assert!(text.starts_with("3 versions taken out;"), "{said:?}");
    assert_eq!(full(&crawler), 2);
    crawler.verify_archive();
    // the last copy stays whatever is asked for, and is the right one; the crawl goes on with it
    let said = prune(&crawler, &["--max-bytes", "0"]);
    assert!(said.status.success(), "{said:?}");
    assert_eq!(full(&crawler), 1);
    assert!(say(&crawler, &["get", "--text", &page]).contains("15,99"));
    // as a setting, at every start
    let mut crawler = crawler.with("archive.keep_versions", "1");
    for cents in 16..18 {
        price.store(cents, Ordering::Relaxed);
        crawler.once(30);
    }
    assert_eq!(full(&crawler), 2);
    crawler.once(30);
    assert_eq!(full(&crawler), 1);
    crawler.verify_archive();
    assert!(say(&crawler, &["get", &page]).contains("17,99"));
}
