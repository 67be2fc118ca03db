//! Scope: what is fetched, what is refused, and what is told about it.

use super::crawling::Crawler;
use super::crawling::answers::{Answers, html, missing};
use super::{command, refused, told};
use std::fs;
use std::io::Write;
use std::process::Stdio;

/// Pages below /docs/ and /blog/, and one on another host.
fn site(last: u8, other: &str) -> Answers {
    let elsewhere = format!("<a href={other}>elsewhere</a>");
    Answers::new(last, move |path| match path {
        "/" => html(&format!(
            "<a href=/docs/a>d</a><a href=/blog/b>b</a>{elsewhere}"
        )),
        "/docs/a" => html("<a href=/docs/old/x>x</a><a href=/docs/c?print=1>p</a>"),
        "/docs/old/x" | "/docs/c?print=1" | "/blog/b" => html("page"),
        _ => missing(),
    })
}

fn pages(server: &Answers) -> Vec<String> {
    let mut asked = server.asked();
    asked.retain(|path| path != "/robots.txt");
    asked.sort();
    asked
}

#[test]
fn include_restricts_exclude_takes_away_and_also_adds() {
    let other = Answers::new(32, |path| match path {
        "/lib/a.html" => html("<a href=/b.html>b</a>"),
        _ => missing(),
    });
    let server = site(31, &other.url("/lib/a.html"));
    let mut crawler = Crawler::new(&[server.url("/")])
        .with("scope.include", "[\"/docs/\", \"/$\"]")
        .with("scope.exclude", "[\"print=1\"]")
        .with(
            "scope.also",
            format!("[\"^http://127.0.0.32:{}/lib/\"]", other.port),
        );
    crawler.once(30);
    assert_eq!(pages(&server), ["/", "/docs/a", "/docs/old/x"]);
    assert_eq!(pages(&other), ["/lib/a.html"]);
    let told = |url: &str| told(&["scope", "--data", crawler.data().to_str().unwrap(), url]);
    assert!(told(&server.url("/docs/a")).contains("and by scope.include: /docs/"));
    assert!(
        told(&server.url("/blog/b")).contains("out")
            && told(&server.url("/blog/b")).contains("scope.include")
    );
    assert!(told(&server.url("/docs/c?print=1")).contains("by scope.exclude: print=1"));
    assert!(told(&other.url("/b.html")).contains("on the site of no seed"));
}

#[test]
fn a_reach_can_be_chosen_on_the_command_line() {
    let server = site(33, "http://127.0.0.33:1/");
    let mut crawler = Crawler::new(&[server.url("/docs/a")]);
    crawler
        .start(&["--once", "--json", "--reach", "prefix"])
        .succeeds_within(30);
    assert_eq!(
        pages(&server),
        ["/docs/a", "/docs/c?print=1", "/docs/old/x"]
    );
    let server = site(34, "http://127.0.0.34:1/");
    let mut crawler = Crawler::new(&[server.url("/docs/a")]);
    crawler
        .start(&["--once", "--json", "--reach", "page"])
        .succeeds_within(30);
    assert_eq!(pages(&server), ["/docs/a"]);
}

#[test]
fn settings_by_which_nothing_can_be_fetched_are_refused() {
    for (setting, value, word) in [
        // as it was written when `include` added to the scope
        ("scope.include", "[\"^http://other.test/\"]", "scope.also"),
        ("scope.exclude", "[\"127\"]", "scope.exclude: 127"),
        ("scope.reach", "\"nowhere\"", "scope.reach"),
        ("scope.types", "{ deny = [\"*\"] }", "scope.types.deny"),
        ("fetch.allow_networks", "[]", "--allow-private"),
    ] {
        let mut crawler = Crawler::new(&["http://127.0.0.35/".into()]).with(setting, value);
        let ended = crawler.start(&["--once"]).within(10);
        ended.failed(2, &[word]);
        assert!(!crawler.data().exists(), "{setting}");
        let config = crawler.config();
        assert!(refused(2, &["config", "check", config.to_str().unwrap()]).contains(word));
    }
}

#[test]
fn a_configuration_that_begins_nowhere_is_refused() {
    let server = site(37, "http://127.0.0.37:1/");
    let mut crawler = Crawler::new(&[]);
    let file = crawler.config();
    let file = file.to_str().unwrap();
    let said = refused(2, &["config", "check", file]);
    assert!(
        said.contains("no seeds") && said.contains("`seeds`"),
        "{said}"
    );
    crawler
        .start(&["--once"])
        .within(10)
        .failed(2, &["no seeds"]);
    // seeds may come from the command line
    let seed = server.url("/docs/a");
    assert!(told(&["config", "check", file, &seed]).contains("fine"));
    assert!(refused(2, &["config", "check", file, "ftp://a.org/"]).contains("ftp"));
    crawler
        .start(&["--once", "--json", &seed])
        .succeeds_within(30);
    // what was crawled before would be out of scope, and nothing done
    for said in [
        refused(2, &["config", "check", file]),
        refused(2, &["crawl", "--once", "-c", file]),
    ] {
        assert!(
            said.contains("no seeds") && said.contains("scope.also"),
            "{said}"
        );
    }
    let before = server.asked().len();
    let data = crawler.data();
    told(&["crawl", "--once", "--data", data.to_str().unwrap()]);
    assert!(server.asked().len() > before);
}

#[test]
fn a_seed_out_of_scope_is_told_at_the_start() {
    let server = site(36, "http://127.0.0.36:1/");
    let seeds = [server.url("/docs/a"), server.url("/blog/b")];
    let mut crawler = Crawler::new(&seeds).with("scope.include", "[\"/docs/\"]");
    let ended = crawler.start(&["--once"]).within(30);
    ended.failed(1, &["/blog/b is not fetched: out of scope", "out-of-scope"]);
}

#[test]
fn scope_tells_in_or_out_from_seeds_files_and_data() {
    let seed = "https://docs.example.org/guide/";
    for (reach, url, inside, word) in [
        (
            "site",
            "https://v2.docs.example.org/",
            true,
            "on the site of the seed",
        ),
        (
            "domain",
            "https://example.org/",
            true,
            "in the domain of the seed",
        ),
        (
            "host",
            "https://docs.example.org/blog",
            true,
            "on the host of the seed",
        ),
        (
            "prefix",
            "https://docs.example.org/blog",
            false,
            "below no seed",
        ),
        ("page", seed, true, "it is a seed"),
        ("anywhere", "https://elsewhere.net/", true, "everything is"),
        ("anywhere", "http://10.0.0.1/", false, "--allow-private"),
    ] {
        let arguments = ["scope", "--seed", seed, "--reach", reach, url];
        let said = told(&arguments);
        assert!(
            said.starts_with(if inside { "in " } else { "out" }),
            "{said}"
        );
        assert!(said.contains(word), "{said}");
        let json: serde_json::Value =
            serde_json::from_str(&told(&[&arguments[..], &["--json"]].concat())).unwrap();
        assert_eq!((&json["in"], &json["url"]), (&inside.into(), &url.into()));
        assert!(json["rule"].as_str().unwrap().contains('.'), "{json}");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("crawl.toml");
    fs::write(&file, format!("seeds = [\"{seed}\"]\nscope.max_depth = 2")).unwrap();
    let file = file.to_str().unwrap();
    let mut asked = command(&["scope", "-c", file, "--depth", "3", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let urls = format!("{seed}a\n\n{seed}b\n");
    asked
        .stdin
        .take()
        .unwrap()
        .write_all(urls.as_bytes())
        .unwrap();
    let said = String::from_utf8(asked.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(said.lines().count(), 2, "{said}");
    assert!(
        said.lines().all(|line| line.contains("scope.max_depth")),
        "{said}"
    );
    let nowhere = folder.path().join("none");
    let said = refused(2, &["scope", "--data", nowhere.to_str().unwrap(), seed]);
    assert!(said.contains("--seed"), "{said}");
    assert!(refused(2, &["scope", "--seed", seed, "example.org"]).contains("'example.org'"));
    assert!(refused(2, &["scope", "--seed", seed, "--reach", "far", seed]).contains("anywhere"));
}
