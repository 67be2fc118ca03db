//! How much pages change together, learnt from how visits near each other were surprised.
//!
//! A visit finds a page unchanged or not, and is surprised by what it finds less what was foretold. Where
//! pages change each for itself, the products of the surprises of two visits average nothing; where one
//! release changes them all, or all are stated too fresh alike, they average the share of their variance
//! that is common. That share is all that is asked. It needs no account of hosts: pairs of pages that have
//! nothing to do with each other lower it as much as there are such pairs among the copies, too.

use crate::record::{Reader, Writer};

/// A visit is compared with those before it that are not farther away than such a part of a round.
const NEAR_ROUNDS: f64 = 0.05;
/// What was learnt counts for so many rounds.
const MEMORY_ROUNDS: f64 = 40.0;
/// Before pages have shown it, so much of their variance is taken to be common: they swing by half together.
const FIRST_SHARE: f64 = 0.25;
/// They have shown it by half after so many times the pairs that are near each other at one time.
const PAIRS_TO_SHOW: f64 = 12.0;

/// Sums over visits and over pairs of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Together {
    /// Visits that count.
    visits: f64,
    /// Over the visits just made, surprises and how large they are usually.
    surprise: f64,
    usual: f64,
    /// Over pairs of visits, the products of both.
    common: f64,
    possible: f64,
}

impl Together {
    /// A page that was to be unchanged with this chance was found so or not; there are so many pages.
    pub fn tell(&mut self, unchanged: f64, changed: bool, pages: u32) {
        let surprise = f64::from(u8::from(!changed)) - unchanged;
        let usual = (unchanged * (1.0 - unchanged)).max(0.0).sqrt();
        let pages = f64::from(pages);
        // each visit counts a little more than the one before, so that a first guess is soon forgotten
        self.visits = (self.visits + 1.0).min(MEMORY_ROUNDS * pages);
        let kept = self.visits / (self.visits + 1.0);
        self.common = self.common * kept + surprise * self.surprise;
        self.possible = self.possible * kept + usual * self.usual;
        let near = NEAR_ROUNDS * pages;
        let kept = near / (near + 1.0);
        self.surprise = self.surprise * kept + surprise;
        self.usual = self.usual * kept + usual;
    }

    /// The share of the variance of pages that is common to all.
    pub fn share(&self) -> f64 {
        let first = PAIRS_TO_SHOW * self.usual * self.usual;
        let all = self.possible + first;
        if all <= 0.0 {
            return FIRST_SHARE;
        }
        // many pages that change apart would be doubted too long, if doubt went only as fast as pairs come
        let doubt = (first / all).powi(3);
        (self.common / all + FIRST_SHARE * doubt).clamp(0.0, 1.0)
    }

    pub fn write(&self, to: &mut Writer) {
        for sum in [
            self.visits,
            self.surprise,
            self.usual,
            self.common,
            self.possible,
        ] {
            to.f64(sum);
        }
    }

    pub fn read(from: &mut Reader) -> Option<Self> {
        Some(Self {
            visits: from.amount()?,
            surprise: from.f64()?,
            usual: from.amount()?,
            common: from.f64()?,
            possible: from.amount()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    fn bytes(together: &Together) -> Vec<u8> {
        let mut bytes = Vec::new();
        together.write(&mut Writer(&mut bytes));
        bytes
    }

    #[test]
    fn some_is_common_until_pages_have_shown_otherwise() {
        let mut together = Together::default();
        assert_eq!(together.share(), FIRST_SHARE);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut rounds = |rounds: u32| {
            for _ in 0..rounds * 1_000 {
                together.tell(0.5, rng.random(), 1_000);
            }
            together.share()
        };
        let (one, twenty) = (rounds(1), rounds(19));
        assert!(one > 0.01 && one < 0.5 * FIRST_SHARE, "{one}");
        assert!(twenty < 0.005, "{twenty}");
    }

    /// In turn all are found changed, then none.
    #[test]
    fn all_is_common_where_all_are_found_the_same() {
        let mut together = Together::default();
        (0..20_000).for_each(|visit| together.tell(0.5, visit / 1_000 % 2 == 0, 1_000));
        assert!(together.share() > 0.85, "{together:?}");
        // and then each for itself
        (0..80_000).for_each(|visit| together.tell(0.5, visit % 2 == 0, 1_000));
        assert!(together.share() < 0.05, "{together:?}");
    }

    proptest! {
        #[test]
        fn a_share_is_a_share_and_outlives_a_restart(
            visits in prop::collection::vec((0.0..=1.0f64, any::<bool>(), 0u32..2_000), 0..200),
        ) {
            let mut together = Together::default();
            for (unchanged, changed, pages) in visits {
                together.tell(unchanged, changed, pages);
                prop_assert!((0.0..=1.0).contains(&together.share()), "{together:?}");
            }
            let bytes = bytes(&together);
            prop_assert_eq!(Together::read(&mut Reader(&bytes)), Some(together));
            prop_assert_eq!(Together::read(&mut Reader(&bytes[1..])), None);
        }
    }
}
