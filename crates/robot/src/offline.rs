//! A crawl that nobody is working on, as its store tells it: by the same model as the robot's own.

use crate::beliefs::Beliefs;
use crate::config::{Config, Count};
pub use crate::keeper::KeptHost;
use crate::keeper::{FAILURES_TO_GIVE_UP, retry_wait, robots_word};
use crate::view::{HostView, PageWait, Status};
use frontier::trap::Traps;
use std::path::Path;
use storage::{Observation, Outcome, PageId, PageRow, PageState, Reader, Time};
use url::{Position, Url};

/// A page without a copy.
const NONE: u32 = u32::MAX;

/// What the store tells of a crawl.
pub struct Offline {
    beliefs: Beliefs,
    /// For each page its number among the beliefs.
    numbers: Vec<u32>,
    counts: Status,
    /// Pages that point elsewhere; they are among those fetched.
    pub redirects: u64,
    /// The first visit the log still has.
    pub since: Option<Time>,
    /// The last visit.
    pub last_visit: Option<Time>,
    /// Entries that could not be read.
    pub damaged: u64,
}

impl Offline {
    /// Goes through pages and visits once.
    pub fn read(data: &Path, config: &Config) -> storage::Result<Self> {
        let reader = Reader::open(&crate::state_directory(data))?;
        let guess = 1.0 / (config.revisit.first_guess_days * 86_400.0);
        let mut offline = Self {
            beliefs: Beliefs::new(guess),
            numbers: Vec::new(),
            counts: Status::default(),
            redirects: 0,
            since: None,
            last_visit: None,
            damaged: 0,
        };
        let mut hosts = Vec::new();
        // of pages with a copy, the last visit
        let mut copies = Vec::new();
        for entry in reader.pages()? {
            let Ok(entry) = entry else {
                offline.damaged += 1;
                hosts.push(0);
                copies.push(None);
                continue;
            };
            hosts.push(entry.host.0);
            copies.push(offline.count_page(entry.row.as_ref()));
        }
        offline.counts.hosts = reader.hosts()?.count() as u64;
        offline.counts.pages_known = copies.len() as u64;
        offline.numbers = vec![NONE; copies.len()];
        let mut next = 0;
        let mut add = |offline: &mut Self, page: usize, at: f64| {
            offline.beliefs.add(next, hosts[page], at);
            offline.numbers[page] = next;
            next += 1;
        };
        let mut log = reader.observations(storage::Position(0))?;
        while let Some(observation) = log.read()? {
            let page = observation.page.0 as usize;
            let changed = offline.count_visit(&observation, config.revisit.count);
            let (Some(changed), Some(Some(_))) = (changed, copies.get(page)) else {
                continue;
            };
            if offline.numbers[page] == NONE {
                add(&mut offline, page, seconds(observation.at));
            } else {
                offline.learn(page, &observation, changed);
            }
        }
        offline.damaged += log.damaged();
        // the log keeps the latest visits only
        for (page, last_visit) in copies.into_iter().enumerate() {
            if let Some(at) = last_visit
                && offline.numbers[page] == NONE
            {
                add(&mut offline, page, at);
            }
        }
        Ok(offline)
    }

    /// Counts a page; for one with a copy says when it was last visited.
    fn count_page(&mut self, row: Option<&PageRow>) -> Option<f64> {
        let counts = &mut self.counts;
        let Some(row) = row else {
            counts.new_waiting += 1;
            return None;
        };
        match row.state {
            PageState::New => counts.new_waiting += 1,
            PageState::Gone => counts.pages_gone += 1,
            PageState::Excluded => {
                counts.pages_excluded += 1;
                if let Some((_, cause)) = row.last_failure {
                    self.count_failure(cause);
                }
            }
            PageState::Live | PageState::Redirect => {
                counts.pages_fetched += 1;
                let cut = crate::notes::Notes::of(row).cut;
                counts.cut_links += u64::from(cut.links);
                counts.cut_bodies += u64::from(cut.body);
                self.redirects += u64::from(row.state == PageState::Redirect);
                return row.last_visit.map(seconds);
            }
        }
        None
    }

    /// Counts a visit; for one that brought a copy says whether it counts as a change.
    fn count_visit(&mut self, observation: &Observation, count: Count) -> Option<bool> {
        self.since = self.since.or(Some(observation.at));
        self.last_visit = self.last_visit.max(Some(observation.at));
        let counts = &mut self.counts;
        counts.requests += 1;
        counts.bytes += u64::from(observation.bytes);
        match observation.outcome {
            Outcome::FirstSeen => counts.first_visits += 1,
            Outcome::Unchanged | Outcome::Minor | Outcome::Changed => counts.revisits += 1,
            Outcome::Failed(_) | Outcome::Gone => {}
        }
        match observation.outcome {
            Outcome::FirstSeen => Some(true),
            Outcome::Unchanged => Some(false),
            Outcome::Changed => {
                counts.changes += 1;
                Some(true)
            }
            Outcome::Minor => {
                counts.minor_changes += 1;
                Some(count == Count::Body)
            }
            Outcome::Failed(cause) => {
                self.count_failure(cause);
                None
            }
            Outcome::Gone => None,
        }
    }

    fn count_failure(&mut self, cause: u8) {
        let word = crate::cause::word(cause).to_owned();
        *self.counts.failures.entry(word).or_default() += 1;
    }

    fn learn(&mut self, page: usize, observation: &Observation, changed: bool) {
        let (number, at) = (self.numbers[page], seconds(observation.at));
        let last = self.beliefs.last_visit(number);
        let modified = observation.modified.map(seconds);
        let modified = modified.filter(|&time| time > last && time <= at);
        self.beliefs.observe(number, at, changed, modified);
    }

    /// All figures; counts of visits are those of the log. Freshness is that of this moment
    /// (seconds since the epoch): copies age though nobody crawls.
    pub fn status(&self, now: f64) -> Status {
        let estimated = self.beliefs.estimated(now, usize::MAX);
        Status {
            estimated_freshness: (estimated.copies > 0).then_some(estimated.freshness),
            never_revisited: estimated.never_revisited as u64,
            ..self.counts.clone()
        }
    }

    /// What is believed of a page. When it is due only a running robot knows.
    pub fn page(&self, page: PageId, now: f64) -> PageWait {
        let number = self.numbers.get(page.0 as usize).copied();
        let Some(number) = number.filter(|&number| number != NONE) else {
            return PageWait::default();
        };
        let rate = self.beliefs.rate(number);
        let per_day = |rate: f64| rate * 86_400.0;
        PageWait {
            changes_per_day: Some(per_day(rate.rate)),
            changes_per_day_interval: Some((per_day(rate.low), per_day(rate.high))),
            chance_fresh: Some(self.beliefs.chance_fresh(number, now)),
            ..PageWait::default()
        }
    }
}

/// When a page without a copy is tried again at the earliest, in seconds since the epoch.
pub fn next_try(row: &PageRow, config: &Config) -> Option<f64> {
    let (failed, _) = row.last_failure?;
    let given_up = row.failures_in_a_row >= FAILURES_TO_GIVE_UP;
    match row.state {
        PageState::New if !given_up => Some(seconds(failed) + retry_wait(row.failures_in_a_row)),
        PageState::New | PageState::Gone => {
            Some(seconds(failed) + config.revisit.gone_days * 86_400.0)
        }
        PageState::Live | PageState::Redirect | PageState::Excluded => None,
    }
}

/// What was stored of a host; nothing before its first answer.
pub fn host(blob: &[u8]) -> KeptHost {
    serde_json::from_slice(blob).unwrap_or_default()
}

/// The traps as far as they are known, of all hosts or of one (scheme, name and port): URLs are
/// counted, and caps that were lowered are low. URLs that cannot be read are told and not counted.
pub fn traps(
    config: &Config,
    reader: &Reader,
    only: Option<&str>,
    mut unreadable: impl FnMut(storage::Error),
) -> storage::Result<Traps> {
    let mut traps = Traps::new(config.traps.clone());
    let is_wanted = |origin: &str| only.is_none_or(|only| only == origin);
    for page in 0..reader.page_count()? {
        match reader.address(PageId(page)) {
            Ok(address) => {
                if let Ok(url) = Url::parse(&address.url)
                    && is_wanted(&url[..Position::BeforePath])
                {
                    traps.restore(&url[..Position::BeforePath], &url);
                }
            }
            Err(error) => unreadable(error),
        }
    }
    for (_, row) in reader.hosts()?.flatten() {
        if is_wanted(&row.name) {
            for halved in host(&row.blob).halved {
                traps.restore_halved(&row.name, &halved);
            }
        }
    }
    Ok(traps)
}

/// A host as it is stored; nobody says what it waits for but the caller.
pub fn host_view(
    name: &str,
    blob: &[u8],
    pages: u32,
    config: &Config,
    waits_for: &str,
) -> HostView {
    let kept = host(blob);
    HostView {
        host: name.to_owned(),
        address: None,
        new_waiting: 0,
        due_waiting: 0,
        interval: kept.courtesy.interval(config.politeness.interval, pages),
        response: kept.courtesy.response,
        crawl_delay: kept.courtesy.crawl_delay,
        robots: robots_word(kept.standing.as_ref()).to_owned(),
        waits_for: waits_for.to_owned(),
    }
}

fn seconds(time: Time) -> f64 {
    time as f64 / 1e3
}
