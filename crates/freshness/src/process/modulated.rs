//! Quiet and busy spells: a Poisson process whose rate is that of a hidden two-state Markov chain.

use super::{ProcessError, not_negative, poisson, positive};
use rand::{Rng, RngExt};
use rand_distr::{Distribution, Exp1};

/// A page that is quiet for a while, then busy for a while, and so on; the spells are exponential.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modulated {
    quiet: Spell,
    busy: Spell,
}

/// One of the two states.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spell {
    rate: f64,
    mean_length: f64,
}

impl Modulated {
    /// Rates of change within quiet and busy spells, and the mean lengths of the spells.
    pub fn new(
        quiet_rate: f64,
        busy_rate: f64,
        quiet_length: f64,
        busy_length: f64,
    ) -> Result<Self, ProcessError> {
        Ok(Self {
            quiet: Spell {
                rate: not_negative("quiet rate", quiet_rate)?,
                mean_length: positive("mean quiet length", quiet_length)?,
            },
            busy: Spell {
                rate: not_negative("busy rate", busy_rate)?,
                mean_length: positive("mean busy length", busy_length)?,
            },
        })
    }

    /// The share of time spent busy.
    fn busy_share(&self) -> f64 {
        self.busy.mean_length / (self.quiet.mean_length + self.busy.mean_length)
    }

    pub(super) fn mean_rate(&self) -> f64 {
        let busy = self.busy_share();
        busy * self.busy.rate + (1.0 - busy) * self.quiet.rate
    }

    /// The chain has been running for ever when the period begins.
    pub(super) fn instants(&self, from: f64, until: f64, rng: &mut dyn Rng) -> Vec<f64> {
        let mut is_busy = rng.random::<f64>() < self.busy_share();
        let mut at = from;
        let mut instants = Vec::new();
        while at < until {
            let spell = if is_busy { self.busy } else { self.quiet };
            let unit: f64 = Exp1.sample(rng);
            let end = (at + unit * spell.mean_length).min(until);
            instants.extend(poisson(spell.rate, at, end, rng));
            at = end;
            is_busy = !is_busy;
        }
        instants
    }
}
