//! What people are told, in words that are theirs.

use super::crawling::Crawler;
use super::crawling::answers::{Answers, html, missing};
use super::{command, evercrawl, refused, told};
use std::fs;
use std::path::Path;
use std::process::Stdio;

/// A site of one page that is too long, and one that is missing.
fn long_page(last: u8) -> (Answers, Crawler) {
    let server = Answers::new(last, |path| match path {
        "/" => html(&format!(
            "<a href=/none>none</a><p>{}",
            "many words ".repeat(2000)
        )),
        _ => missing(),
    });
    let crawler = Crawler::new(&[server.url("/")])
        .with("fetch.max_bytes", "2000")
        .with("identity.contact", "\"\"");
    (server, crawler)
}

#[test]
fn what_is_wrong_with_a_configuration_is_said_in_plain_words() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("crawl.toml");
    let name = file.to_str().unwrap();
    for (text, expected) in [
        (
            "[politeness]\ninterval = 3",
            "line 2: politeness.interval: expected one of { rule = \"latency\"",
        ),
        (
            "politeness.at_once = 70000",
            "line 1: politeness.at_once: expected a whole number from 1 to 10000",
        ),
        (
            "[scope]\nreach = \"everywhere\"",
            "line 2: scope.reach: expected one of \"site\"",
        ),
        (
            "politeness.interval = { rule = \"sometimes\" }",
            "line 1: politeness.interval.rule: expected one of \"latency\", \"fixed\", \"density\"",
        ),
        (
            "scope.include = [\"/docs/\", \"(\"]",
            "scope.include: \"(\" is not a regular expression: unclosed group\n",
        ),
        (
            "[[rules]]\npages = \"[\"\nweight = 2.0",
            "not a regular expression: unclosed character class\n",
        ),
        (
            "[budget]\nconections = 3",
            "line 2: budget.conections is not a key; did you mean budget.connections?",
        ),
    ] {
        fs::write(&file, text).unwrap();
        for arguments in [["config", "check", name], ["crawl", "-c", name]] {
            let said = refused(2, &arguments);
            assert!(said.contains(name) && said.contains(expected), "{said}");
        }
    }
    let text = "seeds = [\"http://a.example/\"]\ndashboard.listen = \"0.0.0.0:9601\"";
    fs::write(&file, text).unwrap();
    for arguments in [["config", "check", name], ["crawl", "-c", name]] {
        let said = refused(2, &arguments);
        let expected = "others can reach this address, so it needs a token";
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn what_the_system_refuses_is_said_without_its_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("file");
    fs::write(&place, "").unwrap();
    let below = place.join("data");
    let none = folder.path().join("none");
    let source = folder.path().join("source.toml");
    let text = "seeds = [\"http://a.example/\"]\nfetch.source = \"203.0.113.9\"";
    fs::write(&source, text).unwrap();
    let (below, none) = (below.to_str().unwrap(), none.to_str().unwrap());
    for (code, arguments, expected) in [
        (2, vec!["crawl", "-c", none], "No such file or directory"),
        (
            2,
            vec!["config", "check", none],
            "No such file or directory",
        ),
        (
            2,
            vec!["plan", "--budget", "1/day", "--pages", none],
            "No such file or directory",
        ),
        (
            1,
            vec!["crawl", "--data", below, "http://a.example/"],
            "Not a directory",
        ),
        (
            1,
            vec!["config", "check", source.to_str().unwrap()],
            "an address of this machine",
        ),
        (
            2,
            vec!["crawl", "--dashboard=here", "http://a.example/"],
            "expected an address and a port",
        ),
        (
            2,
            vec![
                "watch",
                "--every",
                "0s",
                "--data",
                none,
                "http://a.example/",
            ],
            "--every: expected a time",
        ),
    ] {
        let said = refused(code, &arguments);
        assert!(
            said.contains(expected) && !said.contains("os error"),
            "{said}"
        );
    }
}

#[test]
fn one_is_one_and_what_was_cut_is_told_everywhere() {
    let (server, mut crawler) = long_page(51);
    let ended = crawler.start(&["--once"]).within(60);
    ended.failed(1, &["1 page in scope could not be fetched"]);
    assert!(ended.out.contains("1 copy cut"), "{}", ended.out);
    let data = crawler.data();
    let data = data.to_str().unwrap();
    let url = server.url("/");
    let all = [
        ("status", vec!["status"], "1 answer incomplete"),
        ("pages", vec!["pages"], "(cut)"),
        ("pages", vec!["pages", "--json"], "\"cut\":true"),
        ("why", vec!["why", &url], "the copy is incomplete"),
        ("versions", vec!["get", "--versions", &url], "cut (length)"),
        ("csv", vec!["export", "--format", "csv"], ",true,"),
    ];
    for (what, arguments, word) in all {
        let said = told(&[&arguments[..], &["--data", data]].concat());
        assert!(said.contains(word), "{what}: {said}");
        for many in [
            "pages", "visits", "changes", "copies", "links", "files", "hosts", "records",
        ] {
            assert!(
                !format!(" {said}").contains(&format!(" 1 {many}")),
                "1 {many}: {said}"
            );
        }
    }
    let output = evercrawl(&["get", "--data", data, &url]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("incomplete"), "{said}");

    // nobody is told of a contact that there is not
    let agent = |head: &String| head.to_ascii_lowercase().contains("(no contact given)");
    assert!(server.heads().iter().all(agent), "{:?}", server.heads());
    assert!(ended.err.contains("--contact"), "{}", ended.err);

    // times are whole, and can be given back
    let page: serde_json::Value = told(&["pages", "--json", "--data", data])
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .find(|page| page["url"] == url)
        .unwrap();
    let visited = page["last_visit"].as_str().unwrap();
    let versions = told(&["get", "--versions", "--data", data, &url]);
    let time = versions.split(' ').next().unwrap();
    assert_eq!(time.len(), visited.len(), "{time}, {visited}");
    told(&["get", "--at", time, "--data", data, &url]);
}

#[test]
fn times_are_taken_as_people_say_them() {
    let (_server, mut crawler) = long_page(52);
    crawler.start(&["--once"]).within(60);
    let data = crawler.data();
    let data = data.to_str().unwrap();
    for since in ["2d", "2 days ago", "yesterday", "today", "1w", "2026-01-01"] {
        let found = told(&["changes", "--since", since, "--data", data]);
        // a crawl around midnight may have been yesterday's
        assert!(
            since == "today" || found.contains("\"first\""),
            "{since}: {found}"
        );
    }
    assert_eq!(told(&["changes", "--since", "now", "--data", data]), "");
    let said = refused(2, &["changes", "--since", "soon", "--data", data]);
    assert!(said.contains("yesterday"), "{said}");
}

#[test]
fn data_stand_beside_their_configuration() {
    let server = Answers::new(53, |path| {
        if path == "/" {
            html("hello")
        } else {
            missing()
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let (there, here) = (folder.path().join("there"), folder.path().join("here"));
    fs::create_dir(&there).unwrap();
    fs::create_dir(&here).unwrap();
    let file = there.join("crawl.toml");
    fs::write(
        &file,
        format!("seeds = [\"{}\"]\ndata = \"kept\"\n", server.url("/")),
    )
    .unwrap();
    let run = |arguments: &[&str]| {
        let output = command(arguments).current_dir(&here).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let file = file.to_str().unwrap();
    run(&["crawl", "--once", "--allow-private", "-c", file]);
    assert!(there.join("kept/state").is_dir());
    assert_eq!(fs::read_dir(&here).unwrap().count(), 0);
    assert!(run(&["pages", "-c", file]).contains(&server.url("/")));
    // from beside it too
    let output = command(&["pages", "-c", "crawl.toml"])
        .current_dir(&there)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// As `| head` leaves it.
/// Neither sent nor kept, so they must not be taken as if they were.
#[test]
fn a_password_in_a_seed_is_refused_and_not_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let data = data.to_str().unwrap();
    let seed = "https://me:a-word-of-mine@example.org/";
    for command in ["crawl", "watch"] {
        let said = refused(2, &[command, "--once", "--data", data, seed]);
        assert!(said.contains("basic_file"), "{said}");
        assert!(!said.contains("a-word-of-mine"), "{said}");
    }
    assert!(!Path::new(data).exists());
}

#[test]
fn a_crawl_does_not_write_over_its_configuration() {
    let server = Answers::new(47, |_| html("<p>a page"));
    let crawler = Crawler::new(&[server.url("/")]).with("data", "\".\"");
    let folder = crawler.directory.path();
    let file = folder.join("config.toml");
    fs::rename(crawler.config(), &file).unwrap();
    let before = fs::read_to_string(&file).unwrap();
    let said = refused(2, &["crawl", "--once", "-c", file.to_str().unwrap()]);
    assert!(said.contains("data: "), "{said}");
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    // by another name it may lie there, and what a crawl kept may be named
    let other = folder.join("crawl.toml");
    fs::rename(&file, &other).unwrap();
    told(&["crawl", "--once", "-c", other.to_str().unwrap()]);
    assert_eq!(fs::read_to_string(&other).unwrap(), before);
    told(&["crawl", "--once", "-c", file.to_str().unwrap()]);
}

#[test]
fn nobody_hears_of_a_pipe_that_was_closed() {
    let (server, mut crawler) = long_page(54);
    crawler.start(&["--once"]).within(60);
    let data = crawler.data();
    let data = data.to_str().unwrap();
    let url = server.url("/");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let example = |name: &str| examples.join(name).to_str().unwrap().to_owned();
    let (pages, links, robots) = (
        example("pages.csv"),
        example("links.csv"),
        example("robots.toml"),
    );
    let config = crawler.config();
    let config = config.to_str().unwrap();
    let page = crawler.directory.path().join("a.html");
    fs::write(&page, "<p>One").unwrap();
    let page = page.to_str().unwrap();
    let of_data: Vec<Vec<&str>> = vec![
        vec!["status"],
        vec!["status", "--json"],
        vec!["pages"],
        vec!["pages", "--json"],
        vec!["hosts"],
        vec!["hosts", "--json"],
        vec!["changes"],
        vec!["why", &url],
        vec!["why", "--json", &url],
        vec!["get", &url],
        vec!["get", "--headers", &url],
        vec!["get", "--versions", &url],
        vec!["export", "--format", "csv"],
        vec!["export", "--format", "urls"],
        vec!["export", "--format", "parquet"],
        vec!["export", "--format", "warc"],
        vec!["archive", "verify"],
        vec!["archive", "verify", "--json"],
        vec!["scope", &url],
        vec!["scope", "--json", &url],
    ];
    let others: Vec<Vec<&str>> = vec![
        vec!["config", "sample"],
        vec!["config", "check", config],
        vec!["diff", "--files", page, page],
        vec!["plan", "--pages", &pages, "--budget", "10/day"],
        vec!["plan", "--pages", &pages, "--budget", "10/day", "--json"],
        vec!["partition", "--links", &links, "--robots", &robots],
        vec![
            "partition",
            "--links",
            &links,
            "--robots",
            &robots,
            "--json",
        ],
        vec!["demo", "--seconds", "1", "--json"],
        vec!["reproduce", "--list"],
        vec!["--help"],
    ];
    let all = of_data
        .into_iter()
        .map(|arguments| [arguments, vec!["--data", data]].concat())
        .chain(others);
    let mut worked = 0;
    for arguments in all {
        let open = evercrawl(&arguments);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let closed = command(&arguments)
            .stdout(Stdio::from(writer))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&closed.stderr);
        assert!(
            !said.to_lowercase().contains("pipe") && !said.contains("panicked"),
            "{arguments:?}: {said}"
        );
        let ended = closed.status.code();
        // what it found holds all the same
        assert!(
            ended == Some(0) || ended == open.status.code(),
            "{arguments:?}: {ended:?} {said}"
        );
        worked += usize::from(open.status.success());
    }
    assert!(worked > 25, "{worked} commands worked");
}
