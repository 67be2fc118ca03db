//! Packets out, answers in.
#![doc = include_str!("wire/README.md")]

mod echo;
mod socket;

use nix::errno::Errno;
use nix::poll::{PollFd, PollTimeout, poll};
use serde::Serialize;
use socket::{Heard, Socket};
use std::fmt;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// What kind of packet asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// ICMP echo.
    Icmp,
    /// A datagram to a port where nobody listens.
    Udp,
    /// An attempt to connect.
    Tcp,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Icmp, Self::Udp, Self::Tcp];

    /// As it stands in arguments and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Icmp => "icmp",
            Self::Udp => "udp",
            Self::Tcp => "tcp",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Method {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|method| method.name() == text);
        found.ok_or_else(|| format!("'{text}' is not a method: expected icmp, udp or tcp"))
    }
}

/// What to send.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// To whom.
    pub target: IpAddr,
    /// How.
    pub method: Method,
    /// The port of TCP and UDP.
    pub port: u16,
    /// After how many routers to give up; the system's own limit when absent.
    pub hop_limit: Option<u8>,
}

/// Who answered, and as what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The target itself.
    Reached,
    /// A router at which the hop limit ended.
    Passed(IpAddr),
    /// Someone who says that the target cannot be reached.
    Refused(IpAddr),
}

/// An answer and the time it took.
#[derive(Clone, Copy, Debug)]
pub struct Reply {
    /// Who answered.
    pub answer: Answer,
    /// From sending to hearing.
    pub after: Duration,
}

/// Why nothing could be sent.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system does not let us.
    #[error(
        "the system allows no ICMP sockets: run as root, let net.ipv4.ping_group_range include your \
         group, or use udp or tcp"
    )]
    NotAllowed,
    /// No way out of this machine to the target.
    #[error("no route to {0}: {1}")]
    NoRoute(IpAddr, Errno),
    /// Anything else that the system refuses.
    #[error("cannot send to {0}: {1}")]
    System(IpAddr, Errno),
}

/// A packet on its way.
pub struct Sent {
    socket: Socket,
    at: Instant,
}

impl Packet {
    /// Sends it.
    pub fn send(&self) -> Result<Sent, Error> {
        let socket = Socket::open(self).map_err(|errno| match errno {
            Errno::EACCES | Errno::EPERM if self.method == Method::Icmp => Error::NotAllowed,
            Errno::ENETUNREACH | Errno::EHOSTUNREACH | Errno::EADDRNOTAVAIL => {
                Error::NoRoute(self.target, errno)
            }
            _ => Error::System(self.target, errno),
        })?;
        let at = Instant::now();
        socket
            .launch()
            .map_err(|errno| Error::System(self.target, errno))?;
        Ok(Sent { socket, at })
    }
}

impl Sent {
    /// Waits for the answer until the time is over.
    pub fn wait(&self, until: Instant) -> Option<Reply> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            let mut descriptor = [PollFd::new(self.socket.as_fd(), self.socket.events())];
            // rounded up, or the last millisecond would be spent spinning
            let timeout = PollTimeout::try_from(left.as_millis() as u64 + 1);
            let Ok(1..) = poll(&mut descriptor, timeout.unwrap_or(PollTimeout::MAX)) else {
                continue;
            };
            let after = self.at.elapsed();
            match self.socket.read() {
                Heard::Answer(answer) => return Some(Reply { answer, after }),
                Heard::Nothing => {}
                Heard::Dead => return None,
            }
        }
    }
}
