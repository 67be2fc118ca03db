//! How the chance that a copy is still fresh falls with the time since the visit, and when the next
//! visit is worth its price.
//!
//! After a visit the copy survives a time `τ` with probability `S(τ)`. Visiting again at `τ` gains
//! `G(τ) = ∫₀^τ S − τ·S(τ)`; the page is worth a visit when that reaches the price. A Poisson page
//! of known rate has `S = e^{−λτ}`. Where the rate is itself uncertain, or differs from time to time
//! (quiet and busy), with a gamma distribution of shape `α`, `S = (1 + τ/β)^{−α}`: a heavier tail.

use crate::measure::{delay_for_gain, delay_slope};
use std::sync::LazyLock;

/// One of the survival functions, up to its time scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shape(u8);

/// What is at stake with a page: its survival function is `S(τ/unit)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stake {
    pub shape: Shape,
    pub unit: f64,
    pub weight: f64,
}

/// Shapes `α` between half a change and as good as certain, two to a doubling.
const HEAVY: usize = 14;
/// Normalised gains from `2^−40` to `2^40`, eight to a doubling.
const LOWEST: f64 = -40.0;
const PER_OCTAVE: f64 = 8.0;
const CELLS: usize = 640;
/// Delays beyond this many units are never.
const NEVER: f32 = 30.0;

fn alpha(index: usize) -> f64 {
    0.5 * (index as f64 / 2.0).exp2()
}

/// `ln` of the delay by `log2` of the gain.
static TABLES: LazyLock<Vec<[f32; CELLS + 1]>> = LazyLock::new(|| {
    (0..HEAVY)
        .map(|index| {
            let mut table = [f32::INFINITY; CELLS + 1];
            for (k, cell) in table.iter_mut().enumerate() {
                let gain = (LOWEST + k as f64 / PER_OCTAVE).exp2();
                *cell = solve(alpha(index), gain).map_or(NEVER, |ln| (ln as f32).min(NEVER));
            }
            table
        })
        .collect()
});

impl Shape {
    pub const POISSON: Self = Self(HEAVY as u8);

    /// The shape nearest to a gamma distribution of rates of shape `alpha`, and its time unit when
    /// the mean rate is one.
    pub fn of_uncertain_rate(wanted: f64) -> (Self, f64) {
        let index = ((wanted / 0.5).log2() * 2.0).round().max(0.0) as usize;
        if index < HEAVY {
            (Self(index as u8), alpha(index))
        } else {
            (Self::POISSON, 1.0)
        }
    }

    /// The delay, in units, at which a visit has gained `gain` units; infinite when none does.
    pub fn delay(self, gain: f64) -> f64 {
        self.delay_and_slope(gain).0
    }

    /// The same with its derivative by the gain.
    pub fn delay_and_slope(self, gain: f64) -> (f64, f64) {
        if self == Self::POISSON {
            let r = delay_for_gain(gain);
            let slope = if r.is_finite() {
                delay_slope(gain, r)
            } else {
                f64::INFINITY
            };
            return (r, slope);
        }
        let position = ((gain.log2() - LOWEST) * PER_OCTAVE).clamp(0.0, (CELLS - 1) as f64);
        let cell = position as usize;
        let table = &TABLES[self.0 as usize];
        let (low, high) = (table[cell], table[cell + 1]);
        if high >= NEVER {
            return (f64::INFINITY, f64::INFINITY);
        }
        let rise = f64::from(high - low);
        let delay = (f64::from(low) + (position - cell as f64) * rise).exp();
        // d ln delay / d ln gain, times delay over gain
        (
            delay,
            rise * PER_OCTAVE / std::f64::consts::LN_2 * delay / gain,
        )
    }

    /// The gain that no delay reaches.
    pub fn reserve(self) -> f64 {
        if self == Self::POISSON {
            return 1.0;
        }
        let table = &TABLES[self.0 as usize];
        let last = table
            .iter()
            .position(|&ln| ln >= NEVER)
            .unwrap_or(CELLS + 1);
        (LOWEST + (last as f64 - 1.0) / PER_OCTAVE).exp2()
    }
}

/// `ln τ` for which `G(τ) = gain`, with `β = 1`.
fn solve(alpha: f64, gain: f64) -> Option<f64> {
    let (mut low, mut high) = (-40.0, f64::from(NEVER));
    if lomax_gain(alpha, high.exp()) < gain {
        return None;
    }
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if lomax_gain(alpha, middle.exp()) < gain {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(high)
}

/// `G(τ) = (1 − z^{1−α})/(α − 1) − (z − 1)·z^{−α}`, `z = 1 + τ`.
fn lomax_gain(alpha: f64, delay: f64) -> f64 {
    if delay < 1e-4 {
        return alpha * delay * delay / 2.0;
    }
    let ln = delay.ln_1p();
    let excess = (alpha - 1.0) * ln;
    let fresh = if excess.abs() < 1e-8 {
        ln
    } else {
        -(-excess).exp_m1() / (alpha - 1.0)
    };
    fresh - delay * (-alpha * ln).exp()
}
