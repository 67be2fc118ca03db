//! Strange data: hostile stores, and what a terminal gets to see of them.

use super::site::{Scene, evercrawl, text};
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
        reason: 0,
    };
    let batch = Batch {
        pages: vec![(page, row)],
        hosts: vec![(host, b"{ \x1b not JSON".to_vec())],
        observations: vec![seen(Outcome::FirstSeen, 1_000), seen(Outcome::Gone, 3_000)],
        ..Batch::default()
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
