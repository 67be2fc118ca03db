//! From frequencies to visits: schedules that know nothing of how pages change.
#![doc = include_str!("schedule/README.md")]

mod delayed;
mod merge;
mod orders;
mod random;
mod slots;

use super::Next;
use crate::{PageId, ServerId};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::str::FromStr;

/// Turns frequencies into visits.
pub trait Schedule: Send {
    /// What to do at `now`.
    fn next(&mut self, now: f64) -> Next;

    /// Takes new frequencies for all pages, keeping what can be kept of the phases. `server` and
    /// `frequency` have an entry for each page.
    fn replan(&mut self, now: f64, server: &[u32], frequency: &[f64]);

    /// Adds a page.
    fn insert(&mut self, now: f64, page: PageId, server: ServerId, frequency: f64);

    /// Takes a page out.
    fn remove(&mut self, now: f64, page: PageId, server: ServerId);

    /// Sets the least time between requests to a server; one past the last adds a server.
    fn set_delay(&mut self, now: f64, server: ServerId, delay: f64);
}

/// How visits are laid out in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Selection {
    /// Every page evenly from a random offset; breaks politeness.
    PerPage,
    /// The same, with requests delayed until their server may be asked.
    Delayed,
    /// Slots of a server evenly spaced, each drawing a page by frequency.
    Random,
    /// Slots of a server evenly spaced, pages in the order of even spacing from random offsets.
    Merge,
    /// Slots of a server evenly spaced, pages in an order that never changes.
    FixedOrder,
    /// Slots of a server evenly spaced, each round in a new order.
    RandomOrder,
    /// Fixed order, all visits of a round bunched at its beginning.
    BunchedFixed,
    /// Random order, all visits of a round bunched at its beginning.
    BunchedRandom,
}

impl Selection {
    /// All of them with the names by which commands call them.
    pub const NAMES: [(&'static str, Self); 9] = [
        ("per-page", Self::PerPage),
        ("delayed", Self::Delayed),
        ("random", Self::Random),
        // the classical name; with evenly spaced slots it is the same
        ("purely-random", Self::Random),
        ("merge", Self::Merge),
        ("fixed-order", Self::FixedOrder),
        ("random-order", Self::RandomOrder),
        ("bunched-fixed", Self::BunchedFixed),
        ("bunched-random", Self::BunchedRandom),
    ];

    /// An empty schedule for servers with these delays.
    pub fn schedule(self, delay: &[f64], start: f64, seed: u64) -> Box<dyn Schedule> {
        use slots::{Slots, Timing};
        let rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        match self {
            Self::PerPage => Box::new(delayed::Delayed::impolite(delay, rng)),
            Self::Delayed => Box::new(delayed::Delayed::new(delay, rng)),
            Self::Random => Box::new(Slots::new(
                delay,
                start,
                Timing::Even,
                rng,
                random::Alias::default(),
            )),
            Self::Merge => Box::new(Slots::new(
                delay,
                start,
                Timing::Even,
                rng,
                merge::Merge::random_offsets(),
            )),
            Self::FixedOrder => Box::new(Slots::new(
                delay,
                start,
                Timing::Even,
                rng,
                merge::Merge::fixed_offsets(),
            )),
            Self::RandomOrder => Box::new(Slots::new(
                delay,
                start,
                Timing::Even,
                rng,
                orders::Rounds::default(),
            )),
            Self::BunchedFixed => Box::new(Slots::new(
                delay,
                start,
                Timing::Bunched,
                rng,
                merge::Merge::fixed_offsets(),
            )),
            Self::BunchedRandom => Box::new(Slots::new(
                delay,
                start,
                Timing::Bunched,
                rng,
                orders::Rounds::default(),
            )),
        }
    }
}

impl FromStr for Selection {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::NAMES.iter().find(|(known, _)| *known == name);
        found
            .map(|(_, selection)| *selection)
            .ok_or_else(|| name.to_owned())
    }
}
