//! research
use super::bayes::env;
use super::lomax;
use super::market::Appetite;
use super::priced::Worth;
use super::{Knowledge, Outcome, Setup};
use crate::estimate::{Evidence, HostPrior, Imputation, Learning, Prior};
use crate::{PageId, ServerId};

#[derive(Clone, Copy)]
struct Obs { f1: f32, f2: f32, x: f32, kind: u8 } // 0 unchanged, 1 changed by x, 2 exact x

struct Fit { p: [f64; 4], prior: [f64; 4], ring: Vec<Obs>, at: usize }
const PREC: [f64; 4] = [4.0, 1.0, 10.0, 10.0];

impl Fit {
    fn alpha_beta(&self, f1: f64, f2: f64) -> (f64, f64) {
        (self.p[0].exp().clamp(0.05, 50.0), (self.p[1] + self.p[2] * f1 + self.p[3] * f2).clamp(-30.0, 30.0).exp())
    }
    fn push(&mut self, o: Obs) {
        let cap = env("RING", 4096.0) as usize;
        if self.ring.len() < cap { self.ring.push(o) } else { self.ring[self.at] = o; self.at = (self.at + 1) % cap; }
    }
    fn refit(&mut self) {
        for _ in 0..4 {
            let mut g = [0.0; 4];
            let mut h = [[0.0; 4]; 4];
            for o in &self.ring {
                let (a, b) = self.alpha_beta(f64::from(o.f1), f64::from(o.f2));
                let x = f64::from(o.x).max(1e-6);
                let q = (x / b).ln_1p();
                let m = x / (b + x);
                let (da, db) = match o.kind {
                    0 => (-a * q, a * m),
                    1 => { let s = (-a * q).exp(); let k = -s / (1.0 - s).max(1e-12); (k * -a * q, k * a * m) }
                    _ => (1.0 - a * q, -1.0 + (a + 1.0) * m),
                };
                let v = [da, db, db * f64::from(o.f1), db * f64::from(o.f2)];
                for i in 0..4 { g[i] += v[i]; for j in 0..4 { h[i][j] += v[i] * v[j]; } }
            }
            let mut prec = PREC; prec[2] = env("PREC1", 10.0); for i in 0..4 { g[i] -= prec[i] * (self.p[i] - self.prior[i]); h[i][i] += prec[i]; }
            // solve h d = g
            let mut m = h; let mut d = g;
            for i in 0..4 { let p = m[i][i].max(1e-9); for j in i + 1..4 { let f = m[j][i] / p; for k in i..4 { m[j][k] -= f * m[i][k]; } d[j] -= f * d[i]; } }
            for i in (0..4).rev() { for j in i + 1..4 { d[i] -= m[i][j] * d[j]; } d[i] /= m[i][i].max(1e-9); }
            let big = d.iter().fold(0.0f64, |a, b| a.max(b.abs()));
            let s = if big > 0.5 { 0.5 / big } else { 1.0 };
            for i in 0..4 { self.p[i] += s * d[i]; }
        }
    }
}

pub(super) struct Lindy {
    evidence: Vec<Evidence>, last: Vec<f64>, changed: Vec<f64>, weight: Vec<f64>, rate: Vec<f64>,
    hosts: Vec<HostPrior>, learning: Learning, ceiling: f64, fit: Fit, start: f64, visits: usize, debug: bool,
}

impl Lindy {
    pub fn new(setup: &Setup) -> Self {
        let n = setup.server.len();
        let guess = match setup.knowledge { Knowledge::Online { guess } => guess, Knowledge::Known { rate, .. } => rate.iter().sum::<f64>() / n as f64 };
        let a0 = env("A0", 0.5);
        let prior = Prior { alpha: a0, beta: a0 / guess };
        let round = n as f64 / setup.budget;
        let mut hosts = vec![HostPrior::new(prior); if env("ONEHOST", 1.0) > 0.0 { 1 } else { setup.delay.len() }];
        for &s in setup.server { let h = hosts.len(); hosts[s as usize % h].add(Evidence::default()); }
        let p = [env("PA", 0.2), env("P0", 0.0), env("P1", 0.4), env("P2", 0.6)];
        Self { evidence: vec![Evidence::default(); n], last: vec![f64::NAN; n], changed: vec![f64::NAN; n], weight: vec![1.0; n], rate: vec![guess; n], hosts,
            learning: Learning { half_life: env("HALF", 20.0) * round, imputation: Imputation::default() }, ceiling: env("CEIL", 10.0) * round,
            fit: Fit { p, prior: p, ring: vec![], at: 0 }, start: setup.start, visits: 0, debug: env("DEBUG", 0.0) > 0.0 }
    }
    fn features(&self, i: usize) -> (f64, f64) {
        let age = if self.changed[i].is_nan() { 1.0 / self.rate[i] } else { self.last[i] - self.changed[i] };
        ((age.max(0.0) + 1e-3).ln(), -self.rate[i].ln())
    }
}

impl Appetite for Lindy {
    fn visits_per_change(&self, rho: f64) -> (f64, f64) {
        let a = self.fit.p[0].exp().clamp(0.05, 50.0);
        let f = |rho: f64| { let d = a * lomax::delay(a, rho / a); if d.is_finite() { 1.0 / d } else { 0.0 } };
        let v = f(rho); let h = 1e-4; let v2 = f(rho * (1.0 + h));
        (v, (v2 - v) / h)
    }
    fn reserve(&self) -> f64 { let a = self.fit.p[0].exp().clamp(0.05, 50.0); if a <= 1.0 { f64::INFINITY } else { a / (a - 1.0) } }
}

impl Worth for Lindy {
    fn delay(&self, page: PageId, price: f64) -> f64 {
        let i = page.index();
        let (f1, f2) = self.features(i);
        let (a, b) = self.fit.alpha_beta(f1, f2);
        (b * lomax::delay(a, price / (self.weight[i] * b))).min(self.ceiling)
    }
    fn last_visit(&self, page: PageId) -> Option<f64> { let l = self.last[page.index()]; (!l.is_nan()).then_some(l) }
    fn rate(&self, page: PageId) -> f64 { self.rate[page.index()] }
    fn weight(&self, page: PageId) -> f64 { self.weight[page.index()] }
    fn learn(&mut self, page: PageId, server: ServerId, at: f64, outcome: Outcome<'_>) {
        let i = page.index();
        let prev = self.last[i];
        if !prev.is_nan() {
            let (f1, f2) = self.features(i);
            let x = at - prev;
            let (x, kind) = match outcome {
                Outcome::Unchanged => (x, 0), Outcome::Changed => (x, 1),
                Outcome::LastModified(m) => if m > prev { (m - prev, 1) } else { (x, 0) },
                Outcome::History(c) => if c.is_empty() { (x, 0) } else { (c[0] - prev, 2) },
                Outcome::Failed => (0.0, 9) };
            self.fit.push(Obs { f1: f1 as f32, f2: f2 as f32, x: x as f32, kind });
        }
        self.last[i] = at;
        let interval = at - prev;
        match outcome {
            Outcome::LastModified(m) => self.changed[i] = m,
            Outcome::History(c) => if let Some(&m) = c.last() { self.changed[i] = m },
            Outcome::Changed if !prev.is_nan() => self.changed[i] = at - 0.5 * interval.min(1.0 / self.rate[i]),
            _ => if self.changed[i].is_nan() { self.changed[i] = self.start.min(at - 1.0 / self.rate[i]) },
        }
        if let Some((interval, o)) = super::beliefs::as_evidence(prev, at, outcome) {
            let h = server.index() % self.hosts.len();
            let before = self.evidence[i];
            let after = self.learning.observe(before, self.hosts[h].prior(), interval, o);
            self.hosts[h].replace(before, after);
            self.evidence[i] = after;
            self.rate[i] = after.rate(self.hosts[h].prior());
        }
        self.visits += 1;
    }
    fn refresh(&mut self, now: f64) -> bool {
        self.fit.refit();
        if self.debug && self.visits % 7 == 0 { eprintln!("{now:.1} {:?}", self.fit.p); }
        false
    }
    fn signal(&mut self, _: PageId, _: ServerId) -> f64 { 0.0 }
    fn add(&mut self, page: PageId, server: ServerId, weight: f64, _: Option<f64>) { self.weight[page.index()] = weight; }
    fn remove(&mut self, page: PageId, _: ServerId) { self.weight[page.index()] = 0.0; }
    fn add_server(&mut self) {}
}
