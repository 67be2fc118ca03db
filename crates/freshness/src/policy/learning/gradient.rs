//! Gradient ascent on the parameters of a rule that gives every page its interval.

use super::{Agent, Interval, View};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Knots of the rule over `ln(rate/weight)`, changes in a round over relative weight.
const KNOTS: usize = 13;
const KNOT_SPACING: f64 = 1.0;
/// Intervals in rounds: shorter ones are never worth it, longer ones would teach nothing any more.
const SHORTEST: f64 = 1.0 / 64.0;
const LONGEST: f64 = 30.0;
/// Steps shrink as one over the root of the number of visits, down to a floor that follows drift.
const FIRST_STEP: f64 = 0.2;
const SETTLING_VISITS: f64 = 100.0;
const LEAST_STEP: f64 = 0.005;

/// `ln interval = slope·ln rate + knots(ln(rate/weight))`, the second part linear between knots.
/// At zero all pages are visited alike.
#[derive(Clone, Debug, Default)]
pub(in crate::policy) struct Gradient {
    slope: f64,
    knots: [f64; KNOTS],
    visits: f64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(in crate::policy) struct Features {
    log_rate: f32,
    /// Position among the knots.
    position: f32,
}

impl Features {
    fn of(view: View) -> Self {
        let log_rate = view.rate.max(1e-9).ln();
        let log_ratio = log_rate - view.weight.max(1e-9).ln();
        let position = log_ratio / KNOT_SPACING + (KNOTS / 2) as f64;
        Self {
            log_rate: log_rate as f32,
            position: position.clamp(0.0, (KNOTS - 1) as f64) as f32,
        }
    }

    /// The two knots around, and the share of the second.
    fn knots(self) -> (usize, f64) {
        let below = (self.position as usize).min(KNOTS - 2);
        (below, f64::from(self.position) - below as f64)
    }
}

impl Gradient {
    fn log_interval(&self, features: Features) -> f64 {
        let (below, share) = features.knots();
        self.slope * f64::from(features.log_rate)
            + (1.0 - share) * self.knots[below]
            + share * self.knots[below + 1]
    }
}

impl Agent for Gradient {
    type Decision = Features;

    fn decide(&self, view: View, _: &mut Xoshiro256PlusPlus) -> (Features, f64) {
        let features = Features::of(view);
        let interval = self.log_interval(features).exp();
        (features, interval.clamp(SHORTEST, LONGEST))
    }

    /// The weighted freshness less the price of the visits grows with the page's `ln interval` as
    /// price less gain, for each visit; so the parameters follow that difference.
    fn learn(&mut self, features: Features, interval: Interval, _: View) {
        self.visits += 1.0;
        let step = FIRST_STEP / (1.0 + self.visits / SETTLING_VISITS).sqrt();
        let gain = interval.gain / interval.price.max(f64::MIN_POSITIVE);
        let ascent = step.max(LEAST_STEP) * (1.0 - gain);
        let beyond = self.log_interval(features);
        let pushes_out =
            (beyond > LONGEST.ln() && ascent > 0.0) || (beyond < SHORTEST.ln() && ascent < 0.0);
        if pushes_out {
            return;
        }
        let (below, share) = features.knots();
        self.knots[below] += ascent * (1.0 - share);
        self.knots[below + 1] += ascent * share;
        // scaled down: logarithms of rates are larger than shares
        self.slope += 0.05 * ascent * f64::from(features.log_rate);
    }
}
