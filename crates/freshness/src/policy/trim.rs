//! Keeps demand in step with the budget.

/// Controller gains: proportional and integral, per round of visits to all pages; the pair is
/// critically damped for a demand that falls as the root of the price.
const PROPORTIONAL: f64 = 2.0;
const INTEGRAL: f64 = 0.5;
/// A factor on prices or intervals: raised while pages wait, lowered while the budget does.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trim {
    integral: f64,
    lag: f64,
}

impl Trim {
    /// `lag` as a share of a round of `pages` visits; negative when there was nothing to do.
    pub fn tell(&mut self, lag: f64, pages: f64) {
        self.lag = lag.clamp(-1.0, 1.0);
        self.integral = (self.integral + INTEGRAL * self.lag / pages).clamp(-3.0, 3.0);
    }

    pub fn factor(&self) -> f64 {
        (self.integral + PROPORTIONAL * self.lag).exp()
    }
}
