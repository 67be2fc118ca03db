//! Due times of pages by server, and which server can be asked next.
//!
//! Every policy that thinks in due times shares these: a small heap of pages for each server, which
//! stays in cache, and one heap of servers above them.

use crate::{PageId, ServerId};

const ARITY: usize = 4;

/// A page and when it is due. Sixteen bytes: four share a cache line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Due {
    pub at: f64,
    pub page: PageId,
    /// What is added to `at` after a visit, for schedules that keep to a period.
    pub period: f32,
}

/// Pages of one server, earliest first.
#[derive(Clone, Debug, Default)]
pub(super) struct DueHeap(Vec<Due>);

impl DueHeap {
    pub fn from_entries(entries: Vec<Due>) -> Self {
        let mut heap = Self(entries);
        for k in (0..heap.0.len().div_ceil(ARITY)).rev() {
            heap.sift_down(k);
        }
        heap
    }

    pub fn first(&self) -> Option<Due> {
        self.0.first().copied()
    }

    pub fn push(&mut self, due: Due) {
        self.0.push(due);
        let mut k = self.0.len() - 1;
        while k > 0 {
            let parent = (k - 1) / ARITY;
            if self.0[parent].at <= self.0[k].at {
                break;
            }
            self.0.swap(k, parent);
            k = parent;
        }
    }

    pub fn pop(&mut self) -> Option<Due> {
        let first = self.first()?;
        let last = self.0.pop()?;
        if !self.0.is_empty() {
            self.replace_first(last);
        }
        Some(first)
    }

    /// Puts `due` in the place of the first.
    pub fn replace_first(&mut self, due: Due) {
        self.0[0] = due;
        self.sift_down(0);
    }

    /// Takes a page out, wherever it stands.
    pub fn remove(&mut self, page: PageId) -> Option<Due> {
        let k = self.0.iter().position(|due| due.page == page)?;
        let gone = self.0.swap_remove(k);
        *self = Self::from_entries(std::mem::take(&mut self.0));
        Some(gone)
    }

    pub fn entries(&self) -> &[Due] {
        &self.0
    }

    fn sift_down(&mut self, mut k: usize) {
        let heap = self.0.as_mut_slice();
        let Some(&moving) = heap.get(k) else { return };
        loop {
            let start = k * ARITY + 1;
            let Some(children) = heap.get(start..heap.len().min(start + ARITY)) else {
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
            heap[k] = heap[least.1];
            k = least.1;
        }
        heap[k] = moving;
    }
}

/// Servers by the instant at which they want attention, earliest first. Infinite means never.
#[derive(Clone, Debug, Default)]
pub(super) struct Agenda {
    key: Vec<f64>,
    heap: Vec<u32>,
    position: Vec<u32>,
}

impl Agenda {
    pub fn new(keys: Vec<f64>) -> Self {
        let servers = keys.len() as u32;
        let mut agenda = Self {
            key: keys,
            heap: (0..servers).collect(),
            position: (0..servers).collect(),
        };
        for k in (0..agenda.heap.len().div_ceil(ARITY)).rev() {
            agenda.sift_down(k);
        }
        agenda
    }

    /// The first server and its instant, unless none is finite.
    pub fn first(&self) -> Option<(ServerId, f64)> {
        let &server = self.heap.first()?;
        let key = self.key[server as usize];
        (key < f64::INFINITY).then_some((ServerId(server), key))
    }

    /// Sets a server's instant; one past the last adds a server.
    pub fn set(&mut self, server: ServerId, key: f64) {
        let index = server.index();
        if index == self.key.len() {
            self.key.push(f64::INFINITY);
            self.position.push(self.heap.len() as u32);
            self.heap.push(server.0);
        }
        let old = std::mem::replace(&mut self.key[index], key);
        let position = self.position[index] as usize;
        if key < old {
            self.sift_up(position);
        } else {
            self.sift_down(position);
        }
    }

    fn key_at(&self, k: usize) -> f64 {
        self.key[self.heap[k] as usize]
    }

    fn place(&mut self, k: usize, server: u32) {
        self.heap[k] = server;
        self.position[server as usize] = k as u32;
    }

    fn sift_up(&mut self, mut k: usize) {
        let server = self.heap[k];
        let key = self.key[server as usize];
        while k > 0 {
            let parent = (k - 1) / ARITY;
            if self.key_at(parent) <= key {
                break;
            }
            self.place(k, self.heap[parent]);
            k = parent;
        }
        self.place(k, server);
    }

    fn sift_down(&mut self, mut k: usize) {
        let Some(&server) = self.heap.get(k) else {
            return;
        };
        let key = self.key[server as usize];
        loop {
            let start = k * ARITY + 1;
            let mut least = (key, usize::MAX);
            for child in start..self.heap.len().min(start + ARITY) {
                if self.key_at(child) < least.0 {
                    least = (self.key_at(child), child);
                }
            }
            if least.1 == usize::MAX {
                break;
            }
            self.place(k, self.heap[least.1]);
            k = least.1;
        }
        self.place(k, server);
    }
}

/// Pages by due time, served no faster than each server's delay allows.
#[derive(Clone, Debug)]
pub(super) struct DueQueues {
    pages: Vec<DueHeap>,
    delay: Vec<f64>,
    /// The instant from which on each server may be asked again.
    free: Vec<f64>,
    /// Servers that are asked whenever they may be, whether their first page is due or not.
    eager: Vec<bool>,
    agenda: Agenda,
}

impl DueQueues {
    pub fn new(delay: &[f64]) -> Self {
        Self {
            pages: vec![DueHeap::default(); delay.len()],
            delay: delay.to_vec(),
            free: vec![f64::NEG_INFINITY; delay.len()],
            eager: vec![false; delay.len()],
            agenda: Agenda::new(vec![f64::INFINITY; delay.len()]),
        }
    }

    /// Replaces the pages of all servers.
    pub fn fill(&mut self, entries: Vec<Vec<Due>>) {
        self.pages = entries.into_iter().map(DueHeap::from_entries).collect();
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
        // a server without a delay is always free, and its pages keep their order
        if self.delay[s] > 0.0 {
            self.free[s] = now + self.delay[s];
        }
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
            self.free.push(f64::NEG_INFINITY);
            self.eager.push(false);
        } else {
            // what was waited for under the old delay still counts
            self.free[s] += delay - self.delay[s];
            self.delay[s] = delay;
        }
        self.agenda.set(server, self.key(s));
    }

    pub fn servers(&self) -> impl Iterator<Item = &DueHeap> {
        self.pages.iter()
    }

    /// The instant from which on the server may be asked.
    pub fn free(&self, server: ServerId) -> f64 {
        self.free[server.index()]
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
            Some(_) if self.eager[s] => self.free[s],
            Some(due) => due.at.max(self.free[s]),
        }
    }
}
