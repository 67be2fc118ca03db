//! Synthetic and recorded webs under a virtual clock: the simulators and the experiments.

pub mod run;
pub mod statistics;
pub mod trace;
pub mod world;
