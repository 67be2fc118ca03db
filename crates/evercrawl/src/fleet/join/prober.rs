//! A robot measures how far servers are that it does not ask for pages, when a partitioner wants to know: the median of
//! seven packets, slowly, and not again for a day.

use anyhow::Result;
use netmap::pace::Pace;
use netmap::probe::{Probing, probe};
use robot::config::Config;
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Packets per second, to all servers together.
const PER_SECOND: f64 = 5.0;
/// Most servers that wait, and most that are remembered.
const WAITING: usize = 1_000;
const KNOWN: usize = 100_000;
const LASTS: Duration = Duration::from_hours(24);
/// So often it is looked whether the robot ends.
const LOOK: Duration = Duration::from_millis(500);

/// Whoever measures.
#[derive(Clone, Default)]
pub struct Prober(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    news: Condvar,
    stop: AtomicBool,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<IpAddr>,
    /// When, and how many microseconds; nothing if it did not answer, or may not be asked.
    known: HashMap<IpAddr, (Instant, Option<u32>)>,
    measured: u64,
}

/// Ends it.
pub struct Running(Prober);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.0.stop.store(true, Ordering::Relaxed);
    }
}

impl Prober {
    pub fn start(config: &Config) -> Result<(Self, Running)> {
        let may = robot::may_probe(config)?;
        let prober = Self::default();
        let own = prober.clone();
        let thread = std::thread::Builder::new().name("prober".into());
        thread.spawn(move || own.work(may))?;
        Ok((prober.clone(), Running(prober)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        let state = self.0.state.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of these servers; the others are measured as soon as may be.
    pub fn of(&self, servers: &[IpAddr]) -> Vec<(IpAddr, Option<u32>)> {
        let mut state = self.state();
        let mut known = Vec::new();
        for server in servers {
            match state.known.get(server) {
                Some((at, micros)) if at.elapsed() < LASTS => known.push((*server, *micros)),
                _ if state.waiting.len() < WAITING && !state.waiting.contains(server) => {
                    state.waiting.push_back(*server);
                }
                _ => {}
            }
        }
        drop(state);
        self.0.news.notify_one();
        known
    }

    /// Servers that were measured so far.
    pub fn measured(&self) -> u64 {
        self.state().measured
    }

    fn work(&self, may: impl Fn(IpAddr) -> bool) {
        let pace = Pace::new(PER_SECOND, &self.0.stop);
        while !pace.is_over() {
            let state = self.state();
            let waited = self.0.news.wait_timeout(state, LOOK);
            let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            let mut next = state.waiting.front().copied();
            drop(state);
            while let Some(server) = next {
                let micros = if may(server) {
                    match measure(server, &pace) {
                        Some(micros) => micros,
                        None => return,
                    }
                } else {
                    tracing::debug!(%server, "not probed: it may not be contacted");
                    None
                };
                next = self.learn(server, micros);
            }
        }
    }

    /// Keeps what was found; says what is next.
    fn learn(&self, server: IpAddr, micros: Option<u32>) -> Option<IpAddr> {
        let mut state = self.state();
        state.waiting.pop_front();
        if state.known.len() >= KNOWN {
            state.known.retain(|_, (at, _)| at.elapsed() < LASTS / 2);
        }
        if state.known.len() < KNOWN {
            state.known.insert(server, (Instant::now(), micros));
        }
        state.measured += u64::from(micros.is_some());
        state.waiting.front().copied()
    }
}

/// Microseconds to the server and back, if it answers; nothing at all if the robot ends.
fn measure(server: IpAddr, pace: &Pace) -> Option<Option<u32>> {
    match probe(server, &Probing::default(), pace) {
        Ok(measured) => Some(measured?.median_ms().map(|ms| (1e3 * ms) as u32)),
        Err(error) => {
            tracing::debug!(%server, %error, "not probed");
            Some(None)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_contacted_is_measured_and_nothing_else() {
        let mut config = Config::default();
        config.fetch.allow_networks = vec!["127.0.0.0/16".into()];
        let (prober, running) = Prober::start(&config).unwrap();
        let here: IpAddr = [127, 0, 0, 1].into();
        let private: IpAddr = [10, 99, 99, 99].into();
        let began = Instant::now();
        let known = loop {
            let known = prober.of(&[here, private]);
            if known.len() == 2 {
                break known;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "{known:?}");
            std::thread::sleep(Duration::from_millis(50));
        };
        assert!(
            known[0].1.is_some_and(|micros| micros < 1_000_000),
            "{known:?}"
        );
        assert_eq!(known[1], (private, None));
        // seven packets to the one, none to the other
        assert_eq!(prober.measured(), 1);
        assert!(began.elapsed() >= Duration::from_secs_f64(6.0 / PER_SECOND));
        drop(running);
    }
}
