//! Which distribution real gaps follow: maximum-likelihood fits and how good they are.
#![doc = include_str!("fit/README.md")]

mod kolmogorov;
mod likelihood;
mod search;
mod visited;
mod waits;

pub use kolmogorov::{ks_distance, ks_p_value};
pub use visited::{Visit, VisitedPage, dated};
pub use waits::{Age, OF_WAITS, Wait, fit_waits, rate_of};

use crate::gap::{Gap, GapError, Histogram};
use std::fmt;

/// Fewer gaps than this are not fitted: a histogram of ten bins would have less than one a bin.
pub const FEWEST_GAPS: usize = 10;

/// A family of distributions that can be fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Poisson changes.
    Exponential,
    /// Gamma gaps.
    Gamma,
    /// Weibull gaps.
    Weibull,
    /// Pareto gaps of the second type (Lomax).
    Pareto,
    /// Log-normal gaps.
    LogNormal,
    /// Ten bins whose widths grow exponentially.
    Histogram,
}

impl Family {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Exponential,
        Self::Gamma,
        Self::Weibull,
        Self::Pareto,
        Self::LogNormal,
        Self::Histogram,
    ];

    /// Free parameters: for the histogram the probabilities of the bins, which sum to one, and the
    /// ends of the first and the last.
    fn parameters(self) -> usize {
        match self {
            Self::Exponential => 1,
            Self::Gamma | Self::Weibull | Self::Pareto | Self::LogNormal => 2,
            Self::Histogram => Histogram::BINS - 1 + 2,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Exponential => "exponential",
            Self::Gamma => "gamma",
            Self::Weibull => "Weibull",
            Self::Pareto => "Pareto",
            Self::LogNormal => "log-normal",
            Self::Histogram => "histogram",
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Why a family cannot be fitted.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum FitError {
    /// Too few gaps to say anything.
    #[error("{0} gaps are too few to fit; at least {FEWEST_GAPS} are needed")]
    TooFew(usize),
    /// All gaps are equal: the likelihood has no maximum but for the exponential and the histogram.
    #[error("all gaps are equal")]
    Constant,
    /// The gaps are no more variable than exponential ones, and the Pareto likelihood grows for ever
    /// towards the exponential.
    #[error("the gaps have no heavy tail")]
    NoHeavyTail,
    /// The gaps, or the parameters that they lead to, are out of range.
    #[error(transparent)]
    Gap(#[from] GapError),
}

/// A fitted distribution and how well it fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The family.
    pub family: Family,
    /// The member of the family of greatest likelihood.
    pub gap: Gap,
    /// The logarithm of the likelihood.
    pub log_likelihood: f64,
    /// Akaike's criterion, `2·parameters − 2·log-likelihood`: smaller is better.
    pub aic: f64,
    /// The largest difference between the fitted distribution function and that of the gaps.
    pub ks_distance: f64,
    /// The probability of so large a distance if the distribution were the true one. Optimistic,
    /// since its parameters were fitted to the same gaps: a small value rejects, a large one does
    /// not prove.
    pub ks_p_value: f64,
}

/// The fits of all families to the same gaps.
#[derive(Clone, Debug, PartialEq)]
pub struct Fits {
    /// How many gaps.
    pub count: usize,
    /// Standard deviation over mean of the gaps: one for Poisson changes, more for bursty ones.
    pub coefficient_of_variation: f64,
    /// The fits that exist, by Akaike's criterion, best first.
    pub reports: Vec<Report>,
    /// The families that have no fit, and why.
    pub failures: Vec<(Family, FitError)>,
}

impl Fits {
    /// The report on a family, if it could be fitted.
    pub fn of(&self, family: Family) -> Option<&Report> {
        self.reports.iter().find(|report| report.family == family)
    }
}

/// Fits one family to raw gaps in any order. Gaps of length zero, changes closer than the clock
/// resolves, are read as half the shortest gap that it does.
pub fn fit(family: Family, gaps: &[f64]) -> Result<Report, FitError> {
    fit_prepared(family, &prepare(gaps)?)
}

/// Fits every family to raw gaps in any order. An error only where the gaps cannot be fitted at
/// all.
pub fn fit_all(gaps: &[f64]) -> Result<Fits, FitError> {
    let sorted = prepare(gaps)?;
    let mut reports = Vec::new();
    let mut failures = Vec::new();
    for family in Family::ALL {
        match fit_prepared(family, &sorted) {
            Ok(report) => reports.push(report),
            Err(error) => failures.push((family, error)),
        }
    }
    reports.sort_by(|a: &Report, b| a.aic.total_cmp(&b.aic));
    Ok(Fits {
        count: sorted.len(),
        coefficient_of_variation: Gap::empirical(sorted)?.coefficient_of_variation(),
        reports,
        failures,
    })
}

/// Checks the gaps, raises zeros to the resolution and sorts.
fn prepare(gaps: &[f64]) -> Result<Vec<f64>, FitError> {
    if gaps.len() < FEWEST_GAPS {
        return Err(FitError::TooFew(gaps.len()));
    }
    let Gap::Empirical(checked) = Gap::empirical(gaps.to_vec())? else {
        unreachable!("an empirical distribution was asked for")
    };
    let mut sorted = checked.gaps().to_vec();
    let zeros = sorted.partition_point(|&gap| gap == 0.0);
    let resolution = sorted[zeros] / 2.0;
    sorted[..zeros].fill(resolution);
    Ok(sorted)
}

fn fit_prepared(family: Family, sorted: &[f64]) -> Result<Report, FitError> {
    let gap = match family {
        Family::Exponential => likelihood::exponential(sorted)?,
        Family::Gamma => likelihood::gamma(sorted)?,
        Family::Weibull => likelihood::weibull(sorted)?,
        Family::Pareto => likelihood::pareto(sorted)?,
        Family::LogNormal => likelihood::log_normal(sorted)?,
        Family::Histogram => Gap::histogram(sorted)?,
    };
    let density = |&x: &f64| gap.log_density(x).expect("fitted families have densities");
    let log_likelihood = sorted.iter().map(density).sum();
    let ks_distance = ks_distance(&gap, sorted);
    Ok(Report {
        family,
        log_likelihood,
        aic: 2.0 * family.parameters() as f64 - 2.0 * log_likelihood,
        ks_distance,
        ks_p_value: ks_p_value(ks_distance, sorted.len()),
        gap,
    })
}

impl fmt::Display for Fits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} gaps, coefficient of variation {:.2}",
            self.count, self.coefficient_of_variation
        )?;
        writeln!(
            f,
            "{:<12} {:>12} {:>12} {:>7} {:>7}  parameters",
            "family", "log-lik.", "AIC", "KS", "p"
        )?;
        for report in &self.reports {
            writeln!(f, "{report}")?;
        }
        for (family, error) in &self.failures {
            writeln!(f, "{family:<12} {error}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:<12} {:>12.1} {:>12.1} {:>7.4} {:>7.4}  {}",
            self.family, self.log_likelihood, self.aic, self.ks_distance, self.ks_p_value, self.gap
        )
    }
}

#[cfg(test)]
mod tests;
