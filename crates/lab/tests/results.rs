//! What docs/results.md says is what was kept under experiments/.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

const LINK: &str = "[rows and details](../";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Sections of the document with the folder of the experiment that each is about.
fn sections() -> Vec<(String, PathBuf)> {
    let text = fs::read_to_string(root().join("docs/results.md")).unwrap();
    let sections = text.split("\n## ").skip(1);
    sections
        .map(|section| {
            let title = section.lines().next().unwrap_or_default();
            let link = section.split_once(LINK).map(|(_, rest)| rest);
            let link = link.and_then(|rest| rest.split_once("README.md)"));
            let (folder, _) = link.unwrap_or_else(|| panic!("'{title}' names no experiment"));
            (section.to_owned(), root().join(folder))
        })
        .collect()
}

fn cells(line: &str) -> Vec<&str> {
    let line = line.trim().trim_start_matches('|').trim_end_matches('|');
    line.split('|').map(str::trim).collect()
}

/// Source, outcome and verdict of all rows of tables of claims.
fn claims(text: &str) -> Vec<(String, String, String)> {
    let mut is_claim = false;
    let mut claims = Vec::new();
    for line in text.lines() {
        if !line.starts_with('|') {
            is_claim = false;
        } else if line.starts_with("| source | claim | found here |") {
            is_claim = true;
        } else if is_claim && !line.starts_with("|---") {
            let cells = cells(line);
            let [source, _, found, .., verdict] = cells[..] else {
                panic!("too few columns: {line}");
            };
            let source = source.to_owned();
            assert!(
                ["published", "ours", "calibrated"].contains(&&source[..]),
                "{line}"
            );
            claims.push((source, found.to_owned(), verdict.to_owned()));
        }
    }
    claims
}

#[test]
fn every_claim_is_one_of_the_experiment_that_is_linked() {
    let mut seen = 0;
    for (section, folder) in sections() {
        let kept = fs::read_to_string(folder.join("README.md")).unwrap();
        let kept: HashSet<_> = claims(&kept).into_iter().collect();
        for claim in claims(&section) {
            assert!(kept.contains(&claim), "{}: {claim:?}", folder.display());
            seen += 1;
        }
    }
    assert!(seen > 100, "{seen}");
}

/// Figures such as `0.6092 ± 0.0008`.
fn figures(text: &str) -> Vec<&str> {
    let starts = text.match_indices("0.").map(|(at, _)| at);
    let figure = |at: usize| text.get(at..at + "0.6092 ± 0.0008".len());
    let is_figure = |text: &&str| {
        let number = |part: &str| part.len() == 6 && part.parse::<f64>().is_ok();
        text.split_once(" ± ")
            .is_some_and(|(mean, half)| number(mean) && number(half))
    };
    starts.filter_map(figure).filter(is_figure).collect()
}

/// Freshness and its interval of all rows in a folder.
fn freshness(folder: &Path) -> HashSet<String> {
    let mut kept = HashSet::new();
    let mut rows = csv::Reader::from_path(folder.join("rows.csv")).unwrap();
    let names = rows.headers().unwrap().clone();
    let column = |name| names.iter().position(|own| own == name).unwrap();
    let (mean, half) = (column("freshness"), column("freshness_ci95"));
    for row in rows.records() {
        let row = row.unwrap();
        let number = |column: usize| row[column].parse::<f64>().unwrap();
        kept.insert(format!("{:.4} ± {:.4}", number(mean), number(half)));
    }
    kept
}

#[test]
fn every_freshness_of_the_default_policy_is_of_a_row_that_was_kept() {
    let mut seen = 0;
    for (section, folder) in sections() {
        if !folder.ends_with("default/recorded")
            && !folder.ends_with("default/elsewhere")
            && !folder.ends_with("default/generated")
        {
            continue;
        }
        let kept = freshness(&folder);
        for figure in figures(&section) {
            assert!(kept.contains(figure), "{}: {figure}", folder.display());
            seen += 1;
        }
    }
    assert!(seen > 1000, "{seen}");
}
