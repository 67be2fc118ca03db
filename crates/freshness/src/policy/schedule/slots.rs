//! Requests to a server at evenly spaced slots, each filled with a page by some choice.

use super::Schedule;
use crate::policy::Next;
use crate::policy::queue::Agenda;
use crate::{PageId, ServerId};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Fills a server's slots with pages.
pub(super) trait Choice: Send {
    /// The page for the server's next slot.
    fn choose(&mut self, server: ServerId, rng: &mut Xoshiro256PlusPlus) -> Option<PageId>;

    /// Takes the frequencies of all pages; every server's pages are given at once,
    /// ascending.
    fn replan(&mut self, pages: Vec<Vec<(PageId, f64)>>, rng: &mut Xoshiro256PlusPlus);

    /// Adds a page to a server.
    fn insert(
        &mut self,
        server: ServerId,
        page: PageId,
        frequency: f64,
        rng: &mut Xoshiro256PlusPlus,
    );

    /// Takes a page from a server; returns its frequency.
    fn remove(&mut self, server: ServerId, page: PageId) -> f64;

    /// A server more.
    fn add_server(&mut self);
}

/// When a server's slots come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timing {
    /// Every `1/F` from a random offset.
    Even,
    /// All slots of a round as close together as the delay allows, then a pause until the next
    /// round, the first from a random offset. A round gives each page one visit on average.
    Bunched,
}

#[derive(Clone, Copy, Debug)]
struct Clock {
    /// The slot as planned; the visit may come later.
    slot: f64,
    /// Visits per unit of time, `F`.
    rate: f64,
    pages: u32,
    /// Slots of the current round already used.
    used: u32,
    delay: f64,
    free: f64,
}

pub(super) struct Slots<C> {
    clocks: Vec<Clock>,
    agenda: Agenda,
    timing: Timing,
    rng: Xoshiro256PlusPlus,
    choice: C,
}

impl<C: Choice> Slots<C> {
    pub fn new(
        delay: &[f64],
        start: f64,
        timing: Timing,
        rng: Xoshiro256PlusPlus,
        choice: C,
    ) -> Self {
        let mut slots = Self {
            clocks: Vec::new(),
            agenda: Agenda::default(),
            timing,
            rng,
            choice,
        };
        for (server, &delay) in delay.iter().enumerate() {
            slots.set_delay(start, ServerId(server as u32), delay);
        }
        slots
    }

    /// Sets a server's rate; the time to its next slot shrinks or stretches with it.
    fn set_rate(&mut self, now: f64, server: ServerId, rate: f64, pages: u32) {
        let clock = &mut self.clocks[server.index()];
        // the longest wait for a slot, in average ones
        let longest = |pages: u32| match self.timing {
            Timing::Even => 1.0,
            Timing::Bunched => f64::from(pages),
        };
        let phase = if clock.rate > 0.0 {
            ((clock.slot - now) * clock.rate).clamp(0.0, longest(clock.pages))
        } else {
            longest(pages) * self.rng.random::<f64>()
        };
        clock.rate = rate;
        clock.pages = pages;
        clock.slot = if rate > 0.0 {
            now + phase / rate
        } else {
            f64::INFINITY
        };
        let key = clock.slot.max(clock.free);
        self.agenda.set(server, key);
    }
}

impl Clock {
    /// Moves on to the next slot after a visit at `now`.
    fn advance(&mut self, now: f64, timing: Timing) {
        self.free = now + self.delay;
        match timing {
            Timing::Even => self.slot += 1.0 / self.rate,
            Timing::Bunched => {
                self.used += 1;
                if self.used >= self.pages {
                    // the round began `pages − 1` short steps ago
                    self.used = 0;
                    let step = self.delay.min(1.0 / self.rate);
                    let round = f64::from(self.pages) / self.rate;
                    self.slot += round - step * f64::from(self.pages - 1);
                } else {
                    self.slot += self.delay.min(1.0 / self.rate);
                }
            }
        }
    }
}

impl<C: Choice> Schedule for Slots<C> {
    fn next(&mut self, now: f64) -> Next {
        let Some((server, at)) = self.agenda.first() else {
            return Next::Idle;
        };
        if at > now {
            return Next::Wait(at);
        }
        let clock = &mut self.clocks[server.index()];
        let page = self.choice.choose(server, &mut self.rng);
        if page.is_some() {
            clock.advance(now, self.timing);
        } else {
            clock.slot = f64::INFINITY;
        }
        let key = clock.slot.max(clock.free);
        self.agenda.set(server, key);
        page.map_or_else(|| self.next(now), Next::Visit)
    }

    fn replan(&mut self, now: f64, server: &[u32], frequency: &[f64]) {
        let mut pages: Vec<Vec<(PageId, f64)>> = vec![Vec::new(); self.clocks.len()];
        for (page, (&s, &f)) in server.iter().zip(frequency).enumerate() {
            if f > 0.0 {
                pages[s as usize].push((PageId(page as u32), f));
            }
        }
        for (s, of_server) in pages.iter().enumerate() {
            let rate = of_server.iter().map(|(_, f)| f).sum();
            self.set_rate(now, ServerId(s as u32), rate, of_server.len() as u32);
        }
        self.choice.replan(pages, &mut self.rng);
    }

    fn insert(&mut self, now: f64, page: PageId, server: ServerId, frequency: f64) {
        if frequency > 0.0 {
            self.choice.insert(server, page, frequency, &mut self.rng);
            let clock = self.clocks[server.index()];
            self.set_rate(now, server, clock.rate + frequency, clock.pages + 1);
        }
    }

    fn remove(&mut self, now: f64, page: PageId, server: ServerId) {
        let frequency = self.choice.remove(server, page);
        if frequency > 0.0 {
            let clock = self.clocks[server.index()];
            let pages = clock.pages - 1;
            // what is left of a sum of floats is not exactly zero
            let rate = if pages == 0 {
                0.0
            } else {
                (clock.rate - frequency).max(0.0)
            };
            self.set_rate(now, server, rate, pages);
        }
    }

    fn set_delay(&mut self, _: f64, server: ServerId, delay: f64) {
        let s = server.index();
        if s == self.clocks.len() {
            self.clocks.push(Clock {
                slot: f64::INFINITY,
                rate: 0.0,
                pages: 0,
                used: 0,
                delay,
                free: f64::NEG_INFINITY,
            });
            self.choice.add_server();
        } else {
            let clock = &mut self.clocks[s];
            // what was waited for under the old delay still counts
            clock.free += delay - clock.delay;
            clock.delay = delay;
        }
        let clock = self.clocks[s];
        self.agenda.set(server, clock.slot.max(clock.free));
    }
}
