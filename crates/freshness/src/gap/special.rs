//! The special functions that the closed forms are made of; `libm` has the error function and the
//! logarithm of the gamma function.

use std::f64::consts::{PI, SQRT_2};

/// More terms than any sum or fraction below takes for `a ≤ 10⁶` (about `√a` tens).
const MOST_TERMS: usize = 100_000;

/// `ln Γ(a)`.
pub fn ln_gamma(a: f64) -> f64 {
    libm::lgamma(a)
}

/// `Γ(a)`, infinite beyond the range of `f64`.
pub fn gamma(a: f64) -> f64 {
    libm::tgamma(a)
}

/// `Σ_{n≥0} z^n/((a+1)…(a+n))`, so that `P(a, z) = z^a·e^{−z}/Γ(a+1)` times it. For `z ≤ a + 1`.
pub fn lower_gamma_sum(a: f64, z: f64) -> f64 {
    let mut term = 1.0;
    let mut sum = 1.0;
    for n in 1..MOST_TERMS {
        term *= z / (a + n as f64);
        sum += term;
        if term < sum * 1e-17 {
            break;
        }
    }
    sum
}

/// The logarithm of `z^a·e^{−z}/Γ(a+1)`.
pub fn ln_gamma_weight(a: f64, z: f64) -> f64 {
    if a > 30.0 {
        // Stirling: the plain terms are of size a·ln a and would cancel
        let offset = (z - a) / a;
        let correction = (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / (1260.0 * a * a)) / (a * a)) / a;
        a * (offset.ln_1p() - offset) - 0.5 * (2.0 * PI * a).ln() - correction
    } else {
        a * z.ln() - z - ln_gamma(a + 1.0)
    }
}

/// The regularised incomplete gamma functions `(P(a, z), Q(a, z))`.
pub fn incomplete_gamma(a: f64, z: f64) -> (f64, f64) {
    if z <= 0.0 {
        (0.0, 1.0)
    } else if z == f64::INFINITY {
        (1.0, 0.0)
    } else if z < a + 1.0 {
        let lower = (ln_gamma_weight(a, z).exp() * lower_gamma_sum(a, z)).min(1.0);
        (lower, 1.0 - lower)
    } else {
        let upper = ln_upper_tail(a, z).exp().min(1.0);
        (1.0 - upper, upper)
    }
}

/// `ln Q(a, z)`, also where `Q` itself would vanish.
pub fn ln_upper_gamma(a: f64, z: f64) -> f64 {
    if z == f64::INFINITY {
        f64::NEG_INFINITY
    } else if z < a + 1.0 {
        (-incomplete_gamma(a, z).0).ln_1p()
    } else {
        ln_upper_tail(a, z)
    }
}

/// `ln Q(a, z)` for `z ≥ a + 1` by Legendre's continued fraction (Lentz's evaluation).
fn ln_upper_tail(a: f64, z: f64) -> f64 {
    let mut b = z + 1.0 - a;
    let mut c = 1e300;
    let mut d = 1.0 / b;
    let mut fraction = d;
    for n in 1..MOST_TERMS {
        let n = n as f64;
        let numerator = -n * (n - a);
        b += 2.0;
        d = 1.0 / (numerator * d + b);
        c = b + numerator / c;
        let factor = c * d;
        fraction *= factor;
        if (factor - 1.0).abs() < 1e-16 {
            break;
        }
    }
    ln_gamma_weight(a, z) + a.ln() + fraction.ln()
}

/// The standard normal distribution function.
pub fn normal_cdf(d: f64) -> f64 {
    0.5 * libm::erfc(-d / SQRT_2)
}

/// `ln Φ(d)`, also where `Φ` itself would vanish.
pub fn ln_normal_cdf(d: f64) -> f64 {
    if d < -30.0 {
        let square = d * d;
        let series = (-1.0 + (3.0 - 15.0 / square) / square) / square;
        -square / 2.0 - (-d * (2.0 * PI).sqrt()).ln() + series.ln_1p()
    } else if d > 0.0 {
        (-normal_cdf(-d)).ln_1p()
    } else {
        normal_cdf(d).ln()
    }
}

/// The derivative of `ln Γ`.
pub fn digamma(mut a: f64) -> f64 {
    let mut shifted = 0.0;
    while a < 10.0 {
        shifted -= 1.0 / a;
        a += 1.0;
    }
    let q = 1.0 / (a * a);
    shifted + a.ln()
        - 0.5 / a
        - q * (1.0 / 12.0 - q * (1.0 / 120.0 - q * (1.0 / 252.0 - q * (1.0 / 240.0 - q / 132.0))))
}

/// The second derivative of `ln Γ`.
pub fn trigamma(mut a: f64) -> f64 {
    let mut shifted = 0.0;
    while a < 10.0 {
        shifted += 1.0 / (a * a);
        a += 1.0;
    }
    let q = 1.0 / (a * a);
    let series = 1.0 / 42.0 - q * (1.0 / 30.0 - q * 5.0 / 66.0);
    shifted + (1.0 + 0.5 / a + q * (1.0 / 6.0 - q * (1.0 / 30.0 - q * series))) / a
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(found: f64, expected: f64) {
        assert!(
            (found / expected - 1.0).abs() < 2e-13,
            "{found} is not {expected}"
        );
    }

    #[test]
    fn incomplete_gamma_of_whole_orders_is_a_poisson_sum() {
        for order in [1_u32, 2, 5, 20, 60] {
            for z in [0.01_f64, 0.7, 3.0, 19.0, 40.0, 90.0] {
                let mut term = (-z).exp();
                let mut upper = 0.0;
                for k in 0..order {
                    upper += term;
                    term *= z / f64::from(k + 1);
                }
                let (lower_found, found) = incomplete_gamma(f64::from(order), z);
                assert!(
                    (found / upper - 1.0).abs() < 1e-12,
                    "{order} {z}: {found} {upper}"
                );
                assert!((lower_found + found - 1.0).abs() < 1e-15);
            }
        }
    }

    #[test]
    fn incomplete_gamma_of_one_half_is_the_error_function() {
        for z in [1e-9_f64, 0.1, 1.4, 1.6, 10.0, 30.0] {
            check(incomplete_gamma(0.5, z).0, libm::erf(z.sqrt()));
            check(incomplete_gamma(0.5, z).1, libm::erfc(z.sqrt()));
        }
    }

    #[test]
    fn a_large_order_is_nearly_normal() {
        let a = 1e6;
        let (_, upper) = incomplete_gamma(a, a + 2.0 * a.sqrt());
        // Φ(−2) with the first Edgeworth term: skewness 2/√a
        let density = (-2.0_f64).exp() / (2.0 * PI).sqrt();
        let edgeworth = normal_cdf(-2.0) + 2.0 / a.sqrt() / 6.0 * 3.0 * density;
        assert!((upper - edgeworth).abs() < 1e-6, "{upper} {edgeworth}");
    }

    #[test]
    fn logarithms_go_on_where_the_tails_vanish() {
        // Q(1, z) = e^{−z}
        check(ln_upper_gamma(1.0, 5000.0), -5000.0);
        check(ln_upper_gamma(1.0, 1e-14), -1e-14);
        check(
            ln_normal_cdf(-29.999_999_9),
            ln_normal_cdf(-30.000_000_1 + 2e-7),
        );
        check(ln_normal_cdf(-40.0), -804.608_442_013_754);
    }

    #[test]
    fn digamma_and_trigamma_at_known_points() {
        let euler = 0.577_215_664_901_532_9;
        check(digamma(1.0), -euler);
        check(digamma(0.5), -euler - 2.0 * 2.0_f64.ln());
        check(trigamma(1.0), PI * PI / 6.0);
        check(trigamma(0.5), PI * PI / 2.0);
        // recurrences far from the table
        check(digamma(123.4) - digamma(122.4), 1.0 / 122.4);
        check(trigamma(1e-3) - trigamma(1.001), 1e6);
    }
}
