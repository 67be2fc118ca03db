//! What a page's visits are worth, as a demand curve: how many visits per unit of time it takes
//! at a given price. Every allocation with an optimum is one of these curves filled with a budget.

use crate::measure::{delay_for_gain, delay_slope, visit_gain};
use std::marker::PhantomData;

/// Demand of pages, addressed by position.
pub(crate) trait Demand: Sync {
    /// Visits per unit of time that the page takes when a visit costs `price > 0`, and the
    /// derivative by the logarithm of the price (never positive).
    fn visits(&self, position: usize, price: f64) -> (f64, f64);

    /// The price from which on the page takes no visit: zero when it never takes any, infinite
    /// when it always takes some.
    fn reserve(&self, position: usize) -> f64;
}

/// A demand curve that follows from a page's change rate and weight, both above zero.
pub trait Curve: Sync {
    /// Visits per unit of time taken at `price > 0`, and the derivative by the logarithm of the
    /// price.
    fn visits(rate: f64, weight: f64, price: f64) -> (f64, f64);

    /// The price from which on no visit is taken.
    fn reserve(rate: f64, weight: f64) -> f64;
}

/// Rates and weights of pages, in the order of their positions.
#[derive(Clone, Copy)]
pub struct Pages<'a> {
    /// Changes per unit of time.
    pub rate: &'a [f64],
    /// Importance; `None` means that all pages weigh one.
    pub weight: Option<&'a [f64]>,
}

impl Pages<'_> {
    #[inline]
    pub(super) fn weight(&self, position: usize) -> f64 {
        self.weight.map_or(1.0, |weight| weight[position])
    }
}

/// The same curve for all pages, each with its rate and weight.
pub(super) struct Curves<'a, C> {
    pages: Pages<'a>,
    curve: PhantomData<C>,
}

impl<'a, C> Curves<'a, C> {
    pub fn of(pages: Pages<'a>) -> Self {
        Self {
            pages,
            curve: PhantomData,
        }
    }
}

impl<C: Curve> Demand for Curves<'_, C> {
    #[inline]
    fn visits(&self, position: usize, price: f64) -> (f64, f64) {
        let (rate, weight) = (self.pages.rate[position], self.pages.weight(position));
        if rate > 0.0 && weight > 0.0 {
            C::visits(rate, weight, price)
        } else {
            (0.0, 0.0)
        }
    }

    fn reserve(&self, position: usize) -> f64 {
        let (rate, weight) = (self.pages.rate[position], self.pages.weight(position));
        if rate > 0.0 && weight > 0.0 {
            C::reserve(rate, weight)
        } else {
            0.0
        }
    }
}

/// Freshness under Poisson changes and evenly spaced visits:
/// `(w/λ)·(1 − (1 + r)e^{−r}) = price`.
pub struct Freshness;

impl Curve for Freshness {
    #[inline]
    fn visits(rate: f64, weight: f64, price: f64) -> (f64, f64) {
        let gain = price * rate / weight;
        if gain >= 1.0 {
            return (0.0, 0.0);
        }
        let r = delay_for_gain(gain);
        let visits = rate / r;
        (visits, -visits / r * delay_slope(gain, r) * gain)
    }

    fn reserve(rate: f64, weight: f64) -> f64 {
        weight / rate
    }
}

/// The harmonic allocation: `w·λ/(f·(f + λ)) = price`.
pub struct Harmonic;

impl Curve for Harmonic {
    fn visits(rate: f64, weight: f64, price: f64) -> (f64, f64) {
        let product = weight * rate / price;
        let root = (rate * rate + 4.0 * product).sqrt();
        (2.0 * product / (rate + root), -product / root)
    }

    fn reserve(_: f64, _: f64) -> f64 {
        f64::INFINITY
    }
}

/// The least mean age: `(w/λ²)·(r²/2 − visit_gain(r)) = price`.
pub struct Age;

impl Curve for Age {
    fn visits(rate: f64, weight: f64, price: f64) -> (f64, f64) {
        let target = price / weight * rate * rate;
        let r = delay_for_age_gain(target);
        let visits = rate / r;
        let slope = r * -(-r).exp_m1();
        (visits, -visits / r * target / slope)
    }

    fn reserve(_: f64, _: f64) -> f64 {
        f64::INFINITY
    }
}

/// What a visit after the normalised delay `r` saves of age: `r²/2 − visit_gain(r)`.
pub(super) fn age_gain(r: f64) -> f64 {
    if r < 0.5 {
        // Σ_{k≥3} (−1)^{k+1} r^k (k−1)/k!, the series of the visit gain without its first term
        let mut term = r * r * r / 3.0;
        let mut sum = term;
        let mut k = 3.0;
        while term.abs() > sum * 1e-17 {
            term *= -r * k / ((k - 1.0) * (k + 1.0));
            k += 1.0;
            sum += term;
        }
        sum
    } else {
        r * r / 2.0 - visit_gain(r)
    }
}

/// The inverse of [`age_gain`] by Newton: it is convex, so the first step overshoots and the rest
/// descend.
fn delay_for_age_gain(target: f64) -> f64 {
    let mut r = if target < 1.0 {
        (3.0 * target).cbrt()
    } else {
        (2.0 * target + 2.0).sqrt()
    };
    for _ in 0..60 {
        let step = (age_gain(r) - target) / (r * -(-r).exp_m1());
        r -= step;
        if step.abs() <= r * 1e-15 {
            break;
        }
    }
    r
}
