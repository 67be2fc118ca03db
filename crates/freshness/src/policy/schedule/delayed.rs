//! Every page evenly spaced from a random offset; DELAYED waits for the server where it must.

use super::Schedule;
use crate::policy::Next;
use crate::policy::queue::{Due, DueQueues};
use crate::{PageId, ServerId};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Pages keep to their due times: the next one is a period after the *due* time, not after the
/// delayed visit, so that delays do not add up.
pub(super) struct Delayed {
    queues: DueQueues,
    polite: bool,
    rng: Xoshiro256PlusPlus,
}

impl Delayed {
    pub fn new(delay: &[f64], rng: Xoshiro256PlusPlus) -> Self {
        Self {
            queues: DueQueues::new(delay),
            polite: true,
            rng,
        }
    }

    /// The same without regard for the servers.
    pub fn impolite(delay: &[f64], rng: Xoshiro256PlusPlus) -> Self {
        Self {
            queues: DueQueues::new(&vec![0.0; delay.len()]),
            polite: false,
            rng,
        }
    }
}

impl Schedule for Delayed {
    fn next(&mut self, now: f64) -> Next {
        match self.queues.first() {
            None => Next::Idle,
            Some((_, _, at)) if at > now => Next::Wait(at),
            Some((due, server, _)) => {
                let next = Due {
                    at: due.at + f64::from(due.period),
                    ..due
                };
                self.queues.visited(server, now, Some(next));
                Next::Visit(due.page)
            }
        }
    }

    fn replan(&mut self, now: f64, server: &[u32], frequency: &[f64]) {
        let phases: Vec<Phases> = self
            .queues
            .servers()
            .map(|pages| Phases::of(now, pages.iter().copied()))
            .collect();
        let mut entries = vec![Vec::new(); phases.len()];
        for (page, (&s, &f)) in server.iter().zip(frequency).enumerate() {
            let (page, s) = (PageId(page as u32), s as usize);
            if f > 0.0 {
                let phase = phases[s].get(page).unwrap_or_else(|| self.rng.random());
                entries[s].push(due(now, page, phase, f));
            }
        }
        self.queues.fill(entries);
    }

    fn insert(&mut self, now: f64, page: PageId, server: ServerId, frequency: f64) {
        if frequency > 0.0 {
            let phase = self.rng.random();
            self.queues.push(server, due(now, page, phase, frequency));
        }
    }

    fn remove(&mut self, _: f64, page: PageId, server: ServerId) {
        self.queues.remove(server, page);
    }

    fn set_delay(&mut self, _: f64, server: ServerId, delay: f64) {
        self.queues
            .set_delay(server, if self.polite { delay } else { 0.0 });
    }
}

fn due(now: f64, page: PageId, phase: f64, frequency: f64) -> Due {
    let period = 1.0 / frequency;
    Due {
        at: now + phase * period,
        page,
        period: period as f32,
    }
}

/// Where pages of a server stand between their last visit and their next, as shares of their
/// periods.
pub(super) struct Phases(Vec<(PageId, f32)>);

impl Phases {
    pub fn of(now: f64, entries: impl Iterator<Item = Due>) -> Self {
        let phase = |due: &Due| ((due.at - now) as f32 / due.period).clamp(0.0, 1.0);
        let mut phases: Vec<_> = entries.map(|due| (due.page, phase(&due))).collect();
        phases.sort_unstable_by_key(|&(page, _)| page);
        Self(phases)
    }

    pub fn get(&self, page: PageId) -> Option<f64> {
        let found = self.0.binary_search_by_key(&page, |&(page, _)| page).ok()?;
        Some(f64::from(self.0[found].1))
    }
}
