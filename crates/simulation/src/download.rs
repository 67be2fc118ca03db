//! Robots in different places download one Web.
#![doc = include_str!("download/README.md")]

pub mod algebra;
pub mod conditions;
pub mod divide;
pub mod first_visits;
pub mod internet;
pub mod patience;
pub mod politeness;
pub mod run;
pub mod shape;
pub mod sweep;
pub mod timeline;
pub mod web;
