//! What several crates need and none should have for itself: which addresses are public, blocks and networks
//! of them, shortest paths over routes, the calendar, distances on Earth, a stable hash, numbers of pages and
//! hosts, quantities as people write them.
//!
//! Everything here is a pure function of its arguments.
#![doc = include_str!("../README.md")]

pub mod address;
pub mod calendar;
pub mod earth;
pub mod hash;
pub mod id;
pub mod network;
pub mod paths;
pub mod prefix;
pub mod quantity;

pub use address::is_public;
pub use earth::Point;
pub use id::{HostId, PageId};
pub use network::network;
pub use prefix::Prefix;
pub use quantity::{Bytes, Rate, Seconds};
