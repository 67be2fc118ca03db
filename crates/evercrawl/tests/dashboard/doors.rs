//! Who is let in, by plain requests: a browser would not send most of these.

use super::crawling::Crawler;
use super::{TOKEN, address, crawl, site, wait_until};
use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The whole answer to a request.
pub fn ask(host: &str, method: &str, path: &str, headers: &[&str], body: &str) -> String {
    let mut stream = TcpStream::connect(host).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_mins(1)))
        .unwrap();
    let named = headers.iter().any(|header| header.starts_with("Host:"));
    let mut head = format!(
        "{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n",
        body.len()
    );
    if !named {
        head += &["Host: ", host, "\r\n"].concat();
    }
    for header in headers {
        head += &[header, "\r\n"].concat();
    }
    // who is refused may be cut off before all is said
    let _ = write!(stream, "{head}\r\n{body}");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

pub fn get(host: &str, path: &str, headers: &[&str]) -> String {
    ask(host, "GET", path, headers, "")
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or(answer)
}

pub fn with_token(crawler: Crawler) -> Crawler {
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
fn feeds_and_starts_are_told_apart() {
    let (server, _) = site(98);
    let mut crawler = crawl(&server);
    let process = crawler.start(&["--dashboard=127.0.0.1:0"]);
    let host = address(&process).trim_start_matches("http://").to_owned();
    // other changes are another feed, and the same are the same
    let id = |path: &str| {
        let feed = get(&host, path, &[]);
        let rest = feed.split_once("<id>").unwrap().1;
        rest.split_once("</id>").unwrap().0.to_owned()
    };
    let ids =
        ["", "?kinds=all", "?host=a", "?pattern=a"].map(|rest| id(&format!("/changes.atom{rest}")));
    assert_eq!(
        ids.iter().collect::<HashSet<_>>().len(),
        ids.len(),
        "{ids:?}"
    );
    assert_eq!(ids[1], id("/changes.atom?kinds=all"));
    // a second start meets the first, not something else at its port
    let second = crawler.start(&[&format!("--dashboard={host}")]).within(30);
    second.failed(1, &["the crawl of", "runs and listens there"]);
}

/// Somebody who gave the token.
struct Owner {
    host: String,
    origin: String,
    cookie: String,
}

impl Owner {
    fn enter(host: String) -> Self {
        let origin = format!("Origin: http://{host}");
        let form = format!("token={TOKEN}");
        let entered = ask(&host, "POST", "/enter", &[&origin], &form);
        assert_eq!(status(&entered), "303", "{entered}");
        let lower = entered.to_ascii_lowercase();
        let at = lower.find("set-cookie: ").unwrap() + "set-cookie: ".len();
        let cookie = entered[at..].split(';').next().unwrap();
        Self {
            cookie: format!("Cookie: {cookie}"),
            host,
            origin,
        }
    }

    fn look(&self, path: &str) -> String {
        get(&self.host, path, &[&self.cookie])
    }

    fn act(&self, what: &str, form: &str) -> String {
        let path = format!("/actions/{what}");
        let headers: [&str; 2] = [&self.origin, &self.cookie];
        ask(&self.host, "POST", &path, &headers, form)
    }
}

#[test]
fn whoever_knows_the_token_pauses_the_crawl_and_changes_its_budgets() {
    let (server, _) = site(94);
    let mut crawler = with_token(crawl(&server));
    let process = crawler.start(&["--dashboard=127.0.0.1:0"]);
    let host = address(&process).trim_start_matches("http://").to_owned();
    let origin = format!("Origin: http://{host}");
    let post = |path: &str, headers: &[&str], form: &str| ask(&host, "POST", path, headers, form);
    assert_eq!(status(&get(&host, "/", &[])), "401");
    assert_eq!(status(&get(&host, "/live", &[])), "401");
    assert_eq!(status(&post("/actions/pause", &[&origin], "")), "401");
    assert_eq!(status(&post("/enter", &[&origin], "token=wrong")), "401");
    let owner = Owner::enter(host.clone());
    assert!(!owner.cookie.contains(TOKEN));
    assert_eq!(status(&owner.look("/actions")), "200");
    // a cookie alone is not enough: another site's page could have it sent
    assert_eq!(status(&post("/actions/pause", &[&owner.cookie], "")), "403");
    // a program's token is, if no browser has it sent
    let right = format!("Authorization: Bearer {TOKEN}");
    let act = |headers: &[&str]| status(&post("/actions/resume", headers, "")).to_owned();
    assert_eq!(act(&["Authorization: Bearer wrong"]), "401");
    assert_eq!(act(&[&right, "Origin: http://evil.example"]), "403");
    assert_eq!(act(&[&right, "Sec-Fetch-Site: cross-site"]), "403");
    assert_eq!(act(&[&right]), "303");

    assert!(owner.act("pause", "").contains("done="));
    wait_until("the pause", || {
        owner.look("/").contains("The crawl is paused")
    });
    std::thread::sleep(Duration::from_secs(2));
    let asked = server.asked().len();
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(server.asked().len(), asked, "a request during the pause");
    assert!(owner.act("resume", "").contains("done="));
    wait_until("more requests", || server.asked().len() > asked);

    let slow = "requests=0.5&bytes=0&revisits=100%25";
    assert!(owner.act("budget", slow).contains("done="));
    assert!(
        owner
            .act("budget", "requests=-1&bytes=0&revisits=9%25")
            .contains("failed=")
    );
    std::thread::sleep(Duration::from_secs(2));
    let asked = server.asked().len();
    std::thread::sleep(Duration::from_secs(8));
    let more = server.asked().len() - asked;
    assert!(
        (1..=6).contains(&more),
        "{more} requests in 8 s at one in 2 s"
    );
    let quick = "requests=0&bytes=0&revisits=5%2Fsecond";
    assert!(owner.act("budget", quick).contains("done="));
    let asked = server.asked().len();
    wait_until("many requests", || server.asked().len() > asked + 20);
}

#[test]
fn whoever_knows_the_token_changes_seeds_and_all_is_written_down() {
    let (server, _) = site(96);
    let mut crawler = with_token(crawl(&server));
    let process = crawler.start(&["--dashboard=127.0.0.1:0"]);
    let owner = Owner::enter(address(&process).trim_start_matches("http://").to_owned());
    let asked = |path: &str| server.asked().iter().filter(|asked| *asked == path).count();
    let seed = format!("seeds={}", url_encoded(&server.url("/added")));
    assert!(owner.act("add-seeds", &seed).contains("1+seed+added"));
    wait_until("the new seed", || asked("/added") > 0);
    // a reach may follow, as in a file of seeds; a password is neither sent nor kept
    let own = format!("{seed}+page");
    assert!(owner.act("add-seeds", &own).contains("1+seed+added"));
    assert!(owner.look("/actions").contains("/added page"));
    assert!(
        owner
            .act("add-seeds", &(seed.clone() + "+fa"))
            .contains("not+a+reach")
    );
    for action in ["add-seeds", "visit"] {
        let login = "seeds=http%3A%2F%2Fme:hidden@a.test%2F&url=http%3A%2F%2Fme:hidden@a.test%2F";
        let answer = owner.act(action, login);
        assert!(
            answer.contains("basic_file") && !answer.contains("hidden"),
            "{answer}"
        );
    }
    assert!(owner.act("remove-seeds", &seed).contains("1+seed+removed"));
    assert!(
        owner
            .act("add-seeds", "seeds=javascript%3Aalert(1)")
            .contains("failed=")
    );
    assert!(
        owner
            .act("visit", "url=http%3A%2F%2Felsewhere.example%2F")
            .contains("failed=")
    );
    wait_until("the first visit", || asked("/none") > 0);
    let before = asked("/none");
    let visit = format!("url={}", url_encoded(&server.url("/none")));
    assert!(owner.act("visit", &visit).contains("done="));
    wait_until("the visit", || asked("/none") > before);
    assert!(status(&owner.act("fly", "")) == "404");

    let log = std::fs::read_to_string(crawler.data().join("dashboard-actions.jsonl")).unwrap();
    let entries = log.lines().map(|line| serde_json::from_str(line).unwrap());
    let actions = entries.map(|entry: serde_json::Value| {
        let word = entry["action"].as_str().unwrap().to_owned();
        word + if entry["done"] == true { "" } else { "!" }
    });
    let actions: Vec<String> = actions.collect();
    assert_eq!(
        actions,
        [
            "add-seeds",
            "add-seeds",
            "add-seeds!",
            "add-seeds!",
            "visit!",
            "remove-seeds",
            "add-seeds!",
            "visit!",
            "visit"
        ]
    );
    assert!(!log.contains(TOKEN) && !log.contains("hidden"));
    assert!(owner.look("/actions").contains("remove-seeds"));
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
    let ended = crawl(&server)
        .start(&["--dashboard", "127.0.0.1:0", "--once"])
        .within(60);
    ended.failed(2, &["--dashboard=127.0.0.1:0"]);
    assert_eq!(server.asked(), Vec::<String>::new());
}
