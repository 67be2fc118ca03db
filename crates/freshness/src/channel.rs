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

/// By how much the requests in an interval of `length` exceed their expectation, in so many draws of
/// random offsets (`offset` gives each, in `[0, 1)`), ascending: what the bound is to be reported
/// against.
pub fn measured_excesses(
    frequencies: &[f64],
    length: f64,
    draws: usize,
    mut offset: impl FnMut() -> f64,
) -> Vec<f64> {
    let expected = |f: &f64| f * length;
    // whole visits come in any case, a fraction as a further visit or not
    let fractions: Vec<f64> = frequencies.iter().map(|f| expected(f).fract()).collect();
    let mean: f64 = fractions.iter().sum();
    let mut excesses: Vec<f64> = (0..draws)
        .map(|_| {
            let further = fractions.iter().filter(|&&fraction| offset() < fraction);
            further.count() as f64 - mean
        })
        .collect();
    excesses.sort_by(f64::total_cmp);
    excesses
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
        let excesses = measured_excesses(&frequencies, 1.0, 4_000, || rng.random());
        // visits counted one by one, page by page, have the same spread
        let mut counted: Vec<f64> = (0..4_000)
            .map(|_| {
                let visits = |f: &f64| {
                    let first = rng.random::<f64>() / f;
                    let mut at = first;
                    let mut count = 0.0;
                    while at < 1.0 {
                        (at, count) = (at + 1.0 / f, count + 1.0);
                    }
                    count - f
                };
                frequencies.iter().map(visits).sum()
            })
            .collect();
        counted.sort_by(f64::total_cmp);
        for at in [400, 2_000, 3_600] {
            let (a, b) = (excesses[at], counted[at]);
            assert!((a - b).abs() < 1.5, "{at}: {a} {b}");
        }
        for excess in [5.0, 10.0, 15.0, 20.0] {
            let above = excesses.iter().filter(|&&found| found >= excess).count();
            let measured = above as f64 / excesses.len() as f64;
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
