//! How long a response may take: until its first byte, over all, and at the least speed.
//!
//! One timer serves the whole response. It is asked only when there is nothing to read, so that
//! a fast server costs no timer at all.

use crate::error::TimeoutStage;
use crate::options::Timeouts;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep_until};

/// A server that always has a byte ready must not escape the clock: look at it this often.
const READS_PER_LOOK: u32 = 64;

pub(crate) struct Patience {
    timeouts: Timeouts,
    started: Instant,
    /// When the first byte came, and the limits that follow from it.
    receiving: Option<Receiving>,
    reads: u32,
    timer: Option<Pin<Box<Sleep>>>,
    /// Told to whoever watches.
    told: Option<Arc<AtomicU64>>,
}

struct Receiving {
    since: Instant,
    window_end: Instant,
    window_bytes: u64,
}

impl Patience {
    pub fn new(timeouts: Timeouts, told: Option<Arc<AtomicU64>>) -> Self {
        Self {
            timeouts,
            started: Instant::now(),
            receiving: None,
            reads: 0,
            timer: None,
            told,
        }
    }

    /// `bytes` more have come.
    pub fn received(&mut self, bytes: usize) {
        if let Some(told) = &self.told {
            told.fetch_add(bytes as u64, Ordering::Relaxed);
        }
        let receiving = self.receiving.get_or_insert_with(|| {
            let now = Instant::now();
            Receiving {
                since: now,
                window_end: now + self.timeouts.drip.window,
                window_bytes: 0,
            }
        });
        receiving.window_bytes += bytes as u64;
    }

    /// From the start to the first byte.
    pub fn first_byte(&self) -> Duration {
        let end = self.receiving.as_ref().map_or(self.started, |r| r.since);
        end.duration_since(self.started)
    }

    /// Waits for `step`, as long as patience lasts.
    pub async fn wait<T>(&mut self, step: impl Future<Output = T>) -> Result<T, TimeoutStage> {
        self.reads = self.reads.wrapping_add(1);
        if self.reads.is_multiple_of(READS_PER_LOOK) {
            self.look(Instant::now())?;
        }
        let mut step = pin!(step);
        poll_fn(|context| {
            if let Poll::Ready(done) = step.as_mut().poll(context) {
                return Poll::Ready(Ok(done));
            }
            loop {
                let deadline = self.deadline();
                let timer = self
                    .timer
                    .get_or_insert_with(|| Box::pin(sleep_until(deadline)));
                if timer.deadline() != deadline {
                    timer.as_mut().reset(deadline);
                }
                if timer.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                if let Err(stage) = self.look(Instant::now()) {
                    return Poll::Ready(Err(stage));
                }
            }
        })
        .await
    }

    /// The next moment to look at the clock.
    fn deadline(&self) -> Instant {
        match &self.receiving {
            None => self.started + self.timeouts.first_byte,
            Some(r) => r.window_end.min(r.since + self.timeouts.body),
        }
    }

    /// Is it enough at `now`?
    fn look(&mut self, now: Instant) -> Result<(), TimeoutStage> {
        let Timeouts {
            first_byte,
            body,
            drip,
            ..
        } = self.timeouts;
        let Some(receiving) = &mut self.receiving else {
            let late = now >= self.started + first_byte;
            return if late {
                Err(TimeoutStage::FirstByte)
            } else {
                Ok(())
            };
        };
        if now >= receiving.since + body {
            return Err(TimeoutStage::Body);
        }
        if now >= receiving.window_end {
            let least = drip.bytes_per_second as f64 * drip.window.as_secs_f64();
            if (receiving.window_bytes as f64) < least {
                return Err(TimeoutStage::Drip);
            }
            receiving.window_end = now + drip.window;
            receiving.window_bytes = 0;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Drip;

    #[test]
    fn each_limit_at_its_time() {
        let seconds = Duration::from_secs;
        let received = Arc::new(AtomicU64::new(0));
        let timeouts = Timeouts {
            connect: seconds(1),
            first_byte: seconds(30),
            body: seconds(100),
            drip: Drip {
                bytes_per_second: 10,
                window: seconds(10),
            },
        };
        let mut patience = Patience::new(timeouts, Some(received.clone()));
        let start = patience.started;
        assert_eq!(patience.look(start + seconds(29)), Ok(()));
        assert_eq!(
            patience.look(start + seconds(30)),
            Err(TimeoutStage::FirstByte)
        );
        patience.received(100);
        let first = patience.started + patience.first_byte();
        assert_eq!(patience.deadline(), first + seconds(10));
        assert_eq!(patience.look(first + seconds(10)), Ok(()));
        patience.received(99);
        assert_eq!(patience.look(first + seconds(19)), Ok(()));
        assert_eq!(patience.look(first + seconds(20)), Err(TimeoutStage::Drip));
        patience.received(1_000_000);
        assert_eq!(patience.look(first + seconds(99)), Ok(()));
        assert_eq!(patience.look(first + seconds(100)), Err(TimeoutStage::Body));
        assert_eq!(received.load(Ordering::Relaxed), 1_000_199);
    }
}
