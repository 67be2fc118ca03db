//! From an assignment of hosts to small routing tables.
#![doc = include_str!("routing/README.md")]

mod aggregate;
mod lookup;
mod router;
mod table;

pub use aggregate::{Unknown, aggregate};
/// What tables are made of.
pub use ground::prefix::{Family, Prefix, PrefixError};
pub use lookup::Lookup;
pub use router::{Assigned, Fleet, Router, RoutingError, Target};
pub use table::{Entry, Table, TwoOwners};

#[cfg(test)]
mod tests;
