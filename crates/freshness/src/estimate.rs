//! How fast a page changes, from what its visits saw.
#![doc = include_str!("estimate/README.md")]

mod belief;
#[cfg(test)]
mod drawn;
mod findings;
mod grid;
mod online;
mod overall;
mod pace;
mod population;
mod posterior;
mod prior;
mod replay;
mod together;
pub(crate) mod weights;

pub use belief::Belief;
pub use findings::Findings;
pub use overall::Overall;
pub use pace::Pace;
pub use population::{Kin, Population};
pub use posterior::{Posterior, Rate};
pub use replay::{lasting, observation};

pub use online::{Evidence, Observation, forgetting};
pub use prior::{HostPrior, MeanRate, Prior};
