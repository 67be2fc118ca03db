//! Synthetic and recorded webs under a virtual clock: the simulators and the experiments.
#![doc = include_str!("../README.md")]

pub mod bottle;
pub mod calibration;
pub mod download;
pub mod fleet;
pub mod generate;
pub mod knowledge;
pub mod lanes;
pub mod newcomers;
pub mod run;
pub mod scenario;
pub mod small_web;
pub mod statistics;
pub mod sweep;
pub mod web;
pub mod world;
