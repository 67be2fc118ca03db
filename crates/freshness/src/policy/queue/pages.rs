//! The due pages of one server, kept so that memory is read in its order.

use super::Due;
use crate::PageId;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// This part of the pages is sorted at once.
const RUNS_IN_A_ROUND: usize = 8;

/// Pages of one server, earliest first.
///
/// A heap of all pages would miss the cache on each of its levels, whenever a server has its turn.
/// So only the pages due before a horizon are in order: a sorted run, taken from its end, and a
/// small heap of those that came later. The others stand as they came; when those before the
/// horizon are used up, a part of the others becomes the next run.
#[derive(Clone, Debug)]
pub(in crate::policy) struct DuePages {
    beyond: Vec<Due>,
    /// No page in `beyond` is due before this.
    horizon: f64,
    /// Latest first.
    run: Vec<Due>,
    early: BinaryHeap<Earliest>,
}

/// Orders so that the earliest is the greatest.
#[derive(Clone, Copy, Debug)]
struct Earliest(Due);

impl Ord for Earliest {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.at.total_cmp(&self.0.at)
    }
}

impl PartialOrd for Earliest {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Earliest {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Earliest {}

impl Default for DuePages {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl DuePages {
    pub fn new(mut entries: Vec<Due>) -> Self {
        entries.shrink_to_fit();
        let mut pages = Self {
            beyond: entries,
            horizon: f64::NEG_INFINITY,
            run: Vec::new(),
            early: BinaryHeap::new(),
        };
        pages.refill();
        pages
    }

    fn len(&self) -> usize {
        self.beyond.len() + self.run.len() + self.early.len()
    }

    pub fn first(&self) -> Option<Due> {
        match (self.run.last(), self.early.peek()) {
            (Some(run), Some(Earliest(early))) => {
                Some(if early.at < run.at { *early } else { *run })
            }
            (Some(due), None) | (None, Some(Earliest(due))) => Some(*due),
            (None, None) => None,
        }
    }

    pub fn push(&mut self, due: Due) {
        if due.at < self.horizon {
            self.early.push(Earliest(due));
        } else {
            self.beyond.push(due);
            self.refill();
        }
    }

    pub fn pop(&mut self) -> Option<Due> {
        let first = self.take_first();
        self.refill();
        first
    }

    /// Puts `due` in the place of the first.
    pub fn replace_first(&mut self, due: Due) {
        self.take_first();
        self.push(due);
        self.refill();
    }

    /// Takes a page out, wherever it stands.
    pub fn remove(&mut self, page: PageId) -> Option<Due> {
        let mut entries: Vec<Due> = self.entries().collect();
        let k = entries.iter().position(|due| due.page == page)?;
        let gone = entries.swap_remove(k);
        *self = Self::new(entries);
        Some(gone)
    }

    /// All pages, in no order.
    pub fn entries(&self) -> impl Iterator<Item = Due> {
        let early = self.early.iter().map(|&Earliest(due)| due);
        let listed = self.beyond.iter().chain(&self.run).copied();
        listed.chain(early)
    }

    fn take_first(&mut self) -> Option<Due> {
        let early_first = match (self.run.last(), self.early.peek()) {
            (Some(run), Some(Earliest(early))) => early.at < run.at,
            (run, _) => run.is_none(),
        };
        if early_first {
            self.early.pop().map(|Earliest(due)| due)
        } else {
            self.run.pop()
        }
    }

    /// Moves the horizon on if nothing is left before it.
    fn refill(&mut self) {
        if !self.run.is_empty() || !self.early.is_empty() || self.beyond.is_empty() {
            return;
        }
        let count = self.len().div_ceil(RUNS_IN_A_ROUND);
        let later = self.beyond.len() - count;
        // latest first, so that the next run stands at the end
        let latest_first = |a: &Due, b: &Due| b.at.total_cmp(&a.at);
        self.beyond.select_nth_unstable_by(later, latest_first);
        self.horizon = self.beyond[later].at;
        self.run.reserve_exact(count);
        self.run.extend(self.beyond.drain(later..));
        self.run.sort_unstable_by(latest_first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn agrees_with_a_sorted_list_whatever_is_done_to_it() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        for size in [0, 1, 2, 7, 8, 9, 17, 100] {
            let due = |rng: &mut Xoshiro256PlusPlus, page| Due {
                at: f64::from(page) * 0.01 + rng.random::<f64>(),
                page: PageId(page),
                period: 0.0,
            };
            let mut list: Vec<Due> = (0..size).map(|page| due(&mut rng, page)).collect();
            let mut pages = DuePages::new(list.clone());
            for next_page in size..size + 2000 {
                list.sort_by(|a, b| a.at.total_cmp(&b.at));
                assert_eq!(pages.first(), list.first().copied());
                assert_eq!(pages.len(), list.len());
                assert_eq!(pages.entries().count(), list.len());
                match rng.random_range(0..6) {
                    0 => {
                        let first = list.first().copied();
                        assert_eq!(pages.pop(), first);
                        list.drain(..list.len().min(1));
                    }
                    1 | 2 if !list.is_empty() => {
                        list[0] = due(&mut rng, next_page);
                        pages.replace_first(list[0]);
                    }
                    3 if !list.is_empty() => {
                        let gone = list.swap_remove(rng.random_range(0..list.len()));
                        assert_eq!(pages.remove(gone.page), Some(gone));
                    }
                    _ => {
                        list.push(due(&mut rng, next_page));
                        pages.push(list[list.len() - 1]);
                    }
                }
            }
        }
    }
}
