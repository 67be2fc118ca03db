//! Many robots as one crawler: the protocol.
#![doc = include_str!("../README.md")]

pub mod counts;
pub mod demand;
pub mod division;
pub mod filter;
pub mod identity;
pub mod io;
pub mod key;
pub mod lease;
pub mod moves;
pub mod outbox;
pub mod pace;
pub mod parcel;
pub mod plan;
pub mod record;
pub mod representatives;
pub mod ring;
pub mod robot;
pub mod sent;
pub mod table;
pub mod trace;
pub mod wire;

#[doc(hidden)]
pub mod flaw;
