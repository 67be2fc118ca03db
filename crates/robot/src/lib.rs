//! The crawling process as a library.
#![doc = include_str!("../README.md")]

pub mod archivist;
pub mod cause;
pub mod clock;
pub mod config;
pub mod control;
mod crawl;
mod drive;
pub mod keeper;
pub mod links;
mod losses;
pub mod message;
pub mod metrics;
pub mod notes;
pub mod offline;
pub mod reading;
pub mod view;
mod visit;
pub mod watch;

pub use crawl::{Crawl, Mended, StartError, archive_directory, check, start, state_directory};
pub use keeper::Until;
pub use losses::Losses;
pub use reading::look;
pub use visit::Intake;
