//! A crawl that nobody is working on, as its store tells it: by the same model as the robot's own.

use crate::clock::Clock;
use crate::config::Config;
pub use crate::keeper::KeptHost;
use crate::keeper::{self, FAILURES_TO_GIVE_UP, retry_wait, robots_word};
use crate::view::{HostView, PageWait, Status};
use freshness::revisits::Revisits;
use frontier::trap::Traps;
use std::path::Path;
use storage::{Observation, Outcome, PageBrief, PageId, PageRow, PageState, Reader, Time};
use url::{Position, Url};

/// What the store tells of a crawl.
pub struct Offline {
    revisits: Revisits,
    clock: Clock,
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
        let record = reader.learnt()?;
        let clock = Clock::start(keeper::clock_stood(&record).as_ref());
        let now = clock.now();
        let guess = 1.0 / (config.revisit.first_guess_days * 86_400.0);
        let learnt = keeper::policy_learnt(&record);
        let revisits = Revisits::new(&config.revisit.policy, now.at, guess, 1, learnt)
            .or_else(|_| Revisits::new("default", now.at, guess, 1, learnt))
            .expect("the default policy needs nothing");
        let mut offline = Self {
            revisits,
            clock,
            counts: Status {
                cut_links: keeper::cut(&record).0,
                cut_bodies: keeper::cut(&record).1,
                ..Status::default()
            },
            redirects: 0,
            since: None,
            last_visit: None,
            damaged: 0,
        };
        for _ in reader.hosts()? {
            offline.revisits.add_host(now.at, 1.0);
            offline.counts.hosts += 1;
        }
        let own = |brief: PageBrief| (brief.id, brief.host, kept(&brief), brief.memo.to_vec());
        reader.scan(
            |brief| brief.map(own),
            |page| {
                offline.counts.pages_known += 1;
                let Ok((id, host, kept, memo)) = page else {
                    offline.damaged += 1;
                    return;
                };
                if let Some(visited) = offline.count_page(kept) {
                    let visited = now.from_wall(visited).min(now.at);
                    let memo = Some(&memo[..]).filter(|memo| !memo.is_empty());
                    offline
                        .revisits
                        .keep(now.at, id.0, host.0, 1.0, visited, memo);
                }
            },
        )?;
        let mut log = reader.observations(storage::Position(0))?;
        while let Some(observation) = log.read()? {
            offline.count_visit(&observation);
        }
        offline.damaged += log.damaged();
        Ok(offline)
    }

    /// Counts a page; for one with a copy says when it was last visited.
    fn count_page(&mut self, kept: Kept) -> Option<f64> {
        let counts = &mut self.counts;
        match kept.state {
            PageState::New => counts.new_waiting += 1,
            PageState::Gone => counts.pages_gone += 1,
            PageState::Excluded => {
                counts.pages_excluded += 1;
                if let Some(cause) = kept.cause {
                    self.count_failure(cause);
                }
            }
            PageState::Live | PageState::Redirect => {
                counts.pages_fetched += 1;
                self.redirects += u64::from(kept.state == PageState::Redirect);
                return kept.last_visit.map(seconds);
            }
        }
        None
    }

    fn count_visit(&mut self, observation: &Observation) {
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
            Outcome::Changed => counts.changes += 1,
            Outcome::Minor => counts.minor_changes += 1,
            Outcome::Failed(cause) => self.count_failure(cause),
            Outcome::FirstSeen | Outcome::Unchanged | Outcome::Gone => {}
        }
    }

    fn count_failure(&mut self, cause: u8) {
        let word = crate::cause::word(cause).to_owned();
        *self.counts.failures.entry(word).or_default() += 1;
    }

    /// All figures; counts of visits are those of the log. Freshness is that of this moment: copies
    /// age though nobody crawls.
    pub fn status(&self) -> Status {
        let estimated = self.revisits.estimated(self.clock.now().at, usize::MAX);
        Status {
            estimated_freshness: (estimated.copies > 0).then_some(estimated.freshness),
            never_revisited: estimated.never_revisited as u64,
            ..self.counts.clone()
        }
    }

    /// What is believed of a page. When it is due only a running robot knows.
    pub fn page(&self, page: PageId) -> PageWait {
        let Some(belief) = self.revisits.belief(page.0) else {
            return PageWait::default();
        };
        let per_day = |rate: f64| rate * 86_400.0;
        PageWait {
            changes_per_day: Some(per_day(belief.rate.rate)),
            changes_per_day_interval: Some((per_day(belief.rate.low), per_day(belief.rate.high))),
            chance_fresh: self.revisits.chance_fresh(page.0, self.clock.now().at),
            ..PageWait::default()
        }
    }
}

/// What is counted of a page.
struct Kept {
    state: PageState,
    cause: Option<u8>,
    last_visit: Option<Time>,
}

fn kept(brief: &PageBrief) -> Kept {
    Kept {
        state: brief.state,
        cause: brief.last_failure.map(|(_, cause)| cause),
        last_visit: brief.last_visit,
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
