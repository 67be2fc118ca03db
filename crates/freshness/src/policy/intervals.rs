//! What today's crawlers do: an interval for each page, fixed or adapted to whether the page had
//! changed. They set their own number of visits; a budget means nothing to the adaptive ones.
//! Their constants are in days, so time must be too.

use super::queue::{Due, DueQueues};
use super::{Change, Next, Outcome, Policy, Setup};
use crate::{PageId, ServerId};

const MINUTE: f32 = 1.0 / 1440.0;
const HOUR: f32 = 1.0 / 24.0;

/// How an interval follows what a visit found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rule {
    /// The same for all pages: as many visits as the budget pays for.
    Fixed,
    /// ×1.4 when unchanged, ×0.8 when changed, from one minute to 365 days.
    Multiplicative,
    /// ×1.5 when unchanged, halfway to the minimum when changed, from one hour to 14 days.
    Halfway,
}

impl Rule {
    fn first(self, pages: usize, budget: f64) -> f32 {
        match self {
            Self::Fixed => (pages as f64 / budget) as f32,
            Self::Multiplicative => 30.0,
            Self::Halfway => 1.0,
        }
    }

    fn adapt(self, interval: f32, changed: bool) -> f32 {
        match (self, changed) {
            (Self::Fixed, _) => interval,
            (Self::Multiplicative, true) => (interval * 0.8).max(MINUTE),
            (Self::Multiplicative, false) => (interval * 1.4).min(365.0),
            (Self::Halfway, true) => interval.midpoint(HOUR),
            (Self::Halfway, false) => (interval * 1.5).min(14.0),
        }
    }
}

pub(super) struct Intervals {
    rule: Rule,
    server: Vec<u32>,
    interval: Vec<f32>,
    last: Vec<f64>,
    queues: DueQueues,
    budget: f64,
    pages: usize,
}

impl Intervals {
    pub fn new(rule: Rule, setup: &Setup) -> Self {
        let pages = setup.server.len();
        let first = rule.first(pages, setup.budget);
        let mut entries = vec![Vec::new(); setup.delay.len()];
        // first visits come at the speed of the budget
        for (page, &s) in setup.server.iter().enumerate() {
            let at = setup.start + page as f64 / setup.budget;
            entries[s as usize].push(Due {
                at,
                page: PageId(page as u32),
                period: 0.0,
            });
        }
        let mut queues = DueQueues::new(setup.delay);
        queues.fill(entries);
        Self {
            rule,
            server: setup.server.to_vec(),
            interval: vec![first; pages],
            last: vec![f64::NAN; pages],
            queues,
            budget: setup.budget,
            pages,
        }
    }
}

impl Policy for Intervals {
    fn next(&mut self, now: f64) -> Next {
        match self.queues.first() {
            None => Next::Idle,
            Some((_, _, at)) if at > now => Next::Wait(at),
            Some((due, server, _)) => {
                self.queues.visited(server, now, None);
                Next::Visit(due.page)
            }
        }
    }

    fn observe(&mut self, page: PageId, at: f64, outcome: Outcome<'_>) {
        let index = page.index();
        if self.interval[index].is_nan() {
            return;
        }
        let last = self.last[index];
        let changed = outcome.changed_since((!last.is_nan()).then_some(last));
        if outcome != Outcome::Failed {
            self.last[index] = at;
        }
        if self.rule == Rule::Fixed {
            // pages may have come and gone
            self.interval[index] = self.rule.first(self.pages, self.budget);
        }
        if let Some(changed) = changed {
            self.interval[index] = self.rule.adapt(self.interval[index], changed);
        }
        let at = at + f64::from(self.interval[index]);
        let server = ServerId(self.server[index]);
        // a visit that somebody else asked for: the page is still in line
        self.queues.remove(server, page);
        self.queues.push(
            server,
            Due {
                at,
                page,
                period: 0.0,
            },
        );
    }

    fn leave(&mut self, page: PageId) {
        self.queues
            .remove(ServerId(self.server[page.index()]), page);
    }

    fn change(&mut self, now: f64, change: Change) {
        match change {
            Change::AddPage {
                page,
                server,
                visited,
                ..
            } => {
                let first = self.rule.first(self.pages + 1, self.budget);
                let index = page.index();
                if index == self.server.len() {
                    self.server.push(server.0);
                    self.interval.push(first);
                    self.last.push(f64::NAN);
                }
                self.server[index] = server.0;
                self.interval[index] = first;
                self.last[index] = visited.unwrap_or(f64::NAN);
                self.pages += 1;
                self.queues.push(
                    server,
                    Due {
                        at: visited.map_or(now, |at| at + f64::from(first)),
                        page,
                        period: 0.0,
                    },
                );
            }
            Change::RemovePage(page) => {
                self.queues
                    .remove(ServerId(self.server[page.index()]), page);
                self.interval[page.index()] = f32::NAN;
                self.pages -= 1;
            }
            Change::Budget(budget) => {
                self.budget = budget;
                if self.rule == Rule::Fixed {
                    let interval = self.rule.first(self.pages, budget);
                    let kept = |old: f32| if old.is_nan() { old } else { interval };
                    self.interval.iter_mut().for_each(|old| *old = kept(*old));
                }
            }
            Change::Delay { server, delay } => self.queues.set_delay(server, delay),
            Change::Signal(_) => {}
        }
    }
}
