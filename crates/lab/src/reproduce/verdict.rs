//! What is claimed, by whom, what came out, and whether they agree.
//!
//! A verdict needs a band that was stated beforehand and an outcome that could have missed it on
//! either side: the 95 % interval over at least five seeds is held against the band. Where the
//! outcome is fixed by how the data were made there is none.

use serde::Serialize;
use simulation::statistics::{half_width_95, mean};

/// Seeds that a verdict needs.
pub const LEAST_SEEDS: usize = 5;

/// Whose figure a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Somebody published it.
    Published,
    /// We claim it.
    Ours,
    /// Somebody published it, and the data were tuned until it came out.
    Calibrated,
}

impl Source {
    /// As people read it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Ours => "ours",
            Self::Calibrated => "calibrated",
        }
    }
}

/// Whether a claim comes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Verdict {
    /// All of the interval lies in the band.
    #[serde(rename = "holds")]
    Holds,
    /// The interval reaches over an edge of the band, or there are too few seeds.
    #[serde(rename = "undecided")]
    Undecided,
    /// Outside the band, in the direction claimed.
    #[serde(rename = "differs")]
    Differs,
    /// Outside the band, and not in the direction claimed.
    #[serde(rename = "does not hold")]
    Fails,
}

impl Verdict {
    /// Holds or does not.
    pub fn of(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Fails }
    }

    /// As people read it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Undecided => "undecided",
            Self::Differs => "differs",
            Self::Fails => "does not hold",
        }
    }
}

/// A mean over seeds and half its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub mean: f64,
    pub half: f64,
    pub seeds: usize,
}

impl Estimate {
    /// Of one value a seed.
    pub fn of(values: &[f64]) -> Self {
        Self {
            mean: mean(values),
            half: half_width_95(values),
            seeds: values.len(),
        }
    }

    /// The mean of these as a share of the mean of those, both of one value a seed.
    pub fn share(these: &[f64], those: &[f64]) -> Self {
        let whole = mean(those);
        let share = mean(these) / whole;
        // a whole that is not known well makes the share uncertain too
        let left = these
            .iter()
            .zip(those)
            .map(|(this, that)| this - share * that);
        Self {
            mean: share,
            half: half_width_95(&left.collect::<Vec<_>>()) / whole.abs(),
            seeds: these.len(),
        }
    }

    /// The difference of two independent ones.
    pub fn minus(self, other: Self) -> Self {
        Self {
            mean: self.mean - other.mean,
            half: self.half.hypot(other.half),
            seeds: self.seeds.min(other.seeds),
        }
    }
}

/// Where an outcome has to lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    pub low: f64,
    pub high: f64,
}

impl Band {
    /// As far as this to either side.
    pub fn around(value: f64, by: f64) -> Self {
        Self {
            low: value - by,
            high: value + by,
        }
    }

    /// From here on, for claims that have one side only.
    pub fn at_least(low: f64) -> Self {
        Self {
            low,
            high: f64::INFINITY,
        }
    }

    /// Up to here, for claims that have one side only.
    pub fn at_most(high: f64) -> Self {
        Self {
            low: f64::NEG_INFINITY,
            high,
        }
    }

    /// Holds an estimate against the band. The direction claimed is that of the side of zero on
    /// which the band lies; a band around zero claims none.
    pub fn judge(self, estimate: Estimate) -> Verdict {
        let Estimate { mean, half, seeds } = estimate;
        let (from, to) = (mean - half, mean + half);
        if seeds < LEAST_SEEDS || !(from.is_finite() && to.is_finite()) {
            Verdict::Undecided
        } else if self.low <= from && to <= self.high {
            Verdict::Holds
        } else if to < self.low || self.high < from {
            let same_side = (self.low >= 0.0 && from > 0.0) || (self.high <= 0.0 && to < 0.0);
            if same_side {
                Verdict::Differs
            } else {
                Verdict::Fails
            }
        } else {
            Verdict::Undecided
        }
    }

    /// As people read it, in units of `1/scale`.
    fn words(self, scale: f64) -> String {
        let number = |value: f64| format!("{:.4}", value * scale);
        let number = |value: f64| {
            let text = number(value);
            let text = text.trim_end_matches('0').trim_end_matches('.');
            text.replace('-', "−")
        };
        match (self.low.is_finite(), self.high.is_finite()) {
            (true, true) => format!("{} to {}", number(self.low), number(self.high)),
            (true, false) => format!("≥ {}", number(self.low)),
            _ => format!("≤ {}", number(self.high)),
        }
    }
}

/// One of the figures behind a claim.
pub struct Figure {
    /// At which budget, for which fleet; may be empty.
    pub label: String,
    pub estimate: Estimate,
    pub band: Band,
}

impl Figure {
    /// A figure and its band.
    pub fn new(label: impl Into<String>, estimate: Estimate, band: Band) -> Self {
        Self {
            label: label.into(),
            estimate,
            band,
        }
    }
}

/// A unit of figures.
#[derive(Clone, Copy)]
pub struct Unit {
    scale: f64,
    decimals: usize,
    name: &'static str,
}

/// Hundredths of freshness.
pub const POINTS: Unit = Unit {
    scale: 100.0,
    decimals: 2,
    name: "points",
};
/// Per cent.
pub const PERCENT: Unit = Unit {
    scale: 100.0,
    decimals: 1,
    name: "%",
};
/// Days.
pub const DAYS: Unit = Unit {
    scale: 1.0,
    decimals: 2,
    name: "days",
};
/// Plain numbers.
pub const PLAIN: Unit = Unit {
    scale: 1.0,
    decimals: 4,
    name: "",
};

/// A claim, what came out here, and the verdict if there can be one.
#[derive(Clone, Debug, Serialize)]
pub struct Relation {
    /// Whose claim it is.
    pub source: Source,
    /// What is claimed.
    pub claim: String,
    /// What came out.
    pub found: String,
    /// Where it had to lie; several where there are several figures.
    pub band: Option<String>,
    /// Whether it does.
    pub verdict: Option<Verdict>,
    /// Why there is no verdict.
    pub no_verdict: Option<String>,
}

impl Relation {
    /// A claim judged in words: what came out decides by a rule that the claim states.
    pub fn new(
        source: Source,
        claim: impl Into<String>,
        found: impl Into<String>,
        verdict: Verdict,
    ) -> Self {
        Self {
            source,
            claim: claim.into(),
            found: found.into(),
            band: None,
            verdict: Some(verdict),
            no_verdict: None,
        }
    }

    /// A claim whose figures all have to lie in their bands; the worst of them decides.
    pub fn judged(
        source: Source,
        claim: impl Into<String>,
        unit: Unit,
        figures: &[Figure],
    ) -> Self {
        let verdicts = figures.iter().map(|f| f.band.judge(f.estimate));
        let mut bands: Vec<String> = figures.iter().map(|f| f.band.words(unit.scale)).collect();
        bands.dedup();
        Self {
            band: Some(
                format!("{} {}", bands.join("; "), unit.name)
                    .trim()
                    .to_owned(),
            ),
            ..Self::new(
                source,
                claim,
                told(unit, figures.iter().map(|f| (f.label.as_str(), f.estimate))),
                verdicts.max().unwrap_or(Verdict::Undecided),
            )
        }
    }

    /// What came out where it decides nothing.
    pub fn only(
        source: Source,
        claim: impl Into<String>,
        found: impl Into<String>,
        why: impl Into<String>,
    ) -> Self {
        Self {
            verdict: None,
            no_verdict: Some(why.into()),
            ..Self::new(source, claim, found, Verdict::Undecided)
        }
    }

    /// The verdict for people.
    pub fn verdict_words(&self) -> String {
        match (&self.verdict, &self.no_verdict) {
            (Some(verdict), _) => verdict.words().to_owned(),
            (None, Some(why)) => format!("none: {why}"),
            (None, None) => "none".to_owned(),
        }
    }
}

/// Estimates with their labels: `20 %: +1.23 ± 0.10, 40 %: −0.50 ± 0.08 points`.
pub fn told<'a>(unit: Unit, estimates: impl IntoIterator<Item = (&'a str, Estimate)>) -> String {
    let one = |(label, estimate): (&str, Estimate)| {
        let (mean, half) = (estimate.mean * unit.scale, estimate.half * unit.scale);
        let decimals = unit.decimals;
        let value = if half.is_finite() {
            format!("{mean:+.decimals$} ± {half:.decimals$}")
        } else {
            format!("{mean:+.decimals$}")
        };
        let value = value.replace('-', "−");
        if label.is_empty() {
            value
        } else {
            format!("{label}: {value}")
        }
    };
    let all: Vec<String> = estimates.into_iter().map(one).collect();
    format!("{} {}", all.join(", "), unit.name)
        .trim()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(mean: f64, half: f64) -> Estimate {
        Estimate {
            mean,
            half,
            seeds: 5,
        }
    }

    #[test]
    fn bands_have_two_sides() {
        let band = Band::around(-0.35, 0.1);
        assert_eq!(band.judge(estimate(-0.33, 0.02)), Verdict::Holds);
        // far more than claimed is not what was claimed
        assert_eq!(band.judge(estimate(-0.97, 0.01)), Verdict::Differs);
        assert_eq!(band.judge(estimate(-0.1, 0.05)), Verdict::Differs);
        assert_eq!(band.judge(estimate(0.1, 0.05)), Verdict::Fails);
        assert_eq!(band.judge(estimate(-0.02, 0.05)), Verdict::Fails);
        assert_eq!(band.judge(estimate(-0.27, 0.05)), Verdict::Undecided);
        let few = Estimate {
            seeds: 4,
            ..estimate(-0.35, 0.0)
        };
        assert_eq!(band.judge(few), Verdict::Undecided);
        assert_eq!(band.judge(estimate(f64::NAN, 0.0)), Verdict::Undecided);
    }

    #[test]
    fn a_share_is_as_uncertain_as_its_whole() {
        let share = Estimate::share(&[1.0, 2.0, 3.0], &[2.0, 4.0, 6.0]);
        assert_eq!((share.mean, share.half), (0.5, 0.0));
        let of_three = |these: &[f64]| Estimate::share(these, &[2.0, 4.0, 6.0]);
        assert!(of_three(&[2.0; 3]).half > 0.5);
        assert!(of_three(&[-2.0; 3]).half > 0.5);
    }

    #[test]
    fn the_worst_figure_decides_and_the_band_is_told() {
        let figures = [
            Figure::new("20 %", estimate(0.1, 0.01), Band::around(0.1, 0.02)),
            Figure::new("40 %", estimate(0.2, 0.01), Band::around(0.1, 0.02)),
        ];
        let relation = Relation::judged(Source::Published, "so much", POINTS, &figures);
        assert_eq!(relation.verdict, Some(Verdict::Differs));
        assert_eq!(relation.band.as_deref(), Some("8 to 12 points"));
        assert_eq!(
            relation.found,
            "20 %: +10.00 ± 1.00, 40 %: +20.00 ± 1.00 points"
        );
    }

    #[test]
    fn where_nothing_can_fail_there_is_no_verdict() {
        let relation = Relation::only(Source::Calibrated, "a", "b", "tuned");
        assert_eq!(relation.verdict, None);
        assert_eq!(relation.verdict_words(), "none: tuned");
    }
}
