//! Quantiles of the gamma distribution, for intervals around rates.

/// Above this shape the Wilson–Hilferty cube is exact to six digits, and the series is long.
const LARGE_SHAPE: f64 = 2e4;

/// The point below which a gamma variable of `shape` and unit rate falls with probability `p`.
pub(super) fn quantile(shape: f64, p: f64) -> f64 {
    let start = wilson_hilferty(shape, p);
    if shape > LARGE_SHAPE {
        return start;
    }
    // In the far left tail P(a, x) ≈ x^a/Γ(a + 1), exact where the cube fails.
    let tail = ((p.ln() + ln_gamma(shape + 1.0)) / shape).exp();
    if tail < 1e-8 {
        return tail;
    }
    let (mut low, mut high) = (tail * 0.5, (shape + 20.0 + 10.0 * shape.sqrt()).max(tail));
    let mut x = start.clamp(low, high);
    for _ in 0..100 {
        let excess = lower_regularised(shape, x) - p;
        if excess > 0.0 {
            high = x;
        } else {
            low = x;
        }
        let density = ((shape - 1.0) * x.ln() - x - ln_gamma(shape)).exp();
        let newton = x - excess / density;
        let next = if newton > low && newton < high {
            newton
        } else {
            0.5 * (low + high)
        };
        if (next - x).abs() <= 1e-12 * x {
            return next;
        }
        x = next;
    }
    x
}

/// The cube of a normal variable is nearly a gamma variable.
fn wilson_hilferty(shape: f64, p: f64) -> f64 {
    let z = normal_quantile(p);
    let ninth = 1.0 / (9.0 * shape);
    shape * (1.0 - ninth + z * ninth.sqrt()).max(1e-3).powi(3)
}

/// Abramowitz and Stegun 26.2.23; an error of 4.5e-4 is enough for a starting point, and the two
/// points that intervals ask for are exact.
fn normal_quantile(p: f64) -> f64 {
    if p == 0.025 || p == 0.975 {
        return super::Z95.copysign(p - 0.5);
    }
    let t = (-2.0 * p.min(1.0 - p).ln()).sqrt();
    let z = t
        - (2.515_517 + t * (0.802_853 + t * 0.010_328))
            / (1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308)));
    z.copysign(p - 0.5)
}

/// `P(a, x) = γ(a, x)/Γ(a)`: series below the mean, Lentz's continued fraction above it.
fn lower_regularised(a: f64, x: f64) -> f64 {
    let front = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum, mut k) = (1.0 / a, 1.0 / a, a);
        while term > sum * 1e-16 {
            k += 1.0;
            term *= x / k;
            sum += term;
        }
        front * sum
    } else {
        let mut b = x + 1.0 - a;
        let mut c = 1e300;
        let mut d = 1.0 / b;
        let mut fraction = d;
        for i in 1..10_000 {
            let i = f64::from(i);
            let step = i * (a - i);
            b += 2.0;
            d = 1.0 / (step * d + b);
            c = b + step / c;
            fraction *= c * d;
            if (c * d - 1.0).abs() < 1e-15 {
                break;
            }
        }
        1.0 - front * fraction
    }
}

/// `ln Γ(x)` for `x > 0`, by Lanczos' approximation (g = 7, nine terms).
fn ln_gamma(x: f64) -> f64 {
    const TERMS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        return ln_gamma(x + 1.0) - x.ln();
    }
    let y = x - 1.0;
    let sum = TERMS
        .iter()
        .zip(1..)
        .fold(0.999_999_999_999_809_9, |sum, (term, k)| {
            sum + term / (y + f64::from(k))
        });
    let t = y + 7.5;
    0.5 * std::f64::consts::TAU.ln() + (y + 0.5) * t.ln() - t + sum.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half a χ² variable of 2a degrees of freedom is gamma of shape a: printed χ² tables.
    #[test]
    fn quantiles_agree_with_chi_squared_tables() {
        for (degrees, p, chi_squared) in [
            (1.0, 0.975, 5.023_886),
            (2.0, 0.025, 0.050_636),
            (2.0, 0.975, 7.377_759),
            (3.0, 0.025, 0.215_795),
            (10.0, 0.025, 3.246_973),
            (10.0, 0.5, 9.341_818),
            (10.0, 0.975, 20.483_177),
            (100.0, 0.025, 74.221_927),
            (100.0, 0.975, 129.561_197),
        ] {
            let found = 2.0 * quantile(degrees / 2.0, p);
            assert!(
                (found / chi_squared - 1.0).abs() < 1e-5,
                "χ²({degrees}), {p}: {found} is not {chi_squared}"
            );
        }
    }

    #[test]
    fn quantiles_invert_the_distribution_at_any_shape() {
        for shape in [1e-3, 0.1, 0.5, 1.0, 7.5, 300.0, 1.9e4] {
            for p in [0.025, 0.5, 0.975] {
                let x = quantile(shape, p);
                assert!(x.is_finite());
                if x > 1e-300 {
                    assert!(
                        (lower_regularised(shape, x) - p).abs() < 1e-7,
                        "shape {shape}, p {p}: {x}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_cube_takes_over_smoothly() {
        let (below, above) = (LARGE_SHAPE, LARGE_SHAPE + 0.01);
        for p in [0.025, 0.975] {
            assert!((quantile(above, p) / quantile(below, p) - 1.0).abs() < 2e-6);
        }
    }
}
