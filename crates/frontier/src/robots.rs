//! robots.txt (RFC 9309): what a host allows whom, and what it means when the file is not there.
#![doc = include_str!("robots/README.md")]

mod pattern;
mod rules;
mod standing;
mod syntax;

pub use pattern::{Pattern, normal_path};
pub use rules::{MAX_BYTES, Rules, Ruling};
pub use standing::{Fetched, LONGEST_LIFE, MAX_REDIRECTS, Standing, Verdict, next_hop};

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod tests;
