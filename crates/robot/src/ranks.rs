//! What speaks for pages that were never visited, as it is kept with the store: see [`frontier::order`].
//!
//! Four bytes a page are held where the order of first visits asks for them. After a crash the links of the last pages
//! are not counted, which costs some rank and nothing else.

use crate::config::Config;
use crate::tardy::Tardy;
use frontier::order::{Merits, Order, Rank};
use std::time::Duration;
use storage::{PageId, Reader, Store};

/// The name of the note.
const NOTE: &str = "ranks";
/// Pages further on have no rank.
const MOST_PAGES: usize = storage::NOTE_LIMIT / 4 - 1;

/// What speaks for each page, and when that is kept.
#[derive(Debug, Default)]
pub struct Ranks {
    merits: Merits,
    tardy: Tardy,
}

impl Ranks {
    /// As the configuration has it, with what was counted before; what cannot be read is counted no more.
    pub fn read(config: &Config, reader: &Reader) -> Self {
        let order = config.budget.order_of_new;
        let kept = if order.ranks_pages() {
            reader.read_note(NOTE).ok().flatten()
        } else {
            None
        };
        let bytes = kept.map(|(_, bytes)| bytes).unwrap_or_default();
        // the first byte tells which order they are of
        let values = bytes.split_first().filter(|(of, _)| **of == tag(order));
        let (values, _) = values
            .map_or(&[][..], |(_, values)| values)
            .as_chunks::<4>();
        let values = values.iter().map(|value| f32::from_le_bytes(*value));
        Self {
            merits: Merits::new(order, values.collect()),
            tardy: Tardy::default(),
        }
    }

    /// Whether pages have ranks.
    pub fn matter(&self) -> bool {
        self.merits.order().ranks_pages()
    }

    /// Whether pages are drawn by what their URLs say.
    pub fn go_by_urls(&self) -> bool {
        self.merits.order() == Order::Lasting
    }

    /// How early a page is visited.
    pub fn of(&self, page: PageId) -> Rank {
        self.merits.rank(page)
    }

    /// A page was read, for the first time or again, and links to these; says which rise.
    pub fn links(&mut self, from: PageId, first: bool, mut to: Vec<PageId>) -> Vec<(PageId, Rank)> {
        to.retain(|page| page.index() < MOST_PAGES);
        self.tardy.changed();
        self.merits.read(from, first, to)
    }

    /// How long to wait at most before `keep` is called.
    pub fn patience(&self) -> Duration {
        self.tardy.patience(self.merits.values().len())
    }

    /// Keeps what was counted, if it waits for long enough; or at the end.
    pub fn keep(&mut self, store: &Store, end: bool) {
        let values = self.merits.values();
        let order = self.merits.order();
        self.tardy.keep(store, end, values.len(), NOTE, || {
            let bytes = values.iter().flat_map(|value| value.to_le_bytes());
            std::iter::once(tag(order)).chain(bytes).collect()
        });
    }
}

fn tag(order: Order) -> u8 {
    order as u8
}
