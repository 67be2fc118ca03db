//! What went wrong and was dealt with: for `status` and metrics.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that many tasks add to.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// One more.
    pub(crate) fn one(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// So far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Since the connection was opened.
#[derive(Debug, Default)]
pub struct Tally {
    /// Connections lost and made again.
    pub reconnects: Count,
    /// Writes whose answer was lost.
    pub ambiguous: Count,
    /// Those of them that were found done by reading back.
    pub resolved: Count,
    /// Publications and entries that a full stream refused.
    pub full: Count,
    /// Values and messages too large to be sent.
    pub oversized: Count,
    /// Messages, values and log entries that could not be read.
    pub unreadable: Count,
    /// Messages given up after too many deliveries.
    pub given_up: Count,
    /// What was not taken, and could not be put among the dead letters.
    pub unburied: Count,
    /// Watched changes that came faster than they were read; a poll brings them.
    pub missed: Count,
}
