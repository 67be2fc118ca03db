//! One robot's share of the Web: URLs and their keys, scope, robots.txt, politeness, and what is to
//! be fetched next. Pure: no clock, no I/O. Time is seconds, given by the caller.
#![doc = include_str!("../README.md")]

pub mod directives;
pub mod hours;
pub mod key;
pub mod lines;
pub mod order;
pub mod politeness;
pub mod retry_after;
pub mod robots;
pub mod scope;
pub mod site;
pub mod trap;

pub use url::Url;
