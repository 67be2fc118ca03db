//! A crawl's own data divided among robots: links, pages and addresses as the web truly has them.

mod crawling;

use crawling::{Crawler, serve};
use serde_json::Value;
use simulation::web::spec::Robots;
use simulation::web::{Clock, Request, Web, WebSpec};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use url::Url;

fn evercrawl(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_evercrawl"))
        .args(arguments)
        .output()
        .unwrap()
}

fn json(arguments: &[&str]) -> Value {
    let output = evercrawl(arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    assert_eq!(errors, "", "{arguments:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Some of everything that links are read through: compression, chunks, character sets, forbidden
/// pages, shared addresses.
fn spec() -> WebSpec {
    WebSpec {
        hosts: 12,
        largest: 40,
        shared_addresses: 0.3,
        disallowed: 0.1,
        robots: [(Robots::Absent, 1.0), (Robots::Plain, 1.0)].into(),
        compressed: 0.5,
        chunked: 0.3,
        ..WebSpec::plain()
    }
}

/// What can be found from the first page.
struct Truth {
    /// Links from host to host, each target once a page.
    links: BTreeMap<(String, String), u64>,
    /// Pages that may be fetched, by host.
    pages: BTreeMap<String, u64>,
}

impl Truth {
    fn of(web: &Web, port: u16) -> Self {
        let mut truth = Self {
            links: BTreeMap::new(),
            pages: BTreeMap::new(),
        };
        let mut found = BTreeSet::from([0]);
        let mut waiting = vec![0];
        while let Some(number) = waiting.pop() {
            let page = &web.pages()[number];
            if !page.allowed {
                continue;
            }
            let host = &web.hosts()[page.host].name;
            *truth.pages.entry(host.clone()).or_default() += 1;
            for target in targets(web, number, port) {
                let name = target.host_str().unwrap().to_owned();
                let other = web.find(&name, target.path()).unwrap();
                if found.insert(other) {
                    waiting.push(other);
                }
                *truth.links.entry((host.clone(), name)).or_default() += 1;
            }
        }
        truth
    }

    fn links_between_hosts(&self) -> u64 {
        let between = self.links.iter().filter(|((from, to), _)| from != to);
        between.map(|(_, count)| count).sum()
    }
}

/// Where a page leads, read in the plainest way.
fn targets(web: &Web, number: usize, port: u16) -> BTreeSet<Url> {
    let page = &web.pages()[number];
    let request = Request {
        port,
        ..Request::get(&web.hosts()[page.host].name, &page.path)
    };
    let body = web.respond(&request, 0.0, &Clock::starting_now(1.0)).body;
    let html = String::from_utf8_lossy(&body);
    let base = Url::parse(&web.url(number, port)).unwrap();
    let hrefs = html.split("href=\"").skip(1);
    hrefs
        .map(|rest| base.join(rest.split('"').next().unwrap()).unwrap())
        .collect()
}

fn robots(folder: &Path, count: usize) -> PathBuf {
    let mut toml = String::new();
    for robot in 0..count {
        writeln!(toml, "[[robot]]\nname = 'r{robot}'").unwrap();
    }
    let path = folder.join(format!("{count}.toml"));
    std::fs::write(&path, toml).unwrap();
    path
}

/// Who has each host, as written by `--out`.
fn assignment(path: &Path) -> HashMap<String, String> {
    let rows = std::fs::read_to_string(path).unwrap();
    let rows = rows.lines().skip(1);
    rows.map(|row| row.split_once(',').unwrap())
        .map(|(host, robot)| (host.to_owned(), robot.to_owned()))
        .collect()
}

#[test]
fn links_pages_and_addresses_are_those_of_the_web() {
    let (web, running) = serve(&spec(), 1.0);
    let mut crawler = Crawler::of_web(&web, &running);
    crawler.once(60);
    let truth = Truth::of(&web, running.port);
    let data = crawler.data();
    let folder = crawler.directory.path();
    let out = folder.join("out.csv");
    for (count, method) in [(2, "graph"), (3, "hash-host"), (7, "consistent-hash")] {
        let robots = robots(folder, count);
        let result = json(&[
            "partition",
            "--links",
            text(&data),
            "--robots",
            text(&robots),
            "--method",
            method,
            "--out",
            text(&out),
            "--json",
        ]);
        assert_eq!(result["hosts"], web.hosts().len());
        assert_eq!(result["pages"], truth.pages.values().sum::<u64>());
        let between = truth.links_between_hosts();
        assert_eq!(result["links"].as_f64(), Some(between as f64));
        let owner = assignment(&out);
        for robot in result["robots"].as_array().unwrap() {
            let name = robot["robot"].as_str().unwrap();
            let crossing = (truth.links.iter())
                .filter(|((from, to), _)| (owner[from] == name) != (owner[to] == name));
            let exchanged: u64 = crossing.map(|(_, count)| count).sum();
            let told = robot["exchanged_links"].as_f64();
            assert_eq!(told, Some(exchanged as f64), "{method}: {name}");
            let own = truth.pages.iter().filter(|(host, _)| owner[*host] == name);
            let pages: u64 = own.map(|(_, pages)| pages).sum();
            assert_eq!(robot["pages"], pages, "{method}: {name}");
        }
    }
    addresses(&web, &data, folder);
    simulated(&data, truth.pages.values().sum());
}

/// Hosts of one address stay together, and tables have blocks.
fn addresses(web: &Web, data: &Path, folder: &Path) {
    let (robots, tables) = (robots(folder, 2), folder.join("tables"));
    let result = json(&[
        "partition",
        "--links",
        text(data),
        "--robots",
        text(&robots),
        "--level",
        "addresses",
        "--tables",
        text(&tables),
        "--json",
    ]);
    let addresses: BTreeSet<_> = web.hosts().iter().map(|host| host.address).collect();
    assert!(addresses.len() < web.hosts().len());
    assert_eq!(result["vertices"], addresses.len());
    let table = std::fs::read_to_string(tables.join("r0.csv")).unwrap();
    assert!(
        table.contains("block,") && !table.contains("host,"),
        "{table}"
    );
}

/// The same directory is a web to download.
fn simulated(data: &Path, pages: u64) {
    let result = json(&[
        "simulate",
        "download",
        "--links",
        text(data),
        "--robots",
        "2",
        "--json",
    ]);
    assert_eq!(result["pages"], pages, "{result}");
}

#[test]
fn a_crawl_that_goes_on_can_be_divided_and_one_that_is_none_is_refused() {
    let (web, running) = serve(&spec(), 1.0);
    let mut crawler = Crawler::of_web(&web, &running);
    let folder = crawler.directory.path().to_owned();
    let (data, robots) = (crawler.data(), robots(&folder, 2));
    let divide = |more: &[&str]| {
        let common = [
            "partition",
            "--robots",
            text(&robots),
            "--links",
            text(&data),
        ];
        evercrawl(&[&common, more].concat())
    };
    let refused = |output: &Output, reason: &str| {
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        let name = data.display();
        assert!(errors.contains(&format!("{name}: {reason}")), "{errors}");
    };
    std::fs::create_dir(&data).unwrap();
    refused(&divide(&[]), "there is no crawl in this directory");
    let probe = ["netmap", "probe", "--targets", text(&data)];
    refused(&evercrawl(&probe), "there is no crawl in this directory");

    let crawl = crawler.start(&[]);
    let limit = Instant::now() + Duration::from_secs(30);
    let hosts = loop {
        let output = divide(&["--json", "--no-timings"]);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        // nothing but "not yet" is wrong with a crawl that has just begun
        let later = [
            "there is no crawl",
            "no archive",
            "no page",
            "are more than the",
        ];
        if output.status.success() {
            // half a crawl may have a host larger than half of it
            let about_size = |line: &str| line.starts_with("warning: ") && line.contains("robot '");
            assert!(errors.lines().all(about_size), "{errors}");
            let result: Value = serde_json::from_slice(&output.stdout).unwrap();
            if result["hosts"] == web.hosts().len() {
                break result["hosts"].clone();
            }
        } else {
            assert!(
                later.iter().any(|reason| errors.contains(reason)),
                "{errors}"
            );
        }
        assert!(Instant::now() < limit, "{errors}");
    };
    assert_eq!(hosts, 12);
    crawl.interrupted_after(0.1);

    let pages = folder.join("pages.csv");
    std::fs::write(&pages, "host,pages\n").unwrap();
    let output = divide(&["--pages", text(&pages)]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors.contains("pages.csv: is not needed"), "{errors}");
    std::fs::remove_dir_all(crawler.archive()).unwrap();
    refused(&divide(&[]), "the crawl keeps no archive");
}
