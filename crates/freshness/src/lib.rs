//! How pages change, what a request budget can buy, and how to spend it.
//!
//! Everything here is a pure function of its arguments: state, time and seed come in, decisions
//! come out. No clock, no socket, no file, no global randomness; that is why the simulator and
//! the live robot can run the very same code.
//!
//! Time is an `f64` in a unit of the caller's choosing (the `evercrawl` command uses days) and
//! rates are per that unit. Pages and servers are dense indices, [`PageId`] and [`ServerId`].
#![doc = include_str!("../README.md")]

pub mod allocate;
pub mod channel;
pub mod estimate;
pub mod fit;
pub mod gap;
pub mod measure;
pub mod policy;
pub mod process;
pub mod revisits;

mod ids;
mod record;

pub use ids::{PageId, ServerId};
