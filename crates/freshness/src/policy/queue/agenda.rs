//! Which server wants attention next.

use crate::ServerId;

/// Children of a node in the heap.
const ARITY: usize = 4;

/// Servers by the instant at which they want attention, earliest first, and among equals the least
/// number first. Infinite means never.
#[derive(Clone, Debug, Default)]
pub(in crate::policy) struct Agenda {
    heap: Vec<Wanted>,
    position: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Wanted {
    at: f64,
    server: u32,
}

impl Wanted {
    fn before(&self, other: &Self) -> bool {
        (self.at, self.server) < (other.at, other.server)
    }
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
        } else if at > old {
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
            if !moving.before(&self.heap[parent]) {
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
            let mut least = (moving, usize::MAX);
            for (offset, child) in children.iter().enumerate() {
                if child.before(&least.0) {
                    least = (*child, start + offset);
                }
            }
            if least.1 == usize::MAX {
                break;
            }
            self.place(k, least.0);
            k = least.1;
        }
        self.place(k, moving);
    }
}
