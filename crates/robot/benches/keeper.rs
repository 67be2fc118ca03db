//! What a revisit costs the whole keeper with ever more live pages, from event in to jobs out:
//! `cargo bench -p robot --bench keeper -- [PAGES…]`; prints CSV rows.
//!
//! The keeper runs under a virtual clock with its default settings, but for what a thousand visits a second
//! need: more connections, no limit of requests per second, and all of the budget for revisits. Every answer takes between 0.2 and 1.0 s, so that every answer changes
//! the delay of its host. Each page is visited for the first time (`first_us`), then a part of a round goes
//! by, then revisits are counted (`revisit_us`): processor time of the process, the simulated web and archivist
//! included. `longest_step_ms` is the longest step by the processor time of the thread, `look_ms` what it takes to find
//! the figures that `status` shows, once a second.

use freshness::revisits::Rank;
use frontier::politeness::Answer;
use frontier::robots::{Fetched, Standing};
use frontier::scope::Scope;
use robot::clock::{Clock, Now};
use robot::config::Config;
use robot::keeper::{Actions, Keeper, Until};
use robot::message::{Done, Event, Job, Stored, Task, Visit, VisitResult, Visited, Write};
use robot::notes::Cut;
use robot::overrides::PageTerms;
use robot::reading::Rules;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use storage::{HostId, Outcome, PageId, PageRow};
use url::Url;

const START: f64 = 1_800_000_000.0;
const MEASURED: u64 = 200_000;
const PAGES_A_HOST: u32 = 100;
const CONNECTIONS: usize = 2048;
const LOOKS: u32 = 20;
/// Seconds between two commits.
const COMMITS: f64 = 0.05;
/// Pages that the archivist tells of at a time.
const ADMITTED: u32 = 10_000;

fn main() {
    let arguments = std::env::args().skip(1);
    let mut sizes: Vec<u32> = arguments.filter_map(|size| size.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = vec![10_000, 100_000, 1_000_000];
    }
    println!(
        "pages,hosts,first_us,revisit_us,longest_step_ms,revisits_per_second,bytes_a_page,look_ms"
    );
    for pages in sizes {
        measure(pages);
    }
}

/// Something that the keeper hears at an instant.
struct Heard(f64, u64, Vec<Event>);

impl PartialEq for Heard {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Heard {}

impl PartialOrd for Heard {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Heard {
    fn cmp(&self, other: &Self) -> Ordering {
        let earlier = other.0.total_cmp(&self.0);
        earlier.then(other.1.cmp(&self.1))
    }
}

/// A keeper, and all that answers it.
struct Crawl {
    keeper: Keeper,
    at: f64,
    heard: BinaryHeap<Heard>,
    /// What is heard next.
    events: Vec<Event>,
    count: u64,
    unstored: Vec<PageId>,
    next_commit: f64,
    visits: u64,
    longest: Option<f64>,
}

impl Crawl {
    fn open() -> Self {
        let mut config = Config::default();
        config.budget.connections = CONNECTIONS;
        config.budget.requests_per_second = 0.0;
        config.revisit.budget = "100%".into();
        let scope = Scope::new(&config.scope, &[] as &[Url]).expect("there is nothing to be wrong");
        let rules = Arc::new(Rules::new(&config, scope));
        let (clock, now) = (Clock::virtually("a"), now(START));
        let keeper = Keeper::new(config, Until::Stopped, rules, clock, now, None);
        Self {
            keeper: keeper.expect("the defaults are valid"),
            at: START,
            heard: BinaryHeap::new(),
            events: Vec::new(),
            count: 0,
            unstored: Vec::new(),
            next_commit: f64::INFINITY,
            visits: 0,
            longest: None,
        }
    }

    fn hear(&mut self, seconds: f64, events: Vec<Event>) {
        self.count += 1;
        self.heard
            .push(Heard(self.at + seconds, self.count, events));
    }

    fn share(&self) -> f64 {
        let random = self.count.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        random as f64 / f64::from(1 << 24)
    }

    /// Until so many visits more were made.
    fn run(&mut self, visits: u64) {
        let end = self.visits + visits;
        while self.visits < end {
            let events = std::mem::take(&mut self.events);
            let begin = self.longest.map(|_| thread());
            let actions = self.keeper.step(now(self.at), events);
            if let (Some(begin), Some(longest)) = (begin, &mut self.longest) {
                *longest = longest.max(thread() - begin);
            }
            self.events = self.act(actions);
        }
    }

    /// Does what the keeper wants; says what it hears next.
    fn act(&mut self, actions: Actions) -> Vec<Event> {
        for job in actions.jobs {
            self.begin(job);
        }
        for write in actions.writes {
            if let Write::Visited(visited) = write {
                self.unstored.push(visited.done.page);
                self.next_commit = self.next_commit.min(self.at + COMMITS);
            }
        }
        let heard = self.heard.peek().map_or(f64::INFINITY, |heard| heard.0);
        let next = heard.min(self.next_commit).min(actions.until);
        assert!(next.is_finite(), "there is always something to do");
        self.at = next.max(self.at.next_up());
        if self.next_commit <= self.at {
            self.next_commit = f64::INFINITY;
            let visits = std::mem::take(&mut self.unstored);
            return vec![Event::Stored(Box::new(Stored {
                visits: visits.into_iter().map(|page| (page, None)).collect(),
                ..Stored::default()
            }))];
        }
        if heard <= self.at {
            return self.heard.pop().expect("it was there").2;
        }
        Vec::new()
    }

    fn begin(&mut self, job: Job) {
        let ticket = job.ticket;
        match job.task {
            Task::Resolve { name } => {
                let number: u32 = name[1..name.len() - ".example".len()]
                    .parse()
                    .expect("names are numbers");
                // each in a network of its own
                let address = IpAddr::V4(Ipv4Addr::from_bits(0x0100_0000 + (number << 8) + 1));
                let found = Ok((address, 1e9));
                self.hear(0.02, vec![Event::Resolved { ticket, found }]);
            }
            Task::Robots { .. } => {
                let missing = Fetched::Answer {
                    status: 404,
                    body: &[],
                };
                let standing = Arc::new(Standing::after(None, missing, None, self.at + 0.2));
                let robots = Event::Robots {
                    ticket,
                    standing,
                    failure: None,
                    record: None,
                };
                self.hear(0.2, vec![ended(ticket, 0.2), robots]);
            }
            Task::Visit(visit) => {
                let share = self.share();
                let seconds = 0.2 + 0.8 * share;
                let at = now(self.at + seconds);
                // from one page in a thousand visits changed to all
                let changed = share.powi(3) < f64::from(visit.page.0 % 1000) / 1000.0;
                let visited = Event::Visited {
                    ticket,
                    visited: Box::new(visited(&visit, at, changed)),
                };
                self.visits += 1;
                self.hear(seconds, vec![ended(ticket, seconds), visited]);
            }
        }
    }
}

fn now(at: f64) -> Now {
    Now { at, wall: at }
}

fn ended(ticket: u64, seconds: f64) -> Event {
    Event::Ended {
        ticket,
        answer: Some(Answer::Fine { seconds }),
        bytes: 20_000,
    }
}

fn visited(visit: &Visit, at: Now, changed: bool) -> Visited {
    let outcome = match (visit.new, changed) {
        (true, _) => Outcome::FirstSeen,
        (false, true) => Outcome::Changed,
        (false, false) => Outcome::Unchanged,
    };
    Visited {
        done: Done {
            page: visit.page,
            host: visit.host,
            new: visit.new,
            terms: PageTerms {
                rank: Rank::from(1.0),
                minor_counts: false,
                gone_seconds: 30.0 * 86_400.0,
            },
            at,
            result: VisitResult::Copy {
                outcome,
                modified: None,
            },
            failures: 0,
            liar: None,
            cut: Cut::default(),
            requisite: false,
        },
        row: Some(PageRow::default()),
        status: 200,
        millis: 300,
        delay: None,
        bytes: 20_000,
        record: None,
        request: None,
        links: Vec::new(),
        redirect: false,
        print: None,
    }
}

fn measure(pages: u32) {
    let before = resident();
    let mut crawl = Crawl::open();
    let begin = processor();
    for first in (0..pages).step_by(ADMITTED as usize) {
        let end = pages.min(first + ADMITTED);
        let hosts = first.div_ceil(PAGES_A_HOST)..end.div_ceil(PAGES_A_HOST);
        let stored = Stored {
            hosts: hosts
                .map(|host| format!("http://h{host}.example"))
                .collect(),
            pages: (first..end)
                .map(|page| (PageId(page), HostId(page / PAGES_A_HOST)))
                .collect(),
            // the seeds
            lists: usize::from(first == 0),
            ..Stored::default()
        };
        crawl
            .keeper
            .hear(now(START), [Event::Stored(Box::new(stored))]);
    }
    crawl.run(u64::from(pages));
    let first = (processor() - begin) / f64::from(pages);
    let bytes = resident().saturating_sub(before) / u64::from(pages);
    crawl.run((u64::from(pages) / 4).max(MEASURED / 4));
    let (begin, started) = (processor(), crawl.at);
    crawl.run(MEASURED);
    let revisit = (processor() - begin) / MEASURED as f64;
    let rate = MEASURED as f64 / (crawl.at - started);
    crawl.longest = Some(0.0);
    crawl.run(MEASURED / 4);
    let begin = thread();
    for _ in 0..LOOKS {
        crawl.keeper.status_at(now(crawl.at));
    }
    let look = (thread() - begin) / f64::from(LOOKS);
    println!(
        "{pages},{},{:.2},{:.2},{:.1},{rate:.0},{bytes},{:.2}",
        pages.div_ceil(PAGES_A_HOST),
        first * 1e6,
        revisit * 1e6,
        crawl.longest.unwrap_or(0.0) * 1e3,
        look * 1e3,
    );
}

/// Processor time of this thread, in seconds: what others do on the machine is not our step.
fn thread() -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells");
    let first = told.split_whitespace().next();
    let time = first.and_then(|time| time.parse::<f64>().ok());
    time.unwrap_or(0.0) / 1e9
}

/// Processor time of this process, in seconds.
fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux tells");
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let fields = after_name.split_whitespace().skip(11).take(2);
    // the kernel reports hundredths of a second
    let ticks: u64 = fields.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    ticks as f64 / 100.0
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let word = line.and_then(|line| line.split_whitespace().next());
    word.and_then(|word| word.parse::<u64>().ok()).unwrap_or(0) << 10
}
