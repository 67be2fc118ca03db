//! What is soon over: pages to be tried later, requests of the last seconds.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use storage::PageId;

/// Pages to be tried at a later time.
#[derive(Debug, Default)]
pub(super) struct Later(BinaryHeap<Reverse<(u64, PageId)>>);

impl Later {
    /// Tries the page at `at`.
    pub fn push(&mut self, at: f64, page: PageId) {
        self.0.push(Reverse(((at * 1e3) as u64, page)));
    }

    /// When there is something.
    pub fn next(&self) -> f64 {
        self.0
            .peek()
            .map_or(f64::INFINITY, |Reverse((at, ..))| *at as f64 / 1e3)
    }

    /// Takes out something that is due.
    pub fn pop(&mut self, at: f64) -> Option<PageId> {
        if self.next() > at {
            return None;
        }
        self.0.pop().map(|Reverse((_, page))| page)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Counts events by the second.
#[derive(Debug, Default)]
pub(super) struct Rate(VecDeque<(u64, u32)>);

/// Seconds looked back.
const WINDOW: u64 = 5;

impl Rate {
    pub fn count(&mut self, at: f64) {
        let second = at as u64;
        match self.0.back_mut() {
            Some((last, count)) if *last == second => *count += 1,
            _ => self.0.push_back((second, 1)),
        }
        while self
            .0
            .front()
            .is_some_and(|&(first, _)| first + WINDOW < second)
        {
            self.0.pop_front();
        }
    }

    /// Events per second, over the seconds that are over.
    pub fn per_second(&self, at: f64) -> f64 {
        let now = at as u64;
        let recent = self
            .0
            .iter()
            .filter(|&&(second, _)| second < now && second + WINDOW >= now);
        let count: u32 = recent.map(|&(_, count)| count).sum();
        f64::from(count) / WINDOW as f64
    }
}
