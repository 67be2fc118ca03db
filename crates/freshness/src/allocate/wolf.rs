//! WOLF: the least staleness for any distribution of the time between changes.
//!
//! With visits every `x` the marginal gain is `E[min(X, x)²]/(2E[X])`, whatever the distribution, so
//! pages are demand curves as everywhere else.

use super::demand::Demand;
use super::fill::fill;
use super::grouping::Grouping;
use super::{Error, Plan, Problem};
use crate::gap::Gap;
use rayon::prelude::*;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// The inter-change times of each page: what was seen where anything was, Poisson at the given
/// rate elsewhere, none for pages that never change.
pub fn gaps_or_rates(gaps: &[Vec<f64>], rate: &[f64]) -> Vec<Option<Gap>> {
    gaps.par_iter()
        .zip(rate)
        .map(|(gaps, &rate)| {
            Gap::empirical(gaps.clone())
                .ok()
                .or_else(|| gap_of_rate(rate))
        })
        .collect()
}

/// Poisson changes at `rate`; none when it is zero.
pub fn gap_of_rate(rate: f64) -> Option<Gap> {
    Gap::exponential(rate).ok()
}

/// Divides the budget so that the weighted staleness of evenly spaced visits is least, within the
/// caps. The problem's rates are not looked at; pages without a gap never change.
pub fn wolf(problem: &Problem, gaps: &[Option<Gap>]) -> Result<Plan, Error> {
    check(problem, gaps)?;
    let grouping = Grouping::new(problem.server, problem.caps.len());
    let demand = Staleness {
        problem,
        gaps,
        grouping: &grouping,
    };
    let filling = fill(&demand, &grouping.offsets, problem.caps, problem.budget);
    Ok(Plan {
        frequency: grouping.scatter(filling.frequency),
        price: filling.price,
        server_price: filling.server_price,
    })
}

/// The same in whole visits over a horizon, each given where it gains most.
pub fn wolf_whole(
    problem: &Problem,
    gaps: &[Option<Gap>],
    horizon: f64,
) -> Result<Vec<u32>, Error> {
    check(problem, gaps)?;
    let mut visits = vec![0; problem.len()];
    let mut room: Vec<f64> = problem
        .caps
        .iter()
        .map(|cap| (cap * horizon).floor())
        .collect();
    let gain = |page: usize, visits: u32| {
        let gap = gaps[page].as_ref()?;
        let at = |visits: u32| gap.freshness(horizon / f64::from(visits));
        Some(Offer {
            gain: problem.pages.weight(page) * (at(visits + 1) - at(visits)),
            page,
        })
    };
    let mut offers: BinaryHeap<Offer> = (0..problem.len()).filter_map(|p| gain(p, 0)).collect();
    let mut left = (problem.budget * horizon).floor();
    while left >= 1.0 {
        let Some(best) = offers.pop().filter(|best| best.gain > 0.0) else {
            break;
        };
        let server = problem.server[best.page] as usize;
        if room[server] < 1.0 {
            continue;
        }
        room[server] -= 1.0;
        left -= 1.0;
        visits[best.page] += 1;
        offers.extend(gain(best.page, visits[best.page]));
    }
    Ok(visits)
}

/// Weighted mean freshness of evenly spaced visits at these frequencies.
pub fn freshness(problem: &Problem, gaps: &[Option<Gap>], frequency: &[f64]) -> f64 {
    let (mut value, mut weights) = (0.0, 0.0);
    for (page, (gap, &f)) in gaps.iter().zip(frequency).enumerate() {
        let weight = problem.pages.weight(page);
        let freshness = gap.as_ref().map_or(1.0, |gap| gap.freshness(1.0 / f));
        value += weight * freshness;
        weights += weight;
    }
    if weights > 0.0 { value / weights } else { 1.0 }
}

fn check(problem: &Problem, gaps: &[Option<Gap>]) -> Result<(), Error> {
    problem.check()?;
    if gaps.len() == problem.len() {
        Ok(())
    } else {
        Err(Error::Length {
            what: "gaps",
            found: gaps.len(),
            expected: problem.len(),
        })
    }
}

struct Staleness<'a> {
    problem: &'a Problem<'a>,
    gaps: &'a [Option<Gap>],
    grouping: &'a Grouping,
}

impl Staleness<'_> {
    fn page(&self, position: usize) -> Option<(&Gap, f64)> {
        let page = self.grouping.page(position);
        let weight = self.problem.pages.weight(page);
        self.gaps[page]
            .as_ref()
            .filter(|_| weight > 0.0)
            .map(|gap| (gap, weight))
    }
}

impl Demand for Staleness<'_> {
    fn visits(&self, position: usize, price: f64) -> (f64, f64) {
        let Some((gap, weight)) = self.page(position) else {
            return (0.0, 0.0);
        };
        let gain = price / weight;
        let Some(x) = gap.interval_for_gain(gain) else {
            return (0.0, 0.0);
        };
        // the gain grows by x·S(x)/E[X] with the interval
        (1.0 / x, -gain * gap.mean() / (x * x * x * gap.survival(x)))
    }

    fn reserve(&self, position: usize) -> f64 {
        self.page(position)
            .map_or(0.0, |(gap, weight)| weight * gap.gain_supremum())
    }
}

/// What one more visit to a page would gain.
struct Offer {
    gain: f64,
    page: usize,
}

impl Ord for Offer {
    fn cmp(&self, other: &Self) -> Ordering {
        // among equals the first page
        self.gain
            .total_cmp(&other.gain)
            .then(other.page.cmp(&self.page))
    }
}

impl PartialOrd for Offer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Offer {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Offer {}
