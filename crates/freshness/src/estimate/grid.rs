//! A logarithmic scale of rates, wide enough for whatever unit of time, and what a Poisson page does
//! at each of them, by table.

use std::sync::LazyLock;

/// Steps to a decade: 3.7 %, finer than any rate is ever known.
pub(super) const PER_DECADE: usize = 64;
/// From `10^LOWEST` on: in seconds once in three centuries, in days once in a geological age.
const LOWEST: i32 = -10;
/// To `10^6`: in seconds a million times, in days a dozen times a second.
const DECADES: usize = 16;
/// Nodes of the scale.
pub(super) const NODES: usize = DECADES * PER_DECADE + 1;
/// Steps between two knots of a distribution over the scale: half a decade.
pub(super) const STEPS_PER_KNOT: usize = PER_DECADE / 2;
/// Knots of such a distribution.
pub(super) const KNOTS: usize = NODES / STEPS_PER_KNOT + 1;
/// One step as a logarithm.
pub(super) const STEP: f64 = std::f64::consts::LN_10 / PER_DECADE as f64;
/// `ln` of the rate of node 0.
pub(super) const LN_LOWEST: f64 = LOWEST as f64 * std::f64::consts::LN_10;

/// Lengths of time are taken between `10^SHORTEST` and `10^LONGEST`.
const SHORTEST: i32 = -9;
const LONGEST: i32 = 10;
const SPANS: usize = (LONGEST - SHORTEST) as usize * PER_DECADE;

/// Rates that are less likely than the likeliest by more than this, as a logarithm, do not matter.
pub(super) const DEEP: f64 = 14.0;
/// Steps to a unit of it.
const STEPS_DOWN: f64 = 64.0;

/// The functions, at nodes and at positions of `x = λt`.
pub(super) struct Tables {
    pub rate: Box<[f64]>,
    /// `e^{−x}` from zero to [`DEEP`].
    falling: Box<[f64]>,
    /// `ln(1 − e^{−x})`.
    ln_changed: Box<[f32]>,
    /// `e^{−x}`.
    unchanged: Box<[f32]>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let x = |k: usize| {
        let decades = f64::from(LOWEST + SHORTEST) + k as f64 / PER_DECADE as f64;
        10f64.powf(decades)
    };
    let positions = || (0..=NODES + SPANS).map(x);
    Tables {
        rate: (0..NODES)
            .map(|node| (LN_LOWEST + node as f64 * STEP).exp())
            .collect(),
        falling: (0..=(DEEP * STEPS_DOWN) as usize + 1)
            .map(|step| (-(step as f64) / STEPS_DOWN).exp())
            .collect(),
        ln_changed: positions().map(|x| (-(-x).exp_m1()).ln() as f32).collect(),
        unchanged: positions().map(|x| (-x).exp() as f32).collect(),
    }
});

pub(super) fn tables() -> &'static Tables {
    &TABLES
}

/// The place of a length of time: whole steps, and what is beyond them.
pub(super) fn place(time: f64) -> (usize, f64) {
    let steps = (time.log10() - f64::from(SHORTEST)) * PER_DECADE as f64;
    // NaN and what is too short go to the start
    let steps = steps.max(0.0).min((SPANS - 1) as f64);
    (steps as usize, steps.fract())
}

impl Tables {
    /// `e^{−depth}` within 0.003 %, down to [`DEEP`].
    pub fn falling(&self, depth: f64) -> f64 {
        let place = depth.clamp(0.0, DEEP) * STEPS_DOWN;
        let step = place as usize;
        let (above, below) = (self.falling[step], self.falling[step + 1]);
        above + (below - above) * (place - step as f64)
    }

    /// `ln(1 − e^{−λt})` from node 0 on, for the length of time nearest to `time`.
    pub fn ln_changed(&self, time: f64) -> &[f32] {
        let (whole, beyond) = place(time);
        &self.ln_changed[whole + usize::from(beyond >= 0.5)..]
    }

    /// `e^{−λt}` from node 0 on, for the lengths just below and above `time`, and how far it is from
    /// the one to the other.
    pub fn unchanged(&self, time: f64) -> (&[f32], f64) {
        let (whole, beyond) = place(time);
        (&self.unchanged[whole..], beyond)
    }
}
