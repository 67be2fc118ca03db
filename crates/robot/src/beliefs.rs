//! What is believed of every page that was fetched: how fast it changes, how fresh our copy is.
//!
//! Kept apart from the revisit policy, so that the estimate is the same whatever policy is at
//! work, and so that a policy can be told after a restart what was known before.

use freshness::estimate::{Evidence, HostPrior, Imputation, Learning, Observation, Prior};

/// Evidence loses half of its weight in so many visits.
const VISITS_TO_FORGET_HALF: f64 = 40.0;
/// A host with so many pages speaks for itself.
const OWN_PRIOR: u32 = 8;

#[derive(Clone, Copy, Debug)]
struct Belief {
    evidence: Evidence,
    host: u32,
    visits: u32,
    /// The last visit; NaN for a page that is none any more.
    last: f64,
}

/// Beliefs on pages, which have dense numbers of their own here.
#[derive(Debug)]
pub(crate) struct Beliefs {
    pages: Vec<Belief>,
    hosts: Vec<HostPrior>,
    all: HostPrior,
    guess: Prior,
}

/// How fresh the copies are, by the model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Estimated {
    pub freshness: f64,
    pub copies: usize,
    /// Copies of pages visited once: what is believed of them is their host's average.
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

    /// The first visit to a page, the one with this number.
    pub fn add(&mut self, page: u32, host: u32, at: f64) {
        let belief = Belief {
            evidence: Evidence::default(),
            host,
            visits: 1,
            last: at,
        };
        if page as usize == self.pages.len() {
            self.pages.push(belief);
        } else {
            self.pages[page as usize] = belief;
        }
        while self.hosts.len() <= host as usize {
            self.hosts.push(HostPrior::new(self.guess));
        }
        self.hosts[host as usize].add(belief.evidence);
        self.all.add(belief.evidence);
    }

    pub fn remove(&mut self, page: u32) {
        let belief = &mut self.pages[page as usize];
        belief.last = f64::NAN;
        let evidence = std::mem::take(&mut belief.evidence);
        self.hosts[belief.host as usize].remove(evidence);
        self.all.remove(evidence);
    }

    /// A later visit: whether the page had changed, and when, if that is known.
    pub fn observe(&mut self, page: u32, at: f64, changed: bool, modified: Option<f64>) {
        let belief = self.pages[page as usize];
        let interval = at - belief.last;
        if interval.is_nan() || interval <= 0.0 {
            return;
        }
        let observation = match modified {
            Some(modified) if changed => Observation::LastModified { age: at - modified },
            _ if changed => Observation::Changed,
            _ => Observation::Unchanged,
        };
        let learning = Learning {
            half_life: VISITS_TO_FORGET_HALF * interval,
            imputation: Imputation::default(),
        };
        let after = learning.observe(
            belief.evidence,
            self.prior(belief.host),
            interval,
            observation,
        );
        self.hosts[belief.host as usize].replace(belief.evidence, after);
        self.all.replace(belief.evidence, after);
        self.pages[page as usize] = Belief {
            evidence: after,
            visits: belief.visits + 1,
            last: at,
            ..belief
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

    pub fn evidence(&self, page: u32) -> Evidence {
        self.pages[page as usize].evidence
    }

    pub fn last_visit(&self, page: u32) -> f64 {
        self.pages[page as usize].last
    }

    /// The change rate with its interval, per second.
    pub fn rate(&self, page: u32) -> freshness::estimate::Estimate {
        let belief = &self.pages[page as usize];
        belief.evidence.estimate(self.prior(belief.host))
    }

    /// The chance that the copy is what the server has now: the mean of `e^{−λt}` over what is
    /// believed of λ.
    pub fn chance_fresh(&self, page: u32, now: f64) -> f64 {
        let belief = &self.pages[page as usize];
        let prior = self.prior(belief.host);
        let alpha = prior.alpha + belief.evidence.events();
        let beta = prior.beta + belief.evidence.exposure();
        let age = (now - belief.last).max(0.0);
        (beta / (beta + age)).powf(alpha)
    }

    /// Over all copies, or over an even sample of them when they are many.
    pub fn estimated(&self, now: f64, sample: usize) -> Estimated {
        let step = (self.pages.len() / sample.max(1)).max(1);
        let mut estimated = Estimated::default();
        for page in (0..self.pages.len()).step_by(step) {
            let belief = &self.pages[page];
            if belief.last.is_nan() {
                continue;
            }
            estimated.freshness += self.chance_fresh(page as u32, now);
            estimated.copies += 1;
            estimated.never_revisited += usize::from(belief.visits == 1);
        }
        if estimated.copies > 0 {
            estimated.freshness /= estimated.copies as f64;
        }
        estimated.copies *= step;
        estimated.never_revisited *= step;
        estimated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_changes_at_every_visit_is_soon_held_for_stale() {
        let mut beliefs = Beliefs::new(1e-3);
        beliefs.add(0, 0, 0.0);
        beliefs.add(1, 0, 0.0);
        for visit in 1..=30 {
            let at = f64::from(visit) * 100.0;
            beliefs.observe(0, at, true, None);
            beliefs.observe(1, at, false, None);
        }
        assert!(beliefs.chance_fresh(0, 3100.0) < 0.3);
        assert!(beliefs.chance_fresh(1, 3100.0) > 0.9);
        let estimated = beliefs.estimated(3100.0, 1000);
        assert_eq!((estimated.copies, estimated.never_revisited), (2, 0));
        beliefs.remove(0);
        assert_eq!(beliefs.estimated(3100.0, 1000).copies, 1);
    }

    #[test]
    fn estimates_are_calibrated_under_poisson_changes() {
        // every page at rate 1, visited every second: fresh half a second later with e^{-½}
        let mut beliefs = Beliefs::new(0.1);
        let mut state = 1u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        for page in 0..200 {
            beliefs.add(page, 0, 0.0);
        }
        for visit in 1..=30 {
            for page in 0..200 {
                let changed = random() > (-1.0f64).exp();
                beliefs.observe(page, f64::from(visit), changed, None);
            }
        }
        let estimated = beliefs.estimated(30.5, 1000).freshness;
        assert!((estimated - (-0.5f64).exp()).abs() < 0.03, "{estimated}");
    }
}
