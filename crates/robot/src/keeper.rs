//! The keeper: decides what is fetched when, and learns from what came of it.
//!
//! A pure machine: [`Keeper::step`] takes the time and what was heard, and says what is to be done,
//! what is to be written, and when it has to be asked again. It reads no clock, knows no channel and
//! no thread. What it holds is in memory only and can be made anew from the store.

mod answers;
mod crowding;
mod ending;
mod flaw;
mod fleet;
mod fleeting;
mod hosts;
mod hours;
mod once;
mod outcomes;
mod outlook;
mod pages;
mod recall;
mod record;
mod requisites;
mod restore;
mod work;

use crate::clock::{Clock, Now};
use crate::config::{Config, Invalid, RevisitBudget};
use crate::link_weights::LinkWeights;
use crate::message::{Event, Job, Of, Stored, Write};
use crate::reading;
use crate::view::Status;
pub(crate) use answers::robots_word;
#[doc(hidden)]
pub use flaw::Flaw;
use fleeting::Later;
use freshness::policy;
use freshness::revisits::Revisits;
use frontier::lines::{Lines, Rules};
use frontier::order::Rank;
use hosts::Host;
pub use hosts::{FIRST_TESTS, KeptHost};
pub(crate) use once::TRIES;
pub(crate) use outcomes::wait_after_failure;
use pages::Pages;
pub use record::{clock_stood, cut, policy_learnt};
pub(crate) use record::{failures_of_hosts, taken_over};
use requisites::Requisites;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;
use storage::{HostId, PageId};
use work::Tickets;

/// Seconds between two looks at budgets.
const TICK: f64 = 0.25;
/// Seconds between two records of what is known of all pages, and bytes of them a second at the most: they grow with
/// the hosts.
const RECORDS: f64 = 1.0;
const RECORD_BYTES: f64 = 131_072.0;
/// Rows tell time by the millisecond.
const PASS_MARGIN: f64 = 0.002;
/// The most revisits per second a policy is ever given.
const MOST_REVISITS: f64 = 10_000.0;

/// How the crawl goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Until {
    /// Until it is stopped.
    #[default]
    Stopped,
    /// Until every page in scope was visited once, or given up.
    FetchedOnce,
}

/// What the keeper wants done.
#[derive(Debug, Default)]
pub struct Actions {
    /// For the workers.
    pub jobs: Vec<Job>,
    /// For the archivist, in this order.
    pub writes: Vec<Write>,
    /// Requests of which is to be told how far they have come (`Event::Measured`).
    pub measure: Vec<u64>,
    /// Requests to be given up: they end with `FetchError::GivenUp`.
    pub give_up: Vec<u64>,
    /// When there is more to do if nothing is heard before, on the crawl's clock.
    pub until: f64,
}

/// The crawl's state of mind.
pub struct Keeper {
    config: Config,
    clock: Clock,
    share: RevisitBudget,
    until: Until,
    /// When the pass began in which every page is visited once; pages visited since are done.
    pass: Option<f64>,
    lines: Lines,
    hours: hours::OpeningHours,
    revisits: Revisits,
    hosts: Vec<Host>,
    pages: Pages,
    /// Those of them that are none.
    requisites: Requisites,
    /// Pages to be tried at a later time.
    later: Later,
    /// Redirected robots.txt files: whose, where, redirects so far.
    errands: HashMap<u32, (Of, url::Url, u8)>,
    /// Which hosts are ours, if others share the work.
    fleet: Option<Box<fleet::Fleet>>,
    next_errand: u32,
    writes: Vec<Write>,
    give_up: Vec<u64>,
    /// Where names were found, and until when that holds.
    addresses: HashMap<String, (IpAddr, f64)>,
    rules: Arc<reading::Rules>,
    /// While pages are restored; what links are worth since, the archivist tells.
    link_weights: LinkWeights,
    /// Of pages, where the order of first visits has ranks; those further on have none.
    ranks: Vec<Rank>,
    tickets: Tickets,
    /// Visits and lists of links that are not on disk yet.
    unstored: usize,
    gone: HashSet<PageId>,
    /// Pages not to be fetched, as long as the rules are what they are.
    excluded: HashSet<PageId>,
    /// What failed of hosts since the crawl began.
    of_hosts: record::Causes,
    budget: f64,
    /// When something is due next that is in no line yet.
    next_due: f64,
    asked: u64,
    status: Status,
    started: f64,
    rate: fleeting::Rate,
    next_tick: f64,
    next_record: f64,
    /// Something was learnt since the last record.
    learnt: bool,
    broken: Option<String>,
    /// When time is up.
    ends: f64,
}

/// Why there is no keeper.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the messages say it
pub enum Refused {
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error("revisit.policy: {0}")]
    Policy(#[from] policy::Error),
}

impl Keeper {
    /// Knows nothing but its settings, and what an earlier crawl learnt of all pages together.
    pub fn new(
        config: Config,
        until: Until,
        rules: Arc<reading::Rules>,
        clock: Clock,
        now: Now,
        learnt: Option<&[u8]>,
    ) -> Result<Self, Refused> {
        let guess = 1.0 / (config.revisit.first_guess_days * 86_400.0);
        let turns = Rules {
            interval: config.politeness.interval,
            parallel: config.politeness.at_once,
            connections: config.budget.connections,
            share_of_new: config.budget.share_of_new,
            order_of_new: config.budget.order_of_new,
            requests_per_second: limit(config.budget.requests_per_second),
            bytes_per_second: limit(config.budget.bytes_per_second),
            ask_again: once::ask_again(until),
        };
        // the last request before a crash may have been a moment ago, at any address
        let intervals = rules.overrides.intervals();
        let longest = intervals.fold(0.0, |longest: f64, interval| {
            longest.max(interval.seconds(1, 0.0))
        });
        let opening = now.at + longest;
        if let Some(received) = learnt.map(record::received) {
            rules.overrides.quotas.restore_received(&received);
        }
        let mut revisits = Revisits::new(
            &config.revisit.policy,
            now.at,
            guess,
            1,
            learnt.and_then(policy_learnt),
        )?;
        revisits.set_limits(config.revisit.limits()?);
        let (cut_links, cut_bodies) = learnt.map_or((0, 0), cut);
        let ends = now.at + config.limits.seconds()?.unwrap_or(f64::INFINITY);
        Ok(Self {
            share: config.revisit.budget()?,
            lines: Lines::new(turns, opening),
            hours: hours::OpeningHours::new(),
            revisits,
            config,
            clock,
            until,
            // one that was cut short goes on
            pass: (until == Until::FetchedOnce).then(|| {
                let unfinished = learnt.and_then(record::unfinished_pass);
                unfinished.unwrap_or(now.at - PASS_MARGIN)
            }),
            hosts: Vec::new(),
            pages: Pages::default(),
            requisites: Requisites::default(),
            later: Later::default(),
            errands: HashMap::new(),
            fleet: None,
            next_errand: 0,
            writes: Vec::new(),
            give_up: Vec::new(),
            addresses: HashMap::new(),
            rules,
            link_weights: LinkWeights::default(),
            ranks: Vec::new(),
            tickets: Tickets::default(),
            // the seeds
            unstored: 1,
            gone: HashSet::new(),
            excluded: HashSet::new(),
            of_hosts: learnt.map(failures_of_hosts).unwrap_or_default(),
            budget: 1.0,
            next_due: f64::INFINITY,
            asked: 0,
            status: Status {
                running: true,
                cut_links,
                cut_bodies,
                ..Status::default()
            },
            started: now.at,
            rate: fleeting::Rate::default(),
            next_tick: now.at,
            next_record: now.at,
            learnt: until == Until::FetchedOnce,
            broken: None,
            ends,
        })
    }

    /// Hears what happened and says what is to be done.
    pub fn step(&mut self, now: Now, heard: impl IntoIterator<Item = Event>) -> Actions {
        self.hear(now, heard);
        if self.broken.is_some() {
            return Actions::default();
        }
        let is_time = now.at >= self.next_tick;
        if is_time {
            self.next_tick = now.at + TICK;
            self.set_budget(now.at);
        }
        if self.fleet.is_some() {
            self.look_after_fleet(now, is_time);
        }
        let hours = self.keep_hours(now);
        let (jobs, until) = self.give_work(now);
        let mut until = until.min(hours);
        if self.learnt && now.at >= self.next_record {
            self.record(now);
        } else if self.learnt {
            until = until.min(self.next_record);
        }
        Actions {
            jobs,
            writes: std::mem::take(&mut self.writes),
            measure: if is_time {
                self.suspects(now.at)
            } else {
                Vec::new()
            },
            give_up: std::mem::take(&mut self.give_up),
            until,
        }
    }

    /// Hears what happened, and gives out no work for it.
    pub fn hear(&mut self, now: Now, heard: impl IntoIterator<Item = Event>) {
        for event in heard {
            self.take_in(now, event);
        }
    }

    fn take_in(&mut self, now: Now, event: Event) {
        match event {
            Event::Resolved { ticket, found } => {
                if let Some(ticket) = self.tickets.close(ticket) {
                    self.resolved(now, ticket.host, found);
                }
            }
            Event::Ended {
                ticket,
                answer,
                bytes,
            } => self.ended(now, ticket, answer, bytes),
            Event::Robots {
                ticket: id,
                standing,
                failure,
                record,
            } => {
                self.writes.extend(record.map(Write::Record));
                if let Some(ticket) = self.tickets.close(id) {
                    if let Some(cause) = failure {
                        self.count_failure_of_host(cause);
                    }
                    match self.for_whom(id, &ticket) {
                        Of::Host(of) => {
                            self.hosts[of.index()].no_robots = failure;
                            self.robots_known(now, of, standing);
                        }
                        Of::Peer(of) => self.writes.push(Write::Answer { of, standing }),
                    }
                }
            }
            Event::RobotsMoved {
                ticket: id,
                to,
                hops,
            } => {
                if let Some(ticket) = self.tickets.close(id) {
                    // the archivist knows which number the other host has
                    self.unstored += 1;
                    let of = self.for_whom(id, &ticket);
                    self.writes.push(Write::Moved { of, to, hops });
                }
            }
            Event::Visited { ticket, visited } => {
                if self.tickets.close(ticket).is_some() {
                    self.visited(*visited);
                }
            }
            Event::Lost { ticket } => self.lost(now, ticket),
            Event::Measured(told) => self.measured(now.at, told),
            Event::Wanted { pages, rescoped } => {
                if rescoped {
                    self.judge_again();
                }
                self.unstored += 1;
                self.writes.push(Write::Wanted(pages));
            }
            Event::Paused(paused) => self.status.paused = paused,
            Event::Budgets(budgets) => {
                self.share = budgets.revisits;
                self.config.budget.requests_per_second = budgets.requests_per_second;
                self.config.budget.bytes_per_second = budgets.bytes_per_second;
                let (requests, bytes) = (budgets.requests_per_second, budgets.bytes_per_second);
                self.lines.set_budget(limit(requests), limit(bytes));
            }
            Event::Barred { ticket, until } => self.barred(now, ticket, until),
            Event::Fleet(order) => self.ordered(now, order),
            Event::Stored(stored) => self.stored(now, *stored),
            Event::Broken(what) => self.broken = Some(what),
        }
    }

    fn stored(&mut self, now: Now, stored: Stored) {
        let fleet = *stored.fleet;
        self.bind(fleet.servers);
        for name in stored.hosts {
            self.add_host(now, &name, &[]);
        }
        let arrived: HashSet<PageId> = fleet.arrived.iter().map(|one| one.page).collect();
        let mut requisites = stored.requisites.into_iter().peekable();
        self.raise(stored.raised);
        for (page, traits, found) in stored.traits {
            let since = now.from_wall(found as f64 / 1e3).min(now.at);
            self.lines.describe(page, traits, since);
        }
        for (page, host) in stored.pages {
            let is_requisite = requisites.next_if_eq(&page).is_some();
            self.add_page(page, host, is_requisite);
            if !arrived.contains(&page) {
                self.wait_first(page);
            }
        }
        if self.fleet.is_some() {
            self.hosts_arrived(now, fleet.hosts);
            self.pages_arrived(now, fleet.arrived);
            self.hosts_left(now, fleet.left);
            self.robots_asked(now, &fleet.asked);
            self.robots_answered(now, fleet.answers);
            self.status.refused_from_peers += fleet.refused;
            self.status.unlearnt += fleet.unlearnt;
        }
        for page in stored.wanted {
            self.hurry(page);
        }
        self.requisites_again(stored.again);
        for (of, url, hops, host) in stored.moved {
            let errand = self.next_errand;
            self.next_errand = errand.wrapping_add(1);
            self.errands.insert(errand, (of, url, hops));
            self.lines.push_errand(host, errand);
        }
        self.unstored -= stored.lists + stored.visits.len();
        for (page, weight) in stored.visits {
            if let Some(weight) = weight {
                self.revisits.weigh(page, weight);
            }
            if self.pages.is_stored(page) {
                self.wait_in_line(page);
            }
        }
        for (page, changed) in stored.signals {
            let belief = self.revisits.belief(page);
            if belief.is_some_and(|belief| now.from_wall(changed) > belief.last_visit) {
                self.revisits.signal(now.at, page);
            }
        }
        self.status.trapped += stored.trapped;
    }

    /// These pages come earlier in the order of first visits; those that are new are told of next.
    fn raise(&mut self, raised: Vec<(PageId, Rank)>) {
        for (page, rank) in raised {
            if self.ranks.len() <= page.index() {
                self.ranks.resize(page.index() + 1, Rank::default());
            }
            let before = std::mem::replace(&mut self.ranks[page.index()], rank);
            if page.index() < self.pages.len() {
                self.lines.rise(self.pages.host(page), page, before, rank);
            }
        }
    }

    /// A page the store has admitted.
    fn add_page(&mut self, page: PageId, host: HostId, is_requisite: bool) {
        self.pages.add(page, host);
        if is_requisite {
            self.add_requisite(page);
        } else {
            self.status.pages_known += 1;
        }
    }

    fn count_failure(&mut self, cause: &str) {
        *self.status.failures.entry(cause.to_owned()).or_default() += 1;
    }

    /// A failure that no visit in the log tells of.
    fn count_failure_of_host(&mut self, cause: u8) {
        self.count_failure(crate::cause::word(cause));
        *self.of_hosts.entry(cause).or_default() += 1;
        self.learnt = true;
    }

    /// Keeps the policy's budget in step with what politeness allows.
    fn set_budget(&mut self, at: f64) {
        let allowed = self.lines.allowed_per_second();
        let wanted = match self.share {
            RevisitBudget::Share(share) => share * allowed,
            RevisitBudget::PerSecond(visits) => visits,
        };
        let limit = self.config.budget.requests_per_second;
        let most = if limit > 0.0 { limit } else { MOST_REVISITS };
        // new pages come first, but what their hosts do not allow is the others'
        let for_new = (self.config.budget.share_of_new * most).min(self.lines.allowed_to_new());
        let budget = wanted
            .min(most - for_new)
            .min(allowed)
            .clamp(1e-6, MOST_REVISITS);
        if (budget / self.budget - 1.0).abs() > 0.1 {
            self.budget = budget;
            self.revisits.set_budget(at, budget);
        }
        self.status.revisit_budget = self.budget;
    }
}

/// A budget of 0 is none.
fn limit(value: f64) -> f64 {
    if value > 0.0 { value } else { f64::INFINITY }
}
