//! A window on a crawl, for browsers.
#![doc = include_str!("../README.md")]

mod actions;
mod alerts;
mod assets;
mod budget;
mod changes;
mod chart;
mod crawl;
pub mod difference;
pub mod feed;
pub mod fleet;
mod frame;
mod guard;
mod history;
mod hosts;
mod log;
mod map;
mod now;
mod page;
mod pages;
mod pulse;
mod routes;
mod server;
mod settings;
mod versions;
mod visits;
mod words;

pub use crawl::{Crawl, Explained};
pub use server::{Bound, Dashboard, Shown, bind};
pub use settings::{Refused, Settings};

/// Where what was seen over time is kept with a crawl.
pub fn history_file(data: &std::path::Path) -> std::path::PathBuf {
    history::History::file(data)
}
