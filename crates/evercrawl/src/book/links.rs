//! Every link leads somewhere, and every page can be reached from the book's summary.

use super::{pages, read, root, take_apart};
use std::collections::HashSet;
use std::path::Path;

/// What stands in the round brackets after `](`.
fn targets(prose: &str) -> Vec<&str> {
    prose
        .split("](")
        .skip(1)
        .filter_map(|rest| Some(&rest[..rest.find(')')?]))
        .collect()
}

/// The anchors of a page's headings, as mdBook and code hosts make them.
fn anchors(page: &Path) -> HashSet<String> {
    let (prose, _) = take_apart(page);
    let headings = prose.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            title
                .chars()
                .filter_map(|letter| match letter {
                    ' ' => Some('-'),
                    '-' | '_' => Some(letter),
                    _ if letter.is_alphanumeric() => Some(letter),
                    _ => None,
                })
                .collect()
        })
        .collect()
}

#[test]
fn every_link_leads_somewhere() {
    let mut wrong = Vec::new();
    for page in pages() {
        for target in targets(&take_apart(&page).0) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() {
                page.clone()
            } else {
                page.parent().expect("a folder").join(file)
            };
            let is_there = file.exists()
                && (anchor.is_empty() || file.is_file() && anchors(&file).contains(anchor));
            if !is_there {
                wrong.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "links to nowhere:\n{}", wrong.join("\n"));
}

#[test]
fn every_page_is_in_the_summary() {
    let docs = root().join("docs");
    let summary = read(&docs.join("SUMMARY.md"));
    let listed: HashSet<_> = targets(&summary)
        .iter()
        .map(|target| docs.join(target))
        .collect();
    for page in pages().iter().filter(|page| page.starts_with(&docs)) {
        let is_listed = listed.contains(page) || page.ends_with("SUMMARY.md");
        assert!(is_listed, "SUMMARY.md does not list {}", page.display());
    }
}

/// The journeys name a file and a function in it, each in backquotes.
#[test]
fn the_journeys_go_through_real_places() {
    let page = read(&root().join("ARCHITECTURE.md"));
    let journeys = page
        .split("## ")
        .find(|part| part.starts_with("Two journeys"));
    let quoted: Vec<_> = journeys.expect("journeys").split('`').collect();
    let steps = quoted
        .windows(3)
        .filter(|three| three[0].contains("/src/") && three[1] == " ");
    let mut seen = 0;
    for step in steps {
        let file = root().join("crates").join(step[0]);
        let is_there = read(&file).contains(&format!("fn {}(", step[2]));
        assert!(is_there, "{}: no function {}", file.display(), step[2]);
        seen += 1;
    }
    assert!(seen > 15, "only {seen} steps found");
}
