//! What is shown while it takes its time, and only to those who look.

use super::{Folder, links, partition, robots, success, text};
use std::process::{Command, Stdio};

#[test]
fn progress_is_for_terminals_only() {
    let folder = Folder::new();
    let links = folder.file("links.csv", links(3000, 60_000));
    let robots = folder.file("robots.toml", robots(8));
    let files = ["--links", text(&links), "--robots", text(&robots)];
    let quiet = partition(&files);
    success(&quiet);
    assert_eq!(String::from_utf8_lossy(&quiet.stderr), "");
    let program = env!("CARGO_BIN_EXE_evercrawl");
    // util-linux `script` lends a terminal; its child's exit code is passed on
    let command = format!("{program} partition {}", files.join(" "));
    let script = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .stdin(Stdio::null())
        .output();
    let Ok(output) = script else {
        eprintln!("skipped: there is no `script` to lend a terminal");
        return;
    };
    let shown = success(&output);
    assert!(shown.contains("dividing"), "{shown}");
    assert!(shown.contains("exchanged links"), "{shown}");
}
