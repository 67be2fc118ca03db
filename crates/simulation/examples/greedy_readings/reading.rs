//! Readings of `E[A(t) − t | ε]·Pr[ε]`, where ε says that a page changed since its last visit.

use crate::formulas::{
    Waits, mean_gap, mean_residual, old_content, one_change, one_change_ended, outlived,
    outlived_or_never, renewed, stationary, unconditional,
};
use freshness::gap::{Gap, Histogram};
use simulation::knowledge::Known;
use simulation::world::World;
use std::sync::{Arc, OnceLock};

/// What the times between changes are taken from.
#[derive(Clone, Copy)]
pub enum Gaps {
    /// Ten bins of exponentially growing width, uniform within each.
    Histogram,
    /// The same with all of a bin's gaps in its middle.
    Middles,
    /// The gaps themselves.
    Raw,
    /// The first month's gaps only.
    FirstMonth,
    /// The mean alone, as for Poisson changes.
    Poisson,
}

/// When the content met at the last visit is held to have appeared.
#[derive(Clone, Copy, PartialEq)]
pub enum Appeared {
    /// When it did.
    Then,
    /// At the visit that first met it.
    WhenFound,
    /// At the last visit, whether or not it was new.
    AtLastVisit,
}

/// A page's law, its age at the last visit, and the time since then.
type Formula = fn(&Page, f64, f64) -> f64;

/// One reading.
pub struct Reading {
    pub name: &'static str,
    gaps: Gaps,
    pub appeared: Appeared,
    /// `Pr[ε]`.
    pub changed: Formula,
    /// `E[A(t) − t | ε]`.
    pub left: Formula,
}

const fn reading(
    name: &'static str,
    gaps: Gaps,
    appeared: Appeared,
    changed: Formula,
    left: Formula,
) -> Reading {
    Reading {
        name,
        gaps,
        appeared,
        changed,
        left,
    }
}

/// The readings tried.
#[rustfmt::skip]
pub static READINGS: [Reading; 21] = {
    use Appeared::{AtLastVisit, Then, WhenFound};
    use Gaps::{FirstMonth, Histogram, Middles, Poisson, Raw};
    [
        reading("age stationary", Histogram, Then, outlived, stationary),
        reading("age stationary; Pr = 0 beyond the longest gap", Histogram, Then, outlived_or_never, stationary),
        reading("renewals", Histogram, Then, outlived, renewed),
        reading("one change", Histogram, Then, outlived, one_change),
        reading("one change; may have ended", Histogram, Then, outlived, one_change_ended),
        reading("mean gap", Histogram, Then, outlived, mean_gap),
        reading("mean residual", Histogram, Then, outlived, mean_residual),
        reading("old content", Histogram, Then, outlived, old_content),
        reading("Pr unconditional", Histogram, Then, unconditional, stationary),
        reading("raw gaps", Raw, Then, outlived, stationary),
        reading("bins at their middles", Middles, Then, outlived, stationary),
        reading("first month", FirstMonth, Then, outlived, stationary),
        reading("Poisson", Poisson, Then, outlived, mean_gap),
        reading("b when found; age stationary", Histogram, WhenFound, outlived, stationary),
        reading("b when found; one change", Histogram, WhenFound, outlived, one_change),
        reading("b when found; mean gap", Histogram, WhenFound, outlived, mean_gap),
        reading("b when found; mean residual", Histogram, WhenFound, outlived, mean_residual),
        reading("b = u; age stationary", Histogram, AtLastVisit, outlived, stationary),
        reading("b = u; one change", Histogram, AtLastVisit, outlived, one_change),
        reading("b = u; mean residual", Histogram, AtLastVisit, outlived, mean_residual),
        reading("b = u; old content", Histogram, AtLastVisit, outlived, old_content),
    ]
};

/// What a reading knows of a page.
pub struct Page {
    pub gap: Gap,
    pub bins: Vec<(f64, f64, f64)>,
    /// Made where it is needed.
    pub waits: OnceLock<Waits>,
}

impl Reading {
    /// What it knows of the pages; nothing of those without gaps.
    pub fn pages(&self, world: &World, gaps: &[Vec<f64>]) -> Arc<[Option<Page>]> {
        let month = Known::trained(world, world.from, world.from + 31.0, 1).gaps;
        let gaps = match self.gaps {
            Gaps::FirstMonth => month.as_deref().expect("worlds of instants have gaps"),
            _ => gaps,
        };
        gaps.iter().map(|gaps| self.page(gaps)).collect()
    }

    fn page(&self, gaps: &[f64]) -> Option<Page> {
        let histogram = Histogram::from_gaps(gaps, Histogram::BINS).ok()?;
        let bins: Vec<_> = histogram.bins().collect();
        let middle = |gap: &f64| {
            let bin = bins.iter().find(|bin| *gap <= bin.1);
            bin.map_or(*gap, |bin| f64::midpoint(bin.0, bin.1))
        };
        let gap = match self.gaps {
            Gaps::Histogram | Gaps::FirstMonth => Gap::Histogram(histogram),
            Gaps::Middles => Gap::empirical(gaps.iter().map(middle).collect()).ok()?,
            Gaps::Raw => Gap::empirical(gaps.to_vec()).ok()?,
            Gaps::Poisson => Gap::exponential(gaps.len() as f64 / gaps.iter().sum::<f64>()).ok()?,
        };
        Some(Page {
            gap,
            bins,
            waits: OnceLock::new(),
        })
    }
}
