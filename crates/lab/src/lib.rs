//! The laboratory: what would happen under a virtual clock, and published experiments done again.
//!
//! The binary calls it; nothing of the product imports it.

pub mod fit;
pub mod reproduce;
pub mod simulate;
