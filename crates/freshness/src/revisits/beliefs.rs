//! What is believed of every page with a copy: how fast it changes, how fresh the copy is.
//!
//! Kept apart from the policy, so that the estimate is the same whatever policy is at work.

use super::memo::Memo;
use crate::PageId;
use crate::estimate::{Estimate, Evidence, HostPrior, Imputation, Learning, Observation, Prior};
use crate::policy::Outcome;

/// Evidence loses half of its weight in so many visits.
const VISITS_TO_FORGET_HALF: f64 = 40.0;
/// A host with so many pages speaks for itself.
const OWN_PRIOR: u32 = 8;

#[derive(Clone, Copy, Debug)]
struct Page {
    evidence: Evidence,
    host: u32,
    visits: u32,
    /// The last visit; NaN for a page that is none any more.
    last: f64,
}

/// Beliefs on pages, by the policy's numbers.
#[derive(Debug)]
pub(super) struct Beliefs {
    pages: Vec<Page>,
    hosts: Vec<HostPrior>,
    all: HostPrior,
    guess: Prior,
}

/// What is believed of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Belief {
    /// Changes per second, with the 95 % interval.
    pub rate: Estimate,
    /// Visits that had an answer, the first included.
    pub visits: u32,
    /// The last of them.
    pub last_visit: f64,
}

/// How fresh the copies are, by the model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimated {
    /// The share of copies that are what their servers have now.
    pub freshness: f64,
    /// Pages with a copy.
    pub copies: usize,
    /// Those visited once: what is believed of them is their host's average.
    pub never_revisited: usize,
}

impl Beliefs {
    /// Nothing is known but a guess, in changes per second.
    pub fn new(guess: f64) -> Self {
        let guess = Prior {
            alpha: 0.5,
            beta: 0.5 / guess,
        };
        Self {
            pages: Vec::new(),
            hosts: Vec::new(),
            all: HostPrior::new(guess),
            guess,
        }
    }

    /// A page that has a copy, the one with this number, and what is known of it.
    pub fn add(&mut self, page: PageId, host: u32, memo: &Memo) {
        let added = Page {
            evidence: memo.evidence,
            host,
            visits: memo.visits,
            last: memo.last,
        };
        if self.pages.len() <= page.index() {
            let vacant = Page {
                last: f64::NAN,
                ..added
            };
            self.pages.resize(page.index() + 1, vacant);
        }
        self.pages[page.index()] = added;
        while self.hosts.len() <= host as usize {
            self.hosts.push(HostPrior::new(self.guess));
        }
        self.hosts[host as usize].add(added.evidence);
        self.all.add(added.evidence);
    }

    pub fn remove(&mut self, page: PageId) {
        let page = &mut self.pages[page.index()];
        page.last = f64::NAN;
        let evidence = std::mem::take(&mut page.evidence);
        self.hosts[page.host as usize].remove(evidence);
        self.all.remove(evidence);
    }

    /// A later visit that had an answer.
    pub fn observe(&mut self, page: PageId, at: f64, outcome: Outcome<'_>) {
        let before = self.pages[page.index()];
        let interval = at - before.last;
        let observation = match outcome {
            _ if interval.is_nan() || interval <= 0.0 => return,
            Outcome::Failed => return,
            Outcome::Unchanged => Observation::Unchanged,
            Outcome::Changed => Observation::Changed,
            Outcome::LastModified(modified) => Observation::LastModified { age: at - modified },
            Outcome::History(changes) => Observation::History {
                changes: changes.len() as u32,
            },
        };
        let learning = Learning {
            half_life: VISITS_TO_FORGET_HALF * interval,
            imputation: Imputation::default(),
        };
        let prior = self.prior(before.host);
        let after = learning.observe(before.evidence, prior, interval, observation);
        self.hosts[before.host as usize].replace(before.evidence, after);
        self.all.replace(before.evidence, after);
        self.pages[page.index()] = Page {
            evidence: after,
            visits: before.visits.saturating_add(1),
            last: at,
            ..before
        };
    }

    fn prior(&self, host: u32) -> Prior {
        let host = &self.hosts[host as usize];
        if host.pages() >= OWN_PRIOR {
            host.prior()
        } else {
            self.all.prior()
        }
    }

    pub fn memo(&self, page: PageId) -> Memo {
        let page = &self.pages[page.index()];
        Memo {
            visits: page.visits,
            evidence: page.evidence,
            ..Memo::new(page.last)
        }
    }

    pub fn last_visit(&self, page: PageId) -> f64 {
        self.pages[page.index()].last
    }

    pub fn belief(&self, page: PageId) -> Belief {
        let page = &self.pages[page.index()];
        Belief {
            rate: page.evidence.estimate(self.prior(page.host)),
            visits: page.visits,
            last_visit: page.last,
        }
    }

    /// The mean of `e^{−λt}` over what is believed of λ.
    pub fn chance_fresh(&self, page: PageId, now: f64) -> f64 {
        let page = &self.pages[page.index()];
        let prior = self.prior(page.host);
        let alpha = prior.alpha + page.evidence.events();
        let beta = prior.beta + page.evidence.exposure();
        let age = (now - page.last).max(0.0);
        (beta / (beta + age)).powf(alpha)
    }

    /// Over all copies, or over an even sample of them when they are many.
    pub fn estimated(&self, now: f64, sample: usize) -> Estimated {
        let step = (self.pages.len() / sample.max(1)).max(1);
        let mut estimated = Estimated::default();
        for (page, known) in self.pages.iter().enumerate().step_by(step) {
            if known.last.is_nan() {
                continue;
            }
            estimated.freshness += self.chance_fresh(PageId(page as u32), now);
            estimated.copies += 1;
            estimated.never_revisited += usize::from(known.visits == 1);
        }
        if estimated.copies > 0 {
            estimated.freshness /= estimated.copies as f64;
        }
        estimated.copies *= step;
        estimated.never_revisited *= step;
        estimated
    }
}
