//! A robot measures servers that it does not ask for pages, when a partitioner wants to know: slowly, and not again
//! for long.

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use netmap::pace::Pace;

/// Packets per second to a server.
pub const PER_SECOND: f64 = 5.0;
/// Most servers that wait.
const WAITING: usize = 1_000;
/// So often it is looked whether the robot ends.
const LOOK: Duration = Duration::from_millis(500);

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Servers at a time.
    pub at_once: usize,
    /// Each of them begins no sooner after the one before.
    pub every: Duration,
    /// So long what was found is good.
    pub lasts: Duration,
    /// Most servers that are remembered.
    pub known: usize,
}

/// Whoever measures.
pub struct Gauge<T>(Arc<Shared<T>>);

impl<T> Clone for Gauge<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

struct Shared<T> {
    limits: Limits,
    state: Mutex<State<T>>,
    news: Condvar,
    stop: AtomicBool,
}

struct State<T> {
    waiting: VecDeque<IpAddr>,
    under_way: HashSet<IpAddr>,
    known: HashMap<IpAddr, (Instant, T)>,
    tally: Tally,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Servers that were measured.
    pub measured: u64,
    /// Servers that did not answer, or may not be asked.
    pub failed: u64,
    /// Servers that there was no room for.
    pub refused: u64,
}

/// Ends it.
pub struct Running<T>(Gauge<T>);

impl<T> Drop for Running<T> {
    fn drop(&mut self) {
        self.0.0.stop.store(true, Ordering::Relaxed);
    }
}

impl<T: Clone + Default + Send + 'static> Gauge<T> {
    /// `measure` says nothing of what it cannot find.
    pub fn start(
        limits: Limits,
        measure: impl Fn(IpAddr, &Pace) -> Option<T> + Send + Sync + 'static,
    ) -> std::io::Result<(Self, Running<T>)> {
        let gauge = Self(Arc::new(Shared {
            limits,
            state: Mutex::new(State {
                waiting: VecDeque::new(),
                under_way: HashSet::new(),
                known: HashMap::new(),
                tally: Tally::default(),
            }),
            news: Condvar::new(),
            stop: AtomicBool::new(false),
        }));
        let measure = Arc::new(measure);
        for _ in 0..limits.at_once {
            let (own, measure) = (gauge.clone(), measure.clone());
            let thread = std::thread::Builder::new().name("gauge".into());
            thread.spawn(move || own.work(&*measure))?;
        }
        Ok((gauge.clone(), Running(gauge)))
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        let state = self.0.state.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of these servers; the others are measured as soon as may be.
    pub fn of(&self, servers: &[IpAddr]) -> Vec<(IpAddr, T)> {
        let mut state = self.state();
        let mut known = Vec::new();
        for server in servers {
            match state.known.get(server) {
                Some((at, found)) if at.elapsed() < self.0.limits.lasts => {
                    known.push((*server, found.clone()));
                }
                _ => state.queue(*server, self.0.limits),
            }
        }
        drop(state);
        self.0.news.notify_all();
        known
    }

    /// What came of it so far.
    pub fn tally(&self) -> Tally {
        self.state().tally
    }

    fn work(&self, measure: &impl Fn(IpAddr, &Pace) -> Option<T>) {
        let pace = Pace::new(PER_SECOND, &self.0.stop);
        let mut next = Instant::now();
        while !pace.is_over() {
            let left = next.saturating_duration_since(Instant::now());
            if !left.is_zero() {
                std::thread::sleep(left.min(LOOK));
                continue;
            }
            let Some(server) = self.next() else {
                continue;
            };
            next = Instant::now() + self.0.limits.every;
            let found = measure(server, &pace);
            // what ended early says nothing of the server
            if !pace.is_over() {
                self.state().learn(server, found);
            }
        }
    }

    /// Waits a while for something to measure.
    fn next(&self) -> Option<IpAddr> {
        let waits = |state: &mut State<T>| state.waiting.is_empty();
        let waited = (self.0.news).wait_timeout_while(self.state(), LOOK, waits);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let server = state.waiting.pop_front()?;
        state.under_way.insert(server);
        Some(server)
    }
}

impl<T: Default> State<T> {
    fn queue(&mut self, server: IpAddr, limits: Limits) {
        if self.under_way.contains(&server) || self.waiting.contains(&server) {
            return;
        }
        let to_come = self.waiting.len() + self.under_way.len();
        if self.known.len() + to_come >= limits.known {
            self.known.retain(|_, (at, _)| at.elapsed() < limits.lasts);
        }
        // what could not be remembered would be measured again and again
        if self.waiting.len() < WAITING && self.known.len() + to_come < limits.known {
            self.waiting.push_back(server);
        } else {
            self.tally.refused += 1;
        }
    }

    fn learn(&mut self, server: IpAddr, found: Option<T>) {
        self.under_way.remove(&server);
        match found {
            Some(_) => self.tally.measured += 1,
            None => self.tally.failed += 1,
        }
        let found = found.unwrap_or_default();
        self.known.insert(server, (Instant::now(), found));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait_for<T: Clone + Default + Send + 'static>(
        gauge: &Gauge<T>,
        servers: &[IpAddr],
    ) -> Vec<(IpAddr, T)> {
        let began = Instant::now();
        loop {
            let known = gauge.of(servers);
            if known.len() == servers.len() {
                return known;
            }
            assert!(began.elapsed() < Duration::from_mins(1), "{}", known.len());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    #[test]
    fn each_is_measured_once_at_its_pace_and_no_more_than_there_is_room_for() {
        let limits = Limits {
            at_once: 1,
            every: Duration::from_millis(200),
            lasts: Duration::from_hours(1),
            known: 3,
        };
        let servers: Vec<IpAddr> = (1..=4).map(|last| [192, 0, 2, last].into()).collect();
        let silent = servers[1];
        let began = Instant::now();
        let (gauge, running) =
            Gauge::start(limits, move |server, _| (server != silent).then_some(7)).unwrap();
        let known = wait_for(&gauge, &servers[..3]);
        assert!(began.elapsed() >= Duration::from_millis(400));
        assert_eq!(
            known.iter().map(|(_, found)| *found).collect::<Vec<_>>(),
            [7, 0, 7]
        );
        assert_eq!(gauge.of(&servers).len(), 3);
        let tally = gauge.tally();
        assert_eq!((tally.measured, tally.failed, tally.refused), (2, 1, 1));
        drop(running);
    }
}
