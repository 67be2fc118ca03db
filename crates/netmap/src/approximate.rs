//! Round-trip times that nobody measured.
#![doc = include_str!("approximate/README.md")]

mod coordinates;
mod judge;
mod world;

pub use coordinates::{Embedding, Settings, Springs};
pub use ground::paths::{Graph, Link, links_of};
pub use judge::{Experiment, Judgement, judge};
pub use world::{World, generate};

/// A measured pair of hosts, by their indices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// One end.
    pub a: usize,
    /// The other.
    pub b: usize,
    /// Milliseconds between them.
    pub rtt_ms: f64,
}
