//! Politeness of a survey: packets leave no faster than a given rate, whoever sends them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a sleeper takes at most to notice that it is to stop.
const SLICE: Duration = Duration::from_millis(50);

/// Gives out turns, evenly spaced, to all threads that share it.
pub struct Pace<'a> {
    interval: Duration,
    next: Mutex<Instant>,
    stop: &'a AtomicBool,
}

impl<'a> Pace<'a> {
    /// So many packets per second, until `stop` is set.
    pub fn new(per_second: f64, stop: &'a AtomicBool) -> Self {
        Self {
            interval: Duration::from_secs_f64(1.0 / per_second),
            next: Mutex::new(Instant::now()),
            stop,
        }
    }

    /// Waits for a turn; false when there will be none.
    #[must_use]
    pub fn turn(&self) -> bool {
        let mine = {
            let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            let mine = (*next).max(Instant::now());
            *next = mine + self.interval;
            mine
        };
        while !self.is_over() {
            let left = mine.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            std::thread::sleep(left.min(SLICE));
        }
        false
    }

    /// Whether to stop.
    pub fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_spaced_across_threads() {
        let stop = AtomicBool::new(false);
        let pace = Pace::new(100.0, &stop);
        let start = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..5 {
                        assert!(pace.turn());
                    }
                });
            }
        });
        // twenty turns have nineteen gaps of 10 ms
        assert!(start.elapsed() >= Duration::from_millis(190));
        stop.store(true, Ordering::Relaxed);
        assert!(!pace.turn());
    }
}
