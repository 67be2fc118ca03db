//! `evercrawl reproduce` from outside: all experiments in their small form.

mod interruption;

use interruption::interrupted;
use serde_json::Value;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn reproduce(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_evercrawl"))
        .arg("reproduce")
        .env_remove("EVERCRAWL_DATA")
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn all_experiments_run_and_leave_tables_plots_and_rows() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let output = reproduce(&["all", "--quick", "--json", "--out", out]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let experiments = json["experiments"].as_array().unwrap();
    let list = String::from_utf8(reproduce(&["list"]).stdout).unwrap();
    assert_eq!(experiments.len(), list.lines().count());
    for experiment in experiments {
        let name = experiment["experiment"].as_str().unwrap();
        let own = match name {
            "default"
            | "cold-pages"
            | "freshness-wikipedia"
            | "rtt-approximation"
            | "probing-origins"
            | "first-visits"
            | "partition-preferences"
            | "partition-algebraic"
            | "partition-download" => folder.path().join(name).join("generated"),
            _ => folder.path().join(name),
        };
        let readme = std::fs::read_to_string(own.join("README.md")).unwrap();
        for relation in experiment["relations"].as_array().unwrap() {
            assert!(
                readme.contains(relation["found"].as_str().unwrap()),
                "{name}"
            );
            // every row says whose it is, and has a verdict or a reason why there is none
            let source = relation["source"].as_str().unwrap();
            assert!(
                ["published", "ours", "calibrated"].contains(&source),
                "{source}"
            );
            assert_ne!(
                relation["verdict"].is_null(),
                relation["no_verdict"].is_null()
            );
            assert!(
                source != "calibrated" || relation["verdict"].is_null(),
                "{relation}"
            );
        }
        let rows = std::fs::read_to_string(own.join("rows.csv")).unwrap();
        assert!(rows.lines().count() > 3, "{name}");
        let is_plot = |entry: std::io::Result<std::fs::DirEntry>| {
            entry
                .unwrap()
                .path()
                .extension()
                .is_some_and(|e| e == "svg")
        };
        assert!(std::fs::read_dir(&own).unwrap().any(is_plot), "{name}");
    }
    // what no seed and no size may break
    for (experiment, claim) in [
        ("factors", "RANDOM ≥ 0.77 of the bound"),
        ("factors", "MERGE ≥ 0.927 of the bound"),
        (
            "classical",
            "visits in proportion to change rates are worse than uniform ones",
        ),
        ("partition-download", "politeness is never broken"),
    ] {
        let own = experiments.iter().find(|e| e["experiment"] == experiment);
        let relations = own.unwrap()["relations"].as_array().unwrap();
        let claimed = |r: &&Value| r["claim"].as_str().unwrap().starts_with(claim);
        let found = relations.iter().find(claimed).unwrap();
        assert_eq!(found["verdict"], "holds", "{found}");
    }
    // generated links, and RTTs from distance, decide nothing
    for experiment in ["partition-algebraic", "partition-download"] {
        let own = experiments.iter().find(|e| e["experiment"] == experiment);
        for relation in own.unwrap()["relations"].as_array().unwrap() {
            let claim = relation["claim"].as_str().unwrap();
            let of_links = claim.contains("exchange") || claim.contains("distance");
            if relation["source"] == "published" && of_links || claim.contains("than hash-") {
                assert!(relation["verdict"].is_null(), "{relation}");
            }
        }
    }
    let own = experiments
        .iter()
        .find(|e| e["experiment"] == "rtt-approximation");
    for relation in own.unwrap()["relations"].as_array().unwrap() {
        assert!(relation["verdict"].is_null(), "{relation}");
    }
}

#[test]
fn the_list_names_every_experiment() {
    let output = reproduce(&["list"]);
    let text = String::from_utf8(output.stdout).unwrap();
    for name in [
        "freshness-webbase",
        "freshness-wikipedia",
        "classical",
        "factors",
        "rtt-approximation",
        "probing-origins",
        "learning",
        "default",
        "partition-algebraic",
        "partition-download",
        "partition-preferences",
    ] {
        assert!(text.lines().any(|line| line.starts_with(name)), "{text}");
    }
}

#[test]
fn bad_traces_end_with_code_2() {
    for arguments in [
        &["freshness-wikipedia", "--trace", "does-not-exist.csv"][..],
        &["default", "--trace", "a/b=c.csv"],
        &["classical", "--full"],
        &["classical", "--trace", "changes.csv"],
        &["rtt-approximation", "--data", "does-not-exist"],
        &["nothing"],
    ] {
        assert_eq!(reproduce(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn an_interrupt_is_told_and_leaves_nothing_half_written() {
    for experiment in ["default", "cold-pages"] {
        let folder = tempfile::tempdir().unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_evercrawl"))
            .args(["reproduce", experiment, "--out"])
            .arg(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_secs(2));
        let output = interrupted(child);
        assert_eq!(output.status.code(), Some(130), "{experiment}");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains("interrupted"), "{errors}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
