//! `evercrawl partition` from outside: results, tables, moves, errors, determinism.

mod bad_input;
mod mmdb;
mod terminal;

use serde_json::Value;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        std::fs::write(self.path(name), content).unwrap();
        self.path(name)
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn partition(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_evercrawl"))
        .arg("partition")
        .args(arguments)
        .output()
        .unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn success(output: &Output) -> &str {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    std::str::from_utf8(&output.stdout).unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_str(success(output)).unwrap()
}

/// Numbers that look random and are the same everywhere.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// Hosts in communities of 30: most links stay inside.
fn links(hosts: u64, rows: usize) -> String {
    let mut numbers = Numbers(7);
    let mut csv = "source,target,links\n".to_owned();
    for host in 0..hosts {
        writeln!(csv, "h{host}.example,h{host}.example,{}", numbers.next(90)).unwrap();
    }
    for _ in 0..rows {
        let source = numbers.next(hosts);
        let target = if numbers.next(10) < 8 {
            (source / 30 * 30 + numbers.next(30)).min(hosts - 1)
        } else {
            numbers.next(hosts)
        };
        if source != target {
            let links = 1 + numbers.next(9);
            writeln!(csv, "h{source}.example,h{target}.example,{links}").unwrap();
        }
    }
    csv
}

fn robots(count: usize) -> String {
    let mut toml = String::new();
    for robot in 0..count {
        writeln!(toml, "[[robot]]\nname = 'r{robot}'").unwrap();
    }
    toml
}

fn assignment(path: &Path) -> HashMap<String, String> {
    let rows = std::fs::read_to_string(path).unwrap();
    assert!(rows.starts_with("host,robot\n"));
    let row = |line: &str| {
        let (host, robot) = line.split_once(',').unwrap();
        (host.to_owned(), robot.to_owned())
    };
    rows.lines().skip(1).map(row).collect()
}

#[test]
fn every_method_divides_and_the_graph_exchanges_least() {
    let folder = Folder::new();
    let links = folder.file("links.csv", links(600, 6000));
    let robots = folder.file("robots.toml", robots(5));
    let common = ["--links", text(&links), "--robots", text(&robots), "--json"];
    let cut = |method: &str| {
        let output = partition(&[&common[..], &["--method", method]].concat());
        let result = json(&output);
        assert_eq!(result["hosts"], 600);
        let pages = result["robots"].as_array().unwrap().iter();
        let pages: u64 = pages.map(|robot| robot["pages"].as_u64().unwrap()).sum();
        if method != "hash-url" {
            assert_eq!(Value::from(pages), result["pages"], "{method}");
            assert!(result["tables"]["largest"].as_u64().unwrap() > 0);
        }
        result["cut_share"].as_f64().unwrap()
    };
    let graph = cut("graph");
    assert!(graph < cut("single-level") + 1e-9);
    for hash in ["hash-host", "hash-address", "hash-url", "consistent-hash"] {
        let hashed = cut(hash);
        assert!(graph < 0.5 * hashed, "{graph} {hash} {hashed}");
    }
}

#[test]
fn limits_hold_and_files_are_whole_and_the_same_on_any_number_of_threads() {
    let folder = Folder::new();
    let links = folder.file("links.csv", links(600, 6000));
    let robots = folder.file("robots.toml", robots(4));
    let run = |threads: &str, out: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_evercrawl"))
            .env("RAYON_NUM_THREADS", threads)
            .args([
                "partition",
                "--links",
                text(&links),
                "--robots",
                text(&robots),
            ])
            .args(["--json", "--no-timings", "--out", text(&folder.path(out))])
            .args(["--tables", text(&folder.path("tables"))])
            .args(["--report", text(&folder.path("report.html"))])
            .output()
            .unwrap();
        let result = success(&output).to_owned();
        (result, std::fs::read_to_string(folder.path(out)).unwrap())
    };
    let one = run("1", "a.csv");
    assert_eq!(one, run("3", "b.csv"));
    let result: Value = serde_json::from_str(&one.0).unwrap();
    assert!(result["balance_pages"].as_f64().unwrap() <= 1.031);
    assert!(result["balance_servers"].as_f64().unwrap() <= 1.51);
    assert_eq!(assignment(&folder.path("a.csv")).len(), 600);
    let names = [
        "a.csv",
        "b.csv",
        "links.csv",
        "report.html",
        "robots.toml",
        "tables",
    ];
    assert_eq!(folder.names(), names);
    let report = std::fs::read_to_string(folder.path("report.html")).unwrap();
    let pictures: Vec<&str> = report
        .match_indices("<svg")
        .map(|(at, _)| &report[at..=at + report[at..].find("</svg>").unwrap() + 5])
        .collect();
    assert_eq!(pictures.len(), 2);
    for picture in pictures {
        let mut reader = quick_xml::Reader::from_str(picture);
        while reader.read_event().unwrap() != quick_xml::events::Event::Eof {}
    }
}

#[test]
fn tables_lead_every_host_to_its_robot_through_the_groups() {
    let folder = Folder::new();
    let links = folder.file("links.csv", links(300, 3000));
    let mut fleet = String::new();
    for robot in 0..6 {
        writeln!(
            fleet,
            "[[robot]]\nname = 'r{robot}'\ngroup = 'g{}'",
            robot % 2
        )
        .unwrap();
    }
    let robots = folder.file("robots.toml", fleet);
    let (out, tables) = (folder.path("out.csv"), folder.path("tables"));
    let output = partition(&[
        "--links",
        text(&links),
        "--robots",
        text(&robots),
        "--json",
        "--out",
        text(&out),
        "--tables",
        text(&tables),
    ]);
    let result = json(&output);
    let (all, between) = (
        result["cut"].as_f64(),
        result["cut_between_groups"].as_f64(),
    );
    assert!(between.unwrap() < all.unwrap());
    let table = |robot: usize| -> HashMap<String, String> {
        let rows = std::fs::read_to_string(tables.join(format!("r{robot}.csv"))).unwrap();
        let row = |line: &str| {
            let fields: Vec<&str> = line.split(',').collect();
            assert_eq!(fields[0], "host", "no address was given");
            (fields[1].to_owned(), fields[2].to_owned())
        };
        rows.lines().skip(1).map(row).collect()
    };
    let tables: Vec<_> = (0..6).map(table).collect();
    for (host, owner) in assignment(&out) {
        for from in 0..6 {
            let mut here = from;
            let mut hops = 0;
            while tables[here][&host] != format!("r{here}") {
                let target = &tables[here][&host];
                // any robot of a group may answer for it
                here = match target.strip_prefix('g') {
                    Some(group) => group.parse::<usize>().unwrap() + 2,
                    None => target[1..].parse().unwrap(),
                };
                hops += 1;
                assert!(hops <= 2, "{host} from r{from}");
            }
            assert_eq!(format!("r{here}"), owner);
        }
    }
}

#[test]
fn robots_come_and_go_with_few_moves() {
    let folder = Folder::new();
    let links = folder.file("links.csv", links(3000, 30_000));
    let before = folder.path("before.csv");
    let run = |robots: &Path, previous: Option<&Path>, out: &Path| {
        let mut arguments = vec!["--links", text(&links), "--robots", text(robots), "--json"];
        arguments.extend(["--out", text(out)]);
        arguments.extend(previous.iter().flat_map(|file| ["--previous", text(file)]));
        json(&partition(&arguments))
    };
    let eight = robots(8);
    let result = run(&folder.file("8.toml", &eight), None, &before);
    let pages = |result: &Value, name: &str| {
        let robots = result["robots"].as_array().unwrap();
        let own = robots.iter().find(|robot| robot["robot"] == name);
        own.unwrap()["pages"].as_u64().unwrap()
    };
    let lost = pages(&result, "r3");
    let after = folder.path("after.csv");
    let nine = run(&folder.file("9.toml", robots(9)), Some(&before), &after);
    let moved = nine["moved_pages"].as_u64().unwrap();
    assert!(moved * 2 <= pages(&nine, "r8") * 3, "{moved}");
    let seven = eight.replace("[[robot]]\nname = 'r3'\n", "");
    let seven = run(&folder.file("7.toml", seven), Some(&before), &after);
    assert_eq!(seven["moved_pages_of_gone_robots"], lost);
    let moved = seven["moved_pages"].as_u64().unwrap();
    assert!((lost..=lost + lost / 20).contains(&moved), "{moved} {lost}");
    assert_eq!(nine["moved_pages_of_gone_robots"], 0);
    let (before, after) = (assignment(&before), assignment(&after));
    let stayed = before.iter().filter(|(_, robot)| *robot != "r3");
    let others = stayed
        .filter(|(host, robot)| after[*host] != **robot)
        .count();
    // hosts have 45 pages on average
    assert!(others as u64 * 45 * 20 <= lost, "{others}");
}

/// One robot of five may have twice as much, and only it can hold the largest host: few divisions are
/// within the limits, and one must be found, flat and in groups.
#[test]
fn limits_that_can_be_met_are_met_and_others_are_named() {
    let folder = Folder::new();
    let sizes = [
        98, 47, 33, 25, 21, 18, 14, 13, 12, 11, 10, 9, 8, 8, 7, 6, 6, 6, 5, 5,
    ];
    let mut pages = "host,pages\n".to_owned();
    for (host, size) in sizes.iter().enumerate() {
        writeln!(pages, "h{host},{size}").unwrap();
    }
    let mut numbers = Numbers(5);
    let mut rows = "\"source\",\"target\",\"links\"\n".to_owned();
    for _ in 0..80 {
        let (from, to) = (numbers.next(20), numbers.next(20));
        if from != to {
            writeln!(rows, "h{from},h{to},{}", 1 + numbers.next(9)).unwrap();
        }
    }
    let (pages, links) = (folder.file("pages.csv", pages), folder.file("l.csv", rows));
    let fleet = |balance: &str, groups: bool| {
        let mut toml = format!("[balance]\ntraffic = -1\n{balance}\n");
        for (robot, capacity) in [1, 2, 1, 1, 1].into_iter().enumerate() {
            let group = if groups { robot / 2 } else { 0 };
            writeln!(
                toml,
                "[[robot]]\nname = 'r{robot}'\ncapacity = {capacity}\ngroup = 'g{group}'"
            )
            .unwrap();
        }
        folder.file("robots.toml", toml)
    };
    let run = |robots: &Path, more: &[&str]| {
        let common = ["--links", text(&links), "--pages", text(&pages)];
        partition(&[&common[..], &["--robots", text(robots)], more].concat())
    };
    for groups in [false, true] {
        for seed in ["1", "2", "3"] {
            let result = json(&run(&fleet("", groups), &["--json", "--seed", seed]));
            assert_eq!(result["warnings"], serde_json::json!([]), "{groups} {seed}");
            for robot in result["robots"].as_array().unwrap() {
                for measure in ["pages", "servers"] {
                    let [got, limit] = [&robot[measure], &robot["limits"][measure]];
                    assert!(got.as_u64().unwrap() <= limit.as_u64().unwrap(), "{robot}");
                }
            }
        }
    }
    // r1 can hold one of the two largest hosts, nobody else the other: alone it overfills its robot
    let mut large = "host,pages\nh0,98\nh1,97\n".to_owned();
    (2..20).for_each(|host| writeln!(large, "h{host},10").unwrap());
    std::fs::write(&pages, large).unwrap();
    let report = folder.path("report.html");
    let output = run(&fleet("", true), &["--report", text(&report)]);
    success(&output);
    let errors = String::from_utf8(output.stderr).unwrap();
    let expected = ["98", "97"].map(|pages| format!(" has {pages} pages where 64 are allowed"));
    assert_eq!(errors.lines().count(), 1, "{errors}");
    assert!(errors.contains("warning: a limit of [balance] is exceeded: robot 'r"));
    assert!(
        expected.iter().any(|text| errors.contains(text)),
        "{errors}"
    );
    let page = std::fs::read_to_string(report).unwrap();
    assert!(page.contains("a limit of [balance] is exceeded"));
}

#[test]
fn tables_of_robots_that_are_gone_are_removed_and_nothing_else() {
    let folder = Folder::new();
    let links = folder.file("links.csv", links(60, 300));
    let tables = folder.path("tables");
    let run = |robots: &Path| {
        let files = ["--links", text(&links), "--robots", text(robots)];
        let output = partition(&[&files[..], &["--tables", text(&tables), "--json"]].concat());
        json(&output)["warnings"].clone()
    };
    run(&folder.file("4.toml", robots(4)));
    let own = tables.join("mine.csv");
    std::fs::write(&own, "kind,key,target\nhost,a,b\nand my notes\n").unwrap();
    std::fs::write(tables.join("notes.csv"), "host,robot\n").unwrap();
    let warnings = run(&folder.file("3.toml", robots(3)));
    assert_eq!(warnings.as_array().unwrap().len(), 1);
    assert!(warnings[0].as_str().unwrap().contains("the table of 'r3'"));
    let mut left: Vec<_> = (std::fs::read_dir(&tables).unwrap())
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(
        left,
        ["mine.csv", "notes.csv", "r0.csv", "r1.csv", "r2.csv"]
    );
}

/// A country's registry: blocks of 256 to 4096 addresses, each in one of five cities, with many
/// hosts on few addresses in some and one host in most.
fn registry(folder: &Folder, blocks: u64) -> (PathBuf, PathBuf, PathBuf, PathBuf) {
    let mut numbers = Numbers(3);
    let (mut pages, mut table) = ("host,pages,address\n".to_owned(), String::new());
    let mut rtt = "robot,host,milliseconds\n".to_owned();
    let mut hosts = Vec::new();
    for block in 0..blocks {
        let size = 256 << numbers.next(5);
        let start = (193 << 24) + block * 4096;
        let address = |offset: u64| std::net::Ipv4Addr::from_bits((start + offset) as u32);
        writeln!(
            table,
            "{},{},{block},\"Net, {block}\"",
            address(0),
            address(size - 1)
        )
        .unwrap();
        let city = numbers.next(5);
        for _ in 0..=2000 / (block + 3) {
            let host = hosts.len();
            let at = address(numbers.next(size));
            writeln!(pages, "h{host}.example,{},{at}", 1 + numbers.next(50)).unwrap();
            for robot in 0..5 {
                let ms = if robot == city { 8 } else { 40 } + numbers.next(6);
                writeln!(rtt, "r{robot},h{host}.example,{ms}").unwrap();
            }
            hosts.push(block);
        }
    }
    let mut links = String::new();
    let count = hosts.len() as u64;
    for (host, block) in hosts.iter().enumerate() {
        for _ in 0..6 {
            let near = (host as u64 + numbers.next(40)).min(count - 1);
            let target = if numbers.next(10) < 7 {
                near
            } else {
                numbers.next(count)
            };
            if target != host as u64 {
                writeln!(
                    links,
                    "h{host}.example\th{target}.example\t{}",
                    1 + block % 3
                )
                .unwrap();
            }
        }
    }
    (
        folder.file("pages.csv", pages),
        folder.file("rtt.csv", rtt),
        folder.file("links.tsv", links),
        folder.file("asn.csv", table),
    )
}

#[test]
fn real_blocks_make_tables_five_times_smaller_than_lists_of_hosts() {
    let folder = Folder::new();
    let (pages, rtt, links, blocks) = registry(&folder, 300);
    let robots = folder.file("robots.toml", robots(5));
    let result = json(&partition(&[
        "--links",
        text(&links),
        "--pages",
        text(&pages),
        "--rtt",
        text(&rtt),
        "--robots",
        text(&robots),
        "--prefixes",
        text(&blocks),
        "--level",
        "addresses",
        "--json",
    ]));
    let smaller = result["tables"]["times_smaller"].as_f64().unwrap();
    assert!(smaller >= 5.0, "{smaller}");
    assert!(result["mean_rtt_ms"].as_f64().unwrap() < 25.0);
}

#[test]
fn blocks_come_in_four_forms_and_mean_the_same() {
    let folder = Folder::new();
    let links = folder.file("links.csv", "a,b,3\nb,c,1\nc,d,3\nd,a,1\n");
    let pages = folder.file(
        "pages.csv",
        "host,pages,address\na,5,193.136.0.1\nb,5,193.136.0.9\nc,5,193.137.1.1\nd,5,193.137.1.2\n",
    );
    let robots = folder.file("robots.toml", robots(2));
    let table = |prefixes: &Path| {
        let tables = folder.path("tables");
        success(&partition(&[
            "--links",
            text(&links),
            "--pages",
            text(&pages),
            "--robots",
            text(&robots),
            "--prefixes",
            text(prefixes),
            "--tables",
            text(&tables),
        ]));
        std::fs::read_to_string(tables.join("r0.csv")).unwrap()
    };
    let blocks = ["193.136.0.0/16", "193.137.0.0/16"];
    let first = table(&folder.file("a.csv", format!("{},1\n{},2\n", blocks[0], blocks[1])));
    assert!(
        first.contains("block,193.136.0.0/15,") || first.contains("/16,"),
        "{first}"
    );
    for (name, content) in [
        (
            "b.csv",
            format!("prefix,asn\n{},1\n{},2\n", blocks[0], blocks[1]).into_bytes(),
        ),
        (
            "c.csv",
            b"193.136.0.0,193.136.255.255,1,x\n193.137.0.0,193.137.255.255,2,y\n".to_vec(),
        ),
        (
            "d.csv",
            b"start,end,asn\n193.136.0.0,193.136.255.255,1\n193.137.0.0,193.137.255.255,2\n"
                .to_vec(),
        ),
        (
            "e.mmdb",
            mmdb::database(&[([193, 136], 16), ([193, 137], 16)]),
        ),
    ] {
        assert_eq!(table(&folder.file(name, content)), first, "{name}");
    }
}

#[test]
fn the_shipped_example_divides_by_country() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let file = |name: &str| examples.join(name);
    let folder = Folder::new();
    let (out, report) = (folder.path("out.csv"), folder.path("report.html"));
    let result = json(&partition(&[
        "--links",
        text(&file("links.csv")),
        "--robots",
        text(&file("robots.toml")),
        "--places",
        text(&file("places.csv")),
        "--out",
        text(&out),
        "--report",
        text(&report),
        "--json",
    ]));
    assert_eq!(result["robots"].as_array().unwrap().len(), 5);
    let near = |host: &str, robot: &str| {
        let towns = [
            ("london", "london-1"),
            ("madrid", "madrid-1"),
            ("dublin", "dublin-1"),
        ];
        let town = towns.iter().find(|(town, _)| host.contains(town));
        town.is_none_or(|(_, own)| *own == robot)
    };
    let rows = assignment(&out);
    let at_home = rows
        .iter()
        .filter(|(host, robot)| near(host, robot))
        .count();
    assert!(
        at_home * 10 >= rows.len() * 7,
        "{at_home} of {}",
        rows.len()
    );
    // shares, exchange, map
    let page = std::fs::read_to_string(report).unwrap();
    assert_eq!(page.matches("<svg").count(), 3);
}
