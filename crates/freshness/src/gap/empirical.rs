//! The gaps themselves: every quantity in closed form by prefix sums, in `O(log n)`.

use super::law::Law;
use super::{GapError, checked, times};
use rand::{Rng, RngExt};

/// Gaps per prefix sum kept: nine and a half bytes a gap in all. A query searches the blocks, which
/// are few enough to stay in the cache, and then one block.
const BLOCK: usize = 16;

/// The distribution that puts the same weight on every gap seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Empirical {
    /// Ascending.
    gaps: Box<[f64]>,
    blocks: Box<[Block]>,
    total: Sums,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Block {
    /// The shortest gap of the block.
    first: f64,
    /// The sums over all gaps before the block.
    before: Sums,
}

#[derive(Clone, Copy, Debug, PartialEq, Default)]
struct Sums {
    gaps: f64,
    squares: f64,
}

impl Sums {
    fn add(&mut self, gap: f64) {
        self.gaps += gap;
        self.squares += gap * gap;
    }
}

impl Empirical {
    /// From raw gaps in any order; zeros are allowed, so long as not all are zero. Sorting is all
    /// the cost.
    pub fn new(gaps: Vec<f64>) -> Result<Self, GapError> {
        let gaps = sort(checked(gaps)?);
        let mut blocks = Vec::with_capacity(gaps.len().div_ceil(BLOCK));
        let mut total = Sums::default();
        for block in gaps.chunks(BLOCK) {
            blocks.push(Block {
                first: block[0],
                before: total,
            });
            for &gap in block {
                total.add(gap);
            }
        }
        Ok(Self {
            gaps: gaps.into(),
            blocks: blocks.into(),
            total,
        })
    }

    /// From the ascending instants of the changes.
    pub fn from_instants(instants: &[f64]) -> Result<Self, GapError> {
        Self::new(instants.windows(2).map(|pair| pair[1] - pair[0]).collect())
    }

    /// The gaps, ascending.
    pub fn gaps(&self) -> &[f64] {
        &self.gaps
    }

    /// How many gaps are at most `x`, and their sums.
    fn upto(&self, x: f64) -> (usize, Sums) {
        let begun = self.blocks.partition_point(|block| block.first <= x);
        let Some(last) = begun.checked_sub(1) else {
            return (0, Sums::default());
        };
        let mut sums = self.blocks[last].before;
        let mut count = last * BLOCK;
        for &gap in self.block(last).iter().take_while(|&&gap| gap <= x) {
            sums.add(gap);
            count += 1;
        }
        (count, sums)
    }

    /// The gaps of a block.
    fn block(&self, block: usize) -> &[f64] {
        let end = self.gaps.len().min((block + 1) * BLOCK);
        &self.gaps[block * BLOCK..end]
    }
}

/// Sorts gaps by their bits, which order like the numbers where none is negative and sort faster.
fn sort(gaps: Vec<f64>) -> Vec<f64> {
    // adding zero makes a negative zero positive
    let mut bits: Vec<u64> = gaps.into_iter().map(|gap| (gap + 0.0).to_bits()).collect();
    bits.sort_unstable();
    bits.into_iter().map(f64::from_bits).collect()
}

impl Law for Empirical {
    fn mean(&self) -> f64 {
        self.total.gaps / self.gaps.len() as f64
    }

    fn second_moment(&self) -> f64 {
        self.total.squares / self.gaps.len() as f64
    }

    fn coefficient_of_variation(&self) -> f64 {
        let mean = self.mean();
        let squares: f64 = self.gaps.iter().map(|gap| (gap / mean - 1.0).powi(2)).sum();
        (squares / self.gaps.len() as f64).sqrt()
    }

    fn ln_survival(&self, x: f64) -> f64 {
        let (count, _) = self.upto(x);
        (1.0 - count as f64 / self.gaps.len() as f64).ln()
    }

    fn ln_density(&self, _x: f64) -> Option<f64> {
        None
    }

    fn limited_mean(&self, x: f64) -> f64 {
        let (count, sums) = self.upto(x);
        let longer = (self.gaps.len() - count) as f64;
        (sums.gaps + longer * x) / self.gaps.len() as f64
    }

    fn limited_square(&self, x: f64) -> f64 {
        let (count, sums) = self.upto(x);
        let square = if count == self.gaps.len() {
            sums.squares
        } else {
            sums.squares + (self.gaps.len() - count) as f64 * (x * x)
        };
        square / self.gaps.len() as f64
    }

    fn excess(&self, x: f64) -> f64 {
        let (count, sums) = self.upto(x);
        let longer = (self.gaps.len() - count) as f64;
        let excess = self.total.gaps - sums.gaps - longer * x;
        excess.max(0.0) / self.gaps.len() as f64
    }

    fn sample(&self, rng: &mut dyn Rng) -> f64 {
        self.gaps[rng.random_range(0..self.gaps.len())]
    }

    fn sample_residual(&self, rng: &mut dyn Rng) -> f64 {
        // a gap met at an arbitrary instant is drawn in proportion to its length
        let target = rng.random::<f64>() * self.total.gaps;
        let block = self.blocks.partition_point(|b| b.before.gaps <= target) - 1;
        let mut sum = self.blocks[block].before.gaps;
        let met = self.block(block).iter().find(|&&gap| {
            sum += gap;
            sum > target
        });
        // rounding may leave the target a little beyond the block's last gap
        met.unwrap_or(&self.block(block)[self.block(block).len() - 1]) * rng.random::<f64>()
    }

    fn residual_fresh_time(&self, age: f64, x: f64) -> f64 {
        let (younger, upto_age) = self.upto(age);
        let older = self.gaps.len() - younger;
        if older == 0 {
            return 0.0;
        }
        let (upto, sums) = self.upto(age + x);
        let ending = &self.gaps[younger..upto];
        let until_change: f64 = if ending.len() <= 4 * BLOCK {
            // few enough to add up without the cancellation of a difference of sums
            ending.iter().map(|gap| gap - age).sum()
        } else {
            sums.gaps - upto_age.gaps - ending.len() as f64 * age
        };
        let lasting = times((self.gaps.len() - upto) as f64, x);
        (until_change + lasting) / older as f64
    }

    fn interval_for_square(&self, square: f64) -> Option<f64> {
        let n = self.gaps.len();
        let target = square * n as f64;
        if target >= self.total.squares {
            return None;
        }
        // Σ min(gap, x)² at x = the gap of rank i
        let reached = |i: usize, gap: f64, squares: f64| squares + (n - i) as f64 * (gap * gap);
        let begun = partition_point(self.blocks.len(), |b| {
            let Block { first, before } = self.blocks[b];
            reached(b * BLOCK, first, before.squares) <= target
        });
        let block = begun.saturating_sub(1);
        let mut squares = self.blocks[block].before.squares;
        let mut i = block * BLOCK;
        for &gap in self.block(block) {
            if i == n - 1 || reached(i, gap, squares) > target {
                break;
            }
            squares += gap * gap;
            i += 1;
        }
        Some(((target - squares) / (n - i) as f64).sqrt())
    }
}

/// The first of `0..len` where `holds`, true at first and then false, is false.
fn partition_point(len: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = usize::midpoint(low, high);
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
