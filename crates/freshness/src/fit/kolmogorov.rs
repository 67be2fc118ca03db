//! The distance of Kolmogorov and Smirnov between gaps and a distribution.

use crate::gap::Gap;

/// The largest difference between the distribution function of `gap` and that of the gaps `sorted`
/// in ascending order.
pub fn ks_distance(gap: &Gap, sorted: &[f64]) -> f64 {
    distance_from(|x| gap.cdf(x), sorted)
}

/// The same for any distribution function.
pub(super) fn distance_from(cdf: impl Fn(f64) -> f64, sorted: &[f64]) -> f64 {
    let n = sorted.len() as f64;
    let mut distance: f64 = 0.0;
    let mut below = 0;
    for tied in sorted.chunk_by(|a, b| a == b) {
        let upto = below + tied.len();
        let fitted = cdf(tied[0]);
        distance = distance
            .max((fitted - below as f64 / n).abs())
            .max((upto as f64 / n - fitted).abs());
        below = upto;
    }
    distance
}

/// The approximate probability that `n` draws from a given distribution are as far from it, by
/// Kolmogorov's limit with Stephens' correction for finite `n`.
pub fn ks_p_value(distance: f64, n: usize) -> f64 {
    let root = (n as f64).sqrt();
    let x = (root + 0.12 + 0.11 / root) * distance;
    if x < 0.2 {
        return 1.0; // to ten digits, where the series needs many terms
    }
    let mut sum = 0.0;
    let mut sign = 1.0;
    for k in 1..=40 {
        sum += sign * (-2.0 * f64::from(k * k) * x * x).exp();
        sign = -sign;
    }
    (2.0 * sum).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_by_hand() {
        // a uniform distribution on [0, 1], nearly: one bin
        let gap = crate::gap::Histogram::from_gaps(&[0.5, 1.0], 1).unwrap();
        let gap = Gap::Histogram(gap);
        assert!((ks_distance(&gap, &[0.5, 1.0]) - 0.5).abs() < 1e-12);
        assert!((ks_distance(&gap, &[0.2, 0.2, 0.9]) - (2.0 / 3.0 - 0.2)).abs() < 1e-12);
    }

    #[test]
    fn the_usual_critical_values() {
        // D·√n = 1.358 at 5 % and 1.628 at 1 % for large n
        let n = 1_000_000;
        assert!((ks_p_value(1.358 / 1000.0, n) - 0.05).abs() < 5e-4);
        assert!((ks_p_value(1.628 / 1000.0, n) - 0.01).abs() < 2e-4);
        assert_eq!(ks_p_value(0.0, 10), 1.0);
        assert_eq!(ks_p_value(1.0, 1000), 0.0);
    }
}
