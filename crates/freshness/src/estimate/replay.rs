//! The one rule by which a visit becomes an observation, wherever visits are told or read again.

use super::Observation;
use crate::policy::Outcome;

/// The interval that a visit tells of, and what it tells, `previous` being the visit before; nothing
/// for a failure, or for a first visit that does not date the content. Instants are on one clock.
pub fn observation(
    previous: Option<f64>,
    at: f64,
    outcome: Outcome<'_>,
) -> Option<(f64, Observation)> {
    let Some(previous) = previous else {
        // the age of the content on a first visit counts as one change that long ago
        let dated = match outcome {
            Outcome::LastModified(modified) => Some(modified),
            Outcome::History(changes) => changes.last().copied(),
            _ => None,
        };
        let age = at - dated?;
        return Some((age, Observation::LastModified { age }));
    };
    let observation = match outcome {
        Outcome::Failed => return None,
        Outcome::Unchanged => Observation::Unchanged,
        Outcome::Changed => Observation::Changed,
        Outcome::LastModified(modified) => Observation::LastModified { age: at - modified },
        Outcome::History(changes) => Observation::History {
            changes: changes.len() as u32,
        },
    };
    Some((at - previous, observation))
}

/// The same where it matters how long copies last, and not how often pages change: of all the changes in
/// an interval only the ends of the burst say it.
pub fn lasting(
    previous: Option<f64>,
    at: f64,
    outcome: Outcome<'_>,
) -> impl Iterator<Item = (f64, Observation)> {
    let mut lasted = None;
    let (since, told) = match outcome {
        Outcome::History([]) => (previous, Outcome::Unchanged),
        Outcome::History([first, later @ ..]) => {
            let last = later.last().unwrap_or(first);
            match previous.filter(|previous| first > previous) {
                // so long the copy lasted; the rest of the interval is told from there on
                Some(previous) => {
                    lasted = Some((first - previous, Observation::History { changes: 1 }));
                    let rest = if last == first {
                        Outcome::Unchanged
                    } else {
                        Outcome::LastModified(*last)
                    };
                    (Some(*first), rest)
                }
                None => (previous, Outcome::LastModified(*last)),
            }
        }
        other => (previous, other),
    };
    lasted.into_iter().chain(observation(since, at, told))
}
