//! The Internet as seen from here: probes, routes, places.
#![doc = include_str!("../README.md")]

pub mod approximate;
pub mod atlas;
pub mod dns;
pub mod pace;
pub mod picture;
pub mod probe;
pub mod sampling;
pub mod store;
pub mod survey;
pub mod wire;

pub use places as place;
