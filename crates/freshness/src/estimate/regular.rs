//! Estimators from counts: how many of the visits saw a change.

use super::{Estimate, Z95};

/// The naive estimator `X / T`: `changes` seen, over `time` in all. Several changes between two
/// visits are seen as one, so it falls short of the change rate and saturates at the visit rate;
/// its interval is that of the rate of *seen* changes.
pub fn naive(changes: u32, time: f64) -> Estimate {
    Estimate::from_count(f64::from(changes), time)
}

/// Cho's bias-corrected estimator `−(1/I)·ln((n − X + ½)/(n + ½))` for `visits` that come every
/// `interval`, `changes` of which saw a change. The interval is Wilson's for the share of changed
/// visits; if all of them changed it has no upper end.
///
/// # Panics
/// When there are more changes than visits.
pub fn regular(visits: u32, changes: u32, interval: f64) -> Estimate {
    assert!(changes <= visits, "at most one change is seen per visit");
    if visits == 0 || interval <= 0.0 {
        return Estimate::UNKNOWN;
    }
    let (n, x) = (f64::from(visits), f64::from(changes));
    let z = Z95 * Z95;
    let centre = x + 0.5 * z;
    let half_width = Z95 * (x * (n - x) / n + 0.25 * z).sqrt();
    let rate_at = |share: f64| -(-share).ln_1p() / interval;
    let low = if changes == 0 {
        0.0
    } else {
        rate_at((centre - half_width) / (n + z))
    };
    let high = if changes == visits {
        f64::INFINITY
    } else {
        rate_at((centre + half_width) / (n + z))
    };
    // half a count on either side keeps the error finite and positive at both extremes
    let odds = (x + 0.5) / (n - x + 0.5);
    Estimate::new(
        rate_at(x / (n + 0.5)),
        low,
        high,
        (odds / n).sqrt() / interval,
    )
}
