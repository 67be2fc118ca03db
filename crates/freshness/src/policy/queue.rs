//! Due times of pages by server, and which server can be asked next.
//!
//! Every policy that thinks in due times shares these: a small heap of pages for each server, which
//! stays in cache, and one heap of servers above them.

use crate::{PageId, ServerId};

const ARITY: usize = 4;

/// A page and when it is due. Sixteen bytes: four fill a cache line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Due {
    pub at: f64,
    pub page: PageId,
    /// What is added to `at` after a visit, for schedules that keep to a period.
    pub period: f32,
}

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
pub(super) struct DueHeap {
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

/// Servers by the instant at which they want attention, earliest first. Infinite means never.
#[derive(Clone, Debug, Default)]
pub(super) struct Agenda {
    heap: Vec<Wanted>,
    position: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Wanted {
    at: f64,
    server: u32,
}

impl Agenda {
    pub fn new(instants: Vec<f64>) -> Self {
        let wanted = |(server, at)| Wanted { at, server };
        let mut agenda = Self {
            position: (0..instants.len() as u32).collect(),
            heap: (0..).zip(instants).map(wanted).collect(),
        };
        for k in (0..agenda.heap.len().div_ceil(ARITY)).rev() {
            agenda.sift_down(k);
        }
        agenda
    }

    /// The first server and its instant, unless none is finite.
    pub fn first(&self) -> Option<(ServerId, f64)> {
        let first = self.heap.first()?;
        (first.at < f64::INFINITY).then_some((ServerId(first.server), first.at))
    }

    /// Sets a server's instant; one past the last adds a server.
    pub fn set(&mut self, server: ServerId, at: f64) {
        let index = server.index();
        if index == self.position.len() {
            self.position.push(self.heap.len() as u32);
            self.heap.push(Wanted {
                at: f64::INFINITY,
                server: server.0,
            });
        }
        let position = self.position[index] as usize;
        let old = std::mem::replace(&mut self.heap[position].at, at);
        if at < old {
            self.sift_up(position);
        } else {
            self.sift_down(position);
        }
    }

    fn place(&mut self, k: usize, wanted: Wanted) {
        self.heap[k] = wanted;
        self.position[wanted.server as usize] = k as u32;
    }

    fn sift_up(&mut self, mut k: usize) {
        let moving = self.heap[k];
        while k > 0 {
            let parent = (k - 1) / ARITY;
            if self.heap[parent].at <= moving.at {
                break;
            }
            self.place(k, self.heap[parent]);
            k = parent;
        }
        self.place(k, moving);
    }

    fn sift_down(&mut self, mut k: usize) {
        let Some(&moving) = self.heap.get(k) else {
            return;
        };
        loop {
            let start = k * ARITY + 1;
            let Some(children) = self.heap.get(start..self.heap.len().min(start + ARITY)) else {
                break;
            };
            let mut least = (moving.at, usize::MAX);
            for (offset, child) in children.iter().enumerate() {
                if child.at < least.0 {
                    least = (child.at, start + offset);
                }
            }
            if least.1 == usize::MAX {
                break;
            }
            self.place(k, self.heap[least.1]);
            k = least.1;
        }
        self.place(k, moving);
    }
}

/// Pages by due time, served no faster than each server's delay allows.
#[derive(Clone, Debug)]
pub(super) struct DueQueues {
    pages: Vec<DueHeap>,
    delay: Vec<f64>,
    /// When each server was last asked.
    asked: Vec<f64>,
    /// Servers that are asked whenever they may be, whether their first page is due or not.
    eager: Vec<bool>,
    agenda: Agenda,
}

impl DueQueues {
    pub fn new(delay: &[f64]) -> Self {
        Self {
            pages: vec![DueHeap::default(); delay.len()],
            delay: delay.to_vec(),
            asked: vec![f64::NEG_INFINITY; delay.len()],
            eager: vec![false; delay.len()],
            agenda: Agenda::new(vec![f64::INFINITY; delay.len()]),
        }
    }

    /// Replaces the pages of all servers.
    pub fn fill(&mut self, entries: Vec<Vec<Due>>) {
        self.pages = entries
            .into_iter()
            .map(|entries| DueHeap::from_entries(&entries))
            .collect();
        self.agenda = Agenda::new((0..self.pages.len()).map(|s| self.key(s)).collect());
    }

    /// The page to visit next, its server, and the instant from which on it may be visited.
    pub fn first(&self) -> Option<(Due, ServerId, f64)> {
        let (server, at) = self.agenda.first()?;
        Some((self.pages[server.index()].first()?, server, at))
    }

    /// The first page of `server` was visited at `now` and is next due as given, or nevermore.
    pub fn visited(&mut self, server: ServerId, now: f64, next: Option<Due>) {
        let s = server.index();
        self.asked[s] = now;
        match next {
            Some(due) => self.pages[s].replace_first(due),
            None => {
                self.pages[s].pop();
            }
        }
        self.agenda.set(server, self.key(s));
    }

    pub fn push(&mut self, server: ServerId, due: Due) {
        self.pages[server.index()].push(due);
        self.agenda.set(server, self.key(server.index()));
    }

    pub fn remove(&mut self, server: ServerId, page: PageId) -> Option<Due> {
        let gone = self.pages[server.index()].remove(page);
        self.agenda.set(server, self.key(server.index()));
        gone
    }

    /// Sets a server's delay; one past the last adds a server.
    pub fn set_delay(&mut self, server: ServerId, delay: f64) {
        let s = server.index();
        if s == self.delay.len() {
            self.pages.push(DueHeap::default());
            self.delay.push(delay);
            self.asked.push(f64::NEG_INFINITY);
            self.eager.push(false);
        } else {
            self.delay[s] = delay;
        }
        self.agenda.set(server, self.key(s));
    }

    pub fn servers(&self) -> impl Iterator<Item = &DueHeap> {
        self.pages.iter()
    }

    /// The instant from which on the server may be asked.
    pub fn free(&self, server: ServerId) -> f64 {
        self.free_at(server.index())
    }

    fn free_at(&self, s: usize) -> f64 {
        if self.delay[s] > 0.0 {
            self.asked[s] + self.delay[s]
        } else {
            // always free, so that its pages keep their order among those of other servers
            f64::NEG_INFINITY
        }
    }

    /// Makes a server eager or not.
    pub fn set_eager(&mut self, server: ServerId, eager: bool) {
        if std::mem::replace(&mut self.eager[server.index()], eager) != eager {
            self.agenda.set(server, self.key(server.index()));
        }
    }

    fn key(&self, s: usize) -> f64 {
        match self.pages[s].first() {
            None => f64::INFINITY,
            Some(_) if self.eager[s] => self.free_at(s),
            Some(due) => due.at.max(self.free_at(s)),
        }
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
