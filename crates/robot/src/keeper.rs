//! The keeper: decides what is fetched when. One thread, no I/O but its channels.
//!
//! Filled by workers (requests that ended) and the archivist (what is on disk); emptied into jobs
//! for the workers. What it holds is in memory only and can be made anew from the store.

mod answers;
mod fleeting;
mod hosts;
mod restore;

use crate::beliefs::Beliefs;
use crate::config::{Config, Count, RevisitBudget};
use crate::message::{Done, Event, Job, Stored, Visit, VisitResult, Write};
use crate::reading;
use crate::view::Status;
use crate::visit::{Workers, now};
pub(crate) use answers::robots_word;
use fleeting::Later;
use freshness::policy::{self, Change, Knowledge, Next, Outcome, Policy, Setup};
use freshness::{PageId as PolicyPage, ServerId};
use frontier::lines::{Lines, Rules, Turn};
use hosts::Host;
pub use hosts::KeptHost;
use std::collections::{HashMap, HashSet, VecDeque};
use std::net::IpAddr;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use storage::PageId;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

/// A page that is in no policy.
const NONE: u32 = u32::MAX;
/// After so many failures in a row a page that was never fetched is looked at as one that is gone.
pub(crate) const FAILURES_TO_GIVE_UP: u16 = 8;
/// Seconds before a failed page is tried again; doubled each time.
const FIRST_RETRY: f64 = 30.0;
const LONGEST_RETRY: f64 = 86_400.0;
/// A crawl that fetches everything once waits this many seconds for a page or host that failed.
const WORTH_WAITING: f64 = 45.0;
/// Seconds between two looks at budgets and figures.
const TICK: f64 = 0.25;
/// With more requests under way than this, answers are let gather for so long.
const BUSY: usize = 16;
const GATHERING: Duration = Duration::from_micros(300);
/// The most revisits per second a policy is ever given.
const MOST_REVISITS: f64 = 10_000.0;
/// Pages looked at for the estimate of freshness.
const SAMPLE: usize = 20_000;

/// How the crawl goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Until {
    /// Until it is stopped.
    #[default]
    Stopped,
    /// Until every page in scope was fetched once.
    FetchedOnce,
}

pub(crate) struct Keeper {
    config: Config,
    revisits: RevisitBudget,
    until: Until,
    lines: Lines,
    /// None where nothing is revisited.
    policy: Option<Box<dyn Policy>>,
    beliefs: Beliefs,
    hosts: Vec<Host>,
    /// For each page its number in policy and beliefs, or `NONE`; and back.
    numbers: Vec<u32>,
    pages: Vec<PageId>,
    free: Vec<u32>,
    host_of: Vec<u32>,
    /// Pages to be tried at a later time.
    later: Later,
    errands: Vec<(u32, url::Url, u8)>,
    /// What the archivist had no room for yet.
    outbox: VecDeque<Write>,
    /// Where names were found, and until when that holds.
    addresses: HashMap<String, (IpAddr, f64)>,
    rules: Arc<reading::Rules>,
    under_way: usize,
    /// Visits and lists of links that are not on disk yet.
    unstored: usize,
    gone: HashSet<u32>,
    budget: f64,
    /// When something is due next that is in no line yet.
    next_due: f64,
    asked: u64,
    status: Status,
    started: f64,
    rate: fleeting::Rate,
    shown: Arc<Mutex<Status>>,
    broken: Option<String>,
}

/// The keeper's hands.
pub(crate) struct Hands {
    pub events: Receiver<Event>,
    pub archivist: mpsc::Sender<Write>,
    pub runtime: Handle,
    pub workers: Arc<Workers>,
}

impl Keeper {
    pub fn new(
        config: Config,
        revisits: RevisitBudget,
        until: Until,
        rules: Arc<reading::Rules>,
        shown: Arc<Mutex<Status>>,
    ) -> Result<Self, policy::Error> {
        let start = now();
        let guess = 1.0 / (config.revisit.first_guess_days * 86_400.0);
        let setup = Setup {
            server: &[],
            weight: None,
            delay: &[],
            budget: 1.0,
            start,
            seed: 1,
            knowledge: Knowledge::Online { guess },
        };
        let limit = |value: f64| if value > 0.0 { value } else { f64::INFINITY };
        let turns = Rules {
            interval: config.politeness.interval,
            parallel: config.politeness.at_once,
            share_of_new: config.budget.share_of_new,
            requests_per_second: limit(config.budget.requests_per_second),
            bytes_per_second: limit(config.budget.bytes_per_second),
        };
        // the last request before a crash may have been a moment ago, at any address
        let opening = start + config.politeness.interval.seconds(1, 0.0);
        let policy = policy::build(&config.revisit.policy, &setup)?;
        Ok(Self {
            policy: (until == Until::Stopped).then_some(policy),
            beliefs: Beliefs::new(guess),
            lines: Lines::new(turns, opening),
            config,
            revisits,
            until,
            hosts: Vec::new(),
            numbers: Vec::new(),
            pages: Vec::new(),
            free: Vec::new(),
            host_of: Vec::new(),
            later: Later::default(),
            errands: Vec::new(),
            outbox: VecDeque::new(),
            addresses: HashMap::new(),
            rules,
            under_way: 0,
            gone: HashSet::new(),
            // the seeds
            unstored: 1,
            budget: 1.0,
            next_due: f64::INFINITY,
            asked: 0,
            status: Status {
                running: true,
                ..Status::default()
            },
            started: start,
            rate: fleeting::Rate::default(),
            shown,
            broken: None,
        })
    }

    /// Works until it is told to stop, nothing is left, or something broke.
    pub fn run(&mut self, hands: &Hands) {
        let mut looked = 0.0;
        loop {
            let at = now();
            if at - looked >= TICK {
                looked = at;
                self.look(at);
            }
            let mut until = self.give_work(at, hands).min(looked + TICK);
            if self.is_done() {
                break;
            }
            until = until.max(at);
            if self.under_way > BUSY {
                // waking up for every single answer would cost more than the answers
                std::thread::sleep(GATHERING);
            }
            let wait = Duration::from_secs_f64((until - at).clamp(0.0, TICK));
            match hands.events.recv_timeout(wait) {
                Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(event) => self.hear(event),
                Err(RecvTimeoutError::Timeout) => {}
            }
            while let Ok(event) = hands.events.try_recv() {
                if matches!(event, Event::Stop) {
                    return;
                }
                self.hear(event);
            }
            self.send_out(hands);
            if self.broken.is_some() {
                break;
            }
        }
    }

    /// Gives out no more work. Hears how the requests under way end, for what a server asks for now
    /// holds after a restart too, and has written down all that must be known then.
    pub fn end(&mut self, hands: &Hands, patience: Instant) {
        while self.under_way > 0 && self.broken.is_none() {
            let left = patience.saturating_duration_since(Instant::now());
            match hands.events.recv_timeout(left) {
                Ok(event) => self.hear(event),
                Err(_) => break,
            }
            self.send_out(hands);
        }
        self.save_hosts();
        for write in self.outbox.drain(..) {
            // the archivist is gone only if something broke
            let _ = hands.archivist.blocking_send(write);
        }
    }

    /// When all others have ended: takes in what they said last, so that the last figures are those
    /// of the store; says what broke, if something did.
    pub fn settle(mut self, events: &Receiver<Event>) -> Result<(), String> {
        while let Ok(event) = events.try_recv() {
            self.hear(event);
        }
        self.under_way = 0;
        self.status.running = false;
        self.look(now());
        self.broken.take().map_or(Ok(()), Err)
    }

    /// Passes on what the archivist has room for.
    fn send_out(&mut self, hands: &Hands) {
        while let Some(write) = self.outbox.pop_front() {
            match hands.archivist.try_send(write) {
                Ok(()) => {}
                Err(mpsc::error::TrySendError::Full(write)) => {
                    self.outbox.push_front(write);
                    return;
                }
                Err(mpsc::error::TrySendError::Closed(_)) => return,
            }
        }
    }

    fn is_done(&self) -> bool {
        self.until == Until::FetchedOnce
            && self.under_way == 0
            && self.unstored == 0
            && (self.lines.new_waiting() == 0 || self.lines.next_turn() > now() + WORTH_WAITING)
            && self.later.next() > now() + WORTH_WAITING
    }

    /// Hands out what may be done now; says when there is more.
    fn give_work(&mut self, at: f64, hands: &Hands) -> f64 {
        self.later.due(at, |page, new| {
            let host = self.host_of[page as usize];
            if new {
                self.lines.push_new(host, page);
            } else {
                self.lines.push_due(host, page);
            }
        });
        let mut until = self.later.next().min(self.ask_policy(at));
        self.next_due = until;
        while self.under_way < self.config.budget.connections {
            let job = match self.lines.next(at) {
                Turn::Idle => break,
                Turn::Wait(then) => {
                    until = until.min(then);
                    break;
                }
                Turn::Resolve(host) => Job::Resolve {
                    host,
                    name: self.hosts[host as usize].name.clone(),
                },
                Turn::Robots { host, address } => {
                    let known = &self.hosts[host as usize];
                    Job::Robots {
                        host,
                        of: host,
                        url: known.robots_url(),
                        address,
                        hops: 0,
                        previous: known.standing.clone(),
                    }
                }
                Turn::Errand {
                    host,
                    errand,
                    address,
                } => {
                    let (of, url, hops) = self.errands[errand as usize].clone();
                    Job::Robots {
                        host,
                        of,
                        url,
                        address,
                        hops,
                        previous: self.hosts[of as usize].standing.clone(),
                    }
                }
                Turn::Visit {
                    host,
                    page,
                    new,
                    address,
                } => {
                    self.asked += 1;
                    let known = &self.hosts[host as usize];
                    let audit = self
                        .asked
                        .is_multiple_of(u64::from(self.config.revisit.audit_every.max(1)));
                    self.unstored += 1;
                    Job::Visit(Visit {
                        page: PageId(page),
                        host,
                        new,
                        address,
                        standing: known
                            .standing
                            .clone()
                            .filter(|_| self.config.politeness.robots),
                        conditional: !new && !audit && !known.lies,
                    })
                }
            };
            self.under_way += 1;
            hands.runtime.spawn(hands.workers.clone().work(job));
        }
        until
    }

    /// Lets the policy say which pages are due; returns when it has more to say.
    fn ask_policy(&mut self, at: f64) -> f64 {
        let Some(policy) = &mut self.policy else {
            return f64::INFINITY;
        };
        // a line that does not move takes no more: the policy would only lose its sense of time
        while self.lines.due_waiting() < 4 * self.config.budget.connections.max(256) {
            match policy.next(at) {
                Next::Visit(number) => {
                    let page = self.pages[number.index()].0;
                    self.lines.push_due(self.host_of[page as usize], page);
                }
                Next::Wait(then) => return then,
                Next::Idle => return f64::INFINITY,
            }
        }
        f64::INFINITY
    }

    fn hear(&mut self, event: Event) {
        let at = now();
        match event {
            Event::Resolved { host, found } => {
                self.under_way -= 1;
                if let Err(cause) = found {
                    self.count_failure(crate::cause::word(cause));
                }
                self.address_sought(host, found.err());
                let found = self.same_address_for_same_name(host, at, found.ok());
                if found.is_none() {
                    self.robots_out_of_reach(host, at);
                }
                self.lines.resolved(host, at, found);
            }
            Event::Ended {
                host,
                address,
                answer,
                bytes,
            } => {
                self.under_way -= 1;
                self.status.bytes += bytes;
                match answer {
                    None => self.lines.unused(host, address),
                    Some(answer) => {
                        self.status.requests += 1;
                        self.rate.count(at);
                        self.lines.ended(host, address, at, answer, bytes);
                        self.host_answered(host, answer);
                    }
                }
            }
            Event::Robots {
                of,
                standing,
                failure,
            } => {
                if let Some(cause) = failure {
                    self.count_failure(crate::cause::word(cause));
                }
                self.robots_known(of, standing);
            }
            Event::RobotsMoved { of, to, hops } => {
                // the archivist knows which number the other host has
                self.unstored += 1;
                self.outbox.push_back(Write::Moved { of, to, hops });
            }
            Event::Stored(stored) => self.stored(stored),
            Event::Broken(what) => self.broken = Some(what),
            Event::Ask(question) => self.answer(question),
            Event::Stop => {}
        }
    }

    fn stored(&mut self, stored: Stored) {
        for name in stored.hosts {
            self.add_host(&name, &[]);
        }
        for (page, host) in stored.pages {
            self.add_page(page, host.0);
            self.lines.push_new(host.0, page.0);
        }
        for (of, url, hops, host) in stored.moved {
            self.errands.push((of, url, hops));
            self.lines
                .push_errand(host.0, self.errands.len() as u32 - 1);
        }
        self.unstored -= stored.lists;
        for done in stored.visits {
            self.unstored -= 1;
            self.visited(&done);
        }
        for (page, changed) in stored.signals {
            let number = self.numbers[page.0 as usize];
            if number != NONE && changed > self.beliefs.last_visit(number) {
                self.tell_policy(now(), Change::Signal(PolicyPage(number)));
            }
        }
        for (host, halved) in stored.halved {
            self.caps_halved(host, halved);
        }
        self.status.trapped += stored.trapped;
    }

    /// A page the store has admitted.
    pub fn add_page(&mut self, page: PageId, host: u32) {
        debug_assert_eq!(page.0 as usize, self.numbers.len());
        self.numbers.push(NONE);
        self.host_of.push(host);
        self.status.pages_known += 1;
    }

    fn visited(&mut self, done: &Done) {
        self.status.cut_links += u64::from(done.cut.links);
        self.status.cut_bodies += u64::from(done.cut.body);
        let page = done.page.0;
        let number = self.numbers[page as usize];
        match done.result {
            VisitResult::Copy { outcome, modified } => {
                self.gone.remove(&page);
                let counts = match outcome {
                    storage::Outcome::Changed => true,
                    storage::Outcome::Minor => self.config.revisit.count == Count::Body,
                    _ => false,
                };
                self.status.changes += u64::from(outcome == storage::Outcome::Changed);
                self.status.minor_changes += u64::from(outcome == storage::Outcome::Minor);
                if number == NONE {
                    self.status.first_visits += 1;
                    self.keep_fresh(done.page, done.at, None);
                } else {
                    self.status.revisits += 1;
                    self.revisited(number, done.at, counts, modified);
                }
                if let Some(liar) = done.liar {
                    self.validators_judged(done.host, liar);
                }
            }
            VisitResult::Failed(cause) => {
                self.count_failure(crate::cause::word(cause));
                self.try_again(page, done.new, done.failures, done.at);
            }
            VisitResult::Gone => {
                self.gone.insert(page);
                self.forget(page, done.at);
                self.later.push(done.at + self.gone_seconds(), page, true);
            }
            VisitResult::Excluded(cause) => {
                self.gone.remove(&page);
                self.count_failure(crate::cause::word(cause));
                self.status.pages_excluded += 1;
                self.forget(page, done.at);
            }
            VisitResult::NotNow => {
                let standing = &self.hosts[done.host as usize].standing;
                let then = standing.as_ref().map_or(0.0, |standing| standing.expires);
                self.later
                    .push(then.max(done.at + FIRST_RETRY), page, done.new);
            }
        }
    }

    fn gone_seconds(&self) -> f64 {
        self.config.revisit.gone_days * 86_400.0
    }

    /// A page with a copy, from now on the policy's. `known` is what earlier visits taught.
    pub fn keep_fresh(&mut self, page: PageId, visited: f64, known: Option<u32>) {
        let number = known.unwrap_or_else(|| self.free.pop().unwrap_or(self.pages.len() as u32));
        let host = self.host_of[page.0 as usize];
        if known.is_none() {
            self.beliefs.add(number, host, visited);
        }
        if number as usize == self.pages.len() {
            self.pages.push(page);
        } else {
            self.pages[number as usize] = page;
        }
        self.numbers[page.0 as usize] = number;
        self.status.pages_fetched += 1;
        let added = Change::AddPage {
            page: PolicyPage(number),
            server: ServerId(host),
            weight: 1.0,
            known: known.map(|number| self.beliefs.evidence(number)),
            visited: Some(visited),
        };
        self.tell_policy(now(), added);
    }

    fn tell_policy(&mut self, at: f64, change: Change) {
        if let Some(policy) = &mut self.policy {
            policy.change(at, change);
        }
    }

    fn revisited(&mut self, number: u32, at: f64, changed: bool, modified: Option<f64>) {
        let last = self.beliefs.last_visit(number);
        // a date the page cannot have: not after our last visit, or in the future
        let modified = modified.filter(|&modified| modified > last && modified <= at);
        self.beliefs.observe(number, at, changed, modified);
        let outcome = match modified {
            Some(modified) if changed => Outcome::LastModified(modified),
            _ if changed => Outcome::Changed,
            _ => Outcome::Unchanged,
        };
        if let Some(policy) = &mut self.policy {
            policy.observe(PolicyPage(number), at, outcome);
        }
    }

    /// No copy this time: later, and later each time.
    fn try_again(&mut self, page: u32, new: bool, failures: u16, at: f64) {
        let wait = if new && failures >= FAILURES_TO_GIVE_UP {
            self.gone_seconds()
        } else {
            retry_wait(failures)
        };
        self.later.push(at + wait, page, new);
    }

    fn forget(&mut self, page: u32, at: f64) {
        let number = std::mem::replace(&mut self.numbers[page as usize], NONE);
        if number != NONE {
            self.tell_policy(at, Change::RemovePage(PolicyPage(number)));
            self.beliefs.remove(number);
            self.free.push(number);
            self.status.pages_fetched -= 1;
        }
    }

    fn count_failure(&mut self, cause: &str) {
        *self.status.failures.entry(cause.to_owned()).or_default() += 1;
    }

    /// Keeps the policy's budget in step with what politeness allows.
    fn set_budget(&mut self, at: f64) {
        let allowed = self.allowed_by_politeness();
        let wanted = match self.revisits {
            RevisitBudget::Share(share) => share * allowed,
            RevisitBudget::PerSecond(visits) => visits,
        };
        let limit = self.config.budget.requests_per_second;
        let mut most = if limit > 0.0 { limit } else { MOST_REVISITS };
        if self.lines.new_waiting() > 0 {
            most *= 1.0 - self.config.budget.share_of_new;
        }
        let budget = wanted.min(most).min(allowed).clamp(1e-6, MOST_REVISITS);
        if (budget / self.budget - 1.0).abs() > 0.1 {
            self.budget = budget;
            self.tell_policy(at, Change::Budget(budget));
        }
        self.status.revisit_budget = self.budget;
    }
}

/// Seconds to wait after so many failures in a row.
pub(crate) fn retry_wait(failures: u16) -> f64 {
    let doublings = i32::from(failures.saturating_sub(1).min(20));
    (FIRST_RETRY * 2f64.powi(doublings)).min(LONGEST_RETRY)
}
