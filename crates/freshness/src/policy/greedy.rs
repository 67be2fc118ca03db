//! GREEDY: each slot of a server takes the page whose copy is most likely to be stale now and to
//! stay fresh for long after the visit.

mod printed;

use super::beliefs::Beliefs;
use super::lifetime::{Appeared, Lifetime};
use super::queue::Agenda;
use super::{Change, Knowledge, Next, Outcome, Policy, Setup};
use crate::allocate::{self, Allocation, Pages, Problem};
use crate::gap::{Gap, Histogram};
use crate::{PageId, ServerId};
use printed::Printed;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// How the index is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Given what is known of the content's age, and integrated.
    Conditional,
    /// As it was printed; the other where no gaps are known.
    Printed,
}

/// What GREEDY knows of a page, best promise first in its server's list.
struct Candidate {
    page: PageId,
    weight: f64,
    /// At least what a visit can ever gain.
    promise: f64,
    rate: f64,
    last: f64,
    appeared: Appeared,
    /// Apart, so that a look through the list stays short.
    life: Option<Box<Lifetime>>,
    /// Its index as printed, where that is asked for and gaps are known.
    printed: Option<Box<Printed>>,
}

struct Server {
    candidates: Vec<Candidate>,
    slot: f64,
    rate: f64,
    delay: f64,
    free: f64,
}

pub(super) struct Greedy {
    servers: Vec<Server>,
    agenda: Agenda,
    beliefs: Beliefs,
    server: Vec<u32>,
    /// Where each page stands in its server's list.
    place: Vec<u32>,
    budget: f64,
    rng: Xoshiro256PlusPlus,
    visits_to_plan: usize,
    stale_plan: bool,
}

impl Candidate {
    fn new(page: PageId, life: Option<Lifetime>) -> Self {
        Self {
            page,
            weight: 0.0,
            promise: 0.0,
            rate: 0.0,
            last: f64::NEG_INFINITY,
            appeared: Appeared::EVER,
            life: life.map(Box::new),
            printed: None,
        }
    }

    /// `E[next change − now | changed since last visit]·Pr[changed since last visit]`.
    fn index(&self, now: f64, rng: &mut Xoshiro256PlusPlus) -> f64 {
        let elapsed = now - self.last;
        if let Some(printed) = &self.printed {
            return self.weight * printed.index(self.last, now, rng);
        }
        match &self.life {
            None => self.promise * -(-self.rate * elapsed).exp_m1(),
            Some(life) if elapsed == f64::INFINITY => self.weight * time_left(life.gap(), elapsed),
            Some(life) => {
                let changed = 1.0 - self.appeared.unchanged(life, self.last, now);
                self.weight * changed * time_left(life.gap(), elapsed)
            }
        }
    }

    fn expect(&mut self, rate: f64, weight: f64) {
        self.rate = rate;
        self.weight = weight;
        self.promise = if rate > 0.0 && self.printed.is_some() {
            // three draws promise nothing
            f64::INFINITY
        } else if rate > 0.0 {
            weight * self.life.as_deref().map_or(1.0 / rate, most_time_left)
        } else {
            0.0
        };
    }
}

/// The expected time to the next change of a content that appeared within the last `elapsed`: its
/// age is that of the stationary process, of density `P(X > a)` over `a < elapsed`.
fn time_left(gap: &Gap, elapsed: f64) -> f64 {
    if elapsed == f64::INFINITY {
        return gap.gain_supremum();
    }
    let newer = 1.0 - gap.stationary_survival(elapsed);
    if newer > 1e-9 {
        gap.freshness(elapsed) * elapsed / newer
    } else {
        gap.mean()
    }
}

/// At least [`time_left`] whatever has elapsed: between two times its numerator is at most that of
/// the later and its denominator at least that of the earlier.
fn most_time_left(life: &Lifetime) -> f64 {
    let gap = life.gap();
    let mut most = gap.gain_supremum();
    let mut later = life.longest();
    while later > gap.mean() * 1e-3 {
        let earlier = later / 1.25;
        let newer = 1.0 - gap.stationary_survival(earlier);
        most = most.max(gap.freshness(later) * later / newer);
        later = earlier;
    }
    // a content just changed
    most.max(gap.mean() * 1.01)
}

impl Greedy {
    pub fn new(form: Form, setup: &Setup) -> Self {
        let beliefs = Beliefs::new(setup);
        let gaps = match setup.knowledge {
            Knowledge::Known {
                gaps: Some(gaps), ..
            } => Some(gaps),
            _ => None,
        };
        let mut greedy = Self {
            servers: setup
                .delay
                .iter()
                .map(|&delay| Server::new(delay))
                .collect(),
            agenda: Agenda::new(vec![f64::INFINITY; setup.delay.len()]),
            beliefs,
            server: setup.server.to_vec(),
            place: vec![0; setup.server.len()],
            budget: setup.budget,
            rng: Xoshiro256PlusPlus::seed_from_u64(setup.seed),
            visits_to_plan: 0,
            stale_plan: true,
        };
        for (page, &s) in setup.server.iter().enumerate() {
            let life = gaps.and_then(|gaps| Lifetime::of(&gaps[page], Histogram::BINS));
            let mut candidate = Candidate::new(PageId(page as u32), life);
            candidate.printed = (gaps.filter(|_| form == Form::Printed))
                .and_then(|gaps| Printed::of(&gaps[page]))
                .map(Box::new);
            greedy.servers[s as usize].candidates.push(candidate);
        }
        greedy
    }

    /// Divides the budget among servers as the optimal allocation would, and brings the pages'
    /// promises up to date.
    fn plan(&mut self, now: f64) {
        self.stale_plan = false;
        self.visits_to_plan = self.server.len();
        let (rate, weight) = self.beliefs.arrays();
        let cap = |server: &Server| {
            if server.delay > 0.0 {
                1.0 / server.delay
            } else {
                f64::INFINITY
            }
        };
        let caps: Vec<f64> = self.servers.iter().map(cap).collect();
        let problem = Problem {
            pages: Pages {
                rate: &rate,
                weight: Some(&weight),
            },
            server: &self.server,
            caps: &caps,
            budget: self.budget.min(caps.iter().sum()),
        };
        let plan = allocate::allocate(&problem, Allocation::OptPolite)
            .expect("beliefs are finite and the budget is within the caps");
        let mut rates = vec![0.0; self.servers.len()];
        for (&s, f) in self.server.iter().zip(&plan.frequency) {
            rates[s as usize] += f;
        }
        for (s, server) in self.servers.iter_mut().enumerate() {
            // the time to the next slot shrinks or stretches with the rate; the first slots of
            // all servers together are no burst
            let phase = if server.rate > 0.0 {
                ((server.slot - now) * server.rate).clamp(0.0, 1.0)
            } else {
                self.rng.random()
            };
            server.rate = rates[s];
            server.slot = if server.rate > 0.0 {
                now + phase / server.rate
            } else {
                f64::INFINITY
            };
            for candidate in &mut server.candidates {
                let page = candidate.page;
                candidate.expect(self.beliefs.rate(page), self.beliefs.weight(page));
            }
            server
                .candidates
                .sort_by(|a, b| b.promise.total_cmp(&a.promise));
            for (place, candidate) in server.candidates.iter().enumerate() {
                self.place[candidate.page.index()] = place as u32;
            }
            self.agenda
                .set(ServerId(s as u32), server.slot.max(server.free));
        }
    }
}

impl Server {
    fn new(delay: f64) -> Self {
        Self {
            candidates: Vec::new(),
            slot: f64::INFINITY,
            rate: 0.0,
            delay,
            free: f64::NEG_INFINITY,
        }
    }

    /// The best page at `now`. No page gains more than its promise, so the list, best promise
    /// first, is left as soon as nothing better can come.
    fn choose(&self, now: f64, rng: &mut Xoshiro256PlusPlus) -> Option<usize> {
        let mut best = (0.0, None);
        for (k, candidate) in self.candidates.iter().enumerate() {
            if candidate.promise <= best.0 {
                break;
            }
            // Poisson: no more than the time since the last visit, which saves the exponential
            if candidate.life.is_none()
                && candidate.promise * candidate.rate * (now - candidate.last) <= best.0
            {
                continue;
            }
            let index = candidate.index(now, rng);
            if index > best.0 {
                best = (index, Some(k));
            }
        }
        best.1
    }
}

impl Policy for Greedy {
    fn next(&mut self, now: f64) -> Next {
        if self.stale_plan || (self.beliefs.learns() && self.visits_to_plan == 0) {
            self.plan(now);
        }
        let Some((id, at)) = self.agenda.first() else {
            return Next::Idle;
        };
        if at > now {
            return Next::Wait(at);
        }
        let server = &mut self.servers[id.index()];
        server.slot += 1.0 / server.rate;
        let Some(k) = server.choose(now, &mut self.rng) else {
            let key = server.slot.max(server.free);
            self.agenda.set(id, key);
            return Next::Wait(
                key.min(self.agenda.first().map_or(key, |(_, at)| at))
                    .max(now),
            );
        };
        server.free = now + server.delay;
        server.candidates[k].last = now;
        let page = server.candidates[k].page;
        let key = server.slot.max(server.free);
        self.agenda.set(id, key);
        self.visits_to_plan = self.visits_to_plan.saturating_sub(1);
        Next::Visit(page)
    }

    fn observe(&mut self, page: PageId, at: f64, outcome: Outcome<'_>) {
        let server = ServerId(self.server[page.index()]);
        if self.beliefs.weight(page) == 0.0 {
            return;
        }
        if self.stale_plan {
            // pages came or went: places may be wrong
            self.plan(at);
        }
        let place = self.place[page.index()] as usize;
        let previous = self.beliefs.last_visit(page).unwrap_or(f64::NEG_INFINITY);
        let candidate = &mut self.servers[server.index()].candidates[place];
        candidate.appeared.observe(previous, at, outcome);
        if let Some(printed) = &mut candidate.printed {
            printed.observe(at, outcome);
        }
        self.beliefs.observe(page, server, at, outcome);
    }

    fn change(&mut self, _: f64, change: Change) {
        match change {
            Change::AddPage {
                page,
                server,
                weight,
                known,
                visited,
            } => {
                if page.index() == self.server.len() {
                    self.server.push(server.0);
                    self.place.push(0);
                } else {
                    self.server[page.index()] = server.0;
                }
                self.beliefs.add(page, server, weight, known);
                if let Some(at) = visited {
                    self.beliefs.observe(page, server, at, Outcome::Changed);
                }
                self.beliefs
                    .set_round(self.server.len() as f64 / self.budget);
                self.servers[server.index()]
                    .candidates
                    .push(Candidate::new(page, None));
            }
            Change::RemovePage(page) => {
                let server = ServerId(self.server[page.index()]);
                self.beliefs.remove(page, server);
                self.servers[server.index()]
                    .candidates
                    .retain(|c| c.page != page);
            }
            Change::Budget(budget) => {
                self.budget = budget;
                self.beliefs.set_round(self.server.len() as f64 / budget);
            }
            Change::Delay { server, delay } => {
                if server.index() == self.servers.len() {
                    self.servers.push(Server::new(delay));
                    self.agenda.set(server, f64::INFINITY);
                    self.beliefs.add_server();
                } else {
                    let server = &mut self.servers[server.index()];
                    // what was waited for under the old delay still counts
                    server.free += delay - server.delay;
                    server.delay = delay;
                }
            }
            Change::Signal(_) => return,
        }
        self.stale_plan = true;
    }
}
