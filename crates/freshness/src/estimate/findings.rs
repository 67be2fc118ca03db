//! What the visits to one page found, as few numbers as say it all about a Poisson rate.

use super::online::uncounted;
use super::{Evidence, Observation};
use crate::record::{Reader, Writer};

/// Findings lose half of their weight in so many rounds, a round being the time in which as many visits
/// are made as there are pages; but never more in a visit than if it were one of so many.
const ROUNDS_TO_FORGET_HALF: f64 = 40.0;
const VISITS_TO_FORGET_HALF: f64 = 8.0;
/// A rate is stated as if no more than so many changes had been seen, for pages do not keep their rates:
/// of `n` changes `n·5/(5 + n)` count.
const CHANGES_THAT_COUNT: f32 = 5.0;

/// Changes counted one by one are taken for no more than this: nobody knows a rate better than to a
/// few per cent, and pages do not keep it better.
const MOST_COUNTED: f32 = 1_000.0;
/// Intervals closer than this factor are taken as equal.
const ALIKE: f32 = 2.0;

/// The likelihood of a rate `λ` is `λ^counted · e^{−λ·quiet} · Π (1 − e^{−λI})^n`, the product over
/// visits that found a change but not how many. Those are kept by the length `I` of the interval, two
/// lengths for each page: the intervals of a page differ, but slowly. It is all that is kept of what visits
/// showed of the rate; what is decided and what is stated both come from it. Twenty-four bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Findings {
    /// Time in which the page is known not to have changed.
    pub(super) quiet: f32,
    /// Changes that were seen one by one.
    pub(super) counted: f32,
    /// Visits that found a change after so long, without telling when.
    pub(super) changed: [Changed; 2],
}

/// So many visits found a change after about this interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Changed {
    pub interval: f32,
    pub visits: f32,
}

impl Findings {
    /// As if so many changes had been counted in so much time.
    pub fn counted(changes: f64, time: f64) -> Self {
        Self {
            quiet: (time as f32).clamp(0.0, f32::MAX),
            counted: (changes as f32).clamp(0.0, f32::MAX),
            changed: [Changed::default(); 2],
        }
    }

    /// Takes in what a visit told about the `interval` since the one before, pages being visited once in
    /// a `round` on average.
    pub fn learn(&mut self, round: f64, interval: f64, observation: Observation) {
        if interval > 0.0 && interval.is_finite() {
            let halved = interval / (ROUNDS_TO_FORGET_HALF * round);
            let kept = (-halved.min(1.0 / VISITS_TO_FORGET_HALF)).exp2();
            self.take(kept, interval, observation);
        }
    }

    /// Changes and the time in which they were seen, as they would have to be counted to say the same
    /// near this rate.
    pub fn imputed(&self, rate: f64) -> Evidence {
        let (mut events, mut exposure) = (f64::from(self.counted), f64::from(self.quiet));
        for Changed { interval, visits } in self.changed {
            if visits > 0.0 {
                let (a, b) = uncounted(rate, f64::from(interval));
                events += f64::from(visits) * a;
                exposure += f64::from(visits) * b;
            }
        }
        Evidence::new(events, exposure)
    }

    /// What is to be believed of it when a rate is stated.
    pub(super) fn doubted(mut self) -> Self {
        let [a, b] = self.changed;
        let changes = self.counted + a.visits + b.visits;
        self.scale(CHANGES_THAT_COUNT / (CHANGES_THAT_COUNT + changes));
        self
    }

    pub(crate) fn write(&self, to: &mut Writer) {
        let [a, b] = self.changed;
        let pairs = [a.interval, a.visits, b.interval, b.visits];
        [self.quiet, self.counted]
            .into_iter()
            .chain(pairs)
            .for_each(|number| to.f32(number));
    }

    pub(crate) fn read(from: &mut Reader) -> Option<Self> {
        let (quiet, counted) = (from.small_amount()?, from.small_amount()?);
        let mut changed = [Changed::default(); 2];
        for place in &mut changed {
            place.interval = from.small_amount()?;
            place.visits = from.small_amount()?;
        }
        Some(Self {
            quiet,
            counted,
            changed,
        })
    }

    /// Takes in a visit; what was found before counts for `kept` of what it did.
    fn take(&mut self, kept: f64, interval: f64, observation: Observation) {
        self.scale(kept as f32);
        match observation {
            Observation::Unchanged => self.quiet += interval as f32,
            Observation::LastModified { age } if age > interval => self.quiet += interval as f32,
            // quiet for `age`, one change before that, the rest of the interval hidden
            Observation::LastModified { age } if age >= 0.0 => {
                self.counted += 1.0;
                self.quiet += age as f32;
            }
            Observation::Changed | Observation::LastModified { .. } => {
                self.found_changed(Changed {
                    interval: interval as f32,
                    visits: 1.0,
                });
            }
            Observation::History { changes } => {
                self.counted += changes as f32;
                self.quiet += interval as f32;
            }
        }
        if self.counted > MOST_COUNTED {
            self.scale(MOST_COUNTED / self.counted);
        }
        self.quiet = self.quiet.min(f32::MAX);
    }

    fn scale(&mut self, kept: f32) {
        self.quiet *= kept;
        self.counted *= kept;
        for changed in &mut self.changed {
            changed.visits *= kept;
        }
    }

    /// Like intervals are counted together; of three that differ the two nearest become one. An empty
    /// place is as near as that.
    fn found_changed(&mut self, new: Changed) {
        let [a, b] = self.changed;
        let apart = |a: Changed, b: Changed| {
            if a.visits == 0.0 || b.visits == 0.0 {
                return ALIKE;
            }
            (a.interval / b.interval).max(b.interval / a.interval)
        };
        let (to_a, to_b, between) = (apart(new, a), apart(new, b), apart(a, b));
        self.changed = if to_a <= to_b && to_a <= between.max(ALIKE) {
            [a.with(new), b]
        } else if to_b <= between.max(ALIKE) {
            [a, b.with(new)]
        } else {
            [a.with(b), new]
        };
    }
}

impl Changed {
    /// Both together, at their geometric mean: exact where changes are rare, and where they are
    /// certain no length matters.
    fn with(self, other: Self) -> Self {
        let visits = self.visits + other.visits;
        if self.visits == 0.0 {
            return other;
        }
        if other.visits == 0.0 {
            return self;
        }
        let share = other.visits / visits;
        Self {
            interval: self.interval * (other.interval / self.interval).powf(share),
            visits,
        }
    }
}
