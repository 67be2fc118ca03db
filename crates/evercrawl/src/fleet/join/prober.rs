//! A robot measures how far servers are that it does not ask for pages, when a partitioner wants to know: the median of
//! seven packets, slowly, and not again for a day.

use anyhow::Result;
use netmap::pace::Pace;
use netmap::probe::{Probing, probe};
use robot::config::Config;
use std::collections::{HashMap, HashSet, VecDeque};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Packets per second to a server, and servers at a time.
const PER_SECOND: f64 = 5.0;
const AT_ONCE: usize = 8;
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
    under_way: HashSet<IpAddr>,
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
        let may = Arc::new(robot::may_probe(config)?);
        let prober = Self::default();
        for _ in 0..AT_ONCE {
            let (own, may) = (prober.clone(), may.clone());
            let thread = std::thread::Builder::new().name("prober".into());
            thread.spawn(move || own.work(&*may))?;
        }
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
                _ => state.queue(*server),
            }
        }
        drop(state);
        self.0.news.notify_all();
        known
    }

    /// Servers that were measured so far.
    pub fn measured(&self) -> u64 {
        self.state().measured
    }

    fn work(&self, may: &impl Fn(IpAddr) -> bool) {
        let pace = Pace::new(PER_SECOND, &self.0.stop);
        while !pace.is_over() {
            let Some(server) = self.next() else { continue };
            let micros = if may(server) {
                measure(server, &pace)
            } else {
                tracing::debug!(%server, "not probed: it may not be contacted");
                None
            };
            // what ended early says nothing of the server
            if !pace.is_over() {
                self.state().learn(server, micros);
            }
        }
    }

    /// Waits a while for something to measure.
    fn next(&self) -> Option<IpAddr> {
        let waits = |state: &mut State| state.waiting.is_empty();
        let waited = (self.0.news).wait_timeout_while(self.state(), LOOK, waits);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let server = state.waiting.pop_front()?;
        state.under_way.insert(server);
        Some(server)
    }
}

impl State {
    fn queue(&mut self, server: IpAddr) {
        let known = self.under_way.contains(&server) || self.waiting.contains(&server);
        if self.waiting.len() < WAITING && !known {
            self.waiting.push_back(server);
        }
    }

    fn learn(&mut self, server: IpAddr, micros: Option<u32>) {
        self.under_way.remove(&server);
        if self.known.len() >= KNOWN {
            self.known.retain(|_, (at, _)| at.elapsed() < LASTS / 2);
        }
        if self.known.len() < KNOWN {
            self.known.insert(server, (Instant::now(), micros));
        }
        self.measured += u64::from(micros.is_some());
    }
}

/// Microseconds to the server and back, if it answers.
fn measure(server: IpAddr, pace: &Pace) -> Option<u32> {
    let measured = probe(server, &Probing::default(), pace)
        .inspect_err(|error| tracing::debug!(%server, %error, "not probed"));
    let ms = measured.ok()??.median_ms()?;
    Some((1e3 * ms) as u32)
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
            assert!(began.elapsed() < Duration::from_mins(1), "{known:?}");
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
