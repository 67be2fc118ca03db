//! In which order pages are visited for the first time.
//!
//! What speaks for a page that nobody has seen is who links to it. It is counted as pages are read, so that a page
//! that waits may rise in its host's line. How high is told by a [`Rank`] in quarter powers of two: a page rises when
//! it matters a fifth more, not with every link.

mod lasting;

pub use lasting::{Lasting, Trait, Traits};

use ground::PageId;
use serde::{Deserialize, Serialize};

/// Which page goes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// The page found first.
    #[default]
    BreadthFirst,
    /// The page to which most of the pages read so far link.
    Links,
    /// The page to which most importance has flowed: each page read hands on its own and what it was given, in equal
    /// parts to the pages it links to (online page importance, OPIC).
    Importance,
    /// The page found first, but hosts with more pages waiting have more turns.
    LargestSite,
    /// The page whose contents are expected to last longest, by what its URL says: see [`Lasting`].
    Lasting,
}

impl Order {
    /// Whether pages of a host have ranks.
    pub fn ranks_pages(self) -> bool {
        matches!(self, Self::Links | Self::Importance)
    }

    /// How many turns a host has for each of a host with one page waiting. Grows slowly, so that nobody waits for long.
    pub fn turns(self, waiting: usize) -> u64 {
        match self {
            Self::LargestSite => (1 + u64::from(waiting.max(1).ilog2())).pow(2),
            Self::BreadthFirst | Self::Links | Self::Importance | Self::Lasting => 1,
        }
    }
}

/// How early a page is visited: the higher, the earlier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(u8);

/// Of what a page is given, so much is handed on; the rest is lost, so that circles do not gather it.
const HANDED_ON: f32 = 0.85;
/// Ranks per doubling, and the least value that is told from nothing, as a power of two.
const STEPS: f32 = 4.0;
const LEAST: f32 = -16.0;

/// What speaks for each page.
#[derive(Debug, Default)]
pub struct Merits {
    order: Order,
    values: Vec<f32>,
}

impl Merits {
    /// With what was counted before.
    pub fn new(order: Order, values: Vec<f32>) -> Self {
        Self { order, values }
    }

    /// What to keep for [`Self::new`].
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The order they serve.
    pub fn order(&self) -> Order {
        self.order
    }

    /// How early the page is visited.
    pub fn rank(&self, page: PageId) -> Rank {
        let value = self.values.get(page.index()).copied().unwrap_or(0.0);
        if value <= 0.0 {
            return Rank::default();
        }
        Rank(((value.log2() - LEAST) * STEPS).clamp(0.0, 254.0) as u8 + 1)
    }

    /// A page was read, for the first time or again, and links to these; says which of them rise, from where.
    pub fn read(&mut self, from: PageId, first: bool, mut to: Vec<PageId>) -> Vec<(PageId, Rank)> {
        to.sort_unstable();
        to.dedup();
        to.retain(|&page| page != from);
        let share = match self.order {
            Order::Links if first => 1.0,
            Order::Importance => {
                let given = self
                    .values
                    .get_mut(from.index())
                    .map_or(0.0, std::mem::take);
                let own = if first { 1.0 } else { 0.0 };
                HANDED_ON * (own + given) / to.len().max(1) as f32
            }
            Order::Links | Order::BreadthFirst | Order::LargestSite | Order::Lasting => 0.0,
        };
        if share == 0.0 {
            return Vec::new();
        }
        let last = to.last().map_or(0, |page| page.index() + 1);
        if self.values.len() < last {
            self.values.resize(last, 0.0);
        }
        to.retain(|&page| {
            let before = self.rank(page);
            self.values[page.index()] += share;
            self.rank(page) > before
        });
        to.into_iter().map(|page| (page, self.rank(page))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages<const N: usize>(pages: [u32; N]) -> Vec<PageId> {
        pages.map(PageId).into()
    }

    #[test]
    fn a_page_counts_once_for_another_and_not_for_itself() {
        let mut merits = Merits::new(Order::Links, Vec::new());
        merits.read(PageId(0), true, pages([2, 2, 0, 1]));
        merits.read(PageId(1), true, pages([2]));
        merits.read(PageId(1), false, pages([1, 2]));
        assert_eq!(merits.values(), [0.0, 1.0, 2.0]);
        assert!(merits.rank(PageId(2)) > merits.rank(PageId(1)));
        assert!(merits.rank(PageId(1)) > merits.rank(PageId(0)));
        assert_eq!(merits.rank(PageId(9)), Rank::default());
    }

    #[test]
    fn importance_flows_on_and_is_neither_made_nor_kept() {
        let mut merits = Merits::new(Order::Importance, Vec::new());
        merits.read(PageId(0), true, pages([1, 2]));
        assert_eq!(merits.values(), [0.0, 0.425, 0.425]);
        // few links of a page that matters are worth more than many of one that does not
        merits.read(PageId(1), true, pages([3]));
        assert!(merits.rank(PageId(3)) > merits.rank(PageId(2)));
        let before: f32 = merits.values().iter().sum();
        merits.read(PageId(3), false, pages([2]));
        assert!(merits.values().iter().sum::<f32>() < before);
        // read again, it hands on only what it was given since
        merits.read(PageId(3), false, pages([4]));
        assert_eq!(merits.rank(PageId(4)), Rank::default());
    }

    #[test]
    fn ranks_hold_whatever_values_come_back_from_a_disk() {
        for value in [
            f32::NAN,
            f32::INFINITY,
            f32::NEG_INFINITY,
            -1.0,
            1e-40,
            1e38,
        ] {
            let mut merits = Merits::new(Order::Importance, vec![value; 3]);
            merits.read(PageId(0), true, pages([1, 2]));
            merits.rank(PageId(1));
        }
    }

    #[test]
    fn large_sites_have_more_turns_but_not_all() {
        let turns = |waiting| Order::LargestSite.turns(waiting);
        assert_eq!((turns(0), turns(1), turns(1_000_000)), (1, 1, 400));
        assert_eq!(Order::Links.turns(1_000_000), 1);
    }
}
