//! Many counters in bounded memory.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// How many URLs are known somewhere, and how alike their pages are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counter {
    /// URLs admitted.
    pub urls: u32,
    /// Near-duplicates in a row, up to now.
    pub run: u16,
    /// How often the cap was halved.
    pub halvings: u8,
}

/// Counters by the hash of what they count.
#[derive(Debug, Clone)]
pub struct Counters {
    counters: HashMap<u64, Counter, BuildHasherDefault<AlreadyHashed>>,
    most: usize,
}

impl Counters {
    pub fn new(most: usize) -> Self {
        Self {
            counters: HashMap::default(),
            most: most.max(2),
        }
    }

    pub fn get(&self, place: u64) -> Counter {
        self.counters.get(&place).copied().unwrap_or_default()
    }

    /// All of them, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, Counter)> + '_ {
        let counters = self.counters.iter();
        counters.map(|(&place, &counter)| (place, counter))
    }

    /// Counts a place as it was counted before.
    pub fn set(&mut self, place: u64, counter: Counter) {
        *self.entry(place) = counter;
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.counters.len()
    }

    pub fn count(&mut self, place: u64) {
        let counter = self.entry(place);
        counter.urls = counter.urls.saturating_add(1);
    }

    /// Notes a page that is a near-duplicate or not; every `run` in a row halve the cap. Returns
    /// whether this one did.
    pub fn note(&mut self, place: u64, near_duplicate: bool, run: u16) -> bool {
        if !near_duplicate {
            if let Some(counter) = self.counters.get_mut(&place) {
                counter.run = 0;
            }
            return false;
        }
        let counter = self.entry(place);
        counter.run += 1;
        let is_run = counter.run >= run;
        if is_run {
            counter.run = 0;
            counter.halvings = counter.halvings.saturating_add(1);
        }
        is_run
    }

    /// Halves a cap so many times in all.
    pub fn halve(&mut self, place: u64, times: u8) {
        self.entry(place).halvings = times;
    }

    fn entry(&mut self, place: u64) -> &mut Counter {
        if self.counters.len() >= self.most && !self.counters.contains_key(&place) {
            self.forget_half();
        }
        self.counters.entry(place).or_default()
    }

    /// Drops the smaller half. Halved caps count as if their prefix were that much busier: they
    /// are what a trap is known by.
    fn forget_half(&mut self) {
        let weight = |counter: &Counter| u64::from(counter.urls.max(1)) << counter.halvings.min(32);
        let mut weights: Vec<u64> = self.counters.values().map(weight).collect();
        let middle = weights.len() / 2;
        let (_, &mut median, _) = weights.select_nth_unstable(middle);
        let mut ties = weights.iter().filter(|&&weight| weight < median).count();
        self.counters.retain(|_, counter| {
            let weight = weight(counter);
            // where most weigh the same, as many of those go as make half
            let goes = weight < median || (weight == median && ties < middle);
            ties += usize::from(goes && weight == median);
            !goes
        });
    }
}

/// Keys are hashes already.
#[derive(Debug, Clone, Copy, Default)]
struct AlreadyHashed(u64);

impl Hasher for AlreadyHashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}
