//! One robot's share of the Web: URLs and their keys, scope, robots.txt, politeness, what is to be fetched next. Pure: no clock, no I/O.

pub mod directives;
pub mod key;
pub mod robots;
pub mod scope;
pub mod trap;

pub use url::Url;
