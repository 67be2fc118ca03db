//! A heap of due pages, laid out for the cache.

use super::{ARITY, Due};
use crate::PageId;

/// Fills places that no page has: no page is later.
const NOBODY: Due = Due {
    at: f64::INFINITY,
    page: PageId(u32::MAX),
    period: 0.0,
};

/// What the processor fetches at once.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct CacheLine([Due; ARITY]);

/// Pages of one server, earliest first.
///
/// The children of a page share a cache line: those of the k-th stand in line `k + 1`, and the
/// first page in the last place of line 0. A page that is taken out comes back soon, after its
/// visit; so the first place is only marked as free, and whoever comes next takes it: one way
/// through the heap instead of two.
#[derive(Clone, Debug, Default)]
pub(in crate::policy) struct DueHeap {
    lines: Vec<CacheLine>,
    places: usize,
    first_taken: bool,
}

impl DueHeap {
    pub fn from_entries(entries: &[Due]) -> Self {
        let lines = (entries.len() + ARITY - 1).div_ceil(ARITY);
        let mut heap = Self {
            lines: vec![CacheLine([NOBODY; ARITY]); lines],
            places: entries.len(),
            first_taken: false,
        };
        for (k, &due) in entries.iter().enumerate() {
            heap.set(k, due);
        }
        for k in (0..entries.len().div_ceil(ARITY)).rev() {
            heap.sift_down(k, heap.get(k));
        }
        heap
    }

    fn get(&self, k: usize) -> Due {
        let place = k + ARITY - 1;
        self.lines[place / ARITY].0[place % ARITY]
    }

    fn set(&mut self, k: usize, due: Due) {
        let place = k + ARITY - 1;
        self.lines[place / ARITY].0[place % ARITY] = due;
    }

    /// The earliest child of the k-th and its position.
    fn least_child(&self, k: usize) -> Option<(usize, Due)> {
        let CacheLine(children) = self.lines.get(k + 1)?;
        let mut least = (0, children[0]);
        for (slot, child) in children.iter().enumerate().skip(1) {
            if child.at < least.1.at {
                least = (slot, *child);
            }
        }
        Some((k * ARITY + 1 + least.0, least.1))
    }

    pub fn len(&self) -> usize {
        self.places - usize::from(self.first_taken)
    }

    pub fn first(&self) -> Option<Due> {
        if self.len() == 0 {
            None
        } else if self.first_taken {
            self.least_child(0).map(|(_, due)| due)
        } else {
            Some(self.get(0))
        }
    }

    pub fn push(&mut self, due: Due) {
        if std::mem::take(&mut self.first_taken) {
            self.replace_first(due);
            return;
        }
        let mut k = self.places;
        self.places += 1;
        if (self.places + ARITY - 1).div_ceil(ARITY) > self.lines.len() {
            self.lines.push(CacheLine([NOBODY; ARITY]));
        }
        while k > 0 {
            let parent = (k - 1) / ARITY;
            if self.get(parent).at <= due.at {
                break;
            }
            self.set(k, self.get(parent));
            k = parent;
        }
        self.set(k, due);
    }

    pub fn pop(&mut self) -> Option<Due> {
        self.close_gap();
        self.first_taken = self.places > 0;
        self.first_taken.then(|| self.get(0))
    }

    /// Puts `due` in the place of the first.
    pub fn replace_first(&mut self, due: Due) {
        self.close_gap();
        self.sift_down(0, due);
    }

    /// Takes a page out, wherever it stands.
    pub fn remove(&mut self, page: PageId) -> Option<Due> {
        self.close_gap();
        let mut entries: Vec<Due> = self.entries().collect();
        let k = entries.iter().position(|due| due.page == page)?;
        let gone = entries.swap_remove(k);
        *self = Self::from_entries(&entries);
        Some(gone)
    }

    /// All pages, in no order.
    pub fn entries(&self) -> impl Iterator<Item = Due> {
        (usize::from(self.first_taken)..self.places).map(|k| self.get(k))
    }

    /// Fills the first place, if it is free, with the last entry.
    fn close_gap(&mut self) {
        if std::mem::take(&mut self.first_taken) {
            self.places -= 1;
            let last = self.get(self.places);
            self.set(self.places, NOBODY);
            if self.places > 0 {
                self.sift_down(0, last);
            }
        }
    }

    /// Puts `moving` at the k-th place or where it belongs below.
    fn sift_down(&mut self, mut k: usize, moving: Due) {
        while let Some((child, least)) = self.least_child(k) {
            if least.at >= moving.at {
                break;
            }
            self.set(k, least);
            k = child;
        }
        self.set(k, moving);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn the_heap_agrees_with_a_sorted_list_whatever_is_done_to_it() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        for size in [0, 1, 2, 4, 5, 6, 17, 100] {
            let due = |rng: &mut Xoshiro256PlusPlus, page| Due {
                at: rng.random(),
                page: PageId(page),
                period: 0.0,
            };
            let mut list: Vec<Due> = (0..size).map(|page| due(&mut rng, page)).collect();
            let mut heap = DueHeap::from_entries(&list);
            for next_page in size..size + 1000 {
                list.sort_by(|a, b| a.at.total_cmp(&b.at));
                assert_eq!(heap.first(), list.first().copied());
                assert_eq!(heap.len(), list.len());
                assert_eq!(heap.entries().count(), list.len());
                match rng.random_range(0..4) {
                    0 => {
                        let popped = heap.pop();
                        assert_eq!(popped.is_some(), !list.is_empty());
                        list.drain(..list.len().min(1));
                    }
                    1 if !list.is_empty() => {
                        list[0] = due(&mut rng, next_page);
                        heap.replace_first(list[0]);
                    }
                    2 if !list.is_empty() => {
                        let gone = list.swap_remove(rng.random_range(0..list.len()));
                        assert_eq!(heap.remove(gone.page), Some(gone));
                    }
                    _ => {
                        list.push(due(&mut rng, next_page));
                        heap.push(list[list.len() - 1]);
                    }
                }
            }
        }
    }
}
