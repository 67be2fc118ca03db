//! Who is let in, by plain requests: a browser would not send most of these.

use super::crawling::Crawler;
use super::{TOKEN, address, crawl, site, wait_until};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The whole answer to a request.
pub fn ask(host: &str, method: &str, path: &str, headers: &[&str], body: &str) -> String {
    let mut stream = TcpStream::connect(host).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let named = headers.iter().any(|header| header.starts_with("Host:"));
    let mut head = format!(
        "{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n",
        body.len()
    );
    if !named {
        head += &format!("Host: {host}\r\n");
    }
    for header in headers {
        head += &format!("{header}\r\n");
    }
    write!(stream, "{head}\r\n{body}").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

pub fn get(host: &str, path: &str, headers: &[&str]) -> String {
    ask(host, "GET", path, headers, "")
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or(answer)
}

fn with_token(crawler: Crawler) -> Crawler {
    let file = crawler.directory.path().join("token");
    std::fs::write(&file, format!("{TOKEN}\n")).unwrap();
    crawler
        .with("dashboard.token_file", "\"token\"")
        .with("dashboard.actions", "true")
}

#[test]
fn strangers_stay_outside() {
    let (server, _) = site(93);
    let mut crawler = crawl(&server);
    let process = crawler.start(&["--dashboard=127.0.0.1:0"]);
    let host = address(&process).trim_start_matches("http://").to_owned();
    let page = get(&host, "/", &[]);
    assert_eq!(status(&page), "200");
    let lower = page.to_ascii_lowercase();
    assert!(
        lower.contains("content-security-policy: default-src 'none'; script-src 'self'"),
        "{page}"
    );
    assert!(
        !page.contains("<style") && !page.contains("style="),
        "{page}"
    );
    assert!(
        !page
            .replace("<script src=\"/live.js\" defer></script>", "")
            .contains("<script")
    );
    // a name that somebody points at this machine, another site's page, other methods
    assert_eq!(
        status(&get(&host, "/", &["Host: evil.example:9601"])),
        "421"
    );
    assert_eq!(
        status(&get(&host, "/changes", &["Sec-Fetch-Site: cross-site"])),
        "403"
    );
    assert_eq!(status(&ask(&host, "DELETE", "/", &[], "")), "405");
    let origin = format!("Origin: http://{host}");
    assert_eq!(
        status(&ask(
            &host,
            "POST",
            "/actions/pause",
            &["Origin: http://evil.example"],
            ""
        )),
        "403"
    );
    // no token, no actions
    assert_eq!(
        status(&ask(&host, "POST", "/actions/pause", &[&origin], "")),
        "403"
    );
    assert_eq!(status(&get(&host, "/actions", &[])), "404");
    for path in [
        "/page/4294967295",
        "/page/x",
        "/change/99999999",
        "/../../etc/passwd",
        "/page/0/copy?at=99",
    ] {
        assert_eq!(status(&get(&host, path, &[])), "404", "{path}");
    }
    for path in [
        "/pages?after=1.2.3&sort=visit",
        "/pages?q=%00%ff",
        "/changes?pattern=(",
        "/changes?before=0",
        "/budget?budget=-1",
        "/sites?after=999999",
    ] {
        assert_eq!(status(&get(&host, path, &[])), "200", "{path}");
    }
    // a copy is text, whatever it was
    wait_until("a copy", || {
        status(&get(&host, "/page/0/copy?at=0", &[])) == "200"
    });
    let copy = get(&host, "/page/0/copy?at=0", &[]).to_ascii_lowercase();
    assert!(
        copy.contains("content-type: text/plain") && copy.contains("sandbox"),
        "{copy}"
    );
    // callers who say nothing are sent away, and do not keep others out
    let silent: Vec<TcpStream> = (0..60)
        .map(|_| TcpStream::connect(&host).unwrap())
        .collect();
    let began = Instant::now();
    assert_eq!(status(&get(&host, "/", &[])), "200");
    assert!(began.elapsed() < Duration::from_secs(30));
    for mut stream in silent {
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        // closed, with or without a word
        let _ = stream.read_to_end(&mut Vec::new()).unwrap();
    }
    let large = "x".repeat(200 << 10);
    let answer = get(&host, "/", &[&format!("X-Large: {large}")]);
    assert!(status(&answer) == "431" || answer.is_empty(), "{answer}");
    let atom = get(&host, "/changes.atom?kinds=all", &[]);
    assert!(
        atom.contains("<feed xmlns=\"http://www.w3.org/2005/Atom\">"),
        "{atom}"
    );
}

#[test]
fn whoever_knows_the_token_acts_and_it_is_written_down() {
    let (server, _) = site(94);
    let mut crawler = with_token(crawl(&server));
    let process = crawler.start(&["--dashboard=127.0.0.1:0"]);
    let host = address(&process).trim_start_matches("http://").to_owned();
    let origin = format!("Origin: http://{host}");
    assert_eq!(status(&get(&host, "/", &[])), "401");
    assert_eq!(status(&get(&host, "/live", &[])), "401");
    assert_eq!(
        status(&ask(&host, "POST", "/actions/pause", &[&origin], "")),
        "401"
    );
    assert_eq!(
        status(&ask(&host, "POST", "/enter", &[&origin], "token=wrong")),
        "401"
    );
    let entered = ask(
        &host,
        "POST",
        "/enter",
        &[&origin],
        &format!("token={TOKEN}"),
    );
    assert_eq!(status(&entered), "303", "{entered}");
    let lower = entered.to_ascii_lowercase();
    let at = lower.find("set-cookie: ").unwrap() + "set-cookie: ".len();
    let cookie = format!("Cookie: {}", entered[at..].split(';').next().unwrap());
    assert!(!cookie.contains(TOKEN));
    wait_until("an answer", || {
        status(&get(&host, "/actions", &[&cookie])) == "200"
    });
    let act = |what: &str, form: &str| {
        ask(
            &host,
            "POST",
            &format!("/actions/{what}"),
            &[&origin, &cookie],
            form,
        )
    };
    // a cookie alone is not enough: another site's page could send it
    assert_eq!(
        status(&ask(&host, "POST", "/actions/pause", &[&cookie], "")),
        "403"
    );

    assert!(act("pause", "").contains("done="));
    wait_until("the pause", || {
        get(&host, "/", &[&cookie]).contains("The crawl is paused")
    });
    std::thread::sleep(Duration::from_secs(2));
    let asked = server.asked().len();
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(
        server.asked().len(),
        asked,
        "a request was made during the pause"
    );
    assert!(act("resume", "").contains("done="));
    wait_until("more requests", || server.asked().len() > asked);

    assert!(act("budget", "requests=0.5&bytes=0&revisits=100%25").contains("done="));
    assert!(act("budget", "requests=-1&bytes=0&revisits=100%25").contains("failed="));
    std::thread::sleep(Duration::from_secs(2));
    let asked = server.asked().len();
    std::thread::sleep(Duration::from_secs(8));
    let more = server.asked().len() - asked;
    assert!(
        (1..=6).contains(&more),
        "{more} requests in 8 s with half a request a second"
    );
    assert!(act("budget", "requests=0&bytes=0&revisits=5%2Fsecond").contains("done="));

    let seed = url_encoded(&server.url("/added"));
    assert!(act("add-seeds", &format!("seeds={seed}")).contains("1+seed+added"));
    wait_until("the new seed", || {
        server.asked().contains(&"/added".to_owned())
    });
    assert!(act("remove-seeds", &format!("seeds={seed}")).contains("1+seed+removed"));
    assert!(act("visit", "url=http%3A%2F%2Felsewhere.example%2F").contains("failed="));
    let seed = url_encoded(&server.url("/none"));
    let before = server
        .asked()
        .iter()
        .filter(|path| *path == "/none")
        .count();
    assert!(act("visit", &format!("url={seed}")).contains("done="));
    wait_until("the visit", || {
        server
            .asked()
            .iter()
            .filter(|path| *path == "/none")
            .count()
            > before
    });

    let log = std::fs::read_to_string(crawler.data().join("dashboard-actions.jsonl")).unwrap();
    let actions: Vec<String> = (log.lines())
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|entry| {
            format!(
                "{}{}",
                entry["action"].as_str().unwrap(),
                if entry["done"] == true { "" } else { "!" }
            )
        })
        .collect();
    assert_eq!(
        actions,
        [
            "pause",
            "resume",
            "budget",
            "budget!",
            "budget",
            "add-seeds",
            "remove-seeds",
            "visit!",
            "visit"
        ]
    );
    assert!(!log.contains(TOKEN));
    assert!(get(&host, "/actions", &[&cookie]).contains("add-seeds"));
}

fn url_encoded(text: &str) -> String {
    text.replace(':', "%3A").replace('/', "%2F")
}

#[test]
fn what_is_not_safe_does_not_start() {
    let (server, _) = site(95);
    for (key, value, words) in [
        ("dashboard.listen", "\"0.0.0.0:0\"", "token"),
        ("dashboard.actions", "true", "token"),
        (
            "dashboard.token_env",
            "\"NO_SUCH_VARIABLE_HERE\"",
            "NO_SUCH_VARIABLE_HERE",
        ),
    ] {
        let mut crawler = crawl(&server)
            .with("dashboard.listen", "\"127.0.0.1:0\"")
            .with(key, value);
        let ended = crawler.start(&["--once"]).within(60);
        ended.failed(2, &["dashboard", words]);
    }
    assert_eq!(server.asked(), Vec::<String>::new());
}
