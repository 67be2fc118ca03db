//! The default policy: an index policy that learns each page's pace from its own visits.
#![doc = include_str!("adaptive/README.md")]

mod tail;

use super::beliefs::as_evidence;
use super::priced::Worth;
use super::shape::{Shape, Stake};
use super::signals::Signals;
use super::{Knowledge, Outcome, Setup};
use crate::estimate::{Evidence, HostPrior, Imputation, Learning, Prior};
use crate::{PageId, ServerId};
use tail::Tail;

/// The prior weighs as much as one change seen: rates of pages differ by orders of magnitude.
const PRIOR_CHANGES: f64 = 1.0;
/// A rate that was given from outside weighs as much as this many changes seen.
const GIVEN_CHANGES: f64 = 8.0;
/// A host with this many pages has a prior of its own; smaller ones share that of all pages.
const OWN_PRIOR: u32 = 8;
/// Evidence loses half of its weight in the time of this many visits to an average page.
const ROUNDS_TO_FORGET_HALF: f64 = 60.0;
/// How far the age of the content shifts the expected pace, where visits are frequent.
const MEMORY: f64 = 0.2;
/// The longest wait, in average intervals: at first no page waits longer than another, and with
/// every ten visits to an average page beliefs are trusted for one interval more.
const TRUST_PER_ROUND: f64 = 0.1;
const LONGEST_TRUST: f64 = 50.0;
/// Rates given from outside are trusted for longer waits at once.
const TRUST_IN_GIVEN: f64 = 10.0;

/// Forty bytes a page.
#[derive(Clone, Copy, Debug)]
struct Page {
    evidence: Evidence,
    /// The last visit and the last change known; NaN before there was one.
    last: f64,
    changed: f64,
    /// The time between the last two visits; infinite before.
    interval: f32,
    weight: f32,
    unit: f32,
    shape: Shape,
}

pub(super) struct Adaptive {
    pages: Vec<Page>,
    all: HostPrior,
    hosts: Vec<HostPrior>,
    global: Prior,
    learning: Learning,
    tail: Tail,
    signals: Signals,
    visits: usize,
    first_trust: f64,
}

impl Adaptive {
    pub fn new(setup: &Setup) -> Self {
        let pages = setup.server.len();
        let round = pages.max(1) as f64 / setup.budget.max(f64::MIN_POSITIVE);
        let (known, guess) = match setup.knowledge {
            Knowledge::Online { guess } => (None, guess),
            Knowledge::Known { rate, .. } => {
                let mean = rate.iter().sum::<f64>() / pages.max(1) as f64;
                (Some(rate), if mean > 0.0 { mean } else { 1.0 / round })
            }
        };
        let global = prior_around(guess);
        let evidence = |page: usize| match known.map(|rate| rate[page]) {
            None => Evidence::default(),
            Some(rate) if rate > 0.0 => Evidence::new(GIVEN_CHANGES, GIVEN_CHANGES / rate),
            Some(_) => Evidence::new(0.0, ROUNDS_TO_FORGET_HALF * round),
        };
        let page = |index: usize| Page {
            evidence: evidence(index),
            last: f64::NAN,
            changed: f64::NAN,
            interval: f32::INFINITY,
            weight: setup.weight.map_or(1.0, |weight| weight[index]) as f32,
            unit: 1.0,
            shape: Shape::POISSON,
        };
        let mut policy = Self {
            pages: (0..pages).map(page).collect(),
            all: HostPrior::new(global),
            hosts: vec![HostPrior::new(global); setup.delay.len()],
            global,
            learning: Learning {
                half_life: ROUNDS_TO_FORGET_HALF * round,
                imputation: Imputation::default(),
            },
            tail: Tail::default(),
            signals: Signals::new(setup.delay.len()),
            visits: 0,
            first_trust: if known.is_some() { TRUST_IN_GIVEN } else { 1.0 },
        };
        for (page, &s) in policy.pages.iter().zip(setup.server) {
            policy.all.add(page.evidence);
            policy.hosts[s as usize].add(page.evidence);
        }
        for (index, &s) in setup.server.iter().enumerate() {
            policy.judge(index, ServerId(s));
        }
        policy
    }

    /// What is believed of a page of this server before its own evidence.
    fn prior(&self, server: ServerId) -> Prior {
        let host = &self.hosts[server.index()];
        let known = if host.pages() >= OWN_PRIOR {
            host
        } else {
            &self.all
        };
        prior_around(known.prior().mean())
    }

    /// Events and exposure of a page, prior included.
    fn posterior(&self, index: usize, server: ServerId) -> Prior {
        let prior = self.prior(server);
        let evidence = self.pages[index].evidence;
        Prior {
            alpha: prior.alpha + evidence.events(),
            beta: prior.beta + evidence.exposure(),
        }
    }

    /// Brings what is at stake with a page up to date with its evidence.
    fn judge(&mut self, index: usize, server: ServerId) {
        let posterior = self.posterior(index, server);
        let rate = posterior.mean();
        let (shape, unit) = Shape::of_uncertain_rate(posterior.alpha.min(self.tail.heaviest()));
        let page = &mut self.pages[index];
        page.shape = shape;
        page.unit = (unit / rate * page.memory(rate)) as f32;
    }
}

/// A prior of this mean.
fn prior_around(mean: f64) -> Prior {
    Prior {
        alpha: PRIOR_CHANGES,
        beta: PRIOR_CHANGES / mean,
    }
}

impl Page {
    /// Content that has lasted long tends to last, and what changed just now to change again: the
    /// pace is slowed or quickened by the age of the content against its mean. The more changes
    /// lie between two visits, the less the last of them tells about the next interval.
    fn memory(&self, rate: f64) -> f64 {
        let age = (self.last - self.changed) * rate;
        let between_visits = rate * f64::from(self.interval);
        if age.is_nan() || between_visits.is_infinite() {
            return 1.0;
        }
        age.max(1e-3)
            .powf(MEMORY / (1.0 + between_visits))
            .clamp(0.2, 5.0)
    }
}

impl Worth for Adaptive {
    fn stake(&self, page: PageId) -> Stake {
        let page = &self.pages[page.index()];
        Stake {
            shape: page.shape,
            unit: f64::from(page.unit),
            weight: f64::from(page.weight),
        }
    }

    fn last_visit(&self, page: PageId) -> Option<f64> {
        let last = self.pages[page.index()].last;
        (!last.is_nan()).then_some(last)
    }

    fn learn(&mut self, page: PageId, server: ServerId, at: f64, outcome: Outcome<'_>) {
        let index = page.index();
        let previous = self.last_visit(page);
        self.signals.visited(page, server, previous, at, outcome);
        // a burst of changes says no more about the next interval than its last change does
        let outcome = match outcome {
            Outcome::History([]) => Outcome::Unchanged,
            Outcome::History([.., last]) => Outcome::LastModified(*last),
            other => other,
        };
        if let Some(changed) = outcome.changed_since(previous) {
            let interval = at - previous.unwrap_or(at);
            self.tail
                .tell(self.posterior(index, server), interval, changed);
            self.pages[index].interval = interval as f32;
        }
        if let Outcome::LastModified(modified) = outcome {
            self.pages[index].changed = modified;
        }
        let last = std::mem::replace(&mut self.pages[index].last, at);
        if let Some((interval, observation)) = as_evidence(last, at, outcome) {
            let before = self.pages[index].evidence;
            let prior = self.prior(server);
            let after = self.learning.observe(before, prior, interval, observation);
            self.all.replace(before, after);
            self.hosts[server.index()].replace(before, after);
            self.pages[index].evidence = after;
        }
        self.judge(index, server);
        self.visits += 1;
    }

    fn signal(&mut self, page: PageId, server: ServerId) -> f64 {
        self.signals.signal(page);
        let rate = self.posterior(page.index(), server).mean();
        self.signals.worth(server, rate)
    }

    fn add(&mut self, page: PageId, server: ServerId, weight: f64, known: Option<Evidence>) {
        let index = page.index();
        let evidence = known.unwrap_or_default();
        let added = Page {
            evidence,
            last: f64::NAN,
            changed: f64::NAN,
            interval: f32::INFINITY,
            weight: weight as f32,
            unit: 1.0,
            shape: Shape::POISSON,
        };
        if index == self.pages.len() {
            self.pages.push(added);
        } else {
            self.pages[index] = added;
        }
        self.all.add(evidence);
        self.hosts[server.index()].add(evidence);
        self.signals.add(page);
        self.judge(index, server);
    }

    fn remove(&mut self, page: PageId, server: ServerId) {
        let evidence = std::mem::take(&mut self.pages[page.index()].evidence);
        self.all.remove(evidence);
        self.hosts[server.index()].remove(evidence);
        self.pages[page.index()].weight = 0.0;
    }

    fn add_server(&mut self) {
        self.hosts.push(HostPrior::new(self.global));
        self.signals.add_server();
    }

    fn set_round(&mut self, round: f64) {
        self.learning.half_life = ROUNDS_TO_FORGET_HALF * round;
    }

    fn ceiling_rounds(&self) -> f64 {
        let rounds = self.visits as f64 / self.pages.len().max(1) as f64;
        (self.first_trust + TRUST_PER_ROUND * rounds).min(LONGEST_TRUST)
    }
}
