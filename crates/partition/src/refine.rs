//! Moves that lower the cut within the limits.
#![doc = include_str!("refine/README.md")]

mod connections;
mod instance;
mod packing;
mod rebalance;
mod repair;
mod search;
mod state;

pub(crate) use instance::{FREE, Instance};
pub(crate) use rebalance::rebalance;
pub(crate) use repair::repair;
pub(crate) use search::{Reach, propagate, refine};
pub(crate) use state::{Score, State};

#[cfg(test)]
mod tests;
