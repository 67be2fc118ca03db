//! What a policy holds to be true of its pages: rates, weights, last visits.

use super::{Knowledge, Outcome, Setup};
use crate::estimate::{Evidence, HostPrior, Imputation, Learning, Observation, Prior};
use crate::{PageId, ServerId};

/// Rates of pages differ by orders of magnitude: the prior weighs as much as half a change.
const PRIOR_CHANGES: f64 = 0.5;
/// Evidence loses half of its weight in the time of this many visits to an average page: long
/// enough to tell rates apart, short enough to follow their drift.
const ROUNDS_TO_FORGET_HALF: f64 = 20.0;

/// Sixteen bytes a page; eight more where rates are learnt.
#[derive(Clone, Debug)]
pub(super) struct Beliefs {
    rate: Vec<f32>,
    weight: Vec<f32>,
    last: Vec<f64>,
    learner: Option<Learner>,
}

/// Learns rates from visits.
#[derive(Clone, Debug)]
struct Learner {
    learning: Learning,
    evidence: Vec<Evidence>,
    hosts: Vec<HostPrior>,
    global: Prior,
}

impl Beliefs {
    pub fn new(setup: &Setup) -> Self {
        let pages = setup.server.len();
        let (rate, learner) = match setup.knowledge {
            Knowledge::Known { rate, .. } => (rate.iter().map(|&r| r as f32).collect(), None),
            Knowledge::Online { guess } => {
                (vec![guess as f32; pages], Some(Learner::new(setup, guess)))
            }
        };
        Self {
            rate,
            weight: match setup.weight {
                Some(weight) => weight.iter().map(|&w| w as f32).collect(),
                None => vec![1.0; pages],
            },
            last: vec![f64::NAN; pages],
            learner,
        }
    }

    pub fn rate(&self, page: PageId) -> f64 {
        f64::from(self.rate[page.index()])
    }

    pub fn weight(&self, page: PageId) -> f64 {
        f64::from(self.weight[page.index()])
    }

    pub fn last_visit(&self, page: PageId) -> Option<f64> {
        let last = self.last[page.index()];
        (!last.is_nan()).then_some(last)
    }

    /// Whether rates come from visits and may be wrong.
    pub fn learns(&self) -> bool {
        self.learner.is_some()
    }

    pub fn len(&self) -> usize {
        self.rate.len()
    }

    /// All rates and weights, as allocations take them.
    pub fn arrays(&self) -> (Vec<f64>, Vec<f64>) {
        let wide = |values: &[f32]| values.iter().map(|&value| f64::from(value)).collect();
        (wide(&self.rate), wide(&self.weight))
    }

    /// Takes in what came of a visit; a failure says nothing.
    pub fn observe(&mut self, page: PageId, server: ServerId, at: f64, outcome: Outcome<'_>) {
        if outcome == Outcome::Failed {
            return;
        }
        let index = page.index();
        let previous = std::mem::replace(&mut self.last[index], at);
        let Some(learner) = &mut self.learner else {
            return;
        };
        let Some((interval, observation)) = as_evidence(previous, at, outcome) else {
            return;
        };
        let host = &mut learner.hosts[server.index()];
        let before = learner.evidence[index];
        let after = learner
            .learning
            .observe(before, host.prior(), interval, observation);
        host.replace(before, after);
        learner.evidence[index] = after;
        self.rate[index] = after.rate(host.prior()) as f32;
    }

    pub fn add(&mut self, page: PageId, server: ServerId, weight: f64, rate: Option<f64>) {
        let index = page.index();
        let expected = self
            .learner
            .as_ref()
            .map(|learner| learner.hosts[server.index()].prior().mean());
        // nothing known and nothing to learn from: as an average page
        let rate = rate.or(expected).unwrap_or_else(|| {
            self.rate.iter().map(|&r| f64::from(r)).sum::<f64>() / self.rate.len().max(1) as f64
        });
        if index == self.rate.len() {
            self.rate.push(0.0);
            self.weight.push(0.0);
            self.last.push(f64::NAN);
            if let Some(learner) = &mut self.learner {
                learner.evidence.push(Evidence::default());
            }
        }
        self.rate[index] = rate as f32;
        self.weight[index] = weight as f32;
        self.last[index] = f64::NAN;
        if let Some(learner) = &mut self.learner {
            learner.evidence[index] = Evidence::default();
            learner.hosts[server.index()].add(Evidence::default());
        }
    }

    pub fn remove(&mut self, page: PageId, server: ServerId) {
        let index = page.index();
        self.weight[index] = 0.0;
        self.rate[index] = 0.0;
        if let Some(learner) = &mut self.learner {
            let evidence = std::mem::take(&mut learner.evidence[index]);
            learner.hosts[server.index()].remove(evidence);
        }
    }

    pub fn add_server(&mut self) {
        if let Some(learner) = &mut self.learner {
            learner.hosts.push(HostPrior::new(learner.global));
        }
    }
}

impl Learner {
    fn new(setup: &Setup, guess: f64) -> Self {
        let global = Prior {
            alpha: PRIOR_CHANGES,
            beta: PRIOR_CHANGES / guess,
        };
        let mut hosts = vec![HostPrior::new(global); setup.delay.len()];
        for &s in setup.server {
            hosts[s as usize].add(Evidence::default());
        }
        let round = setup.server.len() as f64 / setup.budget;
        Self {
            learning: Learning {
                half_life: ROUNDS_TO_FORGET_HALF * round,
                imputation: Imputation::default(),
            },
            evidence: vec![Evidence::default(); setup.server.len()],
            hosts,
            global,
        }
    }
}

/// The interval that a visit tells of, and what it tells; nothing for a first visit that does not
/// date the content.
pub(super) fn as_evidence(
    previous: f64,
    at: f64,
    outcome: Outcome<'_>,
) -> Option<(f64, Observation)> {
    if previous.is_nan() {
        // the age of the content on a first visit counts as one change that long ago
        let dated = match outcome {
            Outcome::LastModified(modified) => Some(modified),
            Outcome::History(changes) => changes.last().copied(),
            _ => None,
        };
        let age = at - dated?;
        return Some((age, Observation::LastModified { age }));
    }
    let observation = match outcome {
        Outcome::Failed => return None,
        Outcome::Unchanged => Observation::Unchanged,
        Outcome::Changed => Observation::Changed,
        Outcome::LastModified(modified) => Observation::LastModified { age: at - modified },
        Outcome::History(changes) => Observation::History {
            changes: changes.len() as u32,
        },
    };
    Some((at - previous, observation))
}
