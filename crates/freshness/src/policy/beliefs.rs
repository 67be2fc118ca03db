//! What a policy holds to be true of its pages: rates, weights, last visits.

use super::{Knowledge, Outcome, Setup};
use crate::estimate::{Evidence, HostPrior, Prior, forgetting, observation};
use crate::record::{Reader, Writer};
use crate::{PageId, ServerId};

/// Rates of pages differ by orders of magnitude: the prior weighs as much as half a change.
const PRIOR_CHANGES: f64 = 0.5;
/// Evidence loses half of its weight in the time of this many visits to an average page: long
/// enough to tell rates apart, short enough to follow their drift.
const ROUNDS_TO_FORGET_HALF: f64 = 20.0;

/// Sixteen bytes a page; eight more where rates are learnt.
#[derive(Clone, Debug)]
pub(super) struct Beliefs {
    pages: Vec<Belief>,
    learner: Option<Learner>,
}

/// What a visit asks for stands together: pages are visited in no order that memory knows.
#[derive(Clone, Copy, Debug)]
struct Belief {
    rate: f32,
    weight: f32,
    /// The last visit; NaN before the first.
    last: f64,
}

/// Learns rates from visits.
#[derive(Clone, Debug)]
struct Learner {
    half_life: f64,
    evidence: Vec<Evidence>,
    hosts: Vec<HostPrior>,
    global: Prior,
}

impl Beliefs {
    pub fn new(setup: &Setup) -> Self {
        let (known, guess) = match setup.knowledge {
            Knowledge::Known { rate, .. } => (Some(rate), 0.0),
            Knowledge::Online { guess } => (None, guess),
        };
        let belief = |page: usize| Belief {
            rate: known.map_or(guess, |rate| rate[page]) as f32,
            weight: setup.weight.map_or(1.0, |weight| weight[page]) as f32,
            last: f64::NAN,
        };
        Self {
            pages: (0..setup.server.len()).map(belief).collect(),
            learner: known.is_none().then(|| Learner::new(setup, guess)),
        }
    }

    pub fn rate(&self, page: PageId) -> f64 {
        f64::from(self.pages[page.index()].rate)
    }

    pub fn weigh(&mut self, page: PageId, weight: f64) {
        self.pages[page.index()].weight = weight as f32;
    }

    pub fn weight(&self, page: PageId) -> f64 {
        f64::from(self.pages[page.index()].weight)
    }

    pub fn last_visit(&self, page: PageId) -> Option<f64> {
        let last = self.pages[page.index()].last;
        (!last.is_nan()).then_some(last)
    }

    /// Whether rates come from visits and may be wrong.
    pub fn learns(&self) -> bool {
        self.learner.is_some()
    }

    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// All rates and weights, as allocations take them.
    pub fn arrays(&self) -> (Vec<f64>, Vec<f64>) {
        let wide = |belief: &Belief| (f64::from(belief.rate), f64::from(belief.weight));
        self.pages.iter().map(wide).unzip()
    }

    /// Takes in what came of a visit; a failure says nothing.
    pub fn observe(&mut self, page: PageId, server: ServerId, at: f64, outcome: Outcome<'_>) {
        if outcome == Outcome::Failed {
            return;
        }
        let index = page.index();
        let previous = self.last_visit(page);
        self.pages[index].last = at;
        let Some(learner) = &mut self.learner else {
            return;
        };
        let Some((interval, observation)) = observation(previous, at, outcome) else {
            return;
        };
        let host = &mut learner.hosts[server.index()];
        let before = learner.evidence[index];
        let prior = host.prior();
        let after = forgetting(learner.half_life, before, prior, interval, observation);
        host.replace(before, after);
        learner.evidence[index] = after;
        self.pages[index].rate = after.rate(host.prior()) as f32;
    }

    pub fn add(&mut self, page: PageId, server: ServerId, weight: f64, known: Option<Evidence>) {
        let evidence = known.unwrap_or_default();
        let rate = match (&self.learner, known) {
            (Some(learner), _) => evidence.rate(learner.hosts[server.index()].prior()),
            (None, Some(known)) => known.events() / known.exposure().max(f64::MIN_POSITIVE),
            // nothing known and nothing to learn from: as an average page
            (None, None) => {
                let rates = self.pages.iter().map(|belief| f64::from(belief.rate));
                rates.sum::<f64>() / self.pages.len().max(1) as f64
            }
        };
        let belief = Belief {
            rate: rate as f32,
            weight: weight as f32,
            last: f64::NAN,
        };
        self.put(page, server, belief, evidence);
    }

    /// The time of one visit to each page, which sets how long evidence counts.
    pub fn set_round(&mut self, round: f64) {
        if let Some(learner) = &mut self.learner {
            learner.half_life = ROUNDS_TO_FORGET_HALF * round;
        }
    }

    pub fn remove(&mut self, page: PageId, server: ServerId) {
        let index = page.index();
        self.pages[index].weight = 0.0;
        self.pages[index].rate = 0.0;
        if let Some(learner) = &mut self.learner {
            let evidence = std::mem::take(&mut learner.evidence[index]);
            learner.hosts[server.index()].remove(evidence);
        }
    }

    /// Writes down what is known of a page.
    pub fn memo(&self, page: PageId, to: &mut Writer) {
        let Belief { rate, last, .. } = self.pages[page.index()];
        let evidence = self
            .learner
            .as_ref()
            .map(|learner| learner.evidence[page.index()]);
        let evidence = evidence.unwrap_or_default();
        to.f32(rate);
        to.f64(last);
        to.f32(evidence.events() as f32);
        to.f32(evidence.exposure() as f32);
    }

    /// Adds a page of which that was written, whatever its number.
    pub fn restore(
        &mut self,
        page: PageId,
        server: ServerId,
        weight: f64,
        from: &mut Reader,
    ) -> Option<()> {
        let positive = |value: &f32| *value > 0.0;
        let belief = Belief {
            rate: from.small_amount().filter(positive)?,
            weight: weight as f32,
            last: from.f64()?,
        };
        let (events, exposure) = (from.small_amount()?, from.small_amount()?);
        let evidence = Evidence::new(events.into(), exposure.into());
        from.is_over()
            .then(|| self.put(page, server, belief, evidence))
    }

    /// A page more, whatever its number.
    fn put(&mut self, page: PageId, server: ServerId, belief: Belief, evidence: Evidence) {
        let index = page.index();
        if self.pages.len() <= index {
            let vacant = Belief {
                rate: 0.0,
                weight: 0.0,
                last: f64::NAN,
            };
            self.pages.resize(index + 1, vacant);
        }
        self.pages[index] = belief;
        if let Some(learner) = &mut self.learner {
            learner
                .evidence
                .resize(self.pages.len(), Evidence::default());
            learner.evidence[index] = evidence;
            learner.hosts[server.index()].add(evidence);
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
            half_life: ROUNDS_TO_FORGET_HALF * round,
            evidence: vec![Evidence::default(); setup.server.len()],
            hosts,
            global,
        }
    }
}
