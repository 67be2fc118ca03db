//! Strange data, strange readers: hostile stores, terminals, other people's programs.

use super::site::{HOST, Scene, evercrawl, text};
use std::process::Command;
use storage::{
    Batch, Candidate, Observation, Outcome, PageRow, PageState, Store, StoreOptions, digest,
};

/// What a command shows on a terminal, if there is a program that plays one.
pub fn on_a_terminal(scene: &Scene, arguments: &[&str]) -> Option<String> {
    let quoted = arguments.iter().map(|argument| format!("'{argument}'"));
    let quoted: Vec<String> = quoted.collect();
    let (command, rest) = quoted.split_first()?;
    let line = format!(
        "NO_COLOR=1 {} {command} -c {} {}",
        env!("CARGO_BIN_EXE_evercrawl"),
        text(&scene.config()),
        rest.join(" ")
    );
    let output = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .output();
    let Ok(output) = output else {
        eprintln!("skipped: there is no `script` here to play a terminal");
        return None;
    };
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a Python program with a library, where both are there.
fn python(library: &str, program: &str, argument: &str) -> Option<String> {
    let python = std::env::var("EVERCRAWL_PYTHON").unwrap_or_else(|_| "python3".into());
    let run = |program: &str| {
        Command::new(&python)
            .args(["-c", program, argument])
            .output()
    };
    let there = run(&format!("import {library}")).is_ok_and(|output| output.status.success());
    if !there {
        eprintln!("skipped: no Python with {library} (EVERCRAWL_PYTHON names one)");
        return None;
    }
    let output = run(program).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    Some(String::from_utf8(output.stdout).unwrap())
}

pub fn parquet_is_read_by_others(scene: &Scene) {
    let file = scene.directory.path().join("pages.parquet");
    scene.say(&["export", "--format", "parquet", "--out", text(&file)]);
    let csv = scene.directory.path().join("same.csv");
    scene.say(&["export", "--format", "csv", "--out", text(&csv)]);
    let program = "
import csv, sys
import pyarrow.parquet as parquet
table = parquet.read_table(sys.argv[1])
rows = table.to_pylist()
text = list(csv.DictReader(open(sys.argv[1].replace('pages.parquet', 'same.csv'))))
assert len(rows) == len(text), (len(rows), len(text))
for row, line in zip(rows, text):
    assert list(row) == list(line), (row, line)
    for name, value in row.items():
        if hasattr(value, 'isoformat'):
            value = value.strftime('%Y-%m-%dT%H:%M:%S.') + '%03dZ' % (value.microsecond // 1000)
        assert ('' if value is None else str(value)) == line[name], (name, value, line[name])
print(table.schema.field('last_visit').type, table.num_rows)
";
    if let Some(answer) = python("pyarrow", program, text(&file)) {
        assert_eq!(answer.trim(), "timestamp[ms, tz=UTC] 11");
    }
}

pub fn warc_is_read_by_others(scene: &Scene) {
    let file = scene.directory.path().join("one.warc.gz");
    scene.say(&[
        "export",
        "--format",
        "warc",
        "--host",
        HOST,
        "--out",
        text(&file),
    ]);
    let records = storage::archive::Records::open(&file).unwrap();
    let records: Vec<_> = records.collect::<Result<_, _>>().unwrap();
    let of = |kind: &str| {
        records
            .iter()
            .filter(|record| record.kind() == kind)
            .count()
    };
    assert!(of("warcinfo") == 1 && of("response") > 7 && of("revisit") > 0);
    assert!(
        !records
            .iter()
            .any(|r| r.url().is_some_and(|url| url.contains("other.")))
    );
    let program = "
import sys
from warcio.archiveiterator import ArchiveIterator
count = 0
for record in ArchiveIterator(open(sys.argv[1], 'rb'), check_digests='raise'):
    record.content_stream().read()
    count += 1
print(count)
";
    if let Some(answer) = python("warcio", program, text(&file)) {
        assert_eq!(answer.trim(), records.len().to_string());
    }
}

/// A store such as no robot of ours would write, but someone might.
#[test]
fn hostile_data_is_shown_and_not_obeyed() {
    let directory = tempfile::tempdir().unwrap();
    let state = robot::state_directory(directory.path());
    let mut store = Store::open(&state, StoreOptions::default()).unwrap();
    let host = store.host("http://\u{1b}[31mred.test").unwrap();
    let url = "http://red.test/\u{1b}]0;owned\u{7}\u{202e}\r\nSet-Cookie: x";
    let key = "http://red.test/";
    let candidate = |key, url| Candidate {
        key,
        url,
        host,
        depth: 3,
        from: None,
        at: 1_000,
    };
    store
        .admit(&[
            candidate(key, url),
            candidate("b", "http://red.test/b\u{9b}2J"),
        ])
        .unwrap();
    let page = storage::PageId(0);
    let row = PageRow {
        state: PageState::Gone,
        first_visit: Some(1_000),
        last_visit: Some(2_000),
        last_failure: Some((3_000, 74)),
        status: 410,
        digest: digest(b"x"),
        visits: 2,
        content_type: Some(b"text/\x1b[2Jhtml\xff".to_vec()),
        ..PageRow::default()
    };
    let seen = |outcome, at| Observation {
        page,
        at,
        outcome,
        modified: None,
        status: 410,
        millis: 1,
        bytes: 1,
        digest: digest(b"x"),
    };
    let batch = Batch {
        pages: vec![(page, row)],
        hosts: vec![(host, b"{ \x1b not JSON".to_vec())],
        observations: vec![seen(Outcome::FirstSeen, 1_000), seen(Outcome::Gone, 3_000)],
    };
    store.commit(&batch).unwrap();
    drop(store);
    let commands: [&[&str]; 10] = [
        &["status"],
        &["pages"],
        &["pages", "--json"],
        &["hosts"],
        &["hosts", "--json"],
        &["changes"],
        &["why", key],
        &["why", "--json", key],
        &["export", "--format", "csv"],
        &["pages", "--sort", "url", "--state", "gone"],
    ];
    for command in commands {
        let output = evercrawl(&[command, &["--data", text(directory.path())]].concat());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?}: {errors}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            text.contains("red.test") || command[0] == "status",
            "{text}"
        );
        let obeyed = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!text.contains(obeyed), "{command:?}: {text:?}");
    }
    let output = evercrawl(&["changes", "--data", text(directory.path())]);
    let feed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(feed.lines().count(), 2);
    assert!(feed.lines().nth(1).unwrap().contains("\"kind\":\"gone\""));
    let output = evercrawl(&["status", "--json", "--data", text(directory.path())]);
    let status: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&status["pages_gone"], &status["new_waiting"]),
        (&1.into(), &1.into())
    );
    assert!(status["estimated_freshness"].is_null());
}
