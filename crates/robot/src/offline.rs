//! A crawl that nobody is working on, as its store tells it: by the same model as the robot's own.

use crate::clock::{Clock, Now};
use crate::config::Config;
pub use crate::keeper::KeptHost;
use crate::keeper::{self, robots_word, wait_after_failure};
use crate::overrides::Overrides;
use crate::view::{HostView, PageWait, RequisiteCounts, Status};
use freshness::revisits::{Rank, Revisits};
use frontier::politeness::Interval;
use frontier::scope::Scope;
use frontier::trap::Traps;
use std::collections::BTreeMap;
use std::path::Path;
use storage::{
    HostId, HostRow, PageAddress, PageBrief, PageId, PageRow, PageState, Reader, Store, Time,
    Totals,
};
use url::{Position, Url};

/// Copies looked at for the estimate of freshness: it is right within half a percent.
const SAMPLE: u64 = 10_000;
/// Pages read to find them.
const MOST_READ: u64 = 10 * SAMPLE;

/// What the store tells of a crawl. Takes little time, however many pages there are.
pub struct Offline {
    reader: Reader,
    revisits: Revisits,
    clock: Clock,
    counts: Status,
    overrides: Overrides,
    /// The copies looked at, with their hosts.
    sampled: Vec<(PageId, HostId)>,
    /// Pages that point elsewhere; they are among those fetched.
    pub redirects: u64,
    /// The first visit of all.
    pub since: Option<Time>,
    /// The last visit.
    pub last_visit: Option<Time>,
    /// Entries that could not be read.
    pub damaged: u64,
}

impl Offline {
    /// Reads the figures that are kept, and a sample of the pages.
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
        let totals = reader.totals()?;
        let mut offline = Self {
            counts: Status {
                hosts: u64::from(reader.host_count()?),
                pages_known: u64::from(reader.page_count()?) - totals.requisites.all(),
                cut_links: keeper::cut(&record).0,
                cut_bodies: keeper::cut(&record).1,
                ..counts(&totals, &keeper::failures_of_hosts(&record))
            },
            reader,
            overrides: Overrides::new(config).unwrap_or_default(),
            revisits,
            clock,
            sampled: Vec::new(),
            redirects: pages(&totals, PageState::Redirect),
            since: totals.first_visit,
            last_visit: totals.last_visit,
            damaged: totals.unreadable,
        };
        for _ in 0..offline.counts.hosts {
            offline.revisits.add_host(now.at, ground::Seconds(1.0));
        }
        offline.sample()?;
        Ok(offline)
    }

    fn sample(&mut self) -> storage::Result<()> {
        let now = self.clock.now();
        let (pages, copies) = (self.counts.pages_known, self.counts.pages_fetched);
        let most = (SAMPLE * pages / copies.max(1)).clamp(SAMPLE, MOST_READ);
        let (revisits, sampled) = (&mut self.revisits, &mut self.sampled);
        let (reader, overrides) = (&self.reader, &self.overrides);
        let mut damaged = 0;
        self.reader.sample(
            most as u32,
            |brief| brief.map(|brief| Copied::of(&brief)),
            |page| match page {
                Ok(copied) => {
                    if let Some(copied) = copied {
                        sampled.push((copied.page, copied.host));
                        copied.keep(revisits, now, guess(overrides, reader, copied.page));
                    }
                }
                Err(_) => damaged += 1,
            },
        )?;
        self.damaged = self.damaged.max(damaged);
        Ok(())
    }

    /// All figures; visits are counted since the crawl began. Freshness is that of this moment:
    /// copies age though nobody crawls.
    pub fn status(&self) -> Status {
        let estimated = self.revisits.estimated(self.clock.now().at, usize::MAX);
        let share = estimated.never_revisited as f64 / estimated.copies.max(1) as f64;
        Status {
            estimated_freshness: (estimated.copies > 0).then_some(estimated.freshness),
            freshness_interval: (estimated.copies > 0).then_some(estimated.interval),
            never_revisited: (share * self.counts.pages_fetched as f64).round() as u64,
            ..self.counts.clone()
        }
    }

    /// Of each copy looked at its host, and its changes per day by the model with the ends of the 95 % interval: all
    /// copies, or a sample that lies evenly among them.
    pub fn rates(&self) -> Vec<(HostId, [f64; 3])> {
        let rate = |&(page, host): &(PageId, HostId)| {
            let rate = self.revisits.belief(page)?.rate;
            Some((
                host,
                [rate.median, rate.low, rate.high].map(|rate| rate * 86_400.0),
            ))
        };
        self.sampled.iter().filter_map(rate).collect()
    }

    /// What is believed of a page. When it is due only a running robot knows.
    pub fn page(&mut self, page: PageId) -> storage::Result<PageWait> {
        let now = self.clock.now();
        let (host_id, copied) = self.reader.brief(page, |b| (b.host, Copied::of(&b)))?;
        if let Some(copied) = copied {
            // unless it is part of the sample
            let guess = guess(&self.overrides, &self.reader, page);
            copied.keep(&mut self.revisits, now, guess);
        }
        let row = self.reader.host(host_id)?;
        let asked_for = |row: &HostRow| host(&row.blob).courtesy.not_before;
        let opening = row.as_ref().map_or(0.0, asked_for);
        let url = row.and_then(|row| Url::parse(&row.name).ok());
        let hours = url.and_then(|url| self.overrides.hours(&url));
        let opens = hours.and_then(|hours| hours.opens(now.wall));
        let opening = opens.map_or(opening, |opens| opening.max(now.from_wall(opens)));
        let host_opens = (opening > now.at).then(|| now.to_wall(opening));
        let Some(belief) = self.revisits.belief(page) else {
            return Ok(PageWait {
                host_opens,
                ..PageWait::default()
            });
        };
        let per_day = |rate: f64| rate * 86_400.0;
        Ok(PageWait {
            changes_per_day: Some(per_day(belief.rate.median)),
            changes_per_day_interval: Some((per_day(belief.rate.low), per_day(belief.rate.high))),
            chance_fresh: self.revisits.chance_fresh(page, now.at),
            host_opens,
            ..PageWait::default()
        })
    }
}

/// Pages in a state, without what they embed.
fn pages(totals: &Totals, state: PageState) -> u64 {
    u64::from(totals.pages[state].saturating_sub(totals.requisites[state]))
}

/// The figures of a store as those of a crawl.
fn counts(totals: &Totals, of_hosts: &BTreeMap<u8, u64>) -> Status {
    let mut failures = BTreeMap::new();
    let all = totals.failed.iter().chain(&totals.excluded).chain(of_hosts);
    for (&cause, &count) in all {
        let word = crate::cause::word(cause).to_owned();
        *failures.entry(word).or_default() += count;
    }
    let pages = |state: PageState| pages(totals, state);
    let requisites = |state: PageState| u64::from(totals.requisites[state]);
    Status {
        requisites: RequisiteCounts {
            known: totals.requisites.all(),
            fetched: requisites(PageState::Live) + requisites(PageState::Redirect),
            waiting: requisites(PageState::New),
            missing: requisites(PageState::Gone) + requisites(PageState::Excluded),
        },
        new_waiting: pages(PageState::New),
        pages_gone: pages(PageState::Gone),
        pages_excluded: pages(PageState::Excluded),
        pages_elsewhere: pages(PageState::Elsewhere),
        pages_fetched: pages(PageState::Live) + pages(PageState::Redirect),
        requests: totals.visits(),
        bytes: totals.bytes,
        first_visits: totals.first_seen,
        revisits: totals.unchanged + totals.minor + totals.changed,
        changes: totals.changed,
        minor_changes: totals.minor,
        failures,
        ..Status::default()
    }
}

/// What is to be known of a copy.
struct Copied {
    page: PageId,
    host: HostId,
    visited: f64,
    memo: Vec<u8>,
}

impl Copied {
    /// Nothing of a page without one.
    fn of(brief: &PageBrief) -> Option<Self> {
        let has_copy =
            matches!(brief.state, PageState::Live | PageState::Redirect) && !brief.is_requisite();
        Some(Self {
            page: brief.id,
            host: brief.host,
            visited: seconds(brief.last_visit.filter(|_| has_copy)?),
            memo: brief.memo.to_vec(),
        })
    }

    fn keep(&self, revisits: &mut Revisits, now: Now, guess: Option<f64>) {
        let visited = now.from_wall(self.visited).min(now.at);
        let memo = Some(&self.memo[..]).filter(|memo| !memo.is_empty());
        let rank = Rank {
            guess,
            ..Rank::from(1.0)
        };
        revisits.keep(now.at, self.page, self.host, rank, visited, memo);
    }
}

/// How often a rule guesses a page to change; URLs are read only where there is such a rule.
fn guess(overrides: &Overrides, reader: &Reader, page: PageId) -> Option<f64> {
    if !overrides.guess() {
        return None;
    }
    let url = Url::parse(&reader.address(page).ok()?.url).ok()?;
    overrides.page(&url).rank.guess
}

/// When a page is tried again at the earliest whose last visit failed, or which is gone; in seconds since the epoch.
pub fn next_try(row: &PageRow, gone_days: f64) -> Option<f64> {
    let (failed, _) = row.last_failure?;
    let gone = gone_days * 86_400.0;
    let after = |new| wait_after_failure(new, row.failures_in_a_row, gone);
    let wait = match row.state {
        PageState::New => after(true),
        PageState::Live | PageState::Redirect if row.failures_in_a_row > 0 => after(false),
        PageState::Gone => gone,
        PageState::Live | PageState::Redirect | PageState::Excluded | PageState::Elsewhere => {
            return None;
        }
    };
    Some(seconds(failed) + wait)
}

/// Redirects followed from page to page.
pub const MOST_REDIRECTS: usize = 10;

/// How many redirects in a row led to the page, up to [`MOST_REDIRECTS`].
pub fn redirects_before(reader: &Reader, page: PageId) -> storage::Result<usize> {
    Ok(chain_before(reader, page)?.0)
}

/// The same, with the page that the chain began with.
pub(crate) fn chain_before(reader: &Reader, page: PageId) -> storage::Result<(usize, PageId)> {
    let mut at = page;
    for hops in 0..MOST_REDIRECTS {
        let Some(from) = reader.address(at)?.from else {
            return Ok((hops, at));
        };
        let row = reader.page(from)?;
        if row.is_none_or(|row| row.state != PageState::Redirect) {
            return Ok((hops, at));
        }
        at = from;
    }
    Ok((MOST_REDIRECTS, at))
}

/// How many links were too long to follow, and how many copies ended at the limits, with links after them that nobody
/// knows.
pub fn cut(reader: &Reader) -> storage::Result<(u64, u64)> {
    Ok(keeper::cut(&reader.learnt()?))
}

/// Whether a seed that is a page alone redirects to it, perhaps by way of others.
pub fn is_meant(reader: &Reader, page: PageId, address: &PageAddress, scope: &Scope) -> bool {
    if address.depth == storage::REQUISITE {
        return false;
    }
    let (mut page, mut from) = (page, address.from);
    for _ in 0..MOST_REDIRECTS {
        let Some(before) = from else { return false };
        let row = reader.page(before).ok().flatten();
        let leads =
            |row: PageRow| row.state == PageState::Redirect && row.redirect_to == Some(page);
        let Some(address) = reader
            .address(before)
            .ok()
            .filter(|_| row.is_some_and(leads))
        else {
            return false;
        };
        if Url::parse(&address.url).is_ok_and(|url| scope.is_page(&url)) {
            return true;
        }
        (page, from) = (before, address.from);
    }
    false
}

/// What was stored of a host; nothing before its first answer.
pub fn host(blob: &[u8]) -> KeptHost {
    serde_json::from_slice(blob).unwrap_or_default()
}

/// The name of the note with what was counted against traps.
const TRAPS: &str = "traps";

/// Keeps what was counted against traps, so that the next start need not read all URLs. To be called
/// after a commit: all pages of the store must be counted, and none besides.
pub fn keep_traps(store: &Store, traps: &Traps) -> storage::Result<()> {
    store.note(TRAPS, &traps.to_bytes())
}

/// The traps as far as they are known, of all hosts or of one (scheme, name and port): URLs are
/// counted that were not when they were last kept, and caps that were lowered are low. URLs that
/// cannot be read are told and not counted.
pub fn traps(
    config: &Config,
    reader: &Reader,
    only: Option<&str>,
    mut unreadable: impl FnMut(storage::Error),
) -> storage::Result<Traps> {
    let (from, kept) = reader.read_note(TRAPS)?.unwrap_or_default();
    let kept = Traps::from_bytes(config.traps.clone(), &kept);
    let from = if kept.is_some() { from } else { PageId(0) };
    let mut traps = kept.unwrap_or_else(|| Traps::new(config.traps.clone()));
    let host = match only {
        Some(origin) => match reader.find_host(origin)? {
            Some(host) => Some(host),
            None => return Ok(traps),
        },
        None => None,
    };
    let count = |url: Option<Url>| {
        if let Some(url) = url {
            traps.restore(&url[..Position::BeforePath], &url);
        }
    };
    let lost = reader.scan_urls(from, host, |_, url| Url::parse(url).ok(), count)?;
    for _ in 0..lost {
        unreadable(storage::Error::Damaged {
            path: reader.directory().join("urls"),
            what: "a URL is not readable".into(),
        });
    }
    let halved = |traps: &mut Traps, row: &HostRow| {
        for halved in self::host(&row.blob).halved {
            traps.restore_halved(&row.name, &halved);
        }
    };
    match host {
        Some(host) => {
            if let Some(row) = reader.host(host)? {
                halved(&mut traps, &row);
            }
        }
        None => {
            for (_, row) in reader.hosts()?.flatten() {
                halved(&mut traps, &row);
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
    overrides: &Overrides,
    waits_for: &str,
) -> HostView {
    let kept = host(blob);
    let url = Url::parse(name);
    let interval = url.map_or_else(|_| Interval::default(), |url| overrides.interval(&url));
    HostView {
        host: name.to_owned(),
        address: None,
        new_waiting: 0,
        due_waiting: 0,
        interval: kept.courtesy.interval(interval, pages),
        response: kept.courtesy.response,
        crawl_delay: kept.courtesy.crawl_delay,
        robots: robots_word(kept.standing.as_ref()).to_owned(),
        waits_for: waits_for.to_owned(),
    }
}

fn seconds(time: Time) -> f64 {
    time as f64 / 1e3
}
