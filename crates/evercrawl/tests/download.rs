//! `evercrawl simulate download` from outside: results, errors, determinism, interruption.

mod interruption;

use interruption::interrupted;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn download(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_evercrawl"))
        .args(["simulate", "download"])
        .args(arguments)
        .output()
        .unwrap()
}

fn success(output: &Output) -> &str {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    std::str::from_utf8(&output.stdout).unwrap()
}

fn number(row: &Value, key: &str) -> f64 {
    row[key]
        .as_f64()
        .unwrap_or_else(|| panic!("{key} in {row}"))
}

#[test]
fn all_methods_rules_and_levels_download_every_page_politely() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.html");
    let arguments = [
        "--size",
        "0.02",
        "--robots",
        "2,5",
        "--method",
        "all",
        "--politeness",
        "3s,density,latency,mean-of-density",
        "--level",
        "hosts,addresses",
        "--nearness",
        "rtt,distance",
    ];
    let with_report = ["--json", "--report", report.to_str().unwrap()];
    let json = download(&[&arguments[..], &with_report].concat());
    let json: Value = serde_json::from_str(success(&json)).unwrap();
    let rows = json["results"].as_array().unwrap();
    // two kinds of nearness for the two graphs, none for the four hashes
    assert_eq!(rows.len(), 2 * 4 * 2 * (2 * 2 + 4));
    for row in rows {
        assert_eq!(row["pages"], json["pages"]);
        assert_eq!(row["politeness_violations"], 0);
        assert!(number(row, "exchanged_urls") <= number(row, "exchanged_links"));
        assert!((0.0..=1.0).contains(&number(row, "exchanged_share")));
        assert!((0.0..1.0).contains(&number(row, "idle_share")));
        let robots = row["by_robot"].as_array().unwrap();
        assert_eq!(robots.len(), row["robots"].as_u64().unwrap() as usize);
        for robot in robots {
            let timeline = robot["timeline"].as_array().unwrap().iter();
            let pages: u64 = timeline.map(|bin| bin.as_u64().unwrap()).sum();
            assert_eq!(Value::from(pages), robot["pages"]);
            assert!(number(robot, "idle_seconds") <= number(row, "download_seconds") + 1e-6);
        }
    }
    let find = |method: &str, rule: &str| {
        let wanted = |row: &&Value| {
            row["method"] == method
                && row["politeness"] == rule
                && row["robots"] == 5
                && row["level"] == "hosts"
        };
        rows.iter().find(wanted).unwrap()
    };
    let exchanged = |method: &str| number(find(method, "3s"), "exchanged_share");
    assert!(exchanged("graph") < exchanged("hash-host"));
    assert!(exchanged("hash-host") < exchanged("hash-url"));
    let mean = number(find("graph", "mean-of-density"), "mean_pause_seconds");
    assert!((mean - number(find("graph", "density"), "mean_pause_seconds")).abs() < 1e-6);
    let page = std::fs::read_to_string(report).unwrap();
    assert!(page.matches("<svg").count() > rows.len());
    let csv = download(&[&arguments[..], &["--csv"]].concat());
    assert_eq!(success(&csv).lines().count(), rows.len() + 1);
    let table = download(&["--size", "0.02", "--formula-only"]);
    assert!(success(&table).contains("hash-host"));
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let run = |threads: &str| {
        let arguments = [
            "--size",
            "0.01",
            "--robots",
            "3,6",
            "--politeness",
            "15s,latency",
            "--json",
            "--threads",
            threads,
        ];
        success(&download(&arguments)).to_owned()
    };
    assert_eq!(run("1"), run("4"));
}

#[test]
fn real_graphs_and_real_times_are_taken() {
    let data = std::env::var_os("EVERCRAWL_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let links = data.join("graphs/uk_web_hosts_1996_edges.tsv.gz");
    let latency = data.join("latency/planetlab_490x490_ms.txt.gz");
    if !links.exists() || !latency.exists() {
        eprintln!("skipped: no graph or latencies in {}", data.display());
        return;
    }
    let output = download(&[
        "--links",
        links.to_str().unwrap(),
        "--latency",
        latency.to_str().unwrap(),
        "--robots",
        "8",
        "--method",
        "hash-host",
        "--formula-only",
        "--json",
    ]);
    let json: Value = serde_json::from_str(success(&output)).unwrap();
    assert_eq!(json["hosts"], 58_135);
    let row = &json["results"][0];
    // 7/8 of the 551,531 links between hosts, within the scatter of a hash
    let share = number(row, "exchanged_links") / 551_531.0;
    assert!((0.8..0.95).contains(&share), "{share}");
}

#[test]
fn bad_input_ends_with_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str| {
        std::fs::write(folder.path().join(name), content).unwrap();
    };
    file("links.csv", "a,b,3\nb,c,1\n");
    file("bad.csv", "a,b,3\nb,c,x\n");
    file("matrix.txt", "0 1 2\n1 0 3\n");
    file("word.txt", "0 1\n1 x\n");
    file("good.txt", "0 1\n1 0\n");
    for (arguments, expected) in [
        ("--links nothing.csv", "nothing.csv: cannot be read"),
        ("--links bad.csv", "bad.csv:2: links is 'x'"),
        ("--latency matrix.txt", "expected a square matrix"),
        ("--latency word.txt", "word.txt:2: 'x' is not a number"),
        ("--latency good.txt --nearness distance", "no places"),
        (
            "--links links.csv --robots 4",
            "4 robots are more than the 3 hosts",
        ),
        ("--politeness 15", "is not a rule"),
        ("--method best", "is not a method"),
        ("--size 0", "expected a number"),
        ("--robots 0", "0 is not in"),
        ("--links links.csv --size 1", "cannot be used with"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_evercrawl"))
            .current_dir(folder.path())
            .args(["simulate", "download", "--report", "report.html"])
            .args(arguments.split(' '))
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {errors}");
        assert!(errors.contains(expected), "{arguments}: {errors}");
        assert!(!folder.path().join("report.html").exists());
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_leaves_a_partial_result_that_says_so() {
    let many = [
        "15s", "14s", "13s", "12s", "11s", "10s", "9s", "8s", "7s", "6s",
    ]
    .join(",");
    let child = Command::new(env!("CARGO_BIN_EXE_evercrawl"))
        .args([
            "simulate",
            "download",
            "--size",
            "2",
            "--robots",
            "2,3,4,5,6,7,8,9,10,11",
        ])
        .args(["--method", "hash-host", "--politeness", &many])
        .args(["--json", "--threads", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(3));
    let output = interrupted(child);
    assert_eq!(output.status.code(), Some(130));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["partial"], Value::Bool(true));
    assert!(json["results"].as_array().unwrap().len() < 100);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("interrupted"), "{errors}");
}

#[test]
fn an_interrupt_does_not_wait_for_partitions() {
    let child = Command::new(env!("CARGO_BIN_EXE_evercrawl"))
        .args([
            "simulate",
            "download",
            "--size",
            "1",
            "--robots",
            "60,80,100",
        ])
        .args(["--method", "graph", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(4));
    let asked = Instant::now();
    let output = interrupted(child);
    assert_eq!(output.status.code(), Some(130));
    assert!(asked.elapsed() < Duration::from_secs(15));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["partial"], Value::Bool(true));
    assert_eq!(json["results"], Value::Array(Vec::new()));
}
