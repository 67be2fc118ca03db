//! What visits tell of the waits between changes: each change lies between two visits, and some are dated.

use super::{Age, Wait};

/// A visit that had an answer. Times are seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Visit {
    /// When.
    pub at: f64,
    /// Whether the page was found changed since the visit before.
    pub changed: bool,
    /// When the server says that it last changed.
    pub modified: Option<f64>,
}

/// The visits to a page, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VisitedPage {
    /// Its host, by number.
    pub host: u32,
    /// One after the other.
    pub visits: Vec<Visit>,
}

impl VisitedPage {
    /// Each change found, with the visit before.
    pub fn changes(&self) -> impl Iterator<Item = (Visit, Visit)> + '_ {
        let pairs = self.visits.windows(2).map(|pair| (pair[0], pair[1]));
        pairs.filter(|(_, now)| now.changed)
    }

    /// From each change found to the next. `from_start`: the wait from the first visit on as well, at
    /// whose start the content may be of any age.
    pub fn waits(&self, from_start: bool) -> Vec<Wait> {
        let mut waits = Vec::new();
        let mut began = None;
        let mut last: Option<Visit> = None;
        for &visit in &self.visits {
            let Some(before) = last.replace(visit) else {
                let known = visit.modified.map(|at| visit.at - at);
                let age = known.filter(|age| *age > 0.0).map(Age::Known);
                let any = from_start.then_some(Age::Known(0.0));
                began = age.or(any).map(|age| (visit.at, age));
                continue;
            };
            if !visit.changed {
                continue;
            }
            if let Some((at, age)) = began {
                let (from, to) = (before.at - at, visit.at - at);
                waits.push(Wait { age, from, to });
            }
            let age = dated(before, visit).map_or(Age::Below(visit.at - before.at), |at| {
                Age::Known(visit.at - at)
            });
            began = Some((visit.at, age));
        }
        if let (Some((at, age)), Some(end)) = (began, last)
            && end.at > at
        {
            waits.push(Wait {
                age,
                from: end.at - at,
                to: f64::INFINITY,
            });
        }
        waits
    }
}

/// When a change happened, if the server's word fits with the visits.
pub fn dated(before: Visit, now: Visit) -> Option<f64> {
    now.modified.filter(|at| before.at < *at && *at <= now.at)
}
