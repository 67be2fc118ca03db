//! The allocations a user may choose by name, and the one place where each is called.

use super::histories::Histories;
use super::repository::Repository;
use crate::bad_input::BadInput;
use anyhow::Result;
use freshness::allocate::{self, Allocation, Error};
use std::fmt;
use std::str::FromStr;

/// An allocation by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// One that needs nothing but change rates.
    Rates(Allocation),
    /// The optimum for the pages' own histories of changes.
    Wolf,
}

impl Choice {
    /// Whether it keeps within the servers' caps.
    pub fn is_polite(self) -> bool {
        match self {
            Self::Rates(allocation) => allocation.is_polite(),
            Self::Wolf => true,
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rates(allocation) => allocation.fmt(f),
            Self::Wolf => f.write_str("wolf"),
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

/// Visits per day of each page, in the repository's order, for a budget per day.
pub fn divide(
    choice: Choice,
    repository: &Repository,
    histories: Option<&Histories>,
    budget: f64,
) -> Result<Vec<f64>> {
    let problem = repository.problem(budget);
    match choice {
        Choice::Rates(allocation) => Ok(allocate::allocate(&problem, allocation)?.frequency),
        Choice::Wolf => {
            let changes: usize = (0..problem.len())
                .filter_map(|page| histories?.instants.get(repository.history(page)?))
                .map(Vec::len)
                .sum();
            Err(BadInput(format!(
                "the wolf allocation cannot be computed yet ({changes} changes were read)"
            ))
            .into())
        }
    }
}
