//! What the visits to one page found, as few numbers as say it all about a Poisson rate.

use super::Observation;

/// Changes counted one by one are taken for no more than this: nobody knows a rate better than to a
/// few per cent, and pages do not keep it better.
const MOST_COUNTED: f32 = 1_000.0;
/// Intervals closer than this factor are taken as equal.
const ALIKE: f32 = 2.0;

/// The likelihood of a rate `λ` is `λ^counted · e^{−λ·quiet} · Π (1 − e^{−λI})^n`, the product over
/// visits that found a change but not how many. Those are kept by the length `I` of the interval, two
/// lengths for each page: the intervals of a page differ, but slowly. Twenty-four bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Findings {
    /// Time in which the page is known not to have changed.
    pub quiet: f32,
    /// Changes that were seen one by one.
    pub counted: f32,
    /// Visits that found a change after so long, without telling when.
    pub changed: [Changed; 2],
}

/// So many visits found a change after about this interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Changed {
    pub interval: f32,
    pub visits: f32,
}

impl Findings {
    /// Takes in a visit; what was found before counts for `kept` of what it did.
    pub fn take(&mut self, kept: f64, interval: f64, observation: Observation) {
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
