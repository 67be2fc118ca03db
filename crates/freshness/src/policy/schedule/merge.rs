//! MERGE: the order in which evenly spaced pages would be visited, poured into a server's slots.

use super::delayed::Phases;
use super::slots::Choice;
use crate::policy::queue::Due;
use crate::{PageId, ServerId};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Slots are filled ahead, for this part of a round of the server's pages at once: one pass over
/// the pages reads memory in its order, where a heap would miss the cache on every level.
const FILLS_IN_A_ROUND: usize = 8;

/// In units of the caller's.
const LONGEST: f64 = 1e30;

/// Due times only give the order here; they live on a time scale of the server's own.
pub(super) struct Merge {
    servers: Vec<Server>,
    random_offsets: bool,
}

#[derive(Clone, Debug, Default)]
struct Server {
    pages: Vec<Due>,
    /// Visits due before this instant are in `ahead` or have been made.
    until: f64,
    /// Visits in a unit of time.
    rate: f64,
    /// The pages of the next slots, last first.
    ahead: Vec<PageId>,
}

impl Server {
    fn fill(&mut self) {
        let wanted = (self.pages.len() / FILLS_IN_A_ROUND).max(1) as f64;
        let mut window = wanted / self.rate;
        let mut visits = Vec::with_capacity(2 * wanted as usize);
        while visits.is_empty() {
            self.until += window;
            for due in &mut self.pages {
                while due.at < self.until {
                    visits.push((due.at, due.page));
                    due.at += f64::from(due.period);
                }
            }
            window *= 2.0;
        }
        // among equals the order of the pages is kept
        visits.sort_by(|a, b| a.0.total_cmp(&b.0));
        self.ahead
            .extend(visits.iter().rev().map(|&(_, page)| page));
    }

    fn set_pages(&mut self, pages: Vec<Due>) {
        self.rate = pages.iter().map(|due| 1.0 / f64::from(due.period)).sum();
        self.pages = pages;
    }
}

impl Merge {
    /// MERGE proper.
    pub fn random_offsets() -> Self {
        Self {
            servers: Vec::new(),
            random_offsets: true,
        }
    }

    /// Fixed order: pages stand as they were given, and with equal frequencies take turns.
    pub fn fixed_offsets() -> Self {
        Self {
            servers: Vec::new(),
            random_offsets: false,
        }
    }

    fn due(now: f64, phase: f64, page: PageId, frequency: f64) -> Due {
        // longer ones would not fit into the time scale, and will not be lived through
        let period = (1.0 / frequency).min(LONGEST);
        Due {
            at: now + phase * period,
            page,
            period: period as f32,
        }
    }
}

impl Choice for Merge {
    fn choose(&mut self, server: ServerId, _: &mut Xoshiro256PlusPlus) -> Option<PageId> {
        let server = &mut self.servers[server.index()];
        if server.ahead.is_empty() && !server.pages.is_empty() {
            server.fill();
        }
        server.ahead.pop()
    }

    fn replan(&mut self, pages: Vec<Vec<(PageId, f64)>>, rng: &mut Xoshiro256PlusPlus) {
        for (server, pages) in self.servers.iter_mut().zip(pages) {
            let phases = Phases::of(server.until, server.pages.iter().copied());
            server.ahead.retain(|page| {
                let kept = pages.binary_search_by_key(page, |&(page, _)| page);
                kept.is_ok()
            });
            let count = pages.len() as f64;
            let due = |(rank, &(page, frequency)): (usize, &(PageId, f64))| {
                let phase = phases.get(page).unwrap_or_else(|| {
                    if self.random_offsets {
                        rng.random()
                    } else {
                        rank as f64 / count
                    }
                });
                Self::due(0.0, phase, page, frequency)
            };
            server.until = 0.0;
            server.set_pages(pages.iter().enumerate().map(due).collect());
        }
    }

    fn insert(
        &mut self,
        server: ServerId,
        page: PageId,
        frequency: f64,
        rng: &mut Xoshiro256PlusPlus,
    ) {
        let server = &mut self.servers[server.index()];
        let phase = if self.random_offsets {
            rng.random()
        } else {
            1.0
        };
        let due = Self::due(server.until, phase, page, frequency);
        server.rate += 1.0 / f64::from(due.period);
        server.pages.push(due);
    }

    fn remove(&mut self, server: ServerId, page: PageId) -> f64 {
        let server = &mut self.servers[server.index()];
        let Some(k) = server.pages.iter().position(|due| due.page == page) else {
            return 0.0;
        };
        server.ahead.retain(|&ahead| ahead != page);
        let mut pages = std::mem::take(&mut server.pages);
        let gone = pages.remove(k);
        server.set_pages(pages);
        1.0 / f64::from(gone.period)
    }

    fn add_server(&mut self) {
        self.servers.push(Server::default());
    }
}
