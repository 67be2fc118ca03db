//! The demo web: a changing web on loopback, its own record of requests, and the truth about it.
#![doc = include_str!("web/README.md")]

pub mod audit;
mod build;
mod clock;
mod content;
mod corners;
mod crawler;
mod delivery;
mod flat;
mod hostile;
mod http;
mod listings;
pub mod politeness;
mod record;
mod respond;
mod server;
pub mod spec;
mod words;

pub use audit::Audit;
pub use build::{Host, Page, SpecError, Web};
pub use clock::Clock;
pub use flat::FlatSite;
pub use http::{Framing, Manner, Request, Response};
pub use politeness::{Rules, Violation, check_politeness};
pub use record::{Record, Visit};
pub use server::{Distance, Running, Server};
pub use spec::WebSpec;

use std::net::Ipv4Addr;

/// What a server serves: a pure function of request and time.
pub trait Site: Send + Sync + 'static {
    /// The names served, and the loopback address of each.
    fn hosts(&self) -> Vec<(String, Ipv4Addr)>;

    /// The answer to a request at an instant of web time, in days.
    fn respond(&self, request: &Request, at: f64, clock: &Clock) -> Response;
}

#[cfg(test)]
mod tests;
