//! The allocations a user may choose by name, and the one place where each is called.

use super::repository::Repository;
use anyhow::Result;
use freshness::allocate::{self, Allocation, Error, Problem, wolf};
use freshness::gap::Gap;
use std::fmt;
use std::str::FromStr;

/// An allocation by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// One that needs nothing but change rates.
    Rates(Allocation),
    /// The optimum for the pages' own histories of changes.
    Wolf,
    /// The same with politeness left aside: a bound, not for users to choose.
    ImpoliteWolf,
}

impl Choice {
    /// What no evenly spaced visits exceed without politeness and within it; with histories, under
    /// the changes they show.
    pub fn bounds(gaps: Option<&[Option<Gap>]>) -> (Self, Self) {
        if gaps.is_some() {
            (Self::ImpoliteWolf, Self::Wolf)
        } else {
            (
                Self::Rates(Allocation::Cho),
                Self::Rates(Allocation::OptPolite),
            )
        }
    }

    /// Whether it keeps within the servers' caps.
    pub fn is_polite(self) -> bool {
        match self {
            Self::Rates(allocation) => allocation.is_polite(),
            Self::Wolf => true,
            Self::ImpoliteWolf => false,
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rates(allocation) => allocation.fmt(f),
            Self::Wolf => f.write_str("wolf"),
            Self::ImpoliteWolf => f.write_str("wolf without politeness"),
        }
    }
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name.trim() {
            "wolf" => Ok(Self::Wolf),
            name => name
                .parse()
                .map(Self::Rates)
                .map_err(|error: Error| format!("{error}, wolf")),
        }
    }
}

/// Visits per day of each page, in the repository's order, for a budget per day. `gaps` are the
/// times between the changes of each page, where histories tell them.
pub fn divide(
    choice: Choice,
    repository: &Repository,
    gaps: Option<&[Option<Gap>]>,
    budget: f64,
) -> Result<Vec<f64>> {
    let problem = repository.problem(budget);
    let gaps = || gaps.expect("wolf is refused without histories");
    Ok(match choice {
        Choice::Rates(allocation) => allocate::allocate(&problem, allocation)?.frequency,
        Choice::Wolf => wolf::wolf(&problem, gaps())?.frequency,
        Choice::ImpoliteWolf => {
            let caps = vec![f64::INFINITY; problem.caps.len()];
            let impolite = Problem {
                caps: &caps,
                ..problem
            };
            wolf::wolf(&impolite, gaps())?.frequency
        }
    })
}

/// Weighted mean freshness of evenly spaced visits: under the changes that histories show where
/// there are any, else under Poisson changes.
pub fn freshness(repository: &Repository, gaps: Option<&[Option<Gap>]>, frequency: &[f64]) -> f64 {
    let problem = repository.problem(0.0);
    match gaps {
        Some(gaps) => wolf::freshness(&problem, gaps, frequency),
        None => allocate::freshness(problem.pages, frequency),
    }
}
