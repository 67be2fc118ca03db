//! Due times of pages by server, and which server can be asked next.
//!
//! Every policy that thinks in due times shares these: a heap of pages for each server, and one of
//! servers above them. No step takes longer than the logarithm of the number of pages. Among equal
//! times the least number comes first, so that nothing depends on how a heap came about.

mod agenda;

pub(super) use agenda::Agenda;

use crate::{PageId, ServerId};

/// Children of a node in the heap.
const ARITY: usize = 4;
/// The position of a page that is in no heap.
const NONE: u32 = u32::MAX;

/// A page and when it is due. Sixteen bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Due {
    pub at: f64,
    pub page: PageId,
    /// What is added to `at` after a visit, for schedules that keep to a period.
    pub period: f32,
}

impl Due {
    fn before(&self, other: &Self) -> bool {
        (self.at, self.page) < (other.at, other.page)
    }
}

/// Pages by due time, served no faster than each server's delay allows.
#[derive(Clone, Debug)]
pub(super) struct DueQueues {
    servers: Vec<Server>,
    /// Where each page stands in the heap of its server.
    position: Vec<u32>,
    agenda: Agenda,
}

#[derive(Clone, Debug)]
struct Server {
    heap: Vec<Due>,
    delay: f64,
    /// When it was last asked.
    asked: f64,
    /// Asked whenever it may be, whether its first page is due or not.
    eager: bool,
}

impl Server {
    fn new(delay: f64) -> Self {
        Self {
            heap: Vec::new(),
            delay,
            asked: f64::NEG_INFINITY,
            eager: false,
        }
    }

    /// The instant from which on it may be asked.
    fn free(&self) -> f64 {
        if self.delay > 0.0 {
            self.asked + self.delay
        } else {
            // always free, so that its pages keep their order among those of other servers
            f64::NEG_INFINITY
        }
    }

    /// When it wants attention.
    fn wanted(&self) -> f64 {
        match self.heap.first() {
            None => f64::INFINITY,
            Some(_) if self.eager => self.free(),
            Some(due) => due.at.max(self.free()),
        }
    }

    fn sift_up(&mut self, mut k: usize, position: &mut [u32]) {
        let moving = self.heap[k];
        while k > 0 {
            let parent = (k - 1) / ARITY;
            if !moving.before(&self.heap[parent]) {
                break;
            }
            self.place(k, self.heap[parent], position);
            k = parent;
        }
        self.place(k, moving, position);
    }

    fn sift_down(&mut self, mut k: usize, position: &mut [u32]) {
        let Some(&moving) = self.heap.get(k) else {
            return;
        };
        loop {
            let start = k * ARITY + 1;
            let end = self.heap.len().min(start + ARITY);
            let mut least = k;
            let mut first = moving;
            for child in start..end {
                if self.heap[child].before(&first) {
                    least = child;
                    first = self.heap[child];
                }
            }
            if least == k {
                break;
            }
            self.place(k, first, position);
            k = least;
        }
        self.place(k, moving, position);
    }

    fn place(&mut self, k: usize, due: Due, position: &mut [u32]) {
        self.heap[k] = due;
        position[due.page.index()] = k as u32;
    }

    /// Takes out what stands at `k`.
    fn take(&mut self, k: usize, position: &mut [u32]) -> Due {
        let gone = self.heap.swap_remove(k);
        position[gone.page.index()] = NONE;
        if k < self.heap.len() {
            let moved = self.heap[k].page;
            self.sift_up(k, position);
            self.sift_down(position[moved.index()] as usize, position);
        }
        gone
    }

    fn put(&mut self, due: Due, position: &mut [u32]) {
        self.heap.push(due);
        self.sift_up(self.heap.len() - 1, position);
    }
}

impl DueQueues {
    pub fn new(delay: &[f64]) -> Self {
        Self {
            servers: delay.iter().map(|&delay| Server::new(delay)).collect(),
            position: Vec::new(),
            agenda: Agenda::new(vec![f64::INFINITY; delay.len()]),
        }
    }

    /// Replaces the pages of all servers.
    pub fn fill(&mut self, entries: Vec<Vec<Due>>) {
        self.position.fill(NONE);
        for entries in &entries {
            for due in entries {
                self.make_room(due.page);
            }
        }
        for (server, entries) in self.servers.iter_mut().zip(entries) {
            server.heap = entries;
            server.heap.shrink_to_fit();
            for k in (0..server.heap.len()).rev() {
                server.sift_down(k, &mut self.position);
            }
        }
        self.agenda = Agenda::new(self.servers.iter().map(Server::wanted).collect());
    }

    /// The page to visit next, its server, and the instant from which on it may be visited.
    pub fn first(&self) -> Option<(Due, ServerId, f64)> {
        let (server, at) = self.agenda.first()?;
        Some((*self.servers[server.index()].heap.first()?, server, at))
    }

    /// The first page of `server` was visited at `now` and is next due as given, or nevermore.
    pub fn visited(&mut self, server: ServerId, now: f64, next: Option<Due>) {
        if let Some(due) = next {
            self.make_room(due.page);
        }
        self.update(server, |server, position| {
            server.asked = now;
            match next {
                Some(due) if due.page == server.heap[0].page => {
                    server.heap[0] = due;
                    server.sift_down(0, position);
                }
                Some(due) => {
                    server.take(0, position);
                    server.put(due, position);
                }
                None => {
                    server.take(0, position);
                }
            }
        });
    }

    /// Puts a page in line, or in another place if it is there already.
    pub fn push(&mut self, server: ServerId, due: Due) {
        self.make_room(due.page);
        self.update(server, |server, position| {
            let k = position[due.page.index()];
            if k == NONE {
                server.put(due, position);
            } else {
                let k = k as usize;
                let before = std::mem::replace(&mut server.heap[k], due);
                if due.before(&before) {
                    server.sift_up(k, position);
                } else {
                    server.sift_down(k, position);
                }
            }
        });
    }

    /// Takes a page out of line, if it is there.
    pub fn remove(&mut self, server: ServerId, page: PageId) -> Option<Due> {
        let k = self.position.get(page.index()).copied()?;
        if k == NONE {
            return None;
        }
        Some(self.update(server, |server, position| server.take(k as usize, position)))
    }

    /// Sets a server's delay; one past the last adds a server.
    pub fn set_delay(&mut self, server: ServerId, delay: f64) {
        if server.index() == self.servers.len() {
            self.servers.push(Server::new(delay));
        }
        self.update(server, |server, _| server.delay = delay);
    }

    /// The pages of each server, in no order.
    pub fn servers(&self) -> impl Iterator<Item = &[Due]> {
        self.servers.iter().map(|server| server.heap.as_slice())
    }

    /// The instant from which on the server may be asked.
    pub fn free(&self, server: ServerId) -> f64 {
        self.servers[server.index()].free()
    }

    /// When the server was last asked.
    pub fn asked(&self, server: ServerId) -> f64 {
        self.servers[server.index()].asked
    }

    /// The server was last asked at `at`.
    pub fn set_asked(&mut self, server: ServerId, at: f64) {
        self.update(server, |server, _| server.asked = at);
    }

    /// Makes a server eager or not.
    pub fn set_eager(&mut self, server: ServerId, eager: bool) {
        if self.servers[server.index()].eager != eager {
            self.update(server, |server, _| server.eager = eager);
        }
    }

    fn make_room(&mut self, page: PageId) {
        if self.position.len() <= page.index() {
            self.position.resize(page.index() + 1, NONE);
        }
    }

    fn update<T>(&mut self, id: ServerId, change: impl FnOnce(&mut Server, &mut [u32]) -> T) -> T {
        let server = &mut self.servers[id.index()];
        let result = change(server, &mut self.position);
        let wanted = server.wanted();
        self.agenda.set(id, wanted);
        result
    }
}

#[cfg(test)]
mod tests;
