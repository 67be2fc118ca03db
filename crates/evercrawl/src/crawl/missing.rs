//! What a crawl that fetches everything once did not get, and why.

use crate::scope::Judge;
use anyhow::Result;
use frontier::scope::Scope;
use robot::config::Config;
use robot::offline;
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::path::Path;
use storage::{HostId, PageBrief, PageId, PageState, Reader};
use url::Url;

/// As many are named; the others are counted.
const NAMED: usize = 1000;

/// Pages in scope without a copy.
#[derive(Debug, Default, Serialize)]
pub struct Missing {
    /// How many.
    pub count: u64,
    /// Of these, how many were not tried before the end; the next start goes on there.
    pub unreached: u64,
    /// The first of the others.
    pub pages: Vec<MissingPage>,
    /// Pages of which there is a copy.
    #[serde(skip)]
    pub had: u64,
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
    /// It redirects to what does not belong to the crawl.
    LeadsOut,
}

impl Missing {
    /// Looks through the store of a crawl that has ended.
    pub fn find(data: &Path, config: &Config) -> Result<Self> {
        Self::find_for(data, config, None)
    }

    /// As [`Self::find`], for a robot of a fleet: a seed that leads to what is in scope leads to another robot.
    pub fn find_in_fleet(data: &Path, config: &Config) -> Result<Self> {
        let seeds = robot::seeds::read_all(&config.seeds)?;
        let scope = Scope::new(&config.scope, &seeds)?;
        Self::find_for(data, config, Some(&scope))
    }

    /// URLs that have no row, because their names have no server.
    pub fn add_given_up(&mut self, urls: &[String]) {
        self.count += urls.len() as u64;
        self.pages.extend(urls.iter().map(|url| MissingPage {
            url: url.clone(),
            why: "its name has no address that may be contacted".to_owned(),
            prospect: Prospect::Doubtful,
        }));
    }

    fn find_for(data: &Path, config: &Config, others: Option<&Scope>) -> Result<Self> {
        let reader = Reader::open(&robot::state_directory(data))?;
        let seeds = Seeds::find(&reader, config)?;
        let mut missing = Self::default();
        let mut named = Vec::new();
        let mut gone = Vec::new();
        let mut untried: HashMap<HostId, Vec<PageId>> = HashMap::new();
        reader.scan(
            |brief| {
                let brief = brief.ok()?;
                let is_had = brief.state == PageState::Live && !brief.is_requisite();
                Some((is_had, brief.id, why(&brief, &seeds)))
            },
            |found| {
                let Some((is_had, page, why)) = found else {
                    return;
                };
                missing.had += u64::from(is_had);
                let Some(why) = why else { return };
                missing.count += 1;
                match why {
                    Why::Gone(status) => gone.push((page, status)),
                    Why::Untried(host) => untried.entry(host).or_default().push(page),
                    why if named.len() < NAMED => named.push((page, why)),
                    _ => {}
                }
            },
        )?;
        // nobody asks for them again at a start, so that they do not know of a seed that was removed since
        let judge = Judge::new(config, Some(&reader))?;
        for (page, status) in gone {
            if !belongs(&reader, &judge, page)? {
                missing.count -= 1;
            } else if named.len() < NAMED {
                named.push((page, Why::Gone(status)));
            }
        }
        // of hosts in trouble they are named
        for (host, pages) in untried {
            if words(&reader, &Why::Untried(host)).1 == Prospect::Open {
                missing.unreached += pages.len() as u64;
            } else {
                let room = NAMED - named.len();
                let some = pages.into_iter().take(room);
                named.extend(some.map(|page| (page, Why::Untried(host))));
            }
        }
        let archive = robot::archive_directory(data);
        for (page, why) in named {
            let is_out = matches!(why, Why::LeadsOut);
            let url = reader.address(page)?.url;
            let (mut why, prospect) = words(&reader, &why);
            if let Some(to) = is_out
                .then(|| robot::copies::redirect(&archive, &url))
                .flatten()
            {
                if others.is_some_and(|scope| scope.judge_meant(&to).is_in()) {
                    missing.count -= 1;
                    continue;
                }
                let _ = write!(why, ", to {to}: give that as a seed");
            }
            missing.pages.push(MissingPage { url, why, prospect });
        }
        Ok(missing)
    }
}

/// Whether a page is in scope.
fn belongs(reader: &Reader, judge: &Judge, page: PageId) -> Result<bool> {
    let address = reader.address(page)?;
    let Ok(url) = Url::parse(&address.url) else {
        return Ok(true);
    };
    Ok(judge.scope.judge(&url, address.depth).is_in()
        || offline::is_meant(reader, page, &address, &judge.scope))
}

/// The pages of the seeds, and those that they redirect to.
#[derive(Default)]
struct Seeds {
    pages: HashSet<PageId>,
    /// Those that lead out of the crawl.
    leading_out: HashSet<PageId>,
}

impl Seeds {
    fn find(reader: &Reader, config: &Config) -> Result<Self> {
        let canonical = config.keys.canonical();
        let urls = config.seeds.iter().filter_map(|seed| seed.url.parse().ok());
        let keys: Vec<String> = urls.map(|url| canonical.key(&url)).collect();
        let mut seeds = Self::default();
        for mut page in reader.find_all(keys.iter().map(String::as_str))? {
            // a page that was had by another way ends it
            while seeds.pages.insert(page) {
                let row = reader.page(page)?;
                let Some(row) = row.filter(|row| row.state == PageState::Redirect) else {
                    break;
                };
                let Some(next) = row.redirect_to else {
                    seeds.leading_out.insert(page);
                    break;
                };
                page = next;
            }
        }
        Ok(seeds)
    }
}

/// Nothing for a page that was had, and for one that is not to be had unless it is a seed.
fn why(brief: &PageBrief, seeds: &Seeds) -> Option<Why> {
    // pages are what was asked for; what they embed is counted
    if brief.is_requisite() {
        return None;
    }
    let failed = brief.last_failure.map(|(_, cause)| Why::Failed(cause));
    match brief.state {
        PageState::New => Some(failed.unwrap_or(Why::Untried(brief.host))),
        PageState::Gone => Some(Why::Gone(brief.status)),
        PageState::Excluded if seeds.pages.contains(&brief.id) => failed,
        PageState::Excluded | PageState::Elsewhere => None,
        PageState::Redirect if seeds.leading_out.contains(&brief.id) => Some(Why::LeadsOut),
        // a copy that could not be made new is one all the same
        PageState::Live | PageState::Redirect => failed.filter(|_| brief.failures_in_a_row > 0),
    }
}

fn words(reader: &Reader, why: &Why) -> (String, Prospect) {
    match why {
        Why::Failed(robot::cause::MISSING) => ("not there".into(), Prospect::Doubtful),
        Why::Failed(cause) => (told(*cause), Prospect::after(*cause)),
        Why::Gone(status) => (format!("{status}: not there"), Prospect::Doubtful),
        Why::LeadsOut => ("it leads out of scope".into(), Prospect::None),
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
                // whatever stands in its way stands in that of its pages
                let mut why = "its host's robots.txt cannot be fetched".to_owned();
                if let Some(cause) = kept.no_robots {
                    let _ = write!(why, ": {}", told(cause));
                }
                (why, Prospect::Doubtful)
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
