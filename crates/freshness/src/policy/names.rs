//! Policies by name: `index`, or a selection and an allocation joined as in `merge-cho`.

use super::adaptive::Adaptive;
use super::greedy::{Form, Greedy};
use super::index::Index;
use super::intervals::{Intervals, Rule};
use super::learning::{Learner, QTable};
use super::memory::Memory;
use super::planned::{Method, Planned};
use super::priced::Priced;
use super::schedule::Selection;
use super::{Policy, Setup};
use crate::allocate::Allocation;

/// Why there is no such policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No policy has that name.
    #[error(
        "unknown policy '{0}'; expected one of {known}, or SELECTION-ALLOCATION with a selection \
         of {selections} and an allocation of {allocations}",
        known = ALONE.join(", "),
        selections = selection_names().join(", "),
        allocations = ALLOCATIONS.join(", ")
    )]
    Unknown(String),
    /// There is none, or it would not keep to the budget, to the delays of hosts, or to what it had learnt.
    #[error("a crawl cannot use policy '{0}'; expected one of {names}", names = .1.join(", "))]
    NotForCrawls(String, Vec<String>),
}

/// Policies whose names stand alone.
const ALONE: [&str; 12] = [
    "default",
    "index",
    "greedy",
    "greedy-printed",
    "memory",
    "uniform",
    "proportional",
    "epochs",
    "q-learning",
    "fixed-interval",
    "multiplicative",
    "halfway",
];

/// Allocations that can follow a selection.
const ALLOCATIONS: [&str; 7] = [
    "uniform",
    "proportional",
    "cho",
    "opt-polite",
    "wolf",
    "harmonic",
    "age",
];

fn selection_names() -> Vec<&'static str> {
    Selection::NAMES.iter().map(|(name, _)| *name).collect()
}

/// The names of all policies: those that stand alone, then every selection with every allocation.
pub fn names() -> Vec<String> {
    let joined = Selection::NAMES.iter().flat_map(|(selection, _)| {
        ALLOCATIONS
            .iter()
            .map(move |allocation| format!("{selection}-{allocation}"))
    });
    ALONE
        .iter()
        .map(|name| (*name).to_owned())
        .chain(joined)
        .collect()
}

/// Builds a policy by its name.
pub fn build(name: &str, setup: &Setup) -> Result<Box<dyn Policy>, Error> {
    Ok(match name {
        "index" => Box::new(Priced::new(Index::new(setup), setup)),
        "default" => Box::new(Priced::new(Adaptive::new(setup), setup)),
        "greedy" => Box::new(Greedy::new(Form::Conditional, setup)),
        "greedy-printed" => Box::new(Greedy::new(Form::Printed, setup)),
        "memory" => Box::new(Memory::new(setup)),
        "uniform" => planned(Selection::Merge, "uniform", setup),
        "proportional" => planned(Selection::Merge, "proportional", setup),
        "epochs" => planned(Selection::Merge, "opt-polite", setup),
        "q-learning" => Box::new(Learner::new(QTable::default(), setup)),
        "fixed-interval" => Box::new(Intervals::new(Rule::Fixed, setup)),
        "multiplicative" => Box::new(Intervals::new(Rule::Multiplicative, setup)),
        "halfway" => Box::new(Intervals::new(Rule::Halfway, setup)),
        _ => {
            let (selection, allocation) =
                split(name).ok_or_else(|| Error::Unknown(name.to_owned()))?;
            planned(selection, allocation, setup)
        }
    })
}

/// A selection and the name of an allocation, when the name is such a pair.
pub fn split(name: &str) -> Option<(Selection, &str)> {
    Selection::NAMES.iter().find_map(|&(prefix, selection)| {
        let allocation = name.strip_prefix(prefix)?.strip_prefix('-')?;
        ALLOCATIONS
            .contains(&allocation)
            .then_some((selection, allocation))
    })
}

fn planned(selection: Selection, allocation: &str, setup: &Setup) -> Box<dyn Policy> {
    let method = match allocation.parse::<Allocation>() {
        Ok(allocation) => Method::Rates(allocation),
        Err(_) => Method::wolf(setup),
    };
    let schedule = selection.schedule(setup.delay, setup.start, setup.seed);
    Box::new(Planned::new(schedule, method, setup))
}
