//! How much pages matter by the number of pages that link there.
//!
//! A page's links are counted once, when it is fetched for the first time: they are looked up then anyway. Two bytes a page
//! are held, and kept with the store every second, of many pages less often: after a crash the links of the last
//! pages are not counted, which costs some weight and nothing else.

use crate::config::{Config, LinksFrom};
use crate::tardy::Tardy;
use std::time::Duration;
use storage::{PageId, Reader, Store};

/// The name of the note with the counts.
const NOTE: &str = "links";
/// Pages further on are not counted.
const MOST_PAGES: usize = storage::NOTE_LIMIT / 2;
/// The counts of links, and what they are worth.
#[derive(Debug, Default)]
pub struct LinkWeights {
    /// Nothing where links do not matter.
    factor: f64,
    other_hosts: bool,
    /// Pages that link to each page.
    counts: Vec<u16>,
    tardy: Tardy,
}

impl LinkWeights {
    /// As the configuration has it, with what was counted before. What cannot be read is counted no more.
    pub fn read(config: &Config, reader: &Reader) -> Self {
        let mut weights = Self {
            factor: config.weights.links,
            other_hosts: config.weights.links_from == LinksFrom::Hosts,
            counts: Vec::new(),
            tardy: Tardy::default(),
        };
        if weights.matter()
            && let Ok(Some((_, kept))) = reader.read_note(NOTE)
        {
            let (pairs, _) = kept.as_chunks::<2>();
            weights.counts = pairs.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
        }
        weights
    }

    /// Whether links matter at all.
    pub fn matter(&self) -> bool {
        self.factor > 0.0
    }

    /// What a page's weight is multiplied with.
    pub fn of(&self, page: PageId) -> f64 {
        if !self.matter() {
            return 1.0;
        }
        let count = self.counts.get(page.0 as usize).copied().unwrap_or(0);
        1.0 + self.factor * (1.0 + f64::from(count)).log2()
    }

    /// Whether links within a host do not count.
    pub fn are_from_other_hosts(&self) -> bool {
        self.other_hosts
    }

    /// Counts the links of a page, by the pages that they lead to.
    pub fn count(&mut self, from: PageId, mut to: Vec<PageId>) {
        to.sort_unstable();
        to.dedup();
        for page in to {
            let at = page.0 as usize;
            if page == from || at >= MOST_PAGES {
                continue;
            }
            if self.counts.len() <= at {
                self.counts.resize(at + 1, 0);
            }
            self.counts[at] = self.counts[at].saturating_add(1);
            self.tardy.changed();
        }
    }

    /// How long to wait at most before `keep` is called.
    pub fn patience(&self) -> Duration {
        self.tardy.patience(self.counts.len())
    }

    /// Keeps the counts, if any wait for long enough; or at the end, if any do.
    pub fn keep(&mut self, store: &Store, end: bool) {
        let counts = &self.counts;
        self.tardy.keep(store, end, counts.len(), NOTE, || {
            counts
                .iter()
                .flat_map(|count| count.to_le_bytes())
                .collect()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_page_counts_once_and_none_for_itself() {
        let mut weights = LinkWeights {
            factor: 1.0,
            ..LinkWeights::default()
        };
        weights.count(PageId(0), [3, 0, 3, 2].map(PageId).into());
        weights.count(PageId(1), vec![PageId(3)]);
        weights.count(PageId(2), vec![PageId(3)]);
        assert_eq!(weights.counts, [0, 0, 1, 3]);
        assert_eq!(weights.of(PageId(2)), 2.0);
        assert_eq!(weights.of(PageId(3)), 3.0);
        assert_eq!(weights.of(PageId(77)), 1.0);
    }
}
