//! Under which conditions robots download.

use super::politeness::Politeness;
use super::web::Unit;

/// What is the same for all robots and servers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// Who is left alone after a download.
    pub unit: Unit,
    /// For how long.
    pub politeness: Politeness,
    /// Downloads that a robot has under way at once.
    pub connections: u32,
    /// Of one connection, in bytes a second.
    pub bandwidth: f64,
    /// Size of a page.
    pub page_bytes: f64,
    /// Size of a URL handed over.
    pub url_bytes: f64,
    /// Pages downloaded over one connection before the server is left alone.
    pub pages_per_connection: u32,
}

impl Conditions {
    /// The published ones: 15 s, 50 connections, 250 KB/s, 25 KB a page. Neither the size of a
    /// URL nor the pages per connection were published.
    pub fn published() -> Self {
        Self {
            unit: Unit::Hosts,
            politeness: Politeness::Fixed(15.0),
            connections: 50,
            bandwidth: 250_000.0,
            page_bytes: 25_000.0,
            url_bytes: 60.0,
            pages_per_connection: 1,
        }
    }

    /// Seconds that a connection of `pages` pages takes.
    pub fn duration(&self, rtt: f64, pages: u32) -> f64 {
        2.0 * rtt + f64::from(pages) * self.page_bytes / self.bandwidth
    }
}
