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
    #[serde(skip)]
    pub prospect: Prospect,
}

/// What is to be expected of a page that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prospect {
    /// It was not tried yet.
    Open,
    /// The next try may succeed.
    Doubtful,
    /// Only other settings can help.
    None,
}

impl Prospect {
    fn after(cause: u8) -> Self {
        if robot::cause::is_settled(cause) {
            Self::None
        } else {
            Self::Doubtful
        }
    }
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
            let (why, prospect) = words(&reader, &why);
            missing.pages.push(MissingPage { url, why, prospect });
        }
        Ok(missing)
    }
}

/// The pages of the seeds.
fn seeds(reader: &Reader, config: &Config) -> Result<HashSet<PageId>> {
    let canonical = config.keys.canonical();
    let mut seeds = HashSet::new();
    for seed in &config.seeds {
        if let Ok(url) = url::Url::parse(&seed.url) {
            seeds.extend(reader.find(&canonical.key(&url))?);
        }
    }
    Ok(seeds)
}

/// Nothing for a page that was had, and for one that is not to be had unless it is a seed.
fn why(brief: &PageBrief, is_seed: bool) -> Option<Why> {
    // pages are what was asked for; what they embed is counted
    if brief.is_requisite() {
        return None;
    }
    let failed = brief.last_failure.map(|(_, cause)| Why::Failed(cause));
    match brief.state {
        PageState::New => Some(failed.unwrap_or(Why::Untried(brief.host))),
        PageState::Gone => Some(Why::Gone(brief.status)),
        PageState::Excluded if is_seed => failed,
        PageState::Excluded | PageState::Elsewhere => None,
        // a copy that could not be made new is one all the same
        PageState::Live | PageState::Redirect => failed.filter(|_| brief.failures_in_a_row > 0),
    }
}

fn words(reader: &Reader, why: &Why) -> (String, Prospect) {
    match why {
        Why::Failed(cause) => (told(*cause), Prospect::after(*cause)),
        Why::Gone(status) => (format!("{status}: not there"), Prospect::Doubtful),
        Why::Untried(host) => {
            let Ok(Some(row)) = reader.host(*host) else {
                return ("never tried".into(), Prospect::Open);
            };
            let kept = offline::host(&row.blob);
            if let Some(cause) = kept.no_address {
                let why = format!("no address: {}", told(cause));
                return (why, Prospect::after(cause));
            }
            let unreachable = kept
                .standing
                .is_some_and(|standing| standing.unreachable_since.is_some());
            if unreachable {
                let why = "its host's robots.txt cannot be had";
                (why.into(), Prospect::Doubtful)
            } else {
                ("not reached before the end".into(), Prospect::Open)
            }
        }
    }
}

/// A cause, and what can be done about it.
fn told(cause: u8) -> String {
    let word = robot::cause::word(cause);
    match robot::cause::advice(cause) {
        Some(advice) => format!("{word}: {advice}"),
        None => word.to_owned(),
    }
}
