//! What people do who watch pages: ask for one now, see what differs, follow a feed, change the
//! seeds while the crawl runs.

mod crawling;
#[path = "../../storage/tests/python/mod.rs"]
mod python;

use crawling::answers::{Answers, answer, html, missing};
use crawling::{Crawler, Process};
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
    // nobody else asks in between
    let mut crawler =
        Crawler::new(std::slice::from_ref(&page)).with("revisit.least_interval", "\"1h\"");
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
    let rss = say(&crawler, &["changes", "--format", "rss"]);
    if let (Some(rss), Some(atom)) = (feed_read(&rss), feed_read(&feed)) {
        assert_eq!(rss, atom);
        assert!(rss.contains(&format!("changed: {page} {page}")), "{rss}");
    }
    crawl.interrupted_after(0.0);
}

/// What feedparser, which other people wrote, finds in a feed: version, flaws, entries.
fn feed_read(feed: &str) -> Option<String> {
    let mut python = python::python("feedparser")?;
    let program = "
import feedparser, sys, time
feed = feedparser.parse(sys.stdin.buffer.read())
assert feed.version in ('rss20', 'atom10'), feed.version
assert not feed.bozo, feed.bozo_exception
assert feed.feed.title
for entry in feed.entries:
    words = entry.get('content', [{}])[0].get('value') or entry.get('summary', '')
    print(entry.title, entry.link, entry.id, time.strftime('%FT%TZ', entry.updated_parsed if 'updated' in entry else entry.published_parsed),
          entry.tags[0].term, words)
";
    let mut child = python
        .args(["-c", program])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::inherit())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(feed.as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{feed}");
    Some(String::from_utf8(output.stdout).unwrap())
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
    // what was not reached is counted, not listed
    let ended = Crawler::new(&[site.url("/1")])
        .start(&["--once", "--pages", "5"])
        .within(30);
    ended.failed(1, &["1 page not reached before the end"]);
    assert!(!ended.err.contains("missing:"), "{}", ended.err);
    let mut crawler = Crawler::new(&[site.url("/1")]);
    let ended = crawler
        .start(&["--pages", "7", "--json"])
        .succeeds_within(30);
    assert!(ended.err.contains("limits.pages = 7"), "{}", ended.err);
    let before = 5;
    let pages = || {
        let asked = site.asked();
        asked.iter().filter(|path| *path != "/robots.txt").count() - before
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

/// `evercrawl watch` with a data directory and these arguments, as a user types them.
fn watch(crawler: &mut Crawler, arguments: &[&str]) -> Process {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evercrawl"));
    command
        .args(["watch", "--allow-private", "--contact", "http://me.test/"])
        .arg("--data")
        .arg(crawler.data())
        .args(arguments);
    crawler.start_as(command)
}

/// A command that looks at the data of a watch.
fn look(crawler: &Crawler, arguments: &[&str]) -> String {
    let words = if arguments[0] == "seeds" { 2 } else { 1 };
    let output = Command::new(env!("CARGO_BIN_EXE_evercrawl"))
        .args(&arguments[..words])
        .arg("--data")
        .arg(crawler.data())
        .args(&arguments[words..])
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A shop with a front page that links to items, each with a picture; an old address, and one that leads to
/// another server.
fn mall(last: u8, elsewhere: String) -> (Answers, Arc<AtomicUsize>) {
    let price = Arc::new(AtomicUsize::new(19));
    let now = price.clone();
    let shop = Answers::new(last, move |path| match path {
        "/robots.txt" | "/lost" => missing(),
        "/old" => answer("301 Moved Permanently\r\nLocation: /new", b""),
        "/away" => answer(&format!("302 Found\r\nLocation: {elsewhere}"), b""),
        _ => html(&format!(
            "<title>Pot</title><main><h1>Pot</h1><img src=/pot.png><p>Now {},99 EUR only</p><p>{TEXT}</p>\
             <a href=/other>Other</a></main>",
            now.load(Ordering::Relaxed)
        )),
    });
    (shop, price)
}

#[test]
fn pages_are_watched_without_what_they_link_to() {
    let other = Answers::new(102, |path| match path {
        "/robots.txt" => missing(),
        _ => html(&format!("<p>{TEXT}</p>")),
    });
    let (shop, price) = mall(101, other.url("/there"));
    let mut crawler = Crawler::new(&[]);
    let file = crawler.directory.path().join("pages.txt");
    std::fs::write(
        &file,
        format!(
            "# old addresses\n{}\n\n{}\n",
            shop.url("/old"),
            shop.url("/away")
        ),
    )
    .unwrap();
    let item = shop.url("/item/1");
    let watched = watch(
        &mut crawler,
        &[&item, "--file", file.to_str().unwrap(), "--every", "2s"],
    );
    wait_until("all are had", || {
        let asked = [shop.asked(), other.asked()].concat();
        ["/item/1", "/new", "/there"]
            .iter()
            .all(|path| asked.iter().any(|asked| asked == path))
    });
    wait_until("each is looked at again", || {
        let often = |path: &str| shop.asked().iter().filter(|asked| *asked == path).count();
        often("/item/1") > 2 && often("/new") > 2
    });
    price.store(17, Ordering::Relaxed);
    let file_of = |crawler: &Crawler| crawler.directory.path().join("out-1");
    wait_until("the change is printed", || {
        let said = std::fs::read_to_string(file_of(&crawler)).unwrap();
        said.contains(&format!(
            "changed  {item}\n  - Now 19,99 EUR only\n  + Now 17,99 EUR only\n"
        )) && said.contains(&format!("changed  {}\n", shop.url("/new")))
    });
    // neither links nor pictures
    let asked = shop.asked();
    assert!(
        !asked
            .iter()
            .any(|path| path == "/other" || path == "/pot.png"),
        "{asked:?}"
    );
    let why = look(&crawler, &["why", &other.url("/there")]);
    assert!(why.contains("in: a seed redirects to it"), "{why}");

    // one more while it runs, and one less
    let more = shop.url("/item/2");
    let said = watch(&mut crawler, &[&more]).succeeds_within(20);
    assert_eq!(said.out, "1 added; the running crawl has 4 now\n");
    wait_until("it is watched", || {
        shop.asked().iter().any(|path| path == "/item/2")
    });
    look(&crawler, &["seeds", "remove", &shop.url("/away")]);
    watch(&mut crawler, &[&shop.url("/lost")]).succeeds_within(20);
    wait_until("a page that cannot be had is told of", || {
        let said = std::fs::read_to_string(crawler.directory.path().join("err-1")).unwrap();
        said.contains(&format!(
            "warning: {} could not be had (missing)",
            shop.url("/lost")
        ))
    });
    look(&crawler, &["seeds", "remove", &shop.url("/lost")]);
    let ended = watched.interrupted_after(0.5);
    assert!(
        ended
            .out
            .lines()
            .all(|line| line.starts_with("20") || line.starts_with("  ")),
        "{}",
        ended.out
    );

    // started again, it goes on with the same pages, and where old addresses lead is still in scope
    let (before, away) = (shop.asked().len(), other.asked().len());
    let again = watch(&mut crawler, &["--json"]);
    wait_until("all are looked at again", || {
        let asked = &shop.asked()[before..];
        ["/item/1", "/item/2", "/new"]
            .iter()
            .all(|path| asked.iter().any(|asked| asked == path))
    });
    price.store(15, Ordering::Relaxed);
    wait_until("a change is told to programs", || {
        let said = std::fs::read_to_string(crawler.directory.path().join("out-4")).unwrap();
        let told = said
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        told.into_iter().any(|told| {
            told["url"] == *item && told["difference"]["added"][0] == "Now 15,99 EUR only"
        })
    });
    again.interrupted_after(0.0);
    assert_eq!(other.asked().len(), away, "{:?}", other.asked());
}

#[test]
fn watching_once_says_what_changed_and_what_could_not_be_had() {
    let (shop, price) = mall(103, "http://127.0.0.1:1/".into());
    let mut crawler = Crawler::new(&[]);
    let item = shop.url("/item/1");
    let first = watch(&mut crawler, &["--once", &item]).succeeds_within(30);
    assert_eq!((first.out.as_str(), first.err.as_str()), ("", ""));
    // nothing new is nothing said
    let same = watch(&mut crawler, &["--once"]).succeeds_within(30);
    assert_eq!((same.out.as_str(), same.err.as_str()), ("", ""));
    price.store(18, Ordering::Relaxed);
    let changed = watch(&mut crawler, &["--once"]).succeeds_within(30);
    assert!(
        changed.out.contains("  + Now 18,99 EUR only\n"),
        "{}",
        changed.out
    );
    let lost = watch(&mut crawler, &["--once", &shop.url("/lost")]).within(60);
    lost.failed(
        1,
        &["missing: ", "/lost", "1 page in scope could not be had"],
    );
    // what is no page, and a directory with a crawl of another kind
    watch(&mut crawler, &["no-url"])
        .within(10)
        .failed(2, &["'no-url'"]);
    let mut site = Crawler::new(&[shop.url("/")]);
    site.start(&["--once", "--pages", "1"]).within(30);
    watch(&mut site, &[&item])
        .within(10)
        .failed(2, &["a crawl of sites is kept here", "--data"]);
}

#[test]
fn a_price_that_moves_all_the_time_is_told_where_it_is_selected() {
    let look = Arc::new(AtomicUsize::new(0));
    let now = look.clone();
    let shop = Answers::new(104, move |path| match path {
        "/robots.txt" => missing(),
        // another price at every look
        _ => html(&format!(
            "<title>Pot</title><main><h1>Pot</h1><p class=price>Now {},99 EUR only</p><p>{TEXT}</p>\
             <p>Nobody has complained of it so far.</p><p>It comes in red and in blue.</p></main>",
            100 + now.fetch_add(1, Ordering::Relaxed)
        )),
    });
    let page = shop.url("/item");
    let mut crawler = Crawler::new(std::slice::from_ref(&page))
        .with("watch", "[{ pages = \"/item\", select = [\"main\"] }]");
    let crawl = crawler.start(&[]);
    wait_until("a first copy", || {
        run(&crawler, &["get", &page]).status.success()
    });
    for _ in 0..9 {
        assert!(say(&crawler, &["visit", &page]).ends_with(": 200, changed\n"));
    }
    crawl.interrupted_after(0.0);
}

#[test]
fn a_webhook_that_came_too_late_says_so() {
    let (shop, price) = shop(105);
    let page = shop.url("/item");
    let receiver = Receiver::open();
    let mut crawler = Crawler::new(std::slice::from_ref(&page)).with(
        "webhooks",
        format!("[{{ url = \"http://127.0.0.1:{}/\" }}]", receiver.port),
    );
    let crawl = crawler.start(&[]);
    wait_until("a first copy", || {
        run(&crawler, &["get", &page]).status.success()
    });
    price.store(17, Ordering::Relaxed);
    assert!(say(&crawler, &["visit", &page]).ends_with("changed\n"));
    crawl.kill();
    // as after 400 million visits: the log begins later. Opening it first does what the crash left undone
    drop(storage::Store::open(&crawler.state(), storage::StoreOptions::default()).unwrap());
    let log = crawler.state().join("observations");
    std::fs::rename(log.join("00000000.log"), log.join("00001525.log")).unwrap();
    receiver.status.store(200, Ordering::Relaxed);
    let crawl = crawler.start(&[]);
    wait_until("status tells of what is lost", || {
        let told: Value = serde_json::from_str(&say(&crawler, &["status", "--json"])).unwrap();
        told["webhooks"][0]["lost"]
            .as_u64()
            .is_some_and(|lost| lost > 300_000_000)
    });
    assert!(say(&crawler, &["status"]).contains(" visits lost to it"));
    let ended = crawl.interrupted_after(0.0);
    assert!(ended.err.contains("nobody is told"), "{}", ended.err);
}

#[test]
fn the_log_goes_to_a_file_that_does_not_grow_without_end() {
    use std::os::unix::fs::PermissionsExt;
    let site = endless(106);
    let mut crawler = Crawler::new(&[site.url("/1")]);
    let folder = crawler.directory.path().join("logs");
    std::fs::create_dir(&folder).unwrap();
    let file = folder.join("crawl.log");
    crawler = crawler
        .with("log.file", format!("{file:?}"))
        .with("log.level", "\"debug\"")
        .with("log.json", "true")
        .with("log.rotate_bytes", "4096")
        .with("log.keep_files", "3");
    let crawl = crawler.start(&["--pages", "60"]);
    // killed and started again: what was written is there, and it goes on
    wait_until("it rotates", || folder.join("crawl.log.2").exists());
    crawl.kill();
    crawler.start(&["--pages", "60"]).succeeds_within(60);
    let names: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(names.len(), 4, "{names:?}");
    let mut asked = 0;
    for name in &names {
        let metadata = std::fs::metadata(name).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
        assert!(metadata.len() <= 4096, "{}", metadata.len());
        for line in std::fs::read_to_string(name).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            asked += usize::from(line["fields"]["url"].is_string());
        }
    }
    assert!(asked > 20, "{asked}");
    // a link that somebody planted is not written through
    let precious = crawler.directory.path().join("precious");
    std::fs::write(&precious, "precious").unwrap();
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(&precious, &file).unwrap();
    let refused = crawler.start(&["--pages", "1"]).within(10);
    refused.failed(2, &["crawl.log", "log.file", "is a link"]);
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
}

#[test]
fn a_seed_that_leads_out_of_scope_is_missing() {
    let other = Answers::new(108, |_| html("<p>Elsewhere.</p>"));
    let target = other.url("/home");
    let to = target.clone();
    let site = Answers::new(107, move |path| match path {
        "/robots.txt" => missing(),
        "/hop" => answer("301 Moved\r\nLocation: /", b""),
        _ => answer(&format!("301 Moved\r\nLocation: {to}"), b""),
    });
    for seed in ["/", "/hop"] {
        let mut crawler = Crawler::new(&[site.url(seed)]);
        let ended = crawler.start(&["--once"]).within(30);
        ended.failed(1, &[&site.url("/"), "leads out of scope", &target]);
        let why = say(&crawler, &["why", &site.url("/")]);
        assert!(
            why.contains(&format!(
                "{target}, which is not followed: it is out of scope"
            )),
            "{why}"
        );
        // one that goes on for ever says so too
        let ended = Crawler::new(&[site.url(seed)]).start(&[]).within(30);
        ended.failed(1, &["nothing could be fetched", "leads out of scope"]);
    }
    assert!(other.asked().is_empty());
    let mut crawler = Crawler::new(&[site.url("/"), target.clone()]);
    crawler.once(30);
}
