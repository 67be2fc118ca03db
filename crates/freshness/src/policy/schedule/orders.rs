//! Rounds in random order: every page its share of visits in each round, the order drawn anew.

use super::slots::Choice;
use crate::{PageId, ServerId};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

#[derive(Clone, Debug, Default)]
pub(super) struct Rounds {
    servers: Vec<Server>,
}

#[derive(Clone, Debug, Default)]
struct Server {
    pages: Vec<Share>,
    /// What is left of this round, last first.
    round: Vec<PageId>,
}

#[derive(Clone, Copy, Debug)]
struct Share {
    page: PageId,
    frequency: f32,
    /// The part of a visit that earlier rounds owe.
    owed: f32,
}

impl Server {
    /// Deals a new round: one visit a page on average, whole visits paid, fractions carried over.
    fn deal(&mut self, rng: &mut Xoshiro256PlusPlus) {
        let total: f32 = self.pages.iter().map(|share| share.frequency).sum();
        let per_frequency = self.pages.len() as f32 / total;
        while self.round.is_empty() && !self.pages.is_empty() {
            for share in &mut self.pages {
                share.owed += share.frequency * per_frequency;
                // equal frequencies must give exactly one visit a round, whatever the rounding
                while share.owed >= 1.0 - 1e-3 {
                    share.owed -= 1.0;
                    self.round.push(share.page);
                }
            }
        }
        for k in (1..self.round.len()).rev() {
            self.round.swap(k, rng.random_range(0..=k));
        }
    }
}

impl Choice for Rounds {
    fn choose(&mut self, server: ServerId, rng: &mut Xoshiro256PlusPlus) -> Option<PageId> {
        let server = &mut self.servers[server.index()];
        if server.round.is_empty() {
            server.deal(rng);
        }
        server.round.pop()
    }

    fn replan(&mut self, pages: Vec<Vec<(PageId, f64)>>, rng: &mut Xoshiro256PlusPlus) {
        for (server, pages) in self.servers.iter_mut().zip(pages) {
            let mut before: Vec<Share> = std::mem::take(&mut server.pages);
            before.sort_unstable_by_key(|share| share.page);
            // a turn that did not come is still owed
            for page in server.round.drain(..) {
                if let Ok(k) = before.binary_search_by_key(&page, |share| share.page) {
                    before[k].owed += 1.0;
                }
            }
            for (page, frequency) in pages {
                let known = before.binary_search_by_key(&page, |share| share.page);
                // a random debt, so that rare pages are not all paid in the same round
                let owed = known.map_or_else(|_| rng.random_range(-0.5..0.5), |k| before[k].owed);
                server.pages.push(Share {
                    page,
                    frequency: frequency as f32,
                    owed,
                });
            }
            let equal = server
                .pages
                .windows(2)
                .all(|pair| pair[0].frequency == pair[1].frequency);
            if equal {
                for share in &mut server.pages {
                    share.owed = 0.0;
                }
            }
        }
    }

    fn insert(
        &mut self,
        server: ServerId,
        page: PageId,
        frequency: f64,
        _: &mut Xoshiro256PlusPlus,
    ) {
        let share = Share {
            page,
            frequency: frequency as f32,
            owed: 0.0,
        };
        self.servers[server.index()].pages.push(share);
    }

    fn remove(&mut self, server: ServerId, page: PageId) -> f64 {
        let server = &mut self.servers[server.index()];
        server.round.retain(|&in_round| in_round != page);
        let Some(k) = server.pages.iter().position(|share| share.page == page) else {
            return 0.0;
        };
        f64::from(server.pages.swap_remove(k).frequency)
    }

    fn add_server(&mut self) {
        self.servers.push(Server::default());
    }
}
