//! How much a stream of evenly spaced requests can exceed its expectation, and the headroom to
//! provision for it.
//!
//! With every page visited evenly from a random offset, the number of requests in any interval is
//! a sum of `n` independent terms, each of which is off its mean by less than one: page `i` makes
//! `floor` or `ceil` of `f_i · length` visits. Hoeffding's inequality bounds the excess.

/// The probability that the requests in an interval exceed their expectation by at least
/// `excess`, at most. `pages` counts the pages that are visited at all.
pub fn overflow_probability(pages: usize, excess: f64) -> f64 {
    if excess <= 0.0 {
        return 1.0;
    }
    if pages == 0 {
        return 0.0;
    }
    (-2.0 * excess * excess / pages as f64).exp()
}

/// The headroom, in requests above the expectation, that overflows with probability at most
/// `epsilon`.
///
/// # Panics
/// When `epsilon` is not in `(0, 1]`.
pub fn headroom(pages: usize, epsilon: f64) -> f64 {
    assert!(
        epsilon > 0.0 && epsilon <= 1.0,
        "an overflow probability lies in (0, 1], not {epsilon}"
    );
    (pages as f64 * (1.0 / epsilon).ln() / 2.0).sqrt()
}

/// The probability that the requests in an interval of `length` exceed their expectation by at
/// least `excess`, as a count of `offsets_tried` draws of random offsets drawn by `offset` (each in
/// `[0, 1)`): what the bound is to be reported against.
pub fn measured_overflow(
    frequencies: &[f64],
    length: f64,
    excess: f64,
    offsets_tried: usize,
    mut offset: impl FnMut() -> f64,
) -> f64 {
    let expected: f64 = frequencies.iter().map(|f| f * length).sum();
    let overflows = (0..offsets_tried)
        .filter(|_| {
            let visits: f64 = frequencies
                .iter()
                .map(|f| (f * length + offset()).floor())
                .sum();
            visits - expected >= excess
        })
        .count();
    overflows as f64 / offsets_tried as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn headroom_inverts_the_bound() {
        for pages in [1, 100, 1_000_000] {
            for epsilon in [0.5, 1e-3, 1e-9] {
                let back = overflow_probability(pages, headroom(pages, epsilon));
                assert!((back / epsilon - 1.0).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn measured_overflow_stays_below_the_bound() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(6);
        let frequencies: Vec<f64> = (0..400).map(|_| rng.random_range(0.01..3.0)).collect();
        for excess in [5.0, 10.0, 15.0, 20.0] {
            let measured =
                measured_overflow(&frequencies, 1.0, excess, 4_000, || rng.random::<f64>());
            let bound = overflow_probability(frequencies.len(), excess);
            assert!(measured <= bound, "excess {excess}: {measured} > {bound}");
        }
    }

    #[test]
    fn nothing_to_visit_never_overflows() {
        assert_eq!(overflow_probability(0, 1.0), 0.0);
        assert_eq!(headroom(0, 0.01), 0.0);
    }
}
