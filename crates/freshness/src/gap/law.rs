//! What every distribution of the time between changes must tell, and what follows from it.

use rand::Rng;

/// Logarithms of survival below this are taken as minus infinity: their own rounding exceeds the
/// ratios that they are wanted for.
pub const IMPOSSIBLE: f64 = -1e12;

/// A distribution of the time `X` between changes. Times given are finite and not negative.
pub trait Law {
    fn mean(&self) -> f64;
    fn second_moment(&self) -> f64;
    fn coefficient_of_variation(&self) -> f64;

    /// `ln P(X > x)`: keeps its precision at both ends, where `P` is nearly one or vanishes.
    fn ln_survival(&self, x: f64) -> f64;
    /// The logarithm of the density, for the laws that have one.
    fn ln_density(&self, x: f64) -> Option<f64>;

    /// `E[min(X, x)] = ∫₀ˣ P(X > u) du`.
    fn limited_mean(&self, x: f64) -> f64;
    /// `E[min(X, x)²] = 2·∫₀ˣ u·P(X > u) du`.
    fn limited_square(&self, x: f64) -> f64;
    /// `E[(X − x)⁺] = ∫ₓ^∞ P(X > u) du`.
    fn excess(&self, x: f64) -> f64;

    fn sample(&self, rng: &mut dyn Rng) -> f64;
    /// The time from an arbitrary instant to the next change: density `P(X > u)/E[X]`.
    fn sample_residual(&self, rng: &mut dyn Rng) -> f64;

    /// `∫₀ˣ P(X > age + u | X > age) du`; `x` may be infinite.
    fn residual_fresh_time(&self, age: f64, x: f64) -> f64 {
        if age == 0.0 {
            return if x == f64::INFINITY {
                self.mean()
            } else {
                self.limited_mean(x)
            };
        }
        let survival = self.ln_survival(age).exp();
        let (tail, head) = (self.excess(age), self.limited_mean(age));
        // of the two differences, the one of the smaller numbers loses less
        let (integral, size) = if x == f64::INFINITY {
            (tail, tail)
        } else if tail < head {
            (tail - self.excess(age + x), tail)
        } else {
            let upto = self.limited_mean(age + x);
            (upto - head, upto)
        };
        if survival > 1e-250 && integral > size * 1e-6 {
            integral / survival
        } else {
            integrate_residual(self, age, x)
        }
    }

    /// The interval `x` where `E[min(X, x)²]` reaches `square`, which is below `E[X²]`; `None`
    /// where no `f64` does.
    fn interval_for_square(&self, square: f64) -> Option<f64> {
        // min(X, x)² ≤ x²
        let mut low = square.sqrt();
        let mut high = low;
        while self.limited_square(high) < square {
            low = high;
            high *= 2.0;
            if high > 1e150 || self.ln_survival(low) < -700.0 {
                return None;
            }
        }
        let mut x = low;
        for _ in 0..200 {
            let surplus = self.limited_square(x) - square;
            if surplus < 0.0 {
                low = x;
            } else {
                high = x;
            }
            let newton = x - surplus / (2.0 * x * self.ln_survival(x).exp());
            let next = if newton > low && newton < high {
                newton
            } else {
                low + (high - low) / 2.0
            };
            if (next - x).abs() <= x * 1e-15 {
                return Some(next);
            }
            x = next;
        }
        Some(x)
    }
}

/// Abscissae and weights of Gauss and Legendre's rule of five points on `[0, 1]`.
const LEGENDRE: [(f64, f64); 5] = [
    (0.046_910_077_030_668, 0.118_463_442_528_094_5),
    (0.230_765_344_947_158_5, 0.239_314_335_249_683_2),
    (0.5, 0.284_444_444_444_444_4),
    (0.769_234_655_052_841_5, 0.239_314_335_249_683_2),
    (0.953_089_922_969_332, 0.118_463_442_528_094_5),
];

/// The same integral where differences cancel or the survival function vanishes: on panels that
/// start at a fraction of the hazard's time scale and grow.
fn integrate_residual(law: &(impl Law + ?Sized), age: f64, x: f64) -> f64 {
    let at_age = law.ln_survival(age);
    if at_age < IMPOSSIBLE || x == 0.0 {
        return 0.0;
    }
    let ln_density = law.ln_density(age).unwrap_or(f64::NEG_INFINITY);
    let mut width = (0.25 * (at_age - ln_density).exp()).min(age);
    let mut from = 0.0;
    let mut sum = 0.0;
    while from < x {
        let panel = width.min(x - from);
        let value: f64 = LEGENDRE
            .iter()
            .map(|(u, weight)| {
                weight
                    * (law.ln_survival(age + from + u * panel) - at_age)
                        .exp()
                        .min(1.0)
            })
            .sum();
        sum += panel * value;
        if value * from < sum * 1e-16 && value < 1e-16 {
            break;
        }
        from += panel;
        width *= 1.25;
    }
    sum
}
