//! The crawling process as a library.
#![doc = include_str!("../README.md")]

mod archivist;
mod beliefs;
pub mod cause;
pub mod config;
pub mod control;
mod crawl;
mod keeper;
pub mod links;
mod losses;
mod message;
pub mod metrics;
pub mod notes;
pub mod offline;
mod reading;
pub mod view;
mod visit;

pub use crawl::{Crawl, Mended, StartError, archive_directory, check, start, state_directory};
pub use keeper::Until;
