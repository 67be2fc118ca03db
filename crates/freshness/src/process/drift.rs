//! Rates that are constant by pieces: pages that wake up, settle or end.

use super::{ProcessError, not_negative, poisson};
use rand::Rng;

/// A Poisson process whose rate steps at given instants.
#[derive(Clone, Debug, PartialEq)]
pub struct Drift {
    /// `(from, rate)`, ascending; each rate holds until the next piece.
    pieces: Vec<(f64, f64)>,
}

impl Drift {
    /// Pieces `(from, rate)` with ascending starts. The first rate also holds before its start,
    /// the last for ever; a last rate of zero ends the page.
    pub fn new(pieces: Vec<(f64, f64)>) -> Result<Self, ProcessError> {
        if pieces.is_empty() {
            return Err(ProcessError::Empty("the list of pieces"));
        }
        for &(_, rate) in &pieces {
            not_negative("rate", rate)?;
        }
        let ascends = |pair: &[(f64, f64)]| pair[0].0 < pair[1].0;
        if let Some(before) = pieces.windows(2).position(|pair| !ascends(pair)) {
            return Err(ProcessError::NotAscending(before + 1));
        }
        Ok(Self { pieces })
    }

    /// The rate at an instant.
    pub fn rate_at(&self, instant: f64) -> f64 {
        let after = self.pieces.partition_point(|&(from, _)| from <= instant);
        self.pieces[after.saturating_sub(1)].1
    }

    /// The pieces of `[from, until)` as `(from, until, rate)`.
    fn within(&self, from: f64, until: f64) -> impl Iterator<Item = (f64, f64, f64)> + '_ {
        let starts = self.pieces.iter().enumerate();
        starts.filter_map(move |(i, &(start, rate))| {
            let start = if i == 0 { from } else { start.max(from) };
            let end = self
                .pieces
                .get(i + 1)
                .map_or(until, |next| next.0.min(until));
            (start < end).then_some((start, end, rate))
        })
    }

    pub(super) fn instants(&self, from: f64, until: f64, rng: &mut dyn Rng) -> Vec<f64> {
        let pieces = self.within(from, until);
        pieces
            .flat_map(|(start, end, rate)| poisson(rate, start, end, rng))
            .collect()
    }

    /// The expected number of changes in `[from, until)`.
    pub fn expected(&self, from: f64, until: f64) -> f64 {
        let pieces = self.within(from, until);
        pieces.map(|(start, end, rate)| rate * (end - start)).sum()
    }
}
