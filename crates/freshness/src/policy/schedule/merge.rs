//! MERGE: the order in which evenly spaced pages would be visited, poured into a server's slots.

use super::delayed::Phases;
use super::slots::Choice;
use crate::policy::queue::{Due, DueHeap};
use crate::{PageId, ServerId};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Slots are filled ahead, this many at once: a server's heap has left the cache by its next slot.
const AHEAD: usize = 16;

/// Due times only give the order here; they live on a time scale of the server's own, on which
/// "now" is the first of them.
pub(super) struct Merge {
    servers: Vec<Server>,
    random_offsets: bool,
}

#[derive(Clone, Debug, Default)]
struct Server {
    heap: DueHeap,
    /// The pages of the next slots, last first.
    ahead: Vec<PageId>,
}

impl Server {
    fn fill(&mut self) {
        // a sixteenth of a round at most, so that new plans are soon followed
        let pages = self.heap.len();
        for _ in 0..(pages / AHEAD).clamp(1, AHEAD) {
            let Some(due) = self.heap.first() else { break };
            self.heap.replace_first(Due {
                at: due.at + f64::from(due.period),
                ..due
            });
            self.ahead.push(due.page);
        }
        self.ahead.reverse();
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

    fn now(heap: &DueHeap) -> f64 {
        heap.first().map_or(0.0, |due| due.at)
    }

    fn due(now: f64, phase: f64, page: PageId, frequency: f64) -> Due {
        let period = 1.0 / frequency;
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
        if server.ahead.is_empty() {
            server.fill();
        }
        server.ahead.pop()
    }

    fn replan(&mut self, pages: Vec<Vec<(PageId, f64)>>, rng: &mut Xoshiro256PlusPlus) {
        for (server, pages) in self.servers.iter_mut().zip(pages) {
            let heap = &mut server.heap;
            server.ahead.retain(|page| {
                let kept = pages.binary_search_by_key(page, |&(page, _)| page);
                kept.is_ok()
            });
            let phases = Phases::of(Self::now(heap), heap.entries());
            let count = pages.len() as f64;
            let entries = pages
                .into_iter()
                .enumerate()
                .map(|(rank, (page, frequency))| {
                    let phase = phases.get(page).unwrap_or_else(|| {
                        if self.random_offsets {
                            rng.random()
                        } else {
                            rank as f64 / count
                        }
                    });
                    Self::due(0.0, phase, page, frequency)
                });
            *heap = DueHeap::from_entries(&entries.collect::<Vec<_>>());
        }
    }

    fn insert(
        &mut self,
        server: ServerId,
        page: PageId,
        frequency: f64,
        rng: &mut Xoshiro256PlusPlus,
    ) {
        let heap = &mut self.servers[server.index()].heap;
        let phase = if self.random_offsets {
            rng.random()
        } else {
            1.0
        };
        heap.push(Self::due(Self::now(heap), phase, page, frequency));
    }

    fn remove(&mut self, server: ServerId, page: PageId) -> f64 {
        let server = &mut self.servers[server.index()];
        server.ahead.retain(|&ahead| ahead != page);
        let gone = server.heap.remove(page);
        gone.map_or(0.0, |due| 1.0 / f64::from(due.period))
    }

    fn add_server(&mut self) {
        self.servers.push(Server::default());
    }
}
