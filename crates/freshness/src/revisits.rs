//! What stands between a crawler and its policy: which page is visited again, and when.
//!
//! The crawler knows pages by numbers of its own, which are stable and may be sparse; a policy
//! numbers them densely and gives the number of a page that went to one that comes. The crawler
//! tells what came of every visit, and here every word of it reaches the policy. What is learnt of
//! a page fits into its row ([`Revisits::memo`]), what is known of all pages together into one
//! record ([`Revisits::learnt`]): with both, work goes on after a restart.
//!
//! Instants are seconds on one clock that goes on across restarts and never runs backwards: wall
//! time at the start, plus what a monotonic clock has counted since.

mod beliefs;
mod memo;
mod numbers;
mod record;

pub use crate::policy::{Limit, Limits};
pub use beliefs::{Belief, Estimated};

use crate::ServerId;
use crate::estimate::Findings;
use crate::policy::{self, Change, Classes, Knowledge, Next, Outcome, Policy, Setup};
use beliefs::Beliefs;
use ground::{HostId, PageId, Seconds};
use memo::Memo;
pub use memo::{break_promise, promise};
use numbers::{Number, Numbers};
use record::Record;
pub use record::numbers_in;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The most pages that are asked for in vain before the crawler is told to come back later.
const MOST_REFUSED: usize = 64;
/// Then it is to wait for so many seconds.
const BREATH: f64 = 0.05;
/// Visits that an idle budget may catch up: as a share of a round, and at least.
const CREDIT: f64 = 0.05;
const LEAST_CREDIT: f64 = 8.0;

/// Seconds after which a page is due whatever others promised.
const LONGEST_PROMISE: f64 = 400.0 * 86_400.0;

/// Revisits to the pages of a crawl.
pub struct Revisits {
    name: String,
    policy: Box<dyn Policy>,
    numbers: Numbers,
    beliefs: Beliefs,
    hosts: u32,
    budget: f64,
    /// The instant up to which the budget is spent.
    spent: f64,
    /// Those of all pages, and of each class of them; whether the policy sees to them itself.
    limits: Vec<Limits>,
    policy_limits: bool,
    classes: Classes,
    /// The latest instant that was told.
    clock: f64,
}

/// How a page is regarded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rank {
    /// How important it is.
    pub weight: f64,
    /// Its own limits, in place of those of all pages.
    pub limits: Option<Limits>,
    /// How often it may change in a second, in place of the first guess for all pages.
    pub guess: Option<f64>,
}

impl From<f64> for Rank {
    fn from(weight: f64) -> Self {
        Self {
            weight,
            limits: None,
            guess: None,
        }
    }
}

/// The names of the policies that a crawl may use: those that keep to its budget and to the delays
/// of its hosts, and of which all that a decision rests on is written down, so that they decide after a
/// restart as if there had been none.
pub fn names() -> Vec<String> {
    FOR_CRAWLS.map(str::to_owned).into()
}

const FOR_CRAWLS: [&str; 2] = ["default", "index"];

impl Revisits {
    /// No pages yet. `guess` is a first guess of how often a page changes in a second; `learnt` is
    /// what an earlier run knew of all pages; what cannot be read of it is as if it were not there.
    pub fn new(
        policy: &str,
        start: f64,
        guess: f64,
        seed: u64,
        learnt: Option<&[u8]>,
    ) -> Result<Self, policy::Error> {
        if !FOR_CRAWLS.contains(&policy) {
            return Err(policy::Error::NotForCrawls(policy.to_owned(), names()));
        }
        Self::with_any(policy, start, guess, seed, learnt)
    }

    /// The same with any policy that keeps to budgets and delays.
    fn with_any(
        policy: &str,
        start: f64,
        guess: f64,
        seed: u64,
        learnt: Option<&[u8]>,
    ) -> Result<Self, policy::Error> {
        let setup = Setup {
            server: &[],
            weight: None,
            delay: &[],
            budget: 1.0,
            start,
            seed,
            knowledge: Knowledge::Online { guess },
        };
        let mut built = policy::build(policy, &setup)?;
        let mut numbers = Numbers::default();
        let (mut budget, mut spent) = (setup.budget, f64::NEG_INFINITY);
        let record = learnt.and_then(Record::from_bytes);
        if let Some(record) = record
            && record.policy == policy
        {
            if built.relearn(record.learnt) {
                numbers = Numbers::after(record.numbers);
                (budget, spent) = (record.budget, record.spent);
            } else {
                built = policy::build(policy, &setup)?;
            }
        }
        Ok(Self {
            name: policy.to_owned(),
            policy: built,
            numbers,
            beliefs: Beliefs::new(guess, record.map(|record| record.beliefs)),
            hosts: 0,
            budget,
            spent,
            limits: vec![Limits::NONE],
            policy_limits: false,
            classes: Classes::default(),
            clock: start,
        })
    }

    /// How close and how far apart visits to a page may be from now on.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits[0] = limits;
        self.policy_limits = self.policy.set_limits(0, limits);
    }

    /// The class of pages with these limits.
    fn class(&mut self, limits: Option<Limits>) -> u16 {
        let Some(limits) = limits else { return 0 };
        let known = self.limits.iter().position(|known| *known == limits);
        let class = known.unwrap_or(self.limits.len());
        let Ok(class) = u16::try_from(class) else {
            return 0; // nobody has so many rules
        };
        if known.is_none() {
            self.limits.push(limits);
            self.policy.set_limits(class, limits);
        }
        class
    }

    /// How important a page is from now on; one that is not kept is none of our business.
    pub fn weigh(&mut self, page: PageId, weight: f64) {
        if let Some(number) = self.numbers.get(page) {
            self.policy.weigh(number, weight);
        }
    }

    /// How important a page is, where the policy knows.
    pub fn weight(&self, page: PageId) -> Option<f64> {
        self.policy.weight(self.numbers.get(page)?)
    }

    /// Adds a host, between two requests to which `delay` must pass; hosts are numbered as
    /// they come.
    pub fn add_host(&mut self, now: f64, delay: Seconds) -> HostId {
        let host = HostId(self.hosts);
        self.hosts += 1;
        self.set_delay(now, host, delay);
        host
    }

    /// The time between two requests to a host from now on.
    pub fn set_delay(&mut self, now: f64, host: HostId, delay: Seconds) {
        let (server, Seconds(delay)) = (ServerId(host.0), delay);
        self.tell(now, Change::Delay { server, delay });
    }

    /// Revisits per second from now on.
    pub fn set_budget(&mut self, now: f64, visits_per_second: f64) {
        if self.spent > now {
            // a visit made ahead of its time is still one visit
            let ahead = (self.spent - now) * self.budget;
            self.spent = now + ahead / visits_per_second.max(f64::MIN_POSITIVE);
        }
        self.budget = visits_per_second;
        self.tell(now, Change::Budget(visits_per_second));
    }

    /// A page that has a copy from now on, made at `visited`; or that had one before, and `memo`
    /// says what was learnt of it. A page that is kept already stays as it is.
    pub fn keep(
        &mut self,
        now: f64,
        page: PageId,
        host: HostId,
        rank: impl Into<Rank>,
        visited: f64,
        memo: Option<&[u8]>,
    ) {
        let Rank {
            weight,
            limits,
            guess,
        } = rank.into();
        if self.keeps(page) {
            return;
        }
        let read = memo.and_then(Memo::from_bytes);
        let (memo, rest) = read.unwrap_or((Memo::new(visited), Cow::default()));
        let number = self.numbers.give(page, memo.number);
        self.beliefs.add(number, host, &memo, guess);
        let class = self.class(limits);
        self.classes.set(number, class);
        self.policy.set_class(number, class);
        let (server, seen) = (ServerId(host.0), memo.seen);
        let restored =
            !rest.is_empty() && (self.policy).restore(number, server, weight, seen, &rest);
        if !restored {
            let rate = memo.belief.pace().mean();
            let added = Change::AddPage {
                page: number,
                server,
                weight,
                known: (memo.visits > 1).then(|| seen.findings.imputed(rate)),
                visited: Some(seen.last),
            };
            self.tell(now, added);
        }
        if self.policy.findings(number).is_none() {
            self.beliefs.set_findings(number, seen.findings);
        }
        if !restored || memo.visits > 1 {
            self.hold(number);
        }
        if let Some(due) = memo.due {
            let due = due.min(self.clock + LONGEST_PROMISE);
            self.policy.promise(number, self.clock, due);
        }
    }

    /// What to do at `now`. A page to visit counts as under way until its outcome is told.
    pub fn next(&mut self, now: f64) -> Next<PageId> {
        self.clock = self.clock.max(now);
        self.numbers.all_are_back();
        // after a time in which nobody asked a plan would make up for all of it
        let credit = (CREDIT * self.pages() as f64).max(LEAST_CREDIT) / self.budget;
        if self.spent > self.clock {
            return Next::Wait(self.spent);
        }
        for _ in 0..MOST_REFUSED {
            match self.policy.next(self.clock) {
                // a plan knows nothing of visits under way: this page must not have two
                Next::Visit(number) if self.numbers.is_away(number) => {}
                Next::Visit(number) if self.forbids(number, self.clock).is_some() => {
                    self.policy.observe(number, self.clock, Outcome::Failed);
                }
                Next::Visit(number) => {
                    self.spent = self.spent.max(self.clock - credit) + 1.0 / self.budget;
                    self.numbers.set_away(number, true);
                    return Next::Visit(self.numbers.page(number));
                }
                Next::Wait(at) => return Next::Wait(at),
                Next::Idle => return Next::Idle,
            }
        }
        Next::Wait(self.clock + BREATH)
    }

    /// A visit, asked for here or by somebody else, had an answer. [`Outcome::LastModified`] is for
    /// content that changed; a date that it cannot have, before the last visit or after this one,
    /// is left out. A page that is not kept is none of our business.
    pub fn visited(&mut self, page: PageId, at: f64, outcome: Outcome<'_>) {
        let Some(number) = self.numbers.get(page) else {
            return;
        };
        let last = self.beliefs.last_visit(number);
        let at = at.max(last);
        self.clock = self.clock.max(at);
        let outcome = match outcome {
            Outcome::LastModified(modified) if !(modified > last && modified <= at) => {
                Outcome::Changed
            }
            other => other,
        };
        self.numbers.set_away(number, false);
        self.policy.observe(number, at, outcome);
        if outcome != Outcome::Failed {
            let round = self.pages() as f64 / self.budget;
            let kept = self.policy.findings(number);
            self.beliefs.observe(number, at, outcome, kept, round);
            self.hold(number);
        }
    }

    /// A visit had no answer. Whoever asked tries again at a time of his own and tells what came of
    /// it; until then nobody else is sent there.
    pub fn failed(&mut self, page: PageId, at: f64) {
        self.clock = self.clock.max(at);
        if let Some(number) = self.numbers.get(page) {
            self.numbers.set_away(number, true);
            self.policy.leave(number);
        }
    }

    /// A visit was not made, and nobody will make up for it: the page is asked for again after a
    /// part of its usual time.
    pub fn postponed(&mut self, page: PageId, now: f64) {
        self.visited(page, now, Outcome::Failed);
    }

    /// A page no longer to be visited: gone, excluded, out of scope or moved elsewhere.
    pub fn drop_page(&mut self, page: PageId, now: f64) {
        let Some(number) = self.numbers.take(page) else {
            return;
        };
        self.beliefs.remove(number);
        self.tell(now, Change::RemovePage(number));
    }

    /// A sitemap, feed or ping says that the page changed; it may be wrong.
    pub fn signal(&mut self, now: f64, page: PageId) {
        if let Some(number) = self.numbers.get(page) {
            self.tell(now, Change::Signal(number));
        }
    }

    /// Whether the page is one of ours.
    pub fn keeps(&self, page: PageId) -> bool {
        self.numbers.get(page).is_some()
    }

    /// A mistake on purpose: whoever gets the number of a page that went is taken to be where that was.
    #[doc(hidden)]
    pub fn let_numbers_stay_away(&mut self) {
        self.numbers.stay_away = true;
    }

    /// How many pages are kept.
    pub fn pages(&self) -> usize {
        self.numbers.len()
    }

    /// When the page is due as things stand, where the policy thinks in due times of pages.
    pub fn due(&self, page: PageId) -> Option<f64> {
        self.policy.due(self.numbers.get(page)?)
    }

    /// Which limit the page's due time goes by; where the policy thinks in none, which limit forbids
    /// a visit now.
    pub fn limit(&self, page: PageId, now: f64) -> Option<Limit> {
        let number = self.numbers.get(page)?;
        (self.policy.limit(number)).or_else(|| self.forbids(number, now))
    }

    /// All that was learnt of the page, for its row; empty when it is not kept. It changes with
    /// every word about the page.
    pub fn memo(&self, page: PageId) -> Vec<u8> {
        let Some(number) = self.numbers.get(page) else {
            return Vec::new();
        };
        let memo = self.beliefs.memo(number, self.findings(number));
        let mut bytes = memo.to_bytes();
        self.policy.memo(number, &mut bytes);
        if let Some(due) = self.policy.promised(number) {
            memo::promise(&mut bytes, due);
        }
        bytes
    }

    /// When the pages of these hosts are due, for whoever is to have them from now on.
    pub fn dues(&self, hosts: &BTreeSet<HostId>) -> Vec<(PageId, f64)> {
        (self.beliefs.pages_of(hosts))
            .filter_map(|number| Some((self.numbers.page(number), self.policy.due(number)?)))
            .collect()
    }

    /// What is known of all pages together: some kilobytes, and some dozens of bytes a host.
    pub fn learnt(&self) -> Vec<u8> {
        let mut learnt = Vec::new();
        self.policy.learnt(&mut learnt);
        let beliefs = self.beliefs.learnt();
        let record = Record {
            beliefs: &beliefs,
            policy: &self.name,
            numbers: self.numbers.end(),
            budget: self.budget,
            spent: self.spent,
            learnt: &learnt,
        };
        record.to_bytes()
    }

    /// What is believed of a page.
    pub fn belief(&self, page: PageId) -> Option<Belief> {
        let number = self.numbers.get(page)?;
        Some(self.beliefs.belief(number, &self.findings(number)))
    }

    /// The chance that the copy of the page is what its server has now.
    pub fn chance_fresh(&self, page: PageId, now: f64) -> Option<f64> {
        Some(self.beliefs.chance_fresh(self.numbers.get(page)?, now))
    }

    /// How fresh the copies are, over all of them or over an even sample when they are many.
    pub fn estimated(&self, now: f64, sample: usize) -> Estimated {
        self.beliefs.estimated(now, sample)
    }

    /// What visits showed of the page, wherever it is kept.
    fn findings(&self, number: Number) -> Findings {
        let kept = self.policy.findings(number);
        kept.unwrap_or_else(|| self.beliefs.findings(number))
    }

    /// Which of the limits that the policy does not know forbids a visit now.
    fn forbids(&self, number: Number, now: f64) -> Option<Limit> {
        if self.policy_limits {
            return None;
        }
        let limits = self.classes.of(number, &self.limits);
        let since = now - self.beliefs.last_visit(number);
        let changed = || 1.0 - self.beliefs.chance_fresh(number, now);
        if since < limits.least_interval {
            Some(Limit::LeastInterval)
        } else if since < limits.most_interval
            && limits.least_chance > 0.0
            && changed() < limits.least_chance
        {
            Some(Limit::LeastChance)
        } else {
            None
        }
    }

    /// Tells the policy how long the page is not worth a visit.
    fn hold(&mut self, number: Number) {
        let least_chance = self.classes.of(number, &self.limits).least_chance;
        if least_chance > 0.0 {
            let seconds = self.beliefs.time_to_chance(number, least_chance);
            self.policy.hold(number, seconds.min(f64::from(f32::MAX)));
        }
    }

    fn tell(&mut self, now: f64, change: Change) {
        self.clock = self.clock.max(now);
        self.policy.change(self.clock, change);
    }
}

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod tests;
