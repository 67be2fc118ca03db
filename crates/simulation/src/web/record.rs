//! The server's own record of every request.

use std::{
    collections::HashSet,
    net::Ipv4Addr,
    sync::{Arc, Mutex, MutexGuard},
};

/// One request as the server saw it. Times are microseconds since the epoch of the clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    /// When the head of the request had arrived.
    pub start: u64,
    /// When the last bytes of the response were about to be sent, or the client had gone: never
    /// later than the client can know of it, but for the time a vanished client takes to be
    /// noticed. [`Visit::RUNNING`] while there is no end.
    pub end: u64,
    /// The name asked for.
    pub host: Arc<str>,
    /// The address that the client connected to.
    pub address: Ipv4Addr,
    /// The address that it connected from.
    pub client: Ipv4Addr,
    /// Path and query.
    pub path: Box<str>,
    /// The status of the response; zero while there is none.
    pub status: u16,
    /// Bytes sent, the head included.
    pub bytes: u64,
    /// Whether the request was conditional.
    pub conditional: bool,
    /// Whether a body that is what it says was sent to its end.
    pub complete: bool,
}

impl Visit {
    /// The end of a request that has none yet.
    pub const RUNNING: u64 = u64::MAX;
}

/// The visits so far, in the order of their starts. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Record {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    visits: Vec<Visit>,
    names: HashSet<Arc<str>>,
}

impl Record {
    /// A copy of the visits so far.
    pub fn visits(&self) -> Vec<Visit> {
        self.lock().visits.clone()
    }

    /// How many visits there are.
    pub fn len(&self) -> usize {
        self.lock().visits.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Notes a visit that starts and returns its number. The time is read under the lock, so that
    /// the starts ascend.
    pub(super) fn begin(&self, now: impl FnOnce() -> u64, mut visit: Visit) -> (usize, u64) {
        let mut state = self.lock();
        if let Some(name) = state.names.get(&visit.host) {
            visit.host = Arc::clone(name);
        } else {
            state.names.insert(Arc::clone(&visit.host));
        }
        visit.start = now();
        let start = visit.start;
        state.visits.push(visit);
        (state.visits.len() - 1, start)
    }

    /// Changes what is noted of a visit.
    pub(super) fn update(&self, number: usize, change: impl FnOnce(&mut Visit)) {
        change(&mut self.lock().visits[number]);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no one panics with the record")
    }
}
