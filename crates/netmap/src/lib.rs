#![doc = include_str!("../README.md")]

pub mod pace;
pub mod probe;
pub mod sampling;
pub mod wire;
