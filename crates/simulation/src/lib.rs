//! Synthetic and recorded webs under a virtual clock: the simulators and the experiments.

pub mod chart;
pub mod generate;
