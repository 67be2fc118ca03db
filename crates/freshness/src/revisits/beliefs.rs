//! What is stated of every page with a copy: how fast it changes, how fresh the copy is.
//!
//! It comes from the same findings as the policy's decisions. Policies that keep none have them kept
//! here, so that what is stated is the same whatever policy is at work.

use super::memo::Memo;
use super::numbers::Number;
use crate::estimate::{self, Findings, Kin, Overall, Population, Rate, lasting, observation};
use crate::policy::{Outcome, Seen};
use ground::HostId;
use std::collections::BTreeSet;

#[derive(Clone, Copy, Debug)]
struct Page {
    belief: estimate::Belief,
    host: HostId,
    /// The number of what was guessed of it.
    guess: u16,
    visits: u32,
    /// The last visit; NaN for a page that is none any more.
    last: f64,
}

impl Page {
    fn kin(&self) -> Kin {
        Kin {
            host: self.host.index(),
            guess: self.guess,
        }
    }
}

/// Beliefs on pages, by the policy's numbers.
#[derive(Debug)]
pub(super) struct Beliefs {
    pages: Vec<Page>,
    /// What visits showed, where the policy does not keep it.
    findings: Vec<Findings>,
    population: Population,
}

/// What is believed of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Belief {
    /// Changes per second, with the 95 % interval.
    pub rate: Rate,
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
    /// The ends of its 95 % interval: pages that change or do not, as chance will have it; how much they do
    /// so together, as visits showed; and what is not known of pages never revisited, which may all be wrong
    /// the same way.
    pub interval: (f64, f64),
    /// Pages with a copy.
    pub copies: usize,
    /// Those visited once: what is believed of them is what others like them do.
    pub never_revisited: usize,
}

impl Beliefs {
    /// Nothing is known but a guess, in changes per second, and what an earlier run wrote.
    pub fn new(guess: f64, learnt: Option<&[u8]>) -> Self {
        let mut population = Population::new(guess);
        if let Some(learnt) = learnt {
            population.relearn(learnt);
        }
        Self {
            pages: Vec::new(),
            findings: Vec::new(),
            population,
        }
    }

    /// What is known of all pages together.
    pub fn learnt(&self) -> Vec<u8> {
        self.population.learnt()
    }

    /// A page that has a copy, the one with this number, what is known of it, and how often it was guessed to
    /// change if that is not the guess for all.
    pub fn add(&mut self, page: Number, host: HostId, memo: &Memo, guess: Option<f64>) {
        let added = Page {
            belief: memo.belief,
            host,
            guess: guess.map_or(0, |guess| self.population.guess(guess)),
            visits: memo.visits,
            last: memo.seen.last,
        };
        if self.pages.len() <= page.index() {
            let vacant = Page {
                last: f64::NAN,
                ..added
            };
            self.pages.resize(page.index() + 1, vacant);
        }
        self.pages[page.index()] = added;
        self.population.restore(host.index(), &added.belief);
    }

    /// The pages of these hosts.
    pub fn pages_of(&self, hosts: &BTreeSet<HostId>) -> impl Iterator<Item = Number> {
        let pages = (0..).map(Number).zip(&self.pages);
        pages
            .filter(|(_, page)| !page.last.is_nan() && hosts.contains(&page.host))
            .map(|(number, _)| number)
    }

    pub fn remove(&mut self, page: Number) {
        let page = &mut self.pages[page.index()];
        page.last = f64::NAN;
        let host = page.host.index();
        self.population.remove(host, &mut page.belief);
    }

    /// A later visit that had an answer, pages being visited once in a `round` on average; `kept` is what
    /// the policy made of it, if it keeps findings.
    pub fn observe(
        &mut self,
        page: Number,
        at: f64,
        outcome: Outcome<'_>,
        kept: Option<Findings>,
        round: f64,
    ) {
        let previous = Some(self.last_visit(page));
        let told = observation(previous, at, outcome);
        let Some((interval, observation)) = told.filter(|(interval, _)| *interval > 0.0) else {
            return;
        };
        let findings = kept.unwrap_or_else(|| {
            let mut own = self.findings(page);
            for (interval, observation) in lasting(previous, at, outcome) {
                own.learn(round, interval, observation);
            }
            self.set_findings(page, own);
            own
        });
        let page = &mut self.pages[page.index()];
        let (kin, changed) = (page.kin(), observation.changed(interval));
        self.population
            .observe(kin, &mut page.belief, &findings, interval, changed);
        page.visits = page.visits.saturating_add(1);
        page.last = at;
    }

    /// What visits showed of a page, as far as it is kept here.
    pub fn findings(&self, page: Number) -> Findings {
        self.findings.get(page.index()).copied().unwrap_or_default()
    }

    pub fn set_findings(&mut self, page: Number, findings: Findings) {
        if self.findings.len() <= page.index() {
            self.findings.resize(page.index() + 1, Findings::default());
        }
        self.findings[page.index()] = findings;
    }

    pub fn memo(&self, page: Number, findings: Findings) -> Memo {
        let Page {
            belief,
            visits,
            last,
            ..
        } = self.pages[page.index()];
        Memo {
            number: Some(page.0),
            visits,
            seen: Seen { findings, last },
            belief,
            due: None,
        }
    }

    pub fn last_visit(&self, page: Number) -> f64 {
        self.pages[page.index()].last
    }

    pub fn belief(&self, page: Number, findings: &Findings) -> Belief {
        let page = &self.pages[page.index()];
        Belief {
            rate: self.population.rate(page.kin(), &page.belief, findings),
            visits: page.visits,
            last_visit: page.last,
        }
    }

    /// The chance that the copy is what the server has now.
    pub fn chance_fresh(&self, page: Number, now: f64) -> f64 {
        let page = &self.pages[page.index()];
        let age = now - page.last;
        if page.belief.visits() == 0 {
            let unseen = self.population.begin(page.kin());
            return self.population.chance_unchanged(&unseen, age);
        }
        self.population.chance_unchanged(&page.belief, age)
    }

    /// The time after a visit in which the page changes with this chance, by what is believed of it now.
    pub fn time_to_chance(&self, page: Number, chance: f64) -> f64 {
        let page = &self.pages[page.index()];
        let pace = if page.belief.visits() == 0 {
            self.population.begin(page.kin()).pace()
        } else {
            page.belief.pace()
        };
        pace.beta * (-(-chance).ln_1p() / pace.alpha).exp_m1()
    }

    /// Over all copies, or over an even sample of them when they are many.
    pub fn estimated(&self, now: f64, sample: usize) -> Estimated {
        let step = (self.pages.len() / sample.max(1)).max(1);
        let mut overall = Overall::default();
        for (number, page) in self.pages.iter().enumerate().step_by(step) {
            if !page.last.is_nan() {
                let unchanged = self.chance_fresh(Number(number as u32), now);
                overall.add(unchanged, page.belief.visits() > 0);
            }
        }
        Estimated {
            freshness: overall.freshness(),
            interval: overall.interval(&self.population),
            copies: overall.copies() as usize * step,
            never_revisited: overall.never_revisited() as usize * step,
        }
    }
}
