//! Estimators for pages that tell when they changed.

use super::Estimate;

/// A visit to a page that tells when its content last changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DatedVisit {
    /// Time since the visit before.
    pub interval: f64,
    /// How long ago the content last changed; beyond `interval`, this visit saw no change.
    pub age: f64,
}

/// Maximum likelihood from last-modified times: `X / Σ min(T_i, I_i)`. A visit shows that nothing
/// happened during the last `min(T, I)`, and one change before that if `T ≤ I`; what came earlier
/// in the interval stays hidden and enters neither side.
pub fn last_modified(visits: &[DatedVisit]) -> Estimate {
    let (events, exposure) = visits.iter().fold((0.0, 0.0), |(events, exposure), visit| {
        let changed = visit.age <= visit.interval;
        let quiet = visit.age.min(visit.interval).max(0.0);
        (events + f64::from(u8::from(changed)), exposure + quiet)
    });
    Estimate::from_count(events, exposure)
}

/// Maximum likelihood when every change of the last `time` is known: count over time.
pub fn full_history(changes: u32, time: f64) -> Estimate {
    Estimate::from_count(f64::from(changes), time)
}
