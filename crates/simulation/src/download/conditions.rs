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
    /// Concurrent downloads per robot.
    pub connections: u32,
    /// Bandwidth of one connection, in bytes per second.
    pub bandwidth: f64,
    /// Size of a page.
    pub page_bytes: f64,
    /// Size of a URL handed over.
    pub url_bytes: f64,
    /// Pages downloaded over one connection before the pause.
    pub pages_per_connection: u32,
}

impl Conditions {
    /// Those of the published algebraic evaluation: pages of 10 KB, URLs of 40 bytes, 10 pages per
    /// connection, 10 connections, 16 kbit/s per link, 15 s.
    pub fn algebraic() -> Self {
        Self {
            unit: Unit::Hosts,
            politeness: Politeness::Fixed(15.0),
            connections: 10,
            bandwidth: 2_000.0,
            page_bytes: 10_000.0,
            url_bytes: 40.0,
            pages_per_connection: 10,
        }
    }

    /// Those of the published simulation: 15 s, 50 connections, 250 KB/s, 25 KB a page. The pages
    /// per connection were not published, and the URLs are those of the algebraic evaluation.
    pub fn published() -> Self {
        Self {
            unit: Unit::Hosts,
            politeness: Politeness::Fixed(15.0),
            connections: 50,
            bandwidth: 250_000.0,
            page_bytes: 25_000.0,
            url_bytes: 40.0,
            pages_per_connection: 1,
        }
    }

    /// Seconds that a connection of `pages` pages takes.
    pub fn duration(&self, rtt: f64, pages: u32) -> f64 {
        2.0 * rtt + f64::from(pages) * self.page_bytes / self.bandwidth
    }
}
