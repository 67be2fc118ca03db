//! The laboratory: what would happen under a virtual clock, and published experiments done again.
#![doc = include_str!("../README.md")]

pub mod fit;
pub mod reproduce;
pub mod simulate;
