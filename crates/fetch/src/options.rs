//! Everything about fetching that can be chosen, with a careful value for each.

use crate::address::AddressRules;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// How a [`crate::Fetcher`] behaves. Start from [`Options::new`] and change fields.
#[derive(Clone, Debug)]
pub struct Options {
    /// Who we are, with an address where a webmaster finds us: `name/1.0 (+https://…)`.
    pub user_agent: String,
    /// The `Accept` header of requests that do not bring their own.
    pub accept: String,
    /// How long each stage may take.
    pub timeouts: Timeouts,
    /// How much is taken from a server.
    pub limits: Limits,
    /// Connections kept open between requests.
    pub idle: IdleOptions,
    /// Offer HTTP/2 to servers that speak TLS.
    pub http2: bool,
    /// TLS sessions remembered: resuming one saves most of a handshake.
    pub tls_sessions: usize,
    /// Which addresses that are not public may be contacted.
    pub addresses: AddressRules,
    /// The address of this machine that connections come from; the system's choice without one.
    pub source: Option<IpAddr>,
    /// Names answered without asking anybody, as in `/etc/hosts`.
    pub hosts: HashMap<String, Vec<IpAddr>>,
    /// How names are resolved.
    pub dns: DnsOptions,
    /// Certificates (PEM) trusted besides the public ones.
    pub extra_roots: Vec<u8>,
}

/// How long each stage of a fetch may take.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// TCP and TLS handshakes together.
    pub connect: Duration,
    /// From the request to the first byte of the response.
    pub first_byte: Duration,
    /// From the first byte to the last.
    pub body: Duration,
    /// The least speed of a response.
    pub drip: Drip,
}

/// A response that stays below `bytes_per_second` for a whole `window` is given up.
#[derive(Clone, Copy, Debug)]
pub struct Drip {
    /// Least bytes per second.
    pub bytes_per_second: u64,
    /// Time over which the speed is measured.
    pub window: Duration,
}

/// How much is taken from a server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of a body as transferred, content encoding still on.
    pub body: u64,
    /// Bytes of a body once decoded: the limit callers hand to [`crate::Exchange::decoded`].
    pub decoded: u64,
    /// Bytes of a response's head, interim responses included.
    pub head: usize,
    /// Number of header fields.
    pub headers: usize,
}

/// Connections kept open between requests.
#[derive(Clone, Copy, Debug)]
pub struct IdleOptions {
    /// Over all hosts; the one idle longest goes first. None are kept at 0.
    pub connections: usize,
    /// How long one may wait for its next request.
    pub time: Duration,
}

/// How names are resolved.
#[derive(Clone, Copy, Debug)]
pub struct DnsOptions {
    /// The server to ask instead of those the system names.
    pub server: Option<SocketAddr>,
    /// Answers kept in memory.
    pub cache: u64,
    /// An answer is kept at least this long, whatever it says …
    pub least_ttl: Duration,
    /// … and at most this long.
    pub most_ttl: Duration,
    /// Patience with one question to one server.
    pub timeout: Duration,
    /// Questions asked before giving up.
    pub attempts: usize,
}

impl Options {
    /// Careful defaults; `user_agent` has none because only the operator knows it.
    pub fn new(user_agent: impl Into<String>) -> Self {
        Self {
            user_agent: user_agent.into(),
            accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8".into(),
            timeouts: Timeouts::default(),
            limits: Limits::default(),
            idle: IdleOptions::default(),
            http2: true,
            tls_sessions: 4096,
            addresses: AddressRules::default(),
            source: None,
            hosts: HashMap::new(),
            dns: DnsOptions::default(),
            extra_roots: Vec::new(),
        }
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(30),
            body: Duration::from_mins(2),
            drip: Drip {
                bytes_per_second: 256,
                window: Duration::from_secs(10),
            },
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 16 << 20,
            decoded: 64 << 20,
            head: 64 << 10,
            headers: 256,
        }
    }
}

impl Default for IdleOptions {
    fn default() -> Self {
        Self {
            connections: 512,
            time: Duration::from_secs(30),
        }
    }
}

impl Default for DnsOptions {
    fn default() -> Self {
        Self {
            server: None,
            cache: 65_536,
            least_ttl: Duration::from_mins(1),
            most_ttl: Duration::from_hours(24),
            timeout: Duration::from_secs(5),
            attempts: 2,
        }
    }
}
