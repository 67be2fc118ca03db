//! Hostile input, one kind a test: each is survived in seconds, in bounded memory, and nothing of it
//! reaches the terminal raw.

mod crawling;

use crawling::answers::{Answers, answer, html, missing};
use crawling::{Crawler, Ended, Page, pages_in, serve};
use flate2::{Compression, write::GzEncoder};
use simulation::web::spec::Corner;
use simulation::web::{Running, Web, WebSpec};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::{Duration, Instant};
use storage::{PageRow, PageState};

const MOST_MEMORY: u64 = 300 << 20;
/// Bodies are cut here.
const MOST_BYTES: u64 = 1 << 20;

/// Well-behaved otherwise; every host has the corner.
fn web_with(corner: Corner, hosts: u32) -> (Arc<Web>, Running) {
    let spec = WebSpec {
        hosts,
        largest: 3,
        corners: [(corner, 1.0)].into(),
        ..WebSpec::plain()
    };
    serve(&spec, 1.0)
}

fn cautious(crawler: Crawler) -> Crawler {
    crawler
        .with("fetch.max_bytes", MOST_BYTES.to_string())
        .with("fetch.max_decoded_bytes", (4 * MOST_BYTES).to_string())
        .with("traps.per_prefix", "60")
        .with("revisit.budget", "\"1/day\"")
}

/// Crawls until `enough` of the store, then checks what must hold whatever happened.
fn crawl_until(crawler: &mut Crawler, enough: impl Fn(&[Page]) -> bool) -> Ended {
    let began = Instant::now();
    let mut process = crawler.start(&["--verbose", "--json"]);
    loop {
        std::thread::sleep(Duration::from_millis(100));
        assert!(!process.is_over(), "{}", process.errors_so_far());
        if pages_in(&crawler.state()).is_ok_and(|pages| enough(&pages)) {
            break;
        }
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "never enough: {}",
            process.errors_so_far()
        );
    }
    let ended = process.interrupted_after(0.3);
    assert!(ended.peak_memory > 1 << 20, "memory was not looked at");
    assert!(
        ended.peak_memory < MOST_MEMORY,
        "{} MiB",
        ended.peak_memory >> 20
    );
    for text in [&ended.out, &ended.err] {
        let raw = text.chars().find(|&c| c.is_control() && c != '\n');
        assert_eq!(raw, None, "{text:?}");
    }
    if crawler.archive().exists() {
        crawler.verify_archive();
    }
    ended
}

/// Whether every page was looked at, one way or another.
fn all_visited(pages: &[Page]) -> bool {
    !pages.is_empty() && pages.iter().all(|page| page.row.is_some())
}

/// What a terminal would obey: controls but the end of a line, and what reverses the writing.
fn is_obeyed(c: char) -> bool {
    let reverses =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    (c.is_control() && c != '\n') || reverses
}

/// A command that looks at the crawl, its output going into a pipe.
fn look(crawler: &Crawler, arguments: &[&str]) -> Output {
    let (command, rest) = arguments.split_first().unwrap();
    let mut look = Command::new(env!("CARGO_BIN_EXE_evercrawl"));
    look.arg(command).arg("-c").arg(crawler.config()).args(rest);
    look.output().unwrap()
}

/// The same on a terminal, if there is a program that plays one.
fn look_on_a_terminal(crawler: &Crawler, arguments: &[&str]) -> Option<Vec<u8>> {
    let (command, rest) = arguments.split_first().unwrap();
    let rest: Vec<String> = rest.iter().map(|word| format!("'{word}'")).collect();
    let line = format!(
        "NO_COLOR=1 {} {command} -c {} {}",
        env!("CARGO_BIN_EXE_evercrawl"),
        crawler.config().display(),
        rest.join(" ")
    );
    let script = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .output();
    if script.is_err() {
        eprintln!("skipped: there is no `script` here to play a terminal");
    }
    Some(script.ok()?.stdout)
}

/// Everything that commands say of what was crawled is fit for a terminal, and JSON and CSV are right.
fn shown_and_not_obeyed(crawler: &Crawler) {
    let urls: Vec<String> = crawler.pages().into_iter().map(|page| page.url).collect();
    let mut commands: Vec<Vec<&str>> = vec![
        vec!["status"],
        vec!["pages"],
        vec!["hosts"],
        vec!["changes", "--minor"],
        vec!["export", "--format", "csv"],
        vec!["export", "--format", "urls"],
    ];
    for url in &urls {
        commands.push(vec!["why", url]);
        commands.push(vec!["get", "--versions", url]);
    }
    for command in &mut commands {
        check_output(command, &look(crawler, command).stdout);
        if matches!(command[0], "status" | "pages" | "hosts" | "why") {
            command.insert(1, "--json");
            let output = look(crawler, command).stdout;
            check_output(command, &output);
            for line in output
                .split(|&byte| byte == b'\n')
                .filter(|line| !line.is_empty())
            {
                let value: serde_json::Value = serde_json::from_slice(line).unwrap();
                assert!(value.is_object());
            }
        }
    }
    let csv = look(crawler, &["export", "--format", "csv"]).stdout;
    let rows = csv::Reader::from_reader(&*csv).into_records();
    assert_eq!(rows.map(Result::unwrap).count(), urls.len());
    // what a server sent goes into a pipe as it came, but not to a terminal
    for url in &urls {
        for kind in ["--headers", "--raw"] {
            let Some(shown) = look_on_a_terminal(crawler, &["get", kind, url]) else {
                return;
            };
            let shown = String::from_utf8_lossy(&shown).replace("\r\n", "\n");
            check_output(&["get", kind, url], shown.as_bytes());
        }
    }
}

fn check_output(command: &[&str], output: &[u8]) {
    let text = str::from_utf8(output).unwrap();
    assert!(!text.contains(is_obeyed), "{command:?}: {text:?}");
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn read_metrics(port: u16) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(stream, "GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text.replace("\r\n", "\n")
}

/// Fetches these pages of a corner, each from a host of its own, and nothing else.
fn visit_each(corner: Corner, prefix: &str, names: &[&str]) -> (Crawler, Ended, Vec<PageRow>) {
    let (web, running) = web_with(corner, names.len() as u32);
    let seeds = names
        .iter()
        .zip(web.hosts())
        .map(|(name, host)| format!("http://{}:{}/{prefix}/{name}", host.name, running.port));
    let seeds: Vec<String> = seeds.collect();
    let crawler = Crawler::of_web(&web, &running)
        .with("seeds", format!("{seeds:?}"))
        .with("scope.suffixes", "[]")
        .with("scope.reach", "\"prefix\"");
    let mut crawler = cautious(crawler);
    let ended = crawl_until(&mut crawler, |pages| {
        pages.len() >= names.len() && all_visited(pages)
    });
    let rows = seeds.iter().map(|seed| crawler.page(seed).row.unwrap());
    let rows = rows.collect();
    (crawler, ended, rows)
}

fn cause(row: &PageRow) -> &'static str {
    let cause = row.last_failure.expect("a failure").1;
    robot::cause::word(cause)
}

#[test]
fn decompression_bombs() {
    // 256 MiB in a quarter of one
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    for _ in 0..256 {
        encoder.write_all(&vec![b' '; 1 << 20]).unwrap();
    }
    let bomb = encoder.finish().unwrap();
    let server = Answers::new(3, move |path| match path {
        "/robots.txt" => answer("200 OK\r\nContent-Encoding: gzip", &bomb),
        "/" => html("<a href=/page></a><a href=/map.xml.gz></a><a href=/twice></a>"),
        "/page" => answer(
            "200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip",
            &bomb,
        ),
        "/map.xml.gz" => answer("200 OK\r\nContent-Type: application/gzip", &bomb),
        "/twice" => answer("200 OK\r\nContent-Encoding: gzip, gzip, gzip", &bomb),
        _ => missing(),
    });
    let mut crawler = Crawler::new(&[server.url("/")]);
    crawl_until(&mut crawler, |pages| pages.len() == 4 && all_visited(pages));
    assert_eq!(crawler.page("/page").row.unwrap().state, PageState::Live);
}

#[test]
fn endless_bodies() {
    let (crawler, _, rows) = visit_each(Corner::Hostile, "hostile", &["endless", "endless"]);
    for row in rows {
        assert_eq!(row.state, PageState::Live);
        assert_eq!(row.length, MOST_BYTES);
        let record = storage::archive::read(&crawler.archive(), row.place.unwrap()).unwrap();
        assert_eq!(record.header("WARC-Truncated"), Some("length"));
    }
}

#[test]
fn slow_drip_and_silence() {
    let names = ["drip", "slow", "silent"];
    let (_, ended, rows) = visit_each(Corner::Broken, "broken", &names);
    for row in &rows {
        assert_eq!(row.state, PageState::New);
    }
    assert_eq!(cause(&rows[0]), "too-slow");
    assert_eq!(cause(&rows[1]), "timeout-first-byte");
    assert_eq!(cause(&rows[2]), "timeout-first-byte");
    assert!(ended.took < Duration::from_secs(10), "{:?}", ended.took);
}

#[test]
fn header_floods() {
    let (_, ended, rows) = visit_each(Corner::Hostile, "hostile", &["headers", "long-header"]);
    for row in &rows {
        assert_eq!(cause(row), "headers-too-large");
    }
    assert_eq!(ended.failures("headers-too-large"), 2);
}

#[test]
fn redirect_loops_and_chains() {
    let (web, running) = web_with(Corner::Redirects, 1);
    let mut crawler = cautious(Crawler::of_web(&web, &running));
    crawl_until(&mut crawler, |pages| pages.len() > 20 && all_visited(pages));
    let visits = running.record.visits();
    let below = |prefix: &str| visits.iter().filter(|v| v.path.starts_with(prefix)).count();
    assert_eq!(below("/moved/self"), 1);
    assert!(
        (2..=4).contains(&below("/moved/loop/")),
        "{}",
        below("/moved/loop/")
    );
    // five hops are followed to their end, thirty are not
    let chain = below("/moved/chain/");
    assert!((6 + 10..=6 + 13).contains(&chain), "{chain}");
    assert_eq!(
        crawler.page("/moved/chain/0").row.unwrap().state,
        PageState::Redirect
    );
    let pages = crawler.pages();
    assert!(pages.iter().all(|page| !page.url.ends_with("/chain/15")));
}

#[test]
fn redirects_to_addresses_that_are_not_public() {
    let forbidden = Answers::new(7, |_| html("secret"));
    let secret = forbidden.url("/secret");
    let mapped = format!("http://[::ffff:127.0.0.7]:{}/secret", forbidden.port);
    let server = Answers::new(6, move |path| match path {
        "/" => html("<a href=a></a><a href=b></a><a href=c></a><a href=d></a>"),
        "/a" => answer(&format!("302 Found\r\nLocation: {secret}"), b""),
        "/b" => answer(&format!("302 Found\r\nLocation: {mapped}"), b""),
        "/c" => answer("302 Found\r\nLocation: http://169.254.169.254/latest/", b""),
        "/d" => answer("302 Found\r\nLocation: http://10.0.0.1/", b""),
        _ => missing(),
    });
    let crawler = Crawler::new(&[server.url("/")])
        .with("fetch.allow_networks", "[\"127.0.0.6/32\"]")
        .with("scope.reach", "\"anywhere\"");
    let mut crawler = cautious(crawler);
    let ended = crawl_until(&mut crawler, |pages| {
        pages.iter().filter(|page| page.row.is_some()).count() >= 5 && pages.len() >= 9
    });
    assert_eq!(
        ended.failures("address-refused"),
        4,
        "{:?}",
        ended.figures()
    );
    assert_eq!(forbidden.asked(), [""; 0]);
    for end in ["/secret", "/latest/", "10.0.0.1/"] {
        assert_eq!(crawler.page(end).row, None);
    }
}

#[test]
fn names_with_addresses_that_are_not_public() {
    let forbidden = Answers::new(9, |_| html("secret"));
    let port = forbidden.port;
    let seeds = ["inside.test", "loopback.test"].map(|name| format!("http://{name}:{port}/"));
    let named = |seeds: &[String]| {
        Crawler::new(seeds)
            .with("fetch.allow_networks", "[\"127.0.0.8/32\"]")
            .knowing("inside.test", [10, 0, 0, 1])
            .knowing("loopback.test", [127, 0, 0, 9])
    };
    // nothing could ever be fetched
    let ended = named(&seeds).start(&["--once", "--json"]).within(10);
    ended.failed(2, &["inside.test", "loopback.test", "--allow-private"]);
    // nor those of them that stand beside others
    let open = Answers::new(8, |_| html("public"));
    let all = [vec![open.url("/")], seeds.to_vec()].concat();
    let mut crawler = named(&all);
    let ended = crawler.start(&["--once", "--json"]).within(20);
    ended.failed(1, &["no address: address-refused"]);
    assert_eq!(
        ended.failures("address-refused"),
        2,
        "{:?}",
        ended.figures()
    );
    assert_eq!(forbidden.asked(), [""; 0]);
}

#[test]
fn a_robots_txt_of_ten_mebibytes() {
    let server = Answers::new(11, |path| match path {
        "/robots.txt" => {
            let mut text = String::from("User-agent: *\nDisallow: /secret\n");
            for number in 0.. {
                writeln!(text, "Disallow: /private/area/number/{number}/").unwrap();
                if text.len() > 10 << 20 {
                    break;
                }
            }
            // far beyond what is read
            text += "Disallow: /\n";
            answer("200 OK\r\nContent-Type: text/plain", text.as_bytes())
        }
        "/" => html("<a href=/secret></a><a href=/open></a><a href=/private/area/number/5/x></a>"),
        "/open" => html("open"),
        _ => missing(),
    });
    let mut crawler = cautious(Crawler::new(&[server.url("/")]));
    crawl_until(&mut crawler, |pages| pages.len() == 4 && all_visited(pages));
    let mut asked = server.asked();
    asked.sort();
    asked.dedup();
    assert_eq!(asked, ["/", "/open", "/robots.txt"]);
    assert_eq!(
        crawler.page("/secret").row.unwrap().state,
        PageState::Excluded
    );
}

#[test]
fn a_sitemap_of_sitemaps_without_end() {
    let (web, running) = web_with(Corner::EndlessSitemap, 1);
    let mut crawler = cautious(Crawler::of_web(&web, &running));
    let ended = crawl_until(&mut crawler, |pages| pages.len() > 50 && all_visited(pages));
    let visits = running.record.visits();
    let endless = visits
        .iter()
        .filter(|v| v.path.starts_with("/endless/"))
        .count();
    assert!((30..=60).contains(&endless), "{endless}");
    assert!(ended.figures().trapped > 0);
}

#[test]
fn urls_of_a_mebibyte() {
    let long = "a".repeat(1 << 20);
    let server = Answers::new(13, move |path| match path {
        "/robots.txt" => answer(
            "200 OK",
            format!("Sitemap: /map.xml\nSitemap: /{long}").as_bytes(),
        ),
        "/map.xml" => answer(
            "200 OK\r\nContent-Type: application/xml",
            format!("<urlset><url><loc>/{long}</loc></url><url><loc>/ok</loc></url></urlset>")
                .as_bytes(),
        ),
        "/" => html(&format!(
            "<a href=/{long}></a><a href='?{long}'></a><a href=/moved></a>"
        )),
        "/moved" => answer(&format!("302 Found\r\nLocation: /{long}"), b""),
        "/ok" => html("fine"),
        _ => missing(),
    });
    // long enough that the bodies themselves are whole
    let mut crawler = Crawler::new(&[server.url("/")]).with("revisit.budget", "\"1/day\"");
    crawl_until(&mut crawler, |pages| pages.len() >= 4 && all_visited(pages));
    shown_and_not_obeyed(&crawler);
    // nor is such a URL anything to ask about
    let asked = look(
        &crawler,
        &["get", &server.url(&format!("/{}", "a".repeat(100_000)))],
    );
    assert_eq!(asked.status.code(), Some(2));
    assert!(asked.stderr.len() < 1000, "{} bytes", asked.stderr.len());
    let asked = server.asked();
    assert!(asked.iter().all(|path| path.len() < 3000) && asked.contains(&"/ok".into()));
    let pages = crawler.pages();
    assert!(pages.iter().all(|page| page.url.len() < 3000));
}

#[test]
fn host_names_that_no_dns_can_know() {
    let name = format!("{}.long.test", "a".repeat(1500));
    let other = name.clone();
    let server = Answers::new(15, move |path| match path {
        "/" => html(&format!("<a href='http://{name}/'></a><a href=/ok></a>")),
        "/ok" => html("fine"),
        _ => missing(),
    });
    // its robots.txt is said to be on a host with such a name
    let moved = Answers::new(16, move |path| match path {
        "/robots.txt" => answer(
            &format!("302 Found\r\nLocation: http://{other}/robots.txt"),
            b"",
        ),
        _ => html("fine"),
    });
    let crawler =
        Crawler::new(&[server.url("/"), moved.url("/")]).with("scope.reach", "\"anywhere\"");
    let mut crawler = cautious(crawler);
    crawl_until(&mut crawler, |pages| pages.len() >= 3 && all_visited(pages));
    assert!(server.asked().contains(&"/ok".into()));
}

#[test]
fn control_characters_in_urls_and_headers() {
    let names = ["control", "controls-in-location", "nul"];
    let (_, _, rows) = visit_each(Corner::Hostile, "hostile", &names);
    assert_eq!(rows[0].state, PageState::Live);

    let body = b"<title>\x1b[2J</title><a href=\"/\x1b[31m\"></a><a href=\"/%1b[31m\"></a>\
        <a href=\"/\xc2\x9b31m\"></a><base href=\"/\x07/\">";
    let heads: [&[u8]; 5] = [
        b"HTTP/1.1 200 \x1b[31mred\x07",
        b"HTTP/1.1 200 OK\r\nETag: \"\x1b]0;owned\x07\"",
        b"HTTP/1.1 200 OK\r\nX-\x1b[2J: 1",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html; \xc2\x9b31m",
        b"HTTP/1.1 302 Found\r\nLocation: /\x1b[31m\x07",
    ];
    let mut last = 40;
    let servers = heads.map(|head| {
        last += 1;
        Answers::new(last, move |path| match path {
            "/" => [head, b"\r\nConnection: close\r\n\r\n", body].concat(),
            "/robots.txt" => answer("200 OK", b"Sitemap: /\x1b[31m\nCrawl-delay: \x1b\n\x07\n"),
            _ => html("fine"),
        })
    });
    let seeds = servers.each_ref().map(|server| server.url("/"));
    let port = free_port();
    let crawler = Crawler::new(&seeds).with("metrics.listen", format!("\"127.0.0.1:{port}\""));
    let mut crawler = cautious(crawler);
    let metrics = std::cell::RefCell::new(String::new());
    crawl_until(&mut crawler, |pages| {
        let enough = pages.len() > seeds.len() && all_visited(pages);
        if enough {
            *metrics.borrow_mut() = read_metrics(port);
        }
        enough
    });
    let metrics = metrics.into_inner();
    assert!(metrics.contains("evercrawl_requests_total"), "{metrics:?}");
    assert!(!metrics.contains(is_obeyed), "{metrics:?}");
    for page in crawler.pages() {
        assert!(!page.url.contains(|c: char| c.is_control()), "{page:?}");
    }
    shown_and_not_obeyed(&crawler);
}

#[test]
fn broken_html_and_nul_bytes() {
    let names = ["soup", "nul", "long-links", "many-links"];
    let (_, _, rows) = visit_each(Corner::Hostile, "hostile", &names);
    for row in rows {
        assert_eq!(row.state, PageState::Live);
    }
    // of many links as many as one place may have are admitted
    let (web, running) = web_with(Corner::Hostile, 1);
    let seed = format!("{}hostile/many-links", web.seed_url(running.port));
    let crawler = Crawler::of_web(&web, &running).with("seeds", format!("[{seed:?}]"));
    let mut crawler = cautious(crawler);
    let ended = crawl_until(&mut crawler, |pages| pages.len() > 10);
    assert!(ended.figures().trapped > 4000, "{:?}", ended.figures());
    assert!(crawler.pages().len() < 100);
}

#[test]
fn content_lengths_that_lie() {
    let names = [
        "short",
        "long",
        "cut",
        "until-close",
        "torn-gzip",
        "not-http",
    ];
    let (_, _, rows) = visit_each(Corner::Broken, "broken", &names);
    assert_eq!(cause(&rows[0]), "cut-short");
    assert_eq!(rows[1].state, PageState::Live);
    assert_eq!(cause(&rows[2]), "cut-short");
    assert_eq!(rows[3].state, PageState::Live);
    assert_eq!(rows[4].state, PageState::Live);
    assert_eq!(cause(&rows[5]), "protocol");

    let lengths = [
        "99999999999999",
        "18446744073709551615",
        "99999999999999999999999999",
        "-1",
        "5\r\nContent-Length: 6",
        "0x10",
        "5, 5",
        "",
    ];
    let mut last = 20;
    let servers = lengths.map(|length| {
        // neighbours at one address would wait for each other
        last += 1;
        let text = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\nhello");
        Answers::new(last, move |path| match path {
            "/" => text.clone().into_bytes(),
            _ => missing(),
        })
    });
    let seeds = servers.each_ref().map(|server| server.url("/"));
    let mut crawler = cautious(Crawler::new(&seeds));
    crawl_until(&mut crawler, |pages| {
        pages.len() == lengths.len() && all_visited(pages)
    });
    for (seed, length) in seeds.iter().zip(lengths) {
        let row = crawler.page(seed).row.unwrap();
        let fine = row.state == PageState::Live && row.length == 5;
        assert!(fine || row.last_failure.is_some(), "{length:?}: {row:?}");
    }
}
