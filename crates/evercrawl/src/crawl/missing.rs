//! What a crawl that fetches everything once did not get, and why.

use anyhow::Result;
use robot::config::Config;
use robot::offline;
use serde::Serialize;
use std::collections::HashSet;
use std::path::Path;
use storage::{HostId, PageBrief, PageId, PageState, Reader};

/// As many are named; the others are counted.
const NAMED: usize = 1000;

/// Pages in scope without a copy.
#[derive(Debug, Default, Serialize)]
pub struct Missing {
    /// How many.
    pub count: u64,
    /// The first of them.
    pub pages: Vec<MissingPage>,
}

/// A page, and why there is no copy.
#[derive(Debug, Serialize)]
pub struct MissingPage {
    pub url: String,
    pub why: String,
}

/// Why a page is missing, as far as its row tells.
enum Why {
    /// It was never tried; its host may say why.
    Untried(HostId),
    Failed(u8),
    Gone(u16),
}

impl Missing {
    /// Looks through the store of a crawl that has ended.
    pub fn find(data: &Path, config: &Config) -> Result<Self> {
        let reader = Reader::open(&robot::state_directory(data))?;
        let seeds = seeds(&reader, config)?;
        let mut missing = Self::default();
        let mut named = Vec::new();
        reader.scan(
            |brief| {
                let brief = brief.ok()?;
                Some((brief.id, why(&brief, seeds.contains(&brief.id))?))
            },
            |found| {
                let Some(found) = found else { return };
                missing.count += 1;
                if named.len() < NAMED {
                    named.push(found);
                }
            },
        )?;
        for (page, why) in named {
            let url = reader.address(page)?.url;
            let why = words(&reader, &why);
            missing.pages.push(MissingPage { url, why });
        }
        Ok(missing)
    }
}

/// The pages of the seeds.
fn seeds(reader: &Reader, config: &Config) -> Result<HashSet<PageId>> {
    let canonical = config.keys.canonical();
    let mut seeds = HashSet::new();
    for seed in &config.seeds {
        if let Ok(url) = url::Url::parse(seed) {
            seeds.extend(reader.find(&canonical.key(&url))?);
        }
    }
    Ok(seeds)
}

/// Nothing for a page that was had, and for one that is not to be had unless it is a seed.
fn why(brief: &PageBrief, is_seed: bool) -> Option<Why> {
    let failed = brief.last_failure.map(|(_, cause)| Why::Failed(cause));
    match brief.state {
        PageState::New => Some(failed.unwrap_or(Why::Untried(brief.host))),
        PageState::Gone => Some(Why::Gone(brief.status)),
        PageState::Excluded if is_seed => failed,
        PageState::Excluded => None,
        // a copy that could not be made new is one all the same
        PageState::Live | PageState::Redirect => failed.filter(|_| brief.failures_in_a_row > 0),
    }
}

fn words(reader: &Reader, why: &Why) -> String {
    match why {
        Why::Failed(cause) => robot::cause::word(*cause).to_owned(),
        Why::Gone(status) => format!("{status}: not there"),
        Why::Untried(host) => {
            let row = reader
                .hosts()
                .ok()
                .and_then(|mut hosts| hosts.nth(host.0 as usize));
            let Some(Ok((_, row))) = row else {
                return "never tried".into();
            };
            let kept = offline::host(&row.blob);
            if let Some(cause) = kept.no_address {
                return format!("no address: {}", robot::cause::word(cause));
            }
            let unreachable = kept
                .standing
                .is_some_and(|standing| standing.unreachable_since.is_some());
            if unreachable {
                "its host's robots.txt cannot be had".into()
            } else {
                "not reached before the end".into()
            }
        }
    }
}
