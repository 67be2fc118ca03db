//! The fleet in virtual time: the protocol as it is, with model robots, a model of the messaging
//! engine, a model web and whatever may go wrong. The same seed gives the same run, step by step.
//!
//! [`run`] tells what a run came to; a run that breaks an invariant is run again and its story told.

pub mod checks;
pub mod engine;
pub mod file;
pub mod fresh;
pub mod graph;
mod hands;
pub mod process;
pub mod real;
pub mod report;
pub mod scenario;
pub mod web;
mod world;

pub use report::{Failure, Report};
pub use scenario::{Fault, Scenario};
pub use world::{Happening, Moment, Outcome};

/// Runs a scenario to its end.
pub fn run(scenario: &Scenario) -> Result<Report, Failure> {
    finish(scenario).map(|outcome| outcome.report)
}

/// As [`run`], with who had which pages in the end.
pub fn finish(scenario: &Scenario) -> Result<Outcome, Failure> {
    world::World::new(scenario, false)
        .run()
        .or_else(|_| world::World::new(scenario, true).run())
}

#[cfg(test)]
mod tests;
