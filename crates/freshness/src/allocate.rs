//! From change rates to visit frequencies: how a budget of requests is best divided.
#![doc = include_str!("allocate/README.md")]

pub(crate) mod demand;
pub(crate) mod fill;
pub(crate) mod grouping;
mod price;
pub mod wolf;

pub use demand::{Age, Curve, Freshness, Harmonic, Pages};

use demand::Curves;

use crate::measure::{evenly_spaced, mean_age};
use grouping::Grouping;
use rayon::prelude::*;
use std::{fmt, str::FromStr};

/// A repository and the budget to be divided among its pages.
#[derive(Clone, Copy)]
pub struct Problem<'a> {
    /// Rates and weights, one for each page.
    pub pages: Pages<'a>,
    /// The server of each page, as an index into `caps`.
    pub server: &'a [u32],
    /// Visits per unit of time that each server takes at most (`1/P`); infinite without
    /// politeness.
    pub caps: &'a [f64],
    /// Visits per unit of time in all.
    pub budget: f64,
}

/// Frequencies, and the prices of a visit behind them.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Visits per unit of time of each page.
    pub frequency: Vec<f64>,
    /// The shadow price of the budget: what one more visit per unit of time would gain. Zero when
    /// the servers take less than the budget; NaN-free; meaningless (zero) for allocations that
    /// optimise nothing.
    pub price: f64,
    /// The shadow price of a visit on each server: the global one, or more where the server is at
    /// its cap.
    pub server_price: Vec<f64>,
}

/// The ways to divide a budget that need nothing but change rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Allocation {
    /// The same for every page that changes.
    Uniform,
    /// In proportion to the change rate; worse than uniform for freshness.
    Proportional,
    /// The most freshness, politeness left aside.
    Cho,
    /// The most freshness within the servers' caps.
    OptPolite,
    /// `w·λ/(f·(f + λ))` equal for all, within the caps; starves no page.
    Harmonic,
    /// The least mean age, within the caps; starves no page.
    Age,
}

impl Allocation {
    /// All of them, in the order in which they are documented.
    pub const ALL: [Self; 6] = [
        Self::Uniform,
        Self::Proportional,
        Self::Cho,
        Self::OptPolite,
        Self::Harmonic,
        Self::Age,
    ];

    /// The name by which commands and configurations call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Proportional => "proportional",
            Self::Cho => "cho",
            Self::OptPolite => "opt-polite",
            Self::Harmonic => "harmonic",
            Self::Age => "age",
        }
    }

    /// Whether it keeps within the servers' caps; the others are classical baselines that know
    /// nothing of servers.
    pub fn is_polite(self) -> bool {
        matches!(self, Self::OptPolite | Self::Harmonic | Self::Age)
    }
}

impl fmt::Display for Allocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Allocation {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|allocation| allocation.name() == name)
            .ok_or_else(|| Error::UnknownAllocation(name.to_owned()))
    }
}

/// Why a budget cannot be divided.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// Arrays that describe the same pages differ in length.
    #[error("{what} describes {found} pages where {expected} were expected")]
    Length {
        /// The array that is off.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The number of pages.
        expected: usize,
    },
    /// A number that must be finite and not negative is not.
    #[error("the {what} of {of} {index} is {value}; expected a finite number of at least 0")]
    Number {
        /// Rate, weight, cap or budget.
        what: &'static str,
        /// Page or server.
        of: &'static str,
        /// Its index.
        index: usize,
        /// The number given.
        value: f64,
    },
    /// A page names a server that has no cap.
    #[error("page {page} is on server {server}, but there are only {servers} servers")]
    UnknownServer {
        /// The page.
        page: usize,
        /// The server it names.
        server: u32,
        /// How many there are.
        servers: usize,
    },
    /// More visits than all servers together take.
    #[error("a budget of {budget} is above the {allowed} that politeness allows")]
    BudgetAbovePoliteness {
        /// The budget given.
        budget: f64,
        /// The sum of the caps.
        allowed: f64,
    },
    /// No allocation has that name.
    #[error(
        "unknown allocation '{0}'; expected one of uniform, proportional, cho, opt-polite, harmonic, age"
    )]
    UnknownAllocation(String),
}

impl Problem<'_> {
    /// The number of pages.
    pub fn len(&self) -> usize {
        self.pages.rate.len()
    }

    /// Whether there are no pages.
    pub fn is_empty(&self) -> bool {
        self.pages.rate.is_empty()
    }

    /// Visits per unit of time that all servers together take.
    pub fn capacity(&self) -> f64 {
        self.caps.iter().sum()
    }

    fn check(&self) -> Result<(), Error> {
        let expected = self.len();
        let same_length = |what, found| {
            if found == expected {
                Ok(())
            } else {
                Err(Error::Length {
                    what,
                    found,
                    expected,
                })
            }
        };
        same_length("server", self.server.len())?;
        check_numbers("rate", "page", self.pages.rate, f64::is_finite)?;
        if let Some(weight) = self.pages.weight {
            same_length("weight", weight.len())?;
            check_numbers("weight", "page", weight, f64::is_finite)?;
        }
        check_numbers("cap", "server", self.caps, |cap| !cap.is_nan())?;
        check_numbers("budget", "problem", &[self.budget], f64::is_finite)?;
        let servers = self.caps.len();
        if let Some(page) = self.server.iter().position(|&s| s as usize >= servers) {
            return Err(Error::UnknownServer {
                page,
                server: self.server[page],
                servers,
            });
        }
        // rounding in 1/P must not refuse a budget of exactly m/P
        let allowed = self.capacity();
        if self.budget > allowed * (1.0 + 1e-12) {
            return Err(Error::BudgetAbovePoliteness {
                budget: self.budget,
                allowed,
            });
        }
        Ok(())
    }
}

fn check_numbers(
    what: &'static str,
    of: &'static str,
    values: &[f64],
    good: impl Fn(f64) -> bool,
) -> Result<(), Error> {
    match values.iter().position(|&value| !good(value) || value < 0.0) {
        Some(index) => Err(Error::Number {
            what,
            of,
            index,
            value: values[index],
        }),
        None => Ok(()),
    }
}

/// Divides the budget. Pages that never change, or weigh nothing, get nothing.
pub fn allocate(problem: &Problem, allocation: Allocation) -> Result<Plan, Error> {
    problem.check()?;
    Ok(match allocation {
        Allocation::Uniform => in_proportion(problem, |_| 1.0),
        Allocation::Proportional => in_proportion(problem, |rate| rate),
        Allocation::Cho => {
            let whole = [0, problem.len()];
            let curves = Curves::<Freshness>::of(problem.pages);
            let filling = fill::fill(&curves, &whole, &[f64::INFINITY], problem.budget);
            Plan {
                frequency: filling.frequency,
                price: filling.price,
                server_price: vec![filling.price; problem.caps.len()],
            }
        }
        Allocation::OptPolite => polite::<Freshness>(problem),
        Allocation::Harmonic => polite::<Harmonic>(problem),
        Allocation::Age => polite::<Age>(problem),
    })
}

/// The optimum without politeness and with it, as weighted mean freshness: what no policy that
/// leaves politeness aside, and none that keeps it, can exceed.
pub fn bounds(problem: &Problem) -> Result<(f64, f64), Error> {
    let value = |allocation| {
        allocate(problem, allocation).map(|plan| freshness(problem.pages, &plan.frequency))
    };
    let impolite = value(Allocation::Cho)?;
    let polite = if problem.caps.iter().all(|cap| cap.is_infinite()) {
        impolite
    } else {
        value(Allocation::OptPolite)?
    };
    Ok((impolite, polite))
}

/// Weighted mean freshness of evenly spaced visits at these frequencies.
pub fn freshness(pages: Pages, frequency: &[f64]) -> f64 {
    weighted_mean(pages, frequency, evenly_spaced)
}

/// Weighted mean age of evenly spaced visits at these frequencies; infinite as soon as a page that
/// changes and counts is never visited.
pub fn age(pages: Pages, frequency: &[f64]) -> f64 {
    weighted_mean(pages, frequency, mean_age)
}

/// No pages at all are as fresh as can be, and have no age.
fn weighted_mean(pages: Pages, frequency: &[f64], of: impl Fn(f64, f64) -> f64 + Sync) -> f64 {
    const CHUNK: usize = 1 << 14;
    let partial: Vec<(f64, f64)> = frequency
        .par_chunks(CHUNK)
        .enumerate()
        .map(|(k, chunk)| {
            let mut sum = (0.0, 0.0);
            for (position, &frequency) in (k * CHUNK..).zip(chunk) {
                let weight = pages.weight(position);
                if weight > 0.0 {
                    sum.0 += weight * of(pages.rate[position], frequency);
                    sum.1 += weight;
                }
            }
            sum
        })
        .collect();
    let (value, weight) = partial
        .iter()
        .fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
    if weight > 0.0 {
        value / weight
    } else {
        of(0.0, 0.0)
    }
}

fn in_proportion(problem: &Problem, share: impl Fn(f64) -> f64) -> Plan {
    let pages = problem.pages;
    let share_of = |position: usize| {
        let rate = pages.rate[position];
        if rate == 0.0 || pages.weight(position) == 0.0 {
            0.0
        } else {
            share(rate)
        }
    };
    let total: f64 = (0..problem.len()).map(share_of).sum();
    let unit = if total > 0.0 {
        problem.budget / total
    } else {
        0.0
    };
    Plan {
        frequency: (0..problem.len())
            .map(|position| share_of(position) * unit)
            .collect(),
        price: 0.0,
        server_price: vec![0.0; problem.caps.len()],
    }
}

/// Fills the pages with the budget, within the caps.
fn polite<C: Curve>(problem: &Problem) -> Plan {
    let grouping = Grouping::new(problem.server, problem.caps.len());
    let rate = grouping.gather(problem.pages.rate);
    let weight = problem
        .pages
        .weight
        .and_then(|weight| grouping.gather(weight));
    let pages = Pages {
        rate: rate.as_deref().unwrap_or(problem.pages.rate),
        weight: weight.as_deref().or(problem.pages.weight),
    };
    let filling = fill::fill(
        &Curves::<C>::of(pages),
        &grouping.offsets,
        problem.caps,
        problem.budget,
    );
    Plan {
        frequency: grouping.scatter(filling.frequency),
        price: filling.price,
        server_price: filling.server_price,
    }
}

#[cfg(test)]
mod tests;
