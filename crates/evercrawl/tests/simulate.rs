//! `evercrawl simulate freshness` from outside: results, errors, determinism, interruption.

mod interruption;

use interruption::interrupted;
use serde_json::Value;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const SCENARIO: &str = "
pages = 600
servers = 6
days = 60
never_changing = 0.2
politeness_seconds = 300
[rates]
exponent = 0.5
least = 0.05
most = 10
";

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
}

fn simulate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_evercrawl"))
        .args(["simulate", "freshness"])
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

fn results(json: &str) -> Vec<Value> {
    let json: Value = serde_json::from_str(json).unwrap();
    json["results"].as_array().unwrap().clone()
}

fn number(row: &Value, key: &str) -> f64 {
    row[key]
        .as_f64()
        .unwrap_or_else(|| panic!("{key} in {row}"))
}

/// Changes of 40 items over 100 days: item k every k + 1 hours, from 2007 on.
fn trace() -> String {
    let mut csv = "item_id,timestamp_seconds\n".to_owned();
    for item in 0..40u32 {
        for k in 1..(2400 / (item + 1)) {
            let at = 1_167_609_600 + k * (item + 1) * 3600;
            writeln!(csv, "page-{item},{at}").unwrap();
        }
    }
    csv
}

fn gzip(content: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(content.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_scenario_gives_all_the_keys_in_every_form() {
    let folder = Folder::new();
    let scenario = folder.file("small.toml", SCENARIO);
    let report = folder.path("report.html");
    let policies = "merge-opt-polite,uniform,index";
    let common = [
        text(&scenario),
        "--policy",
        policies,
        "--budget",
        "20%,300/day,0.5/change",
    ];
    let json = simulate(
        &[
            &common[..],
            &["--json", "--seeds", "2", "--report", text(&report)],
        ]
        .concat(),
    );
    let rows = results(success(&json));
    assert_eq!(rows.len(), 9);
    for row in &rows {
        for key in [
            "budget_per_day",
            "visits",
            "freshness",
            "freshness_ci95",
            "pages_ci95",
            "mean_age_days",
            "p95_page_staleness",
            "ns_per_selection",
            "allocation_seconds",
            "bound_impolite",
            "bound_polite",
        ] {
            assert!(number(row, key) >= 0.0);
        }
        assert!(
            number(row, "freshness") <= number(row, "bound_polite") + 0.01,
            "{row}"
        );
        assert_eq!(row["partial"], Value::Bool(false));
    }
    // 6 servers, one visit per 300 s
    assert!((number(&rows[0], "budget_per_day") - 0.2 * 6.0 * 288.0).abs() < 1e-6);
    assert!((number(&rows[3], "budget_per_day") - 300.0).abs() < 1e-9);

    let html = std::fs::read_to_string(&report).unwrap();
    assert_eq!(
        html.matches("<svg").count(),
        4,
        "against budget, and over time at three budgets"
    );
    assert!(html.contains("polite bound") && html.contains("Cost of a selection"));
    assert!(!html.contains("PARTIAL") && !html.contains("src=") && !html.contains("href="));

    let csv = simulate(&[&common[..], &["--csv"]].concat());
    let csv = success(&csv).to_owned();
    assert_eq!(csv.lines().count(), 10);
    assert!(csv.starts_with("policy,budget_per_day,visits,freshness,freshness_ci95,"));
    let table = simulate(&common);
    assert!(success(&table).contains("merge-opt-polite"));
}

#[test]
fn the_threads_change_no_byte() {
    let folder = Folder::new();
    let bursty = format!("{SCENARIO}[process]\nkind = \"weibull\"\nshape = 0.5\n");
    let scenario = folder.file("bursty.toml", bursty);
    let outcome = |threads: &str| {
        let report = folder.path(threads);
        let output = simulate(&[
            text(&scenario),
            "--budget",
            "5%,30%",
            "--policy",
            "merge-cho,random-uniform,index,greedy,multiplicative",
            "--knowledge",
            "online",
            "--observe",
            "last-modified",
            "--seeds",
            "3",
            "--no-timings",
            "--json",
            "--threads",
            threads,
            "--report",
            text(&report),
        ]);
        (success(&output).to_owned(), std::fs::read(report).unwrap())
    };
    let one = outcome("1");
    assert_eq!(one, outcome("2"));
    assert!(one.0.contains("\"ns_per_selection\": null"));
    let other = simulate(&[
        text(&scenario),
        "--budget",
        "5%",
        "--no-timings",
        "--json",
        "--seed",
        "2",
    ]);
    assert_ne!(one.0, success(&other));
}

#[test]
fn a_trace_is_replayed_with_every_knowledge() {
    let folder = Folder::new();
    let changes = folder.file("changes.csv.gz", gzip(&trace()));
    let mut items = "item_id,host,weight\n".to_owned();
    for item in 0..40 {
        writeln!(items, "page-{item},host-{},{}", item % 4, 1 + item % 3).unwrap();
    }
    let items = folder.file("items.csv", items);
    let mut fresh = Vec::new();
    for knowledge in ["hindsight", "trained", "online"] {
        let output = simulate(&[
            "--trace",
            text(&changes),
            "--items",
            text(&items),
            "--politeness",
            "15s",
            "--learn-until",
            "2007-02-20",
            "--until",
            "2007-04-11",
            "--knowledge",
            knowledge,
            "--policy",
            "merge-opt-polite",
            "--budget",
            "1/change",
            "--start",
            "fresh",
            "--json",
        ]);
        let json: Value = serde_json::from_str(success(&output)).unwrap();
        assert_eq!(
            (&json["pages"], &json["servers"]),
            (&Value::from(40), &Value::from(4))
        );
        assert!((json["days"].as_f64().unwrap() - 50.0).abs() < 1e-9);
        let changes: u32 = (1..=40).map(|hours| (2399 / hours) - (1200 / hours)).sum();
        assert!((json["changes"].as_f64().unwrap() - f64::from(changes)).abs() < 60.0);
        fresh.push(number(&json["results"][0], "freshness"));
    }
    // steady changes: the past tells the rates, and who must learn them first is behind
    assert!((fresh[0] - fresh[1]).abs() < 0.02, "{fresh:?}");
    assert!(fresh[2] > 0.2 && fresh[2] < fresh[0] + 0.02, "{fresh:?}");
}

#[test]
fn bad_input_ends_with_2_and_says_where() {
    let folder = Folder::new();
    let whole = gzip(&trace());
    let good = folder.file("good.csv", trace());
    let items = folder.file("items.csv", "item_id,server\npage-0,a\n");
    let scenario = folder.file("good.toml", SCENARIO);
    folder.file("negative.csv", "item_id,timestamp_seconds\na,-5\n");
    folder.file("twice.csv", "item_id,timestamp_seconds\na,5\na,5\n");
    folder.file("page.csv", "<html>\n<body>\n");
    folder.file("cut.csv.gz", &whole[..whole.len() / 2]);
    folder.file("key.toml", format!("colour = 1\n{SCENARIO}"));
    let path = |name: &str| text(&folder.path(name)).to_owned();
    let check = |arguments: &[&str], expected: &str| {
        let output = simulate(&[arguments, &["--budget", "10/day"]].concat());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        assert!(errors.contains(expected), "{arguments:?}: {errors}");
        assert!(output.stdout.is_empty());
    };
    check(
        &["--trace", &path("negative.csv")],
        "negative.csv:2: timestamp_seconds is '-5'",
    );
    check(&["--trace", &path("twice.csv")], "twice.csv:3: duplicate");
    check(
        &["--trace", &path("page.csv")],
        "page.csv:1: the column 'item_id' is missing",
    );
    check(
        &["--trace", &path("cut.csv.gz")],
        "is not valid gzip after this line",
    );
    check(&["--trace", &path("absent.csv")], "absent.csv");
    check(
        &["--trace", text(&good), "--items", text(&items)],
        "good.csv:2401: item 'page-1' is not listed",
    );
    check(
        &["--trace", text(&good), "--until", "2006-01-01"],
        "test period is empty",
    );
    check(
        &["--trace", text(&good), "--knowledge", "trained"],
        "--learn-until",
    );
    check(
        &["--trace", text(&good), "--min-changes", "99999"],
        "no item is left",
    );
    check(
        &["--trace", text(&good), "--policy", "merge-best"],
        "unknown policy 'merge-best'",
    );
    check(
        &["--trace", text(&good), "--budget", "40%"],
        "needs a politeness",
    );
    check(
        &[
            "--trace",
            text(&good),
            "--politeness",
            "2h",
            "--budget",
            "999/day",
        ],
        "that politeness allows",
    );
    check(&[&path("key.toml")], "unknown field `colour`");
    check(
        &[text(&scenario), "--items", text(&items)],
        "--items belongs to --trace",
    );
    check(&[text(&scenario), "--from", "2007-01-01"], "counts in days");
    check(&[], "expected either a scenario or --trace");
}

#[test]
fn unsorted_traces_are_sorted_with_a_warning() {
    let folder = Folder::new();
    let mut lines: Vec<String> = trace().lines().map(str::to_owned).collect();
    let sorted = folder.file("sorted.csv", lines.join("\n"));
    lines[1..].reverse();
    let unsorted = folder.file("unsorted.csv", lines.join("\n"));
    let run = |file: &Path| {
        simulate(&[
            "--trace",
            text(file),
            "--budget",
            "0.5/change",
            "--policy",
            "per-page-uniform",
            "--json",
        ])
    };
    let (sorted, unsorted) = (run(&sorted), run(&unsorted));
    let warning = String::from_utf8_lossy(&unsorted.stderr).into_owned();
    assert!(
        warning.contains("warning") && warning.contains("unsorted.csv:3: "),
        "{warning}"
    );
    assert!(sorted.stderr.is_empty());
    // the order of the items differs, and with it what each page's offset is
    let fresh = |output: &Output| number(&results(success(output))[0], "freshness");
    assert!((fresh(&sorted) - fresh(&unsorted)).abs() < 0.05);
}

#[cfg(unix)]
#[test]
fn an_interrupt_leaves_a_partial_result_that_says_so() {
    let folder = Folder::new();
    let long = SCENARIO.replace("days = 60", "days = 20000");
    let scenario = folder.file("long.toml", long);
    let report = folder.path("report.html");
    let mut child = Command::new(env!("CARGO_BIN_EXE_evercrawl"))
        .args([
            "simulate",
            "freshness",
            text(&scenario),
            "--budget",
            "30%,90%",
            "--seeds",
            "50",
        ])
        .args([
            "--no-early-stop",
            "--json",
            "--threads",
            "1",
            "--report",
            text(&report),
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(3));
    assert!(child.try_wait().unwrap().is_none(), "the run must be long");
    let sent = Instant::now();
    let output = interrupted(child);
    assert!(
        sent.elapsed() < Duration::from_secs(10),
        "it must stop soon"
    );
    assert_eq!(output.status.code(), Some(130));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["partial"], Value::Bool(true));
    let rows = json["results"].as_array().unwrap();
    assert!(!rows.is_empty() && rows.iter().any(|row| row["partial"] == Value::Bool(true)));
    assert!(number(&rows[0], "freshness") > 0.0);
    let html = std::fs::read_to_string(&report).unwrap();
    assert!(html.contains("PARTIAL") && html.ends_with("</html>\n"));
}

#[test]
fn new_pages_stop_at_an_interrupt() {
    let folder = Folder::new();
    let mut changes = "item_id,timestamp_seconds\n".to_owned();
    for at in 0..2000 {
        writeln!(changes, "{},{}", at % 100, at * 3600).unwrap();
    }
    let child = Command::new(env!("CARGO_BIN_EXE_evercrawl"))
        .args(["simulate", "new-pages", "--trace"])
        .arg(folder.file("changes.csv", changes))
        .args(["--budget", "1/change", "--seeds", "1000000000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(1));
    let output = interrupted(child);
    assert_eq!(output.status.code(), Some(130));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("interrupted"), "{errors}");
}

/// Figures of the real traces, where they are at hand.
#[test]
fn real_traces_are_read_whole() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let data =
        std::env::var_os("EVERCRAWL_DATA").map_or(root.join("../shared/data"), PathBuf::from);
    let changes = data.join("changes/wikipedia1000.csv.gz");
    if !changes.exists() {
        eprintln!("skipped: {} is not there", changes.display());
        return;
    }
    let output = simulate(&[
        "--trace",
        text(&changes),
        "--from",
        "2007-01-01",
        "--until",
        "2008-01-01",
        "--min-changes",
        "50",
        "--policy",
        "merge-cho,merge-wolf,uniform",
        "--budget",
        "0.1/change,0.5/change,1/change",
        "--start",
        "fresh",
        "--json",
    ]);
    let rows = results(success(&output));
    // seen by others on the same articles, period and request stream
    let seen = [
        0.351, 0.376, 0.349, 0.694, 0.716, 0.708, 0.820, 0.828, 0.818,
    ];
    for (row, seen) in rows.iter().zip(seen) {
        assert!(
            (number(row, "freshness") - seen).abs() < 0.015,
            "{row} {seen}"
        );
    }
    for name in ["open_terms_archive", "homebrew_cask"] {
        let changes = data.join(format!("changes/{name}.csv.gz"));
        let items = data.join(format!("changes/{name}_items.csv.gz"));
        let mut arguments = vec![
            "--trace",
            text(&changes),
            "--policy",
            "uniform",
            "--budget",
            "0.1/change",
            "--json",
        ];
        if items.exists() {
            arguments.extend(["--items", text(&items), "--politeness", "15s"]);
        }
        let output = simulate(&arguments);
        assert!(
            output.stderr.is_empty(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert_eq!(results(success(&output)).len(), 1);
    }
}

#[test]
fn items_without_a_server_are_on_servers_of_their_own() {
    let folder = Folder::new();
    let changes = folder.file(
        "changes.csv",
        "item_id,timestamp_seconds\na,0\nb,5\nc,90\nd,300\ne,900\na,86400\n",
    );
    let items = folder.file("items.csv", "item_id,server\na,s\nb,\nc,s\nd,\ne,t\n");
    let output = simulate(&[
        "--trace",
        text(&changes),
        "--items",
        text(&items),
        "--policy",
        "uniform",
        "--budget",
        "1/change",
    ]);
    let table = success(&output);
    assert!(table.contains("5 pages on 4 servers"), "{table}");
}

/// Pages that change daily or never, which a column of the items tells and nothing else.
#[test]
fn columns_named_are_features_of_new_pages() {
    let folder = Folder::new();
    let (mut changes, mut items) = (
        "item_id,timestamp_seconds\n".to_owned(),
        "item_id,host,section,ignored\n".to_owned(),
    );
    for page in 0..800_u64 {
        let (section, days) = [("news", 300), ("archive", 1)][page as usize % 2];
        writeln!(items, "{page},a.org,{section},{page}").unwrap();
        for day in 0..days {
            let at = (page / 160 + day) * 86_400 + page;
            writeln!(changes, "{page},{at}").unwrap();
        }
    }
    let changes = folder.file("changes.csv", changes);
    let items = folder.file("items.csv", items);
    let run = |more: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_evercrawl"))
            .args(["simulate", "new-pages", "--trace", text(&changes)])
            .args(["--items", text(&items), "--budget", "0.004/change"])
            .args(more)
            .output()
            .unwrap();
        (output.status.code(), output)
    };
    let freshness = |more: &[&str]| -> Vec<f64> {
        let (_, output) = run(&[more, &["--json"]].concat());
        let rows: Value = serde_json::from_str(success(&output)).unwrap();
        let rows = rows.as_array().unwrap();
        rows.iter()
            .map(|row| row["freshness"].as_f64().unwrap())
            .collect()
    };
    let plain = freshness(&[]);
    let told = freshness(&["--features", "section"]);
    assert_eq!(plain[0], told[0], "breadth-first knows no features");
    assert!(told[1] > plain[1] + 0.05, "{plain:?} {told:?}");
    assert_eq!(told, freshness(&["--features", "section"]));
    // what is not there, or cannot be, is said
    for wrong in [
        ["--features", "size"],
        ["--budget", "40%"],
        ["--order", "greedy"],
    ] {
        assert_eq!(run(&wrong).0, Some(2), "{wrong:?}");
    }
}
