//! How hosts are asked: with what, through whom, how often, at which hours, and for how much.

#[path = "../crawling/mod.rs"]
mod crawling;
mod importance;
mod limits;
mod proxies;
#[path = "../../../fetch/tests/fetch/real_proxy.rs"]
mod real_proxy;
mod rules;
mod seeds;

use crawling::Crawler;
use crawling::answers::{Answers, answer, html, missing};
use std::process::{Command, Output};

/// Runs a command on a crawl.
fn run(crawler: &Crawler, arguments: &[&str]) -> Output {
    let words = if arguments[0] == "seeds" { 2 } else { 1 };
    let mut command = Command::new(env!("CARGO_BIN_EXE_evercrawl"));
    command.args(&arguments[..words]);
    command.arg("--data").arg(crawler.data());
    command.args(&arguments[words..]).output().unwrap()
}

/// What a command that succeeds says.
fn say(crawler: &Crawler, arguments: &[&str]) -> String {
    let output = run(crawler, arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Waits until it is so, not for ever.
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let limit = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while !is_so() {
        assert!(std::time::Instant::now() < limit, "not within 30 s: {what}");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// Whether a word stands anywhere in what a crawl has written: logs, settings, archive, state.
fn is_written(crawler: &Crawler, word: &str) -> Option<std::path::PathBuf> {
    let mut todo = vec![crawler.directory.path().to_owned()];
    while let Some(path) = todo.pop() {
        if path.is_dir() {
            todo.extend(path.read_dir().unwrap().map(|entry| entry.unwrap().path()));
        } else if path.file_name() != Some("login".as_ref()) && path.is_file() {
            let text = std::fs::read(&path).unwrap();
            if text.windows(word.len()).any(|part| part == word.as_bytes()) {
                return Some(path);
            }
        }
    }
    let records = storage::archive::records(&crawler.archive()).unwrap();
    let has = |bytes: &[u8]| {
        bytes
            .windows(word.len())
            .any(|part| part == word.as_bytes())
    };
    for record in records.map(Result::unwrap) {
        if has(&record.head) {
            return Some("a record of the archive".into());
        }
    }
    None
}

#[test]
fn credentials_go_to_their_host_alone() {
    let other = Answers::new(101, |path| match path {
        "/robots.txt" => missing(),
        _ => html("<p>A page of somebody else, who is to know nothing.</p>"),
    });
    let (away, link) = (other.url("/away"), other.url("/linked"));
    let own = Answers::new(102, move |path| match path {
        "/robots.txt" => missing(),
        "/moved" => answer(&format!("302 Found\r\nLocation: {away}"), b""),
        _ => html(&format!(
            "<p>For members.</p><a href=/moved>1</a> <a href='{link}'>2</a>"
        )),
    });
    let seed = own.url("/");
    let mut crawler = Crawler::new(std::slice::from_ref(&seed)).with("scope.reach", "\"anywhere\"");
    let secret = crawler.directory.path().join("login");
    std::fs::write(&secret, "aladdin:opensesame\n").unwrap();
    let host = seed.trim_end_matches('/');
    crawler = crawler.with(
        "rules",
        format!(
            "[{{ hosts = [\"{host}\"], basic_file = {secret:?}, headers = {{ Accept-Language = \"no\" }}, weight = 3.0 }}]"
        ),
    );
    let ended = crawler.start(&["--once", "-v"]).within(60);
    assert!(
        own.asked().contains(&"/moved".to_owned()),
        "{:?}",
        own.asked()
    );
    let basic = "Authorization: Basic YWxhZGRpbjpvcGVuc2VzYW1l";
    for head in own.heads() {
        assert!(head.contains(basic), "{head}");
        assert!(head.contains("accept-language: no"), "{head}");
    }
    let asked = other.asked();
    assert!(
        asked.contains(&"/away".to_owned()) && asked.contains(&"/linked".to_owned()),
        "{asked:?}"
    );
    for head in other.heads() {
        let head = head.to_ascii_lowercase();
        assert!(
            !head.contains("authorization") && !head.contains("accept-language"),
            "{head}"
        );
    }
    // neither logged, nor archived, nor kept
    for word in ["opensesame", "YWxhZGRpbjpvcGVuc2VzYW1l"] {
        assert!(!ended.err.contains(word) && !ended.out.contains(word));
        let kept = std::fs::read_to_string(crawler.data().join("config.toml")).unwrap();
        assert!(!kept.contains(word));
        for record in storage::archive::records(&crawler.archive()).unwrap() {
            let record = record.unwrap();
            let head = String::from_utf8_lossy(&record.head).into_owned();
            assert!(!head.contains(word), "{head}");
        }
    }
}

/// Whoever looks at a crawl need not know what its headers say.
#[test]
fn why_names_headers_without_what_they_say() {
    let site = Answers::new(64, |_| html("<p>a page"));
    let mut crawler = Crawler::new(&[site.url("/")]);
    let host = format!("http://127.0.0.64:{}", site.port);
    crawler = crawler.with(
        "rules",
        format!("[{{ hosts = [{host:?}], headers = {{ X-Api-Key = \"a-key-of-mine\" }} }}]"),
    );
    crawler.once(30);
    assert!(
        site.heads()
            .iter()
            .any(|head| head.contains("a-key-of-mine"))
    );
    let said = say(&crawler, &["why", &site.url("/")]);
    assert!(
        said.contains("X-Api-Key") && !said.contains("a-key-of-mine"),
        "{said}"
    );
}

#[test]
fn a_rule_that_would_send_secrets_anywhere_is_refused() {
    let mut crawler = Crawler::new(&["http://127.0.0.1:1/".into()])
        .with("rules", "[{ pages = \".\", bearer_env = \"PATH\" }]");
    crawler
        .start(&[])
        .within(10)
        .failed(2, &["rules", "expected hosts"]);
    let mut crawler = Crawler::new(&["http://127.0.0.1:1/".into()]).with(
        "rules",
        "[{ hosts = [\"a\"], bearer_env = \"EVERCRAWL_NO_SUCH\" }]",
    );
    crawler
        .start(&[])
        .within(10)
        .failed(2, &["EVERCRAWL_NO_SUCH"]);
}
