//! A note in the store that is kept every now and then: what it loses in a crash costs little.

use std::time::{Duration, Instant};
use storage::Store;

/// How long changes wait to be kept: so long, and so much longer for each page.
const KEEP_EVERY: Duration = Duration::from_secs(1);
const KEEP_A_PAGE: Duration = Duration::from_micros(10);
/// Where nothing waits to be kept.
const LONG: Duration = Duration::from_mins(1);

/// When the note is kept.
#[derive(Debug, Default)]
pub struct Tardy {
    /// Since when something waits to be kept.
    waits: Option<Instant>,
}

impl Tardy {
    /// Something is to be kept.
    pub fn changed(&mut self) {
        self.waits.get_or_insert_with(Instant::now);
    }

    /// How long to wait at most before `keep` is called, with so many pages.
    pub fn patience(&self, pages: usize) -> Duration {
        self.waits.map_or(LONG, |_| every(pages))
    }

    /// Keeps the note if something waits for long enough; or at the end, if anything does.
    pub fn keep(
        &mut self,
        store: &Store,
        end: bool,
        pages: usize,
        name: &str,
        bytes: impl Fn() -> Vec<u8>,
    ) {
        if !(self.waits).is_some_and(|since| end || since.elapsed() >= every(pages)) {
            return;
        }
        self.waits = None;
        if let Err(error) = store.note(name, &bytes()) {
            tracing::warn!(%error, note = name, "the importance of pages is not kept");
        }
    }
}

fn every(pages: usize) -> Duration {
    KEEP_EVERY + KEEP_A_PAGE * pages as u32
}
