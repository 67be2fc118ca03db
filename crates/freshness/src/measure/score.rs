//! Scores of concrete visit sequences over a period: exact for known change instants, in exact
//! expectation for Poisson changes.

use super::fresh_time;

/// What one page's visits were worth over a period.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Score {
    /// Time during which the copy equalled the original.
    pub fresh: f64,
    /// The integral of the age over the period.
    pub age: f64,
}

/// The expected score of `visits` (ascending, within the period) over `[from, until)` for a page
/// that changes as a Poisson process. No changes are drawn: `B(interval)` is added up. Until the
/// first visit the copy is fresh as of `from` when `fresh_at_start`, else stale since `from`.
pub fn score_poisson(
    rate: f64,
    visits: &[f64],
    from: f64,
    until: f64,
    fresh_at_start: bool,
) -> Score {
    let mut score = Score::default();
    let mut last = from;
    let mut synchronised = fresh_at_start;
    for &end in visits.iter().chain(std::iter::once(&until)) {
        let length = end - last;
        if synchronised {
            let fresh = fresh_time(rate, length);
            score.fresh += fresh;
            score.age += poisson_age(rate, length, fresh);
        } else {
            score.age += length * length / 2.0;
        }
        last = end;
        synchronised = true;
    }
    score
}

/// `∫₀ˣ E[age]`: the age at elapsed time `t` is `t − B(t)`, and the integral of `B` is
/// `(x − B(x))/λ`.
fn poisson_age(rate: f64, length: f64, fresh: f64) -> f64 {
    let r = rate * length;
    if r < 1e-3 {
        // λx³/6 − λ²x⁴/24 + …, where the closed form cancels
        rate * length.powi(3) * (1.0 / 6.0 - r * (1.0 / 24.0 - r / 120.0))
    } else {
        length * length / 2.0 - (length - fresh) / rate
    }
}

/// The exact score of `visits` over `[from, until)` for a page that changed at the instants
/// `changes`; both ascending. A visit at the very instant of a change sees the changed page.
pub fn score_changes(
    changes: &[f64],
    visits: &[f64],
    from: f64,
    until: f64,
    fresh_at_start: bool,
) -> Score {
    let mut score = Score::default();
    let mut upcoming = changes
        .iter()
        .copied()
        .skip_while(|&c| c <= from)
        .peekable();
    let mut last = from;
    // the first change that the copy lacks, if it is known to lack one
    let mut stale_since = (!fresh_at_start).then_some(from);
    for &end in visits.iter().chain(std::iter::once(&until)) {
        if stale_since.is_none() {
            stale_since = upcoming.peek().copied().filter(|&c| c <= end);
        }
        let stale_from = stale_since.unwrap_or(end);
        score.fresh += stale_from - last;
        score.age += (end - stale_from).powi(2) / 2.0;
        while upcoming.next_if(|&c| c <= end).is_some() {}
        stale_since = None;
        last = end;
    }
    score
}
