//! What a page's recent past hints at beyond its long-run rate.
//!
//! Hints are relative differences, twice `(p − q)/(p + q)`: like logarithms of ratios where these
//! are near one, but bounded. The rate expected over the next interval is the long-run rate times
//! `exp(Σ weight·hint)`, with weights that visits teach. Where hints foretell nothing, as under
//! Poisson changes, their weights come to nothing.

/// The last hint is always one: its weight makes the mean right, so that the others need not.
pub(super) const HINTS: usize = 5;
pub(super) type Hints = [f64; HINTS];
pub(super) type Weights = crate::estimate::weights::Weights<HINTS>;
pub(super) use crate::estimate::weights::factor;

/// Weights before anything was seen: recent changes and young content speak of more to come, in
/// moderation. They count as much as some sixty visits.
const FIRST: Hints = [0.3, 0.0, 0.2, 0.0, 0.0];
const FIRST_INFORMATION: f64 = 30.0;

pub(super) fn first_weights() -> Weights {
    Weights::new(FIRST, FIRST_INFORMATION)
}

/// Twice the relative difference of two numbers, of which one is positive.
pub(super) fn difference(p: f64, q: f64) -> f64 {
    2.0 * (p - q) / (p + q)
}
