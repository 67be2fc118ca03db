//! The visits of a crawl, page by page, as `fit` reads them.

use crate::data::{host_name, hosts, store_in_place_of};
use crate::terminal::{complain, count};
use anyhow::Result;
use freshness::fit::{Visit, VisitedPage};
use std::collections::HashMap;
use std::path::Path;
use storage::{HostId, Outcome, PageId, Position, REQUISITE};
use url::Url;

/// Reads the log of visits in the data directory of a crawl, which may be going on. What was a change is
/// told as the crawl counted it; failures, pages that were gone and what pages only show are left out.
pub fn read(directory: &Path) -> Result<Vec<VisitedPage>> {
    let store = store_in_place_of("a CSV file", directory)?;
    let mut log = store.observations(Position(0))?;
    let mut visits: HashMap<PageId, Vec<Visit>> = HashMap::new();
    while let Some(seen) = log.read()? {
        let changed = match seen.outcome {
            Outcome::FirstSeen | Outcome::Changed => true,
            Outcome::Unchanged | Outcome::Minor => false,
            Outcome::Failed(_) | Outcome::Gone => continue,
        };
        let seconds = |time: i64| time as f64 / 1000.0;
        visits.entry(seen.page).or_default().push(Visit {
            at: seconds(seen.at),
            changed,
            modified: seen.modified.map(seconds),
        });
    }
    // scheme and port do not make another host
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let mut of_host: HashMap<HostId, u32> = HashMap::new();
    for (id, row) in hosts(&store)? {
        let parsed = Url::parse(&row.name).ok();
        let name = parsed.as_ref().and_then(host_name).unwrap_or(&row.name);
        let next = numbers.len() as u32;
        of_host.insert(id, *numbers.entry(name.to_owned()).or_insert(next));
    }
    let mut pages = Vec::new();
    for entry in store.pages()? {
        let Ok(entry) = entry else { continue };
        let (Some(own), Some(&host)) = (visits.remove(&entry.id), of_host.get(&entry.host)) else {
            continue;
        };
        if entry.depth != REQUISITE {
            pages.push(VisitedPage { host, visits: own });
        }
    }
    for (lost, why) in [
        (log.dropped(), "were dropped"),
        (log.damaged(), "are damaged"),
    ] {
        if lost > 0 {
            let told = format!(
                "{}: {} of its log {why}",
                directory.display(),
                count(lost, "visit")
            );
            complain("warning", &told);
        }
    }
    Ok(pages)
}
