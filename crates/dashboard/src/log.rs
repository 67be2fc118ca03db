//! The log of visits, read from its end.

use std::time::{Duration, Instant};
use storage::{Observation, Position, Reader, Time};

/// Visits read at a time.
const CHUNK: u64 = 4096;
/// A search ends after this; the next one goes on there.
pub(crate) const PATIENCE: Duration = Duration::from_millis(400);

/// What was found, newest first.
pub(crate) struct Found<T> {
    pub all: Vec<T>,
    /// Where to go on, if there may be more.
    pub more: Option<Position>,
}

/// The last `most` visits before a place that `want` takes, not earlier than `since`.
pub(crate) fn backwards<T>(
    reader: &Reader,
    before: Option<Position>,
    since: Time,
    most: usize,
    mut want: impl FnMut(Position, &Observation) -> Option<T>,
) -> storage::Result<Found<T>> {
    let began = Instant::now();
    let end = storage::log_end(reader.directory())?;
    let mut until = before.map_or(end.0, |before| before.0.min(end.0));
    let mut all = Vec::new();
    while until > 0 {
        let from = until.saturating_sub(CHUNK);
        let mut log = reader.observations(Position(from))?;
        let mut visits = Vec::new();
        while log.position().0 < until {
            let Some(visit) = log.read()? else { break };
            let at = log.position().0 - 1;
            if at >= until {
                break;
            }
            visits.push((Position(at), visit));
        }
        let Some((_, oldest)) = visits.first() else {
            // older ones were dropped
            break;
        };
        let is_over = oldest.at < since || log.dropped() > 0;
        for (at, visit) in visits.iter().rev().filter(|(_, visit)| visit.at >= since) {
            all.extend(want(*at, visit));
            if all.len() >= most {
                return Ok(Found {
                    all,
                    more: (at.0 > 0).then_some(*at),
                });
            }
        }
        if is_over {
            break;
        }
        until = from;
        if began.elapsed() > PATIENCE && until > 0 {
            return Ok(Found {
                all,
                more: Some(Position(until)),
            });
        }
    }
    Ok(Found { all, more: None })
}
