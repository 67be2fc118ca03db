//! The robot's own word against the server's record: a real crawl of the demo web, over HTTP.
//!
//! The robot is started as a user would, with the first guess that it has when told nothing. Now and
//! then it is asked, by the socket that `status` and `why` use, what it believes of every page; the
//! truth is the instant at which the server says the page was last copied, and the page's changes.

use super::{CLASSES, Held, Stated};
use crate::small_web::Kind;
use crate::web::{Audit, Clock, Running, Server, Visit, Web, WebSpec};
use robot::config::{Config, Count};
use robot::control::Remote;
use robot::view::PageWait;
use robot::{Until, state_directory};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use storage::{Outcome, PageId, Position, Reader};

/// Seconds of the web in one of the wall: its day is a second.
const SPEED: f64 = 86_400.0;
const DAY: f64 = 86_400.0;
/// Seconds between two requests to a host.
const DELAY: f64 = 0.002;
/// The robot is asked so often, in seconds.
const EVERY: f64 = 1.5;

/// A crawl to be judged.
#[derive(Clone, Debug)]
pub struct Live {
    /// The web, which is to change for as long as the crawl goes on.
    pub web: WebSpec,
    /// How long.
    pub seconds: f64,
    /// Revisits per second.
    pub budget: f64,
    /// What counts as a change. By its text the robot takes what differs at nearly every look for noise.
    pub count: Count,
}

/// What the robot stated and what was true, by how often the server says it was there.
#[derive(Clone, Debug, Default)]
pub struct Judged {
    /// Freshness, as in [`CLASSES`].
    pub by_visits: [Stated; CLASSES.len()],
    /// The 95 % intervals of rates of Poisson pages, each page once in a class.
    pub rates: [Held; CLASSES.len()],
    /// Over all copies, as `status` states it.
    pub all: Stated,
    /// How often the truth was within the interval that `status` states.
    pub within: Held,
    /// Requests that the server saw.
    pub requests: usize,
    /// What the robot made of each visit after the first.
    pub verdicts: Verdicts,
}

/// Visits to pages that had changed since the last, by the server, and to those that had not, by what the robot
/// said of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Verdicts {
    /// Changed, and told so.
    pub told: u32,
    /// Changed, but taken for noise.
    pub minor: u32,
    /// Changed, but said to be the same.
    pub unseen: u32,
    /// The same, but told as changed.
    pub false_alarms: u32,
    /// The same, and told so.
    pub same: u32,
}

impl Verdicts {
    fn add(&mut self, changed: bool, outcome: Outcome) {
        let count = match (changed, outcome) {
            (true, Outcome::Changed) => &mut self.told,
            (true, Outcome::Minor) => &mut self.minor,
            (true, _) => &mut self.unseen,
            (false, Outcome::Changed) => &mut self.false_alarms,
            (false, _) => &mut self.same,
        };
        *count += 1;
    }
}

impl Judged {
    /// Over all copies with at least five visits.
    pub fn known(&self) -> Stated {
        sum(&self.by_visits, |sum: &mut Stated, class| {
            sum.looks += class.looks;
            sum.stated += class.stated;
            sum.truth += class.truth;
        })
    }

    /// Intervals of pages with at least five visits.
    pub fn known_rates(&self) -> Held {
        sum(&self.rates, |sum: &mut Held, class| {
            sum.tested += class.tested;
            sum.held += class.held;
            sum.above += class.above;
        })
    }
}

fn sum<T: Default>(classes: &[T; CLASSES.len()], add: impl Fn(&mut T, &T)) -> T {
    let mut all = T::default();
    for (class, _) in classes.iter().zip(CLASSES).filter(|(_, from)| *from >= 5) {
        add(&mut all, class);
    }
    all
}

/// What was stated at one time.
struct Look {
    pages: Vec<(u32, f64, PageWait)>,
    status: Option<(f64, (f64, f64))>,
}

/// Crawls and judges; `data` is an empty directory that the crawl may fill.
pub fn judge(live: &Live, data: &Path) -> Result<Judged, Box<dyn Error>> {
    let web = Arc::new(Web::new(&live.web)?);
    let running = Server::start(web.clone(), Clock::starting_now(SPEED))?;
    let crawl = robot::start(&config(&web, &running, live, data), Until::Stopped)?;
    let mut looks = Vec::new();
    let began = Instant::now();
    while began.elapsed().as_secs_f64() < live.seconds && !crawl.is_over() {
        std::thread::sleep(Duration::from_secs_f64(EVERY));
        let Some(remote) = Remote::find(data) else {
            break;
        };
        let status = remote.status()?;
        let mut look = Look {
            pages: Vec::new(),
            status: status.estimated_freshness.zip(status.freshness_interval),
        };
        for page in 0..status.pages_known as u32 {
            let at = running.now();
            look.pages.push((page, at, remote.page(PageId(page))?));
        }
        looks.push(look);
    }
    let is_over = crawl.is_over();
    crawl.stop();
    let status = crawl.wait()?;
    if is_over {
        return Err(format!("the robot stopped by itself: {status:?}").into());
    }
    let visits = running.record.visits();
    let audit = Audit::new(&web, running.clock, &visits);
    let served = served(&audit, running.clock, &visits);
    let reader = Reader::open(&state_directory(data))?;
    let mut pages = Vec::new();
    for page in 0..reader.page_count()? {
        let url = url::Url::parse(&reader.address(PageId(page))?.url)?;
        let host = url.host_str().unwrap_or_default();
        pages.push(audit.find(host, url.path()));
    }
    let mut found = judged(&audit, running.clock, &served, &looks, &pages);
    found.requests = visits.len();
    found.verdicts = verdicts(&audit, &served, &reader, &pages)?;
    Ok(found)
}

/// The robot's log of visits beside the server's.
fn verdicts(
    audit: &Audit,
    served: &[Served],
    reader: &Reader,
    pages: &[Option<usize>],
) -> Result<Verdicts, Box<dyn Error>> {
    let mut next = vec![0; served.len()];
    let mut found = Verdicts::default();
    let mut log = reader.observations(Position(0))?;
    while let Some(seen) = log.read()? {
        let is_answer = !matches!(seen.outcome, Outcome::Failed(_) | Outcome::Gone);
        let number = pages[seen.page.index()].filter(|_| is_answer);
        let Some(number) = number else { continue };
        let (page, visits) = (&*audit.documents()[number], &served[number].visits);
        let visit = next[number];
        next[number] += 1;
        if visit > 0 && visit < visits.len() {
            let changed = page.version(visits[visit]) != page.version(visits[visit - 1]);
            found.add(changed, seen.outcome);
        }
    }
    Ok(found)
}

fn config(web: &Web, running: &Running, live: &Live, data: &Path) -> Config {
    let mut config = running.crawl_config(web, DELAY, data);
    config.revisit.budget = format!("{}/second", live.budget);
    config.revisit.count = live.count;
    // a day is a second here
    config.revisit.least_interval = "0".into();
    config.revisit.least_chance = 0.0;
    config
}

/// When the server was asked for a page and answered, and when it sent a copy.
#[derive(Default)]
struct Served {
    visits: Vec<f64>,
    copies: Vec<f64>,
}

fn judged(
    audit: &Audit,
    clock: Clock,
    served: &[Served],
    looks: &[Look],
    pages: &[Option<usize>],
) -> Judged {
    let mut found = Judged::default();
    let mut tested = vec![[false; CLASSES.len()]; served.len()];
    for look in looks {
        let mut all = Stated::default();
        for (id, at, stated) in &look.pages {
            let Some(number) = pages[*id as usize] else {
                continue;
            };
            let (page, served) = (&*audit.documents()[number], &served[number]);
            let Some(chance) = stated.chance_fresh else {
                continue;
            };
            let Some(&copy) = served.copies[..before(&served.copies, *at)].last() else {
                continue;
            };
            let truth = f64::from(u8::from(page.version(copy) == page.version(*at)));
            all.add(chance, truth);
            let count = before(&served.visits, *at) as u32;
            let Some(class) = CLASSES.iter().rposition(|&from| count >= from) else {
                continue;
            };
            found.by_visits[class].add(chance, truth);
            let interval = stated.changes_per_day_interval;
            if let Some((low, high)) = interval
                && page.kind == Kind::Poisson
                && !std::mem::replace(&mut tested[number][class], true)
            {
                // the web's day is a second of the robot's
                let rate = page.rate * DAY / clock.wall_seconds(1.0);
                found.rates[class].add(rate < low, rate > high);
            }
        }
        if let Some((stated, (low, high))) = look.status
            && all.looks > 0.0
        {
            let truth = all.truth / all.looks;
            found.all.add(stated, truth);
            found.within.add(truth < low, truth > high);
        }
    }
    found
}

fn before(times: &[f64], at: f64) -> usize {
    times.partition_point(|&time| time <= at)
}

fn served(audit: &Audit, clock: Clock, visits: &[Visit]) -> Vec<Served> {
    let mut served: Vec<Served> = audit
        .documents()
        .iter()
        .map(|_| Served::default())
        .collect();
    for visit in visits {
        let Some(page) = audit.find(&visit.host, &visit.path) else {
            continue;
        };
        let at = clock.web(visit.start);
        if visit.complete || visit.status == 304 {
            served[page].visits.push(at);
        }
        if visit.complete {
            served[page].copies.push(at);
        }
    }
    served
}
