#![doc = include_str!("../README.md")]

pub mod approximate;
pub mod pace;
pub mod place;
pub mod probe;
pub mod sampling;
pub mod wire;
