//! Who downloads what: the Web cut up among robots.
//!
//! Everything here is a pure function of its arguments: graphs, capacities, the previous
//! assignment and a seed come in, an assignment or a routing table comes out. No clock, no
//! socket, no file, no global randomness.
//!
//! Hosts (or addresses) are dense vertex numbers of a [`graph::Graph`]; robots are parts
//! `0..k`. [`solve`] is the whole way from hosts to robots; [`multilevel`] divides the graph well, [`single_level`] as the published work did,
//! [`hash`] without looking at it.
#![doc = include_str!("../README.md")]

pub mod graph;
pub mod hash;
pub mod hierarchy;
pub mod limits;
pub mod method;
pub mod moves;
pub mod multilevel;
pub mod objectives;
pub mod routing;
pub mod single_level;
pub mod solve;
pub mod task;

mod refine;

#[cfg(test)]
mod feasible_tests;
#[cfg(test)]
mod sample_graphs;
