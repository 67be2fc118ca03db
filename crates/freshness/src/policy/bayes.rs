//! research
use super::lomax;
use super::market::Appetite;
use super::priced::Worth;
use super::{Knowledge, Outcome, Setup};
use crate::estimate::{Evidence, HostPrior, Imputation, Learning, Observation, Prior};
use crate::{PageId, ServerId};

pub(super) fn env(name: &str, default: f64) -> f64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

pub(super) struct Bayes {
    evidence: Vec<Evidence>,
    last: Vec<f64>,
    weight: Vec<f64>,
    server: Vec<u32>,
    prior: Vec<Prior>,
    hosts: Vec<HostPrior>,
    cached: Vec<f64>,
    learning: Learning,
    amax: f64,
    ceiling: f64,
    host_prior: bool,
}

impl Bayes {
    pub fn new(setup: &Setup) -> Self {
        let n = setup.server.len();
        let guess = match setup.knowledge { Knowledge::Online { guess } => guess, Knowledge::Known { rate, .. } => rate.iter().sum::<f64>() / n as f64 };
        let a0 = env("A0", 0.5);
        let prior = Prior { alpha: a0, beta: a0 / guess };
        let round = n as f64 / setup.budget;
        let mut hosts = vec![HostPrior::new(prior); if env("ONEHOST", 1.0) > 0.0 { 1 } else { setup.delay.len() }];
        for &s in setup.server { let h = hosts.len(); hosts[s as usize % h].add(Evidence::default()); }
        Self {
            evidence: vec![Evidence::default(); n],
            last: vec![f64::NAN; n],
            weight: vec![1.0; n],
            server: setup.server.to_vec(),
            prior: vec![prior; n],
            hosts,
            cached: vec![guess; n],
            learning: Learning { half_life: env("HALF", 20.0) * round, imputation: Imputation::default() },
            amax: env("AMAX", 1e9),
            ceiling: env("CEIL", 10.0) * round,
            host_prior: env("HOSTPRIOR", 1.0) > 0.0,
        }
    }
    fn posterior(&self, page: PageId) -> (f64, f64) {
        let e = self.evidence[page.index()];
        let p = self.prior[page.index()];
        let (a, b) = (p.alpha + e.events(), p.beta + e.exposure());
        if a > self.amax { (self.amax, b * self.amax / a) } else { (a, b) }
    }
}

impl Appetite for Bayes {
    fn visits_per_change(&self, rho: f64) -> (f64, f64) {
        // alpha about 2, beta = 2/rate
        let a = 2.0;
        let f = |rho: f64| { let d = a * lomax::delay(a, rho / a); if d.is_finite() { 1.0 / d } else { 0.0 } };
        let v = f(rho);
        let h = 1e-4;
        let v2 = f(rho * (1.0 + h));
        (v, (v2 - v) / h)
    }
    fn reserve(&self) -> f64 { 2.0 }
}

impl Worth for Bayes {
    fn delay(&self, page: PageId, price: f64) -> f64 {
        let (a, b) = self.posterior(page);
        (b * lomax::delay(a, price / (self.weight[page.index()] * b))).min(self.ceiling)
    }
    fn last_visit(&self, page: PageId) -> Option<f64> { let l = self.last[page.index()]; (!l.is_nan()).then_some(l) }
    fn rate(&self, page: PageId) -> f64 { self.cached[page.index()] }
    fn weight(&self, page: PageId) -> f64 { self.weight[page.index()] }
    fn learn(&mut self, page: PageId, server: ServerId, at: f64, outcome: Outcome<'_>) {
        let i = page.index();
        let prev = std::mem::replace(&mut self.last[i], at);
        if let Some((interval, o)) = super::beliefs::as_evidence(prev, at, outcome) {
            let before = self.evidence[i];
            let after = self.learning.observe(before, self.prior[i], interval, o);
            let h = server.index() % self.hosts.len();
            self.hosts[h].replace(before, after);
            self.evidence[i] = after;
            if self.host_prior { self.prior[i] = self.hosts[h].prior(); }
        }
        let (a, b) = self.posterior(page);
        self.cached[i] = a / b;
    }
    fn signal(&mut self, _: PageId, _: ServerId) -> f64 { 0.0 }
    fn add(&mut self, page: PageId, server: ServerId, weight: f64, _: Option<f64>) {
        let i = page.index();
        if i == self.evidence.len() {
            self.evidence.push(Evidence::default()); self.last.push(f64::NAN); self.weight.push(weight); self.server.push(server.0);
            self.prior.push(self.prior[0]); self.cached.push(1.0);
        }
        self.weight[i] = weight;
    }
    fn remove(&mut self, page: PageId, _: ServerId) { self.weight[page.index()] = 0.0; }
    fn add_server(&mut self) {}
}
