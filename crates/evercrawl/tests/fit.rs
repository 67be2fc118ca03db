//! `evercrawl fit` from the outside.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Output};
use storage::{Batch, Candidate, Observation, Outcome, PageId, Store, StoreOptions, digest};

fn fit(folder: &Path, arguments: &[&str]) -> Output {
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

const HOUR: i64 = 3_600_000;
/// Pages of each kind, and visits to each.
const PAGES: u32 = 12;
const VISITS: u32 = 200;

/// A crawl of 12 pages that change by chance and 12 that change every ten hours, each on its own host, visited
/// every three to seven hours: what it saw, and how many of the changes found were dated.
fn crawl(directory: &Path) -> u64 {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(9);
    let mut store =
        Store::open(&robot::state_directory(directory), StoreOptions::default()).unwrap();
    let mut dated = 0;
    for page in 0..2 * PAGES {
        let regular = page >= PAGES;
        let name = if regular { "clock" } else { "dice" };
        let host = store.host(&format!("http://{name}.test")).unwrap();
        let url = format!("http://{name}.test/{page}");
        let candidate = Candidate {
            key: &url,
            url: &url,
            host,
            depth: 0,
            from: None,
            at: 1,
        };
        store.admit(&[candidate]).unwrap();
        let mut gap = || {
            let hours = if regular {
                10.0
            } else {
                -10.0 * rng.random::<f64>().ln()
            };
            (hours * HOUR as f64) as i64
        };
        let (mut last, mut next) = (None, 1_700_000_000_000 + gap());
        let mut at = 1_700_000_000_000;
        let mut batch = Batch::default();
        for visit in 0..VISITS {
            let changed = next <= at;
            while next <= at {
                last = Some(next);
                next += gap();
            }
            // every second page is dated
            let modified = last.filter(|_| page % 2 == 0);
            dated += u64::from(changed && visit > 0 && modified.is_some());
            let outcome = match (visit, changed) {
                (0, _) => Outcome::FirstSeen,
                (_, true) => Outcome::Changed,
                (_, false) if visit % 2 == 0 => Outcome::Minor,
                _ => Outcome::Unchanged,
            };
            batch.observations.push(Observation {
                page: PageId(page),
                at,
                outcome,
                modified,
                status: 200,
                millis: 1,
                bytes: 1,
                digest: digest(b"x"),
                reason: 0,
            });
            if visit % 7 == 0 {
                // no answer says nothing
                let failed = Observation {
                    at: at + HOUR,
                    outcome: Outcome::Failed(3),
                    ..batch.observations[batch.observations.len() - 1]
                };
                batch.observations.push(failed);
            }
            at += HOUR * 3 + i64::from(page + 13 * visit) % 5 * HOUR;
        }
        store.commit(&batch).unwrap();
    }
    dated
}

#[test]
fn the_visits_of_a_crawl_tell_chance_from_clockwork() {
    let folder = tempfile::tempdir().unwrap();
    let dated = crawl(&folder.path().join("data"));
    let output = fit(folder.path(), &["data", "--json", "--report", "fit.html"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{found}"));
    assert_eq!(found["items"], 2 * PAGES);
    assert_eq!(found["watched"]["visits"], 2 * PAGES * VISITS);
    assert_eq!(found["watched"]["dated"], dated);
    assert_eq!(found["concentration"][1]["count"], 2);
    // the truth is 2.4 changes a day of each page, of which visits miss some
    let median = number(&found["rates"]["median"]);
    assert!((2.0..3.2).contains(&median), "{median}");
    let classes = found["classes"].as_array().unwrap();
    let mut fitted = 0;
    let (mut chance, mut best) = (0.0, 0.0);
    for class in classes {
        let of = number(&class["fitted"]);
        let models = class["models"].as_array().unwrap();
        let exponential = models.iter().find(|model| model["family"] == "exponential");
        fitted += of as u32;
        chance += of * number(&exponential.unwrap()["rejected"]);
        best += of * number(&exponential.unwrap()["best"]);
        assert_eq!(models.len(), 5, "a histogram is not fitted to waits");
    }
    // Poisson is refused for those that go by the clock, and for no others
    assert_eq!(fitted, 2 * PAGES);
    assert!((11.0..=14.0).contains(&chance), "{chance}: {found}");
    assert!((5.0..=12.0).contains(&best), "{best}: {found}");
    let page = std::fs::read_to_string(folder.path().join("fit.html")).unwrap();
    assert_eq!(page.matches("<svg").count(), 3);
    let text = String::from_utf8(fit(folder.path(), &["data"]).stdout).unwrap();
    assert!(text.contains("Seen by 4,800 visits"), "{text}");
}

#[test]
fn directories_without_changes_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("none")).unwrap();
    std::fs::write(folder.path().join("items.csv"), "item_id,server\n").unwrap();
    let state = robot::state_directory(&folder.path().join("data"));
    drop(Store::open(&state, StoreOptions::default()).unwrap());
    for (arguments, reason) in [
        (&["none"][..], "there is no crawl"),
        (&["data"], "no visit of this crawl has found a change yet"),
        (&["data", "--items", "items.csv"], "--items"),
    ] {
        let output = fit(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains(reason), "{errors}");
    }
}
