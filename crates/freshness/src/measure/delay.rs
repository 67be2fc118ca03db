//! The inverse of [`visit_gain`]: after which normalised delay a visit has gained `y`.
//!
//! Allocations of millions of pages spend their time here, so it is read off two tables instead
//! of iterating from scratch: cubic Hermite in `√y` for the body, where `r(√y)` is smooth down to
//! zero, and in `L = −ln(1 − y)` with one Newton step for the logarithmic tail.

use super::visit_gain;
use std::sync::LazyLock;

/// Body: `√y` up to here, in steps of `1/BODY_STEPS`; beyond, the fourth derivative of `r(√y)`
/// grows too fast for the table.
const BODY_END: f64 = 0.75;
const BODY_STEPS: f64 = 4096.0;
/// Tail: `L` from just below the body's end to `−ln 2⁻⁵³`, the largest that `1 − y` can express.
const TAIL_START: f64 = 0.8;
const TAIL_END: f64 = 37.0;
const TAIL_STEPS: f64 = 16.0;

static BODY: LazyLock<Box<[Node]>> = LazyLock::new(|| {
    let nodes = (BODY_END * BODY_STEPS) as usize + 2;
    (0..nodes)
        .map(|k| {
            let root = k as f64 / BODY_STEPS;
            let y = root * root;
            let r = refine(y);
            let slope = if k == 0 {
                std::f64::consts::SQRT_2
            } else {
                2.0 * root * delay_slope(y, r)
            };
            Node::new(r, slope / BODY_STEPS)
        })
        .collect()
});

static TAIL: LazyLock<Box<[Node]>> = LazyLock::new(|| {
    let nodes = ((TAIL_END - TAIL_START) * TAIL_STEPS) as usize + 2;
    (0..nodes)
        .map(|k| {
            let log = TAIL_START + k as f64 / TAIL_STEPS;
            let mut r = log + log.ln_1p();
            for _ in 0..20 {
                r = tail_newton(r, log);
            }
            // dr/dL = (1 + r)/r
            Node::new(r, (1.0 + r) / r / TAIL_STEPS)
        })
        .collect()
});

/// Value and slope (per step) at a node of a table.
struct Node {
    value: f64,
    slope: f64,
}

impl Node {
    fn new(value: f64, slope: f64) -> Self {
        Self { value, slope }
    }
}

/// The normalised delay `r` with `visit_gain(r) = y`, to about 1e-12 relative; infinite for
/// `y ≥ 1`, which no delay gains.
#[inline]
pub fn delay_for_gain(y: f64) -> f64 {
    let root = y.sqrt();
    if root < BODY_END {
        hermite(&BODY, root * BODY_STEPS)
    } else if y < 1.0 {
        let log = -(1.0 - y).ln();
        tail_newton(hermite(&TAIL, (log - TAIL_START) * TAIL_STEPS), log)
    } else {
        f64::INFINITY
    }
}

/// The derivative of [`delay_for_gain`] at `y`, where it is `r`: `1/(r·e^{−r})`, without the
/// exponential.
#[inline]
pub fn delay_slope(y: f64, r: f64) -> f64 {
    (1.0 + r) / ((1.0 - y) * r)
}

#[inline]
fn hermite(table: &[Node], position: f64) -> f64 {
    let cell = position as usize;
    let t = position - cell as f64;
    let (a, b) = (&table[cell], &table[cell + 1]);
    let rise = b.value - a.value;
    a.value
        + t * (a.slope
            + t * (3.0 * rise - 2.0 * a.slope - b.slope + t * (a.slope + b.slope - 2.0 * rise)))
}

/// One Newton step for `r − ln(1 + r) = L`.
#[inline]
fn tail_newton(r: f64, log: f64) -> f64 {
    r - (r - r.ln_1p() - log) * (1.0 + r) / r
}

/// The inverse in the body by Newton from the series at zero; for building the table.
fn refine(y: f64) -> f64 {
    let s = (2.0 * y).sqrt();
    let mut r = s * (1.0 + s * (1.0 / 3.0 + s * (11.0 / 72.0 + s * 43.0 / 540.0)));
    for _ in 0..20 {
        if r > 0.0 {
            r -= (visit_gain(r) - y) / (r * (-r).exp());
        }
    }
    r
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverts_the_visit_gain_everywhere() {
        let mut worst: f64 = 0.0;
        let exponents = (0..30_000).map(|k| 1e-30 * 10f64.powf(f64::from(k) * 1e-3));
        let body = (1..100_000).map(|k| f64::from(k) * 1e-5);
        for y in exponents.chain(body).filter(|&y| y < 1.0) {
            let r = delay_for_gain(y);
            worst = worst.max((visit_gain(r) / y - 1.0).abs());
        }
        assert!(worst < 1e-12, "{worst}");
    }

    #[test]
    fn grows_without_end_towards_one() {
        let mut last = 0.0;
        for k in 1..53 {
            let r = delay_for_gain(1.0 - 0.5f64.powi(k));
            assert!(r > last);
            let missing = (1.0 + r) * (-r).exp();
            assert!((missing / 0.5f64.powi(k) - 1.0).abs() < 1e-11, "k {k}");
            last = r;
        }
        assert_eq!(delay_for_gain(1.0), f64::INFINITY);
        assert_eq!(delay_for_gain(0.0), 0.0);
    }

    #[test]
    fn its_slope_needs_no_exponential() {
        for y in [1e-9f64, 1e-3, 0.3, 0.9, 0.999_999] {
            let h = y.min(1.0 - y) * 1e-4;
            let measured = (delay_for_gain(y + h) - delay_for_gain(y - h)) / (2.0 * h);
            let exact = delay_slope(y, delay_for_gain(y));
            assert!((measured / exact - 1.0).abs() < 1e-6, "y {y}");
        }
    }
}
