//! Why a fetch failed, by cause.

use std::net::IpAddr;
use thiserror::Error;

/// Longest text of somebody else's that a message repeats.
const MAX_TEXT: usize = 160;

/// Why a fetch failed. Messages never carry control characters from the network.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FetchError {
    /// The URL cannot be requested.
    #[error("the URL cannot be requested: {0}")]
    Url(&'static str),
    /// The name could not be resolved.
    #[error("name not resolved: {0}")]
    Dns(DnsFault),
    /// The address is not public, and the configuration does not allow it.
    #[error("address refused: {0} is not public")]
    AddressRefused(IpAddr),
    /// The name is one of a private network, and the configuration allows none; only a proxy could resolve it.
    #[error("name refused: it belongs to a private network")]
    NameRefused,
    /// No connection.
    #[error("not connected: {0}")]
    Connect(ConnectFault),
    /// No secure connection.
    #[error("TLS failed: {0}")]
    Tls(Box<str>),
    /// Something took too long.
    #[error("timed out: {0}")]
    Timeout(TimeoutStage),
    /// What came is not HTTP.
    #[error("not HTTP: {0}")]
    Protocol(Box<str>),
    /// The response's head is longer, or has more fields, than allowed.
    #[error("response head too large")]
    HeadersTooLarge,
    /// The connection ended before a response, or before a byte of its body.
    #[error("disconnected")]
    Disconnected,
    /// The proxy could not be had, or does not do what is asked.
    #[error("proxy: {0}")]
    Proxy(Box<str>),
    /// Whoever asked wanted the connection for something better.
    #[error("given up: too slow while others waited")]
    GivenUp,
    /// The gate did not let the request pass: nothing of it was sent.
    #[error("no request may be sent to this server now")]
    Barred,
}

/// What went wrong while resolving a name.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum DnsFault {
    /// The name does not exist, or has no address.
    #[error("no such name")]
    NotFound,
    /// No server answered in time.
    #[error("no answer in time")]
    Timeout,
    /// The name cannot be one.
    #[error("not a name")]
    Malformed,
    /// The servers answered with a failure, or there are none.
    #[error("the servers failed")]
    Failed,
}

/// What went wrong while connecting.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum ConnectFault {
    /// Nobody listens.
    #[error("refused")]
    Refused,
    /// No way to the host or its network.
    #[error("unreachable")]
    Unreachable,
    /// Anything else, such as no free descriptor here.
    #[error("{0}")]
    Other(std::io::ErrorKind),
}

/// The stage that took too long.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum TimeoutStage {
    /// TCP or TLS handshake.
    #[error("connecting")]
    Connect,
    /// Waiting for the first byte.
    #[error("waiting for the first byte")]
    FirstByte,
    /// The whole response.
    #[error("receiving the response")]
    Body,
    /// Slower than the least speed.
    #[error("slower than the least speed")]
    Drip,
}

impl FetchError {
    /// A short label that never changes its meaning, to count by.
    pub fn cause(&self) -> &'static str {
        self.label().1
    }

    /// The same as a number, to store.
    pub fn code(&self) -> u8 {
        self.label().0
    }

    fn label(&self) -> (u8, &'static str) {
        match self {
            Self::Url(_) => (1, "url"),
            Self::Dns(DnsFault::NotFound) => (10, "dns-not-found"),
            Self::Dns(DnsFault::Timeout) => (11, "dns-timeout"),
            Self::Dns(DnsFault::Malformed) => (12, "dns-malformed"),
            Self::Dns(DnsFault::Failed) => (13, "dns-failed"),
            Self::AddressRefused(_) => (20, "address-refused"),
            Self::NameRefused => (21, "name-refused"),
            Self::Connect(ConnectFault::Refused) => (30, "connect-refused"),
            Self::Connect(ConnectFault::Unreachable) => (31, "connect-unreachable"),
            Self::Connect(ConnectFault::Other(_)) => (32, "connect-other"),
            Self::Tls(_) => (40, "tls"),
            Self::Timeout(TimeoutStage::Connect) => (50, "timeout-connect"),
            Self::Timeout(TimeoutStage::FirstByte) => (51, "timeout-first-byte"),
            Self::Timeout(TimeoutStage::Body) => (52, "timeout-body"),
            Self::Timeout(TimeoutStage::Drip) => (53, "timeout-drip"),
            Self::Protocol(_) => (60, "protocol"),
            Self::HeadersTooLarge => (61, "headers-too-large"),
            Self::Disconnected => (62, "disconnected"),
            Self::GivenUp => (63, "given-up"),
            Self::Proxy(_) => (64, "proxy"),
            Self::Barred => (65, "barred"),
        }
    }

    pub(crate) fn protocol(text: impl AsRef<str>) -> Self {
        Self::Protocol(printable(text.as_ref()))
    }

    pub(crate) fn proxy(text: impl AsRef<str>) -> Self {
        Self::Proxy(printable(text.as_ref()))
    }

    pub(crate) fn tls(text: impl AsRef<str>) -> Self {
        Self::Tls(printable(text.as_ref()))
    }
}

/// `text` cut short, with only printable ASCII left as it was: safe on any terminal.
fn printable(text: &str) -> Box<str> {
    text.chars()
        .take(MAX_TEXT)
        .map(|c| {
            if c.is_ascii_graphic() || c == ' ' {
                c
            } else {
                '?'
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::net::Ipv4Addr;

    #[test]
    fn each_cause_has_its_own_label_and_code() {
        let all = [
            FetchError::Url("x"),
            FetchError::Dns(DnsFault::NotFound),
            FetchError::Dns(DnsFault::Timeout),
            FetchError::Dns(DnsFault::Malformed),
            FetchError::Dns(DnsFault::Failed),
            FetchError::AddressRefused(Ipv4Addr::LOCALHOST.into()),
            FetchError::Connect(ConnectFault::Refused),
            FetchError::Connect(ConnectFault::Unreachable),
            FetchError::Connect(ConnectFault::Other(std::io::ErrorKind::Other)),
            FetchError::tls("x"),
            FetchError::Timeout(TimeoutStage::Connect),
            FetchError::Timeout(TimeoutStage::FirstByte),
            FetchError::Timeout(TimeoutStage::Body),
            FetchError::Timeout(TimeoutStage::Drip),
            FetchError::protocol("x"),
            FetchError::HeadersTooLarge,
            FetchError::Disconnected,
            FetchError::GivenUp,
            FetchError::NameRefused,
            FetchError::proxy("x"),
            FetchError::Barred,
        ];
        let codes: HashSet<u8> = all.iter().map(FetchError::code).collect();
        let causes: HashSet<&str> = all.iter().map(FetchError::cause).collect();
        assert_eq!(codes.len(), all.len());
        assert_eq!(causes.len(), all.len());
    }

    #[test]
    fn messages_are_printable_and_short() {
        let text = "a\u{1b}[31m\0\r\n\u{202e}é".repeat(200);
        let shown = FetchError::protocol(text).to_string();
        assert!(shown.chars().all(|c| c.is_ascii_graphic() || c == ' '));
        assert!(shown.len() < MAX_TEXT + 40);
    }
}
