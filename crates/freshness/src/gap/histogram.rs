//! The histogram gap: a few bins whose widths grow exponentially, uniform within each.

use super::law::Law;
use super::{GapError, checked, times};
use rand::{Rng, RngExt};

/// The widest range that the bins resolve: last edge over first.
const MOST_RANGE: f64 = 1e9;

/// A piecewise constant density from zero to the largest gap seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// Where each bin starts, and the end of the last.
    edges: Box<[f64]>,
    /// At each edge `e`: `P(X ≤ e)`, `E[X; X ≤ e]`, `E[X²; X ≤ e]`.
    below: Box<[Moments]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Default)]
struct Moments {
    mass: f64,
    first: f64,
    second: f64,
}

impl Histogram {
    /// Bins where the caller names no number.
    pub const BINS: usize = 10;

    /// `bins` bins over raw gaps. The first bin ends at the quantile `1/bins` of the gaps and the
    /// last at the largest gap; the common ratio of the widths, at least one, follows.
    pub fn from_gaps(gaps: &[f64], bins: usize) -> Result<Self, GapError> {
        if bins == 0 {
            return Err(GapError::NoBins);
        }
        let mut sorted = checked(gaps.to_vec())?;
        sorted.sort_unstable_by(f64::total_cmp);
        let largest = sorted[sorted.len() - 1];
        let first = sorted[sorted.len() / bins.max(2)].max(largest / MOST_RANGE);
        let mut edges = exponential_edges(first, largest, bins);
        edges[bins] = largest;

        let mut below = vec![Moments::default()];
        let mut counted = 0;
        for bin in edges.windows(2) {
            let upto = sorted.partition_point(|&g| g <= bin[1]);
            let mass = (upto - counted) as f64 / sorted.len() as f64;
            let sofar = below[below.len() - 1];
            below.push(sofar.with_part(mass, bin[0], bin[1], bin[1]));
            counted = upto;
        }
        let mut below = below.into_boxed_slice();
        below[bins].mass = 1.0;
        Ok(Self {
            edges: edges.into(),
            below,
        })
    }

    /// The bins as `(start, end, probability)`.
    pub fn bins(&self) -> impl Iterator<Item = (f64, f64, f64)> + '_ {
        let edges = self.edges.windows(2);
        edges
            .zip(self.below.windows(2))
            .map(|(edge, below)| (edge[0], edge[1], below[1].mass - below[0].mass))
    }

    /// The moments of what lies below `x`.
    fn moments_below(&self, x: f64) -> Moments {
        match self.bin_of(x) {
            None => self.below[self.below.len() - 1],
            Some(bin) => {
                let (start, end) = (self.edges[bin], self.edges[bin + 1]);
                let mass = self.below[bin + 1].mass - self.below[bin].mass;
                self.below[bin].with_part(mass, start, end, x)
            }
        }
    }

    /// The bin that `x` lies in or begins; none from the last edge on.
    fn bin_of(&self, x: f64) -> Option<usize> {
        let bin = self.edges.partition_point(|&e| e <= x) - 1;
        (bin + 1 < self.edges.len()).then_some(bin)
    }

    /// The bin where a cumulative quantity, zero at the first edge, passes `target`, and how far
    /// into the bin's own part, in `[0, 1]`.
    fn passed(&self, cumulative: impl Fn(&Moments) -> f64, target: f64) -> (usize, f64) {
        let bins = self.edges.len() - 1;
        let bin = self.below[1..bins].partition_point(|m| cumulative(m) <= target);
        let (low, high) = (
            cumulative(&self.below[bin]),
            cumulative(&self.below[bin + 1]),
        );
        (bin, ((target - low) / (high - low)).clamp(0.0, 1.0))
    }
}

impl Moments {
    /// Adds the part up to `x` of a bin of probability `mass` over `[start, end]`.
    fn with_part(self, mass: f64, start: f64, end: f64, x: f64) -> Self {
        let share = mass * (x - start) / (end - start);
        Self {
            mass: self.mass + share,
            first: self.first + share * (x + start) / 2.0,
            second: self.second + share * (x * x + x * start + start * start) / 3.0,
        }
    }
}

/// Edges from zero to `largest`, the first bin `first` wide, the widths in geometric progression;
/// equal widths where that would have them shrink.
fn exponential_edges(first: f64, largest: f64, bins: usize) -> Vec<f64> {
    let total = |ratio: f64| (0..bins).fold(0.0, |sum, _| sum * ratio + 1.0);
    let wanted = largest / first;
    let (mut low, mut high) = (1.0, 2.0);
    while total(high) < wanted && bins > 1 {
        high *= 2.0;
    }
    for _ in 0..60 {
        let ratio = f64::midpoint(low, high);
        if total(ratio) < wanted {
            low = ratio;
        } else {
            high = ratio;
        }
    }
    let unit = largest / total(low);
    let mut edge = 0.0;
    let mut width = unit;
    let mut edges = vec![0.0];
    for _ in 0..bins {
        edge += width;
        width *= low;
        edges.push(edge);
    }
    edges
}

impl Law for Histogram {
    fn mean(&self) -> f64 {
        self.below[self.below.len() - 1].first
    }

    fn second_moment(&self) -> f64 {
        self.below[self.below.len() - 1].second
    }

    fn coefficient_of_variation(&self) -> f64 {
        let mean = self.mean();
        let variance: f64 = self
            .bins()
            .map(|(start, end, mass)| {
                let off = f64::midpoint(start, end) - mean;
                mass * (off * off + (end - start).powi(2) / 12.0)
            })
            .sum();
        variance.sqrt() / mean
    }

    fn ln_survival(&self, x: f64) -> f64 {
        (-self.moments_below(x).mass.min(1.0)).ln_1p()
    }

    fn ln_density(&self, x: f64) -> Option<f64> {
        // as in the counts, an edge belongs to the bin that it ends
        let bin = self.edges.partition_point(|&e| e < x).saturating_sub(1);
        Some(if bin + 1 < self.edges.len() {
            let mass = self.below[bin + 1].mass - self.below[bin].mass;
            (mass / (self.edges[bin + 1] - self.edges[bin])).ln()
        } else {
            f64::NEG_INFINITY
        })
    }

    fn limited_mean(&self, x: f64) -> f64 {
        let below = self.moments_below(x);
        below.first + x * (1.0 - below.mass)
    }

    fn limited_square(&self, x: f64) -> f64 {
        let below = self.moments_below(x);
        below.second + times(1.0 - below.mass, x * x)
    }

    fn excess(&self, x: f64) -> f64 {
        self.residual_integral(x, f64::INFINITY)
    }

    fn sample(&self, rng: &mut dyn Rng) -> f64 {
        let (bin, into) = self.passed(|m| m.mass, rng.random());
        let (start, end) = (self.edges[bin], self.edges[bin + 1]);
        start + into * (end - start)
    }

    fn sample_residual(&self, rng: &mut dyn Rng) -> f64 {
        // in proportion to its length, the square of a gap is uniform within a bin
        let (bin, into) = self.passed(|m| m.first, rng.random::<f64>() * self.mean());
        let (start, end) = (self.edges[bin], self.edges[bin + 1]);
        let met = (start * start + into * (end * end - start * start)).sqrt();
        met * rng.random::<f64>()
    }

    fn residual_fresh_time(&self, age: f64, x: f64) -> f64 {
        let survival = 1.0 - self.moments_below(age).mass;
        if survival > 0.0 {
            self.residual_integral(age, x) / survival
        } else {
            0.0
        }
    }
}

impl Histogram {
    /// `∫ P(X > u) du` from `from` over a length `x`: the survival function is piecewise linear,
    /// so trapezia are exact.
    fn residual_integral(&self, from: f64, x: f64) -> f64 {
        let survival = |at: f64| 1.0 - self.moments_below(at).mass;
        let mut at = from;
        let mut left = x;
        let mut sum = 0.0;
        while left > 0.0
            && let Some(bin) = self.bin_of(at)
        {
            let edge = self.edges[bin + 1];
            // in lengths, not in instants: a short one would be lost beside a great age
            let (length, next) = if edge - at < left {
                (edge - at, edge)
            } else {
                (left, at + left)
            };
            sum += length * f64::midpoint(survival(at), survival(next));
            left -= length;
            at = next;
        }
        sum
    }
}
