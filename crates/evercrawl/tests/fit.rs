//! `evercrawl fit` from the outside.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::Value;
use std::fmt::Write;
use std::process::{Command, Output};

fn fit(folder: &std::path::Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evercrawl"));
    command.arg("fit").args(arguments).current_dir(folder);
    command.output().unwrap()
}

/// Sixty items whose gaps are exponential, and sixty whose changes come in pairs ten minutes apart.
fn history() -> String {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(4);
    let mut text = "item_id,timestamp_seconds\n".to_owned();
    for item in 0..120 {
        let mut at = 1_000_000_000.0;
        for change in 0..(if item < 60 { 80 } else { 400 }) {
            let gap = -rng.random::<f64>().ln() * 86_400.0;
            let pair = item >= 60 && change % 2 == 1;
            at += if pair { 600.0 } else { gap };
            writeln!(text, "{item},{at:.0}").unwrap();
        }
    }
    text
}

#[test]
fn it_tells_poisson_changes_from_bouts() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("changes.csv"), history()).unwrap();
    let output = fit(
        folder.path(),
        &["changes.csv", "--json", "--report", "fit.html"],
    );
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&found["items"], &found["changes"]),
        (&120.into(), &28_800.into())
    );
    let classes = found["classes"].as_array().unwrap();
    let class = |items: u64, from: u64| {
        let same = |class: &&Value| class["items"] == items && class["from"] == from;
        classes
            .iter()
            .find(same)
            .unwrap_or_else(|| panic!("{classes:?}"))
    };
    let rejected = |class: &Value| {
        let models = class["models"].as_array().unwrap();
        let exponential = models.iter().find(|model| model["family"] == "exponential");
        exponential.unwrap()["rejected"].as_f64().unwrap()
    };
    let (poisson, bouts) = (class(60, 30), class(60, 120));
    assert!(rejected(poisson) < 0.1, "{poisson}");
    assert!(rejected(bouts) > 0.9, "{bouts}");
    assert!((poisson["variation"].as_f64().unwrap() - 1.0).abs() < 0.2);
    assert!((bouts["within_hour"].as_f64().unwrap() - 0.5).abs() < 0.1);
    let page = std::fs::read_to_string(folder.path().join("fit.html")).unwrap();
    assert_eq!(page.matches("<svg").count(), 3);
    let text = String::from_utf8(fit(folder.path(), &["changes.csv"]).stdout).unwrap();
    assert!(
        text.contains("best by AIC") && text.contains("120 items"),
        "{text}"
    );
}

#[test]
fn what_is_no_history_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("empty.csv"),
        "item_id,timestamp_seconds\n",
    )
    .unwrap();
    for arguments in [&["missing.csv"][..], &["empty.csv"]] {
        let output = fit(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(!output.stderr.is_empty());
    }
}
