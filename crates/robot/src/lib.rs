//! The crawling process as a library.

pub mod config;
