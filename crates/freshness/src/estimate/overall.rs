//! How fresh many copies are together, and between what ends that lies.

use super::Population;

/// The two-sided 95 % point of the normal distribution.
const Z95: f64 = 1.96;

/// What is stated of some copies, added up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Overall {
    copies: u32,
    never_revisited: u32,
    fresh: f64,
    /// The variance of the number of fresh copies, if each changed for itself.
    chance: f64,
    /// The sum of the pages' standard deviations, and of those that were never revisited.
    swing: f64,
    unknown: f64,
}

impl Overall {
    /// Counts a copy in that is fresh with this chance.
    pub fn add(&mut self, unchanged: f64, revisited: bool) {
        let variance = unchanged * (1.0 - unchanged);
        self.copies += 1;
        self.fresh += unchanged;
        self.chance += variance;
        self.swing += variance.sqrt();
        if !revisited {
            self.never_revisited += 1;
            // a page that is fresh or not for all that is known
            self.unknown += variance.sqrt();
        }
    }

    /// Copies that were counted in.
    pub fn copies(&self) -> u32 {
        self.copies
    }

    /// Those of them that were visited once.
    pub fn never_revisited(&self) -> u32 {
        self.never_revisited
    }

    /// The share of copies that are what their servers have.
    pub fn freshness(&self) -> f64 {
        self.fresh / f64::from(self.copies).max(1.0)
    }

    /// The ends of its 95 % interval, by what these pages have taught: how much they change together, too.
    pub fn interval(&self, population: &Population) -> (f64, f64) {
        // each page that was revisited tells as much about those that were not
        let unknown = self.unknown / (1.0 + f64::from(population.pages())).sqrt();
        let pairs = (self.swing * self.swing - self.chance).max(0.0);
        let variance = self.chance + population.common() * pairs + unknown * unknown;
        let off = Z95 * variance.sqrt() / f64::from(self.copies).max(1.0);
        let freshness = self.freshness();
        ((freshness - off).max(0.0), (freshness + off).min(1.0))
    }
}

#[cfg(test)]
mod tests;
