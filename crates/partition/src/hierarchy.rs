//! The tree of groups, divided level by level.
#![doc = include_str!("hierarchy/README.md")]

mod divide;
mod tree;

pub use divide::{Division, partition};
pub use tree::{Member, Tree};

#[cfg(test)]
mod tests;
