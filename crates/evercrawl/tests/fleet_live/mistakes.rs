//! What people get wrong, and what there is no room for: it is said before anything is done, and nothing is left behind.

use crate::{LIMIT, Nats, Robots, done, fleet};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const CONFIGURATION: &str = "seeds = [\"http://127.0.99.1:9/\"]\n[scope]\nexclude = [\"/secret\"]\n\
    [identity]\ncontact = \"https://demo.test/bot\"\n\
    [fetch]\nallow_networks = [\"127.0.0.0/8\"]\nconnect_seconds = 1\nfirst_byte_seconds = 1\nbody_seconds = 1\n";

/// Bad input, in these words.
fn refused(output: &Output, words: &str) {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains(words), "{words}: {errors}");
}

fn init<'a>(nats: &'a Nats, more: &[&'a str]) -> Vec<&'a str> {
    let mut init = vec!["init", "--nats", &nats.address, "--name", "web"];
    init.extend(["-c", "crawl.toml", "--lease", "2s"]);
    init.extend(more);
    init
}

const LITTLE: &str = "268435456";
const SMALL: [&str; 4] = ["--quiet", "1s", "--storage", LITTLE];

pub fn found_without_seeds(directory: &Path, nats: &Nats, storage: &str) {
    let text = CONFIGURATION.replace("seeds = [\"http://127.0.99.1:9/\"]\n", "");
    std::fs::write(directory.join("crawl.toml"), text).unwrap();
    let more = ["--quiet", "1s", "--storage", storage];
    done(directory, &init(nats, &more));
}

fn status(directory: &Path) -> Value {
    serde_json::from_str(&done(directory, &["status", "--json"])).unwrap()
}

pub fn join(directory: &Path, name: &str, more: &[&str]) -> Child {
    let log = std::fs::File::create(directory.join(format!("{name}.log"))).unwrap();
    Command::new(env!("CARGO_BIN_EXE_evercrawl"))
        .args(["fleet", "join", "--as", name, "--data", name])
        .args(more)
        .current_dir(directory)
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .unwrap()
}

pub fn wait(what: &str, directory: &Path, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(
            began.elapsed() < LIMIT,
            "{what} has not come\n{}",
            done(directory, &["status"])
        );
        std::thread::sleep(Duration::from_millis(300));
    }
    println!("{what} after {:.1?}", began.elapsed());
}

#[test]
fn a_fleet_that_finds_no_room_or_no_sense_leaves_nothing_behind() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path();
    let Some(nats) = Nats::start(directory) else {
        return;
    };
    std::fs::write(directory.join("crawl.toml"), CONFIGURATION).unwrap();
    // 4 GB of room, 16 GiB wanted
    let output = fleet(directory, &init(&nats, &[]));
    refused(&output, "there is no room");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(errors.matches("(--storage)").count(), 1, "{errors}");
    assert!(!errors.contains("stored once"), "{errors}");
    for (more, words) in [
        (
            ["--quiet", "1e300s"],
            "--quiet: expected a time from 0s to 24h",
        ),
        (["--storage", "18446744073709551615"], "--storage"),
    ] {
        refused(&fleet(directory, &init(&nats, &more)), words);
    }
    // more seeds than there will be room for
    let seeds: Vec<String> = (0..2_000)
        .map(|n| format!("\"http://127.0.99.1/{n:05000}\""))
        .collect();
    let large = CONFIGURATION.replacen("\"http", &format!("{}, \"http", seeds.join(", ")), 1);
    std::fs::write(directory.join("crawl.toml"), large).unwrap();
    refused(&fleet(directory, &init(&nats, &SMALL)), "None was added");
    // as the message says: less
    std::fs::write(directory.join("crawl.toml"), CONFIGURATION).unwrap();
    let made = done(directory, &init(&nats, &SMALL));
    assert!(made.contains("7 streams (7 new)"), "{made}");
    // the fleet is there; nobody is told to remove its streams
    let other = ["--quiet", "1s", "--storage", "536870912"];
    let output = fleet(directory, &init(&nats, &other));
    refused(&output, "already exists with another --storage");
    let other = [&SMALL[..], &["--replicas", "3"]].concat();
    let output = fleet(directory, &init(&nats, &other));
    refused(&output, "already exists with another --replicas");
    done(directory, &init(&nats, &SMALL));

    // groups move where one could be added
    done(directory, &["group", "add", "many", "--nodes"]);
    done(directory, &["group", "add", "braga"]);
    let output = fleet(directory, &["group", "move", "braga", "--in", "many"]);
    refused(&output, "many is one robot");
    refused(&fleet(directory, &["why", "127.0.41.1:8099"]), "has a port");
    let why = done(directory, &["why", "127.0.41.1"]);
    assert!(!why.contains("register"), "{why}");
}

#[test]
fn seeds_that_nobody_would_fetch_are_refused_and_those_given_up_are_told() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path();
    let Some(nats) = Nats::start(directory) else {
        return;
    };
    // a name server that nobody is
    let text = format!("{CONFIGURATION}\n[fetch.hosts]\n\"empty.test\" = [\"10.0.0.1\"]\n");
    std::fs::write(directory.join("crawl.toml"), text).unwrap();
    done(directory, &init(&nats, &SMALL));
    let bad = [
        "seed",
        "http://10.0.0.1/",
        "http://192.168.3.4/x",
        "http://empty.test/",
        "http://127.0.99.1:9/secret",
        "http://127.0.99.2:9/",
    ];
    let output = fleet(directory, &bad);
    refused(&output, "4 seeds refused");
    let errors = String::from_utf8_lossy(&output.stderr);
    for seed in &bad[1..5] {
        assert!(errors.contains(seed), "{seed}: {errors}");
    }
    assert!(!errors.contains("127.0.99.2"), "{errors}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1 seed added\n");

    // names that have no address show only when they are looked up
    let text = CONFIGURATION.replace("seeds = [\"http://127.0.99.1:9/\"]\n", "");
    std::fs::write(directory.join("crawl.toml"), text).unwrap();
    let mut lost = init(&nats, &SMALL);
    lost[4] = "lost";
    done(directory, &lost);
    done(directory, &["seed", "http://nowhere.invalid/"]);
    // the next life knows as well
    for life in ["first", "second"] {
        let child = join(directory, "robot-1", &["--once", "--for", "90s"]);
        let mut robots = Robots(vec![("robot-1".to_owned(), child)]);
        let mut told = String::new();
        let mut ended = None;
        wait("the end", directory, || {
            let text = done(directory, &["status"]);
            if text.contains("given up   1 URL") {
                told = text;
            }
            ended = robots.0[0].1.try_wait().unwrap();
            ended.is_some()
        });
        let log = std::fs::read_to_string(directory.join("robot-1.log")).unwrap();
        assert_eq!(
            ended.and_then(|status| status.code()),
            Some(1),
            "{life}: {log}"
        );
        assert!(
            log.contains("missing: http://nowhere.invalid/"),
            "{life}: {log}"
        );
        assert!(
            !log.contains("others take over"),
            "{life}: it ended by itself"
        );
        if life == "first" {
            assert!(told.contains("http://nowhere.invalid/"), "{told}\n{log}");
        }
    }
    let once = done(directory, &["status"]);
    assert!(once.contains("once       everything was tried"), "{once}");
}

#[test]
fn seeds_are_given_once_each_even_if_the_papers_are_full() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path();
    let Some(nats) = Nats::start(directory) else {
        return;
    };
    std::fs::write(directory.join("crawl.toml"), CONFIGURATION).unwrap();
    done(directory, &init(&nats, &SMALL));
    // most of the room, in long lines, so that they are few
    let write = |name: &str, count: usize, length: usize| {
        let lines: Vec<String> = (0..count)
            .map(|n| format!("http://127.0.99.1:9/{name}/{n:0length$}\n"))
            .collect();
        std::fs::write(directory.join(name), lines.concat()).unwrap();
    };
    write("many", 1_000, 7_000);
    done(directory, &["seed", "--file", "many"]);
    write("more", 1_000, 1_000);
    let output = fleet(directory, &["seed", "--file", "more"]);
    refused(&output, "None was added");
    refused(&output, "--storage");
    assert_eq!(status(directory)["seeds"], 1_001);

    let mut robots = Robots(Vec::new());
    let child = join(directory, "robot-1", &[]);
    robots.0.push(("robot-1".to_owned(), child));
    wait("all seeds at a robot", directory, || {
        status(directory)["seeds_waiting"] == 0
    });
    let told = status(directory);
    assert_eq!(told["seeds_unmarked"], 0, "{told}");
    assert_eq!(told["robots"][0]["report"]["engine"]["full"], 0, "{told}");
    let small = done(directory, &["group", "add", "braga"]);
    assert!(
        small.contains("braga is a group"),
        "there is room for groups"
    );

    // a second robot of the name changes nothing, and takes no directory
    let output = fleet(directory, &["join", "--as", "robot-1", "--data", "other"]);
    refused(&output, "already running");
    assert!(!directory.join("other").exists());
    // nor does one that has no directory, or no group, come among the fleet's robots
    let output = fleet(
        directory,
        &["join", "--as", "robot-7", "--data", "/proc/nope"],
    );
    assert_eq!(output.status.code(), Some(1));
    let output = fleet(
        directory,
        &["join", "--as", "robot-8", "--data", "other", "--in", "x"],
    );
    refused(&output, "no group \"x\"");
    assert!(!directory.join("other").exists());
    assert_eq!(
        status(directory)["robots"].as_array().map(Vec::len),
        Some(1)
    );
}

#[test]
fn a_robot_that_never_worked_goes_off_the_list_and_one_without_a_group_says_so() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path();
    let Some(nats) = Nats::start(directory) else {
        return;
    };
    found_without_seeds(directory, &nats, LITTLE);
    // it waits for seeds, and its time is over
    let mut child = join(directory, "robot-7", &["--for", "1s"]);
    assert!(!child.wait().unwrap().success());
    assert!(done(directory, &["status"]).contains("robot-7"));
    let said = done(directory, &["evict", "robot-7"]);
    assert!(
        said.contains("no longer among the fleet's robots"),
        "{said}"
    );
    assert!(!done(directory, &["status"]).contains("robot-7"));

    done(directory, &["seed", "http://127.0.99.1:9/"]);
    done(directory, &["group", "add", "braga"]);
    let mut robots = Robots(Vec::new());
    let child = join(directory, "robot-1", &["--in", "braga"]);
    robots.0.push(("robot-1".to_owned(), child));
    wait("a lease", directory, || {
        status(directory)["robots"][0]["report"]["lease"] == true
    });
    done(directory, &["group", "remove", "braga"]);
    wait("the robot's word", directory, || {
        let log = std::fs::read_to_string(directory.join("robot-1.log")).unwrap();
        log.contains("the group braga was removed")
    });
}

/// Whoever can reach the server may write this.
pub fn publish(nats: &Nats, messages: impl Iterator<Item = (String, Vec<u8>)>) {
    let mut stream = TcpStream::connect(nats.address.trim_start_matches("nats://")).unwrap();
    let mut all = b"CONNECT {\"verbose\":false}\r\n".to_vec();
    for (subject, bytes) in messages {
        all.extend(format!("PUB {subject} {}\r\n", bytes.len()).into_bytes());
        all.extend(bytes);
        all.extend(b"\r\n");
    }
    all.extend(b"PING\r\n");
    stream.write_all(&all).unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    assert_eq!(
        lines.find(|line| !line.starts_with("INFO")).unwrap(),
        "PONG"
    );
}

#[test]
fn seeds_whose_mark_cannot_be_written_are_given_once_and_that_is_told() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path();
    let Some(nats) = Nats::start(directory) else {
        return;
    };
    found_without_seeds(directory, &nats, LITTLE);
    let mut robots = Robots(Vec::new());
    robots
        .0
        .push(("robot-1".to_owned(), join(directory, "robot-1", &[])));
    wait("the robot", directory, || {
        let log = std::fs::read_to_string(directory.join("robot-1.log")).unwrap();
        log.contains("no seeds yet")
    });
    // a paper as version 0.2 writes it, and then nothing fits any more
    let seeds = b"{\"seeds\":[\"http://127.0.99.1:9/\"],\"given\":false}".to_vec();
    let sizes = [(60_000, 200), (1_000, 100), (10, 500)];
    let junk = sizes.into_iter().flat_map(|(bytes, many)| {
        (0..many).map(move |n| {
            (
                format!("$KV.web_papers.junk.{bytes}-{n}"),
                vec![b'x'; bytes],
            )
        })
    });
    let paper = ("$KV.web_papers.seeds.000000".to_owned(), seeds);
    publish(&nats, std::iter::once(paper).chain(junk));
    let mut told = Value::Null;
    wait("two failures", directory, || {
        told = status(directory);
        told["seeds_unmarked"].as_u64() >= Some(2)
    });
    assert_eq!(told["seeds_waiting"], 1, "{told}");
    let text = done(directory, &["status"]);
    assert!(text.contains("could not be written down"), "{text}");
    let log = std::fs::read_to_string(directory.join("robot-1.log")).unwrap();
    assert!(log.contains("maximum bytes exceeded"), "{log}");
}
