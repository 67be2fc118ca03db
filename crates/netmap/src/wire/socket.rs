//! The socket of one packet: opened, launched, read. The errors that ICMP brings are in its error
//! queue.

use super::echo::{self, Mark};
use super::{Answer, Method, Packet};
use nix::cmsg_space;
use nix::errno::Errno;
use nix::libc;
use nix::poll::PollFlags;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockProtocol, SockType,
    SockaddrStorage, connect, getsockopt, recvmsg, send, setsockopt, socket, sockopt,
};
use std::io::IoSliceMut;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

/// Numbers the echoes of this process.
static COUNTER: AtomicU32 = AtomicU32::new(0);

pub struct Socket {
    descriptor: OwnedFd,
    target: IpAddr,
    method: Method,
    port: u16,
    mark: Mark,
    raw: bool,
}

/// What a socket has heard.
pub enum Heard {
    /// The answer.
    Answer(Answer),
    /// Nothing for us; it may still come.
    Nothing,
    /// The system has given up.
    Dead,
}

impl Socket {
    /// A socket that can reach the target; nothing is sent yet.
    pub fn open(packet: &Packet) -> Result<Self, Errno> {
        let (descriptor, raw) = create(packet)?;
        match packet.target {
            IpAddr::V4(_) => setsockopt(&descriptor, sockopt::Ipv4RecvErr, &true)?,
            IpAddr::V6(_) => setsockopt(&descriptor, sockopt::Ipv6RecvErr, &true)?,
        }
        if let Some(limit) = packet.hop_limit {
            let limit = libc::c_int::from(limit);
            match packet.target {
                IpAddr::V4(_) => setsockopt(&descriptor, sockopt::Ipv4Ttl, &limit)?,
                IpAddr::V6(_) => setsockopt(&descriptor, sockopt::Ipv6Ttl, &limit)?,
            }
        }
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let socket = Self {
            descriptor,
            target: packet.target,
            method: packet.method,
            port: packet.port,
            mark: Mark {
                // the process, so that two of them do not take each other's answers
                identifier: (std::process::id() ^ (count >> 16)) as u16,
                number: count as u16,
            },
            raw,
        };
        if packet.method != Method::Tcp {
            connect(socket.descriptor.as_raw_fd(), &socket.address())?;
        }
        Ok(socket)
    }

    fn address(&self) -> SockaddrStorage {
        // a port means nothing to a raw socket, and IPv6 refuses it
        let port = if self.method == Method::Icmp {
            0
        } else {
            self.port
        };
        SocketAddr::new(self.target, port).into()
    }

    /// Sends the packet.
    pub fn launch(&self) -> Result<(), Errno> {
        let descriptor = self.descriptor.as_raw_fd();
        let none = MsgFlags::empty();
        let outcome = match self.method {
            Method::Icmp => {
                send(descriptor, &echo::request(self.target, self.mark), none).map(drop)
            }
            Method::Udp => send(descriptor, &[0; 32], none).map(drop),
            Method::Tcp => connect(descriptor, &self.address()),
        };
        match outcome {
            // the answer, even a refusal that came at once, is read like any other
            Err(Errno::EINPROGRESS | Errno::ECONNREFUSED) => Ok(()),
            outcome => outcome,
        }
    }

    /// What to wait for.
    pub fn events(&self) -> PollFlags {
        match self.method {
            // errors are always reported
            Method::Tcp => PollFlags::POLLOUT,
            Method::Icmp | Method::Udp => PollFlags::POLLIN,
        }
    }

    /// What has come.
    pub fn read(&self) -> Heard {
        if let Some(answer) = self.read_error() {
            return Heard::Answer(answer);
        }
        match self.method {
            Method::Tcp => self.read_connection(),
            Method::Icmp | Method::Udp => self.read_data().map_or(Heard::Nothing, Heard::Answer),
        }
    }

    fn read_connection(&self) -> Heard {
        match getsockopt(&self.descriptor, sockopt::SocketError).map(Errno::from_raw) {
            // a closed port answers too
            Ok(Errno::UnknownErrno | Errno::ECONNREFUSED | Errno::ECONNRESET) => {
                Heard::Answer(Answer::Reached)
            }
            _ => Heard::Dead,
        }
    }

    fn read_data(&self) -> Option<Answer> {
        let mut bytes = [0; 2048];
        let length = nix::sys::socket::recv(
            self.descriptor.as_raw_fd(),
            &mut bytes,
            MsgFlags::MSG_DONTWAIT,
        );
        let bytes = &bytes[..length.ok()?];
        let ours =
            self.method == Method::Udp || echo::is_reply(bytes, self.target, self.mark, self.raw);
        ours.then_some(Answer::Reached)
    }

    fn read_error(&self) -> Option<Answer> {
        let mut bytes = [0; 2048];
        let mut slices = [IoSliceMut::new(&mut bytes)];
        let mut space = cmsg_space!(libc::sock_extended_err, libc::sockaddr_in6);
        let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
        let descriptor = self.descriptor.as_raw_fd();
        let (length, answer) = {
            let message =
                recvmsg::<SockaddrStorage>(descriptor, &mut slices, Some(&mut space), flags)
                    .ok()?;
            let answer = message.cmsgs().ok()?.find_map(|control| match control {
                ControlMessageOwned::Ipv4RecvErr(error, Some(from)) => {
                    let from = Ipv4Addr::from(from.sin_addr.s_addr.to_ne_bytes());
                    self.judge(&error, from.into())
                }
                ControlMessageOwned::Ipv6RecvErr(error, Some(from)) => {
                    let from = Ipv6Addr::from(from.sin6_addr.s6_addr);
                    self.judge(&error, from.into())
                }
                _ => None,
            });
            (message.bytes, answer)
        };
        let quoted = &bytes[..length.min(bytes.len())];
        let ours = self.method != Method::Icmp
            || echo::is_quoted(quoted, self.target, self.mark, self.raw);
        answer.filter(|_| ours)
    }

    fn judge(&self, error: &libc::sock_extended_err, from: IpAddr) -> Option<Answer> {
        // RFC 792 and RFC 4443
        const TIME_EXCEEDED: (u8, u8) = (11, 3);
        const UNREACHABLE: (u8, u8) = (3, 1);
        let (exceeded, unreachable) = match error.ee_origin {
            libc::SO_EE_ORIGIN_ICMP => (TIME_EXCEEDED.0, UNREACHABLE.0),
            libc::SO_EE_ORIGIN_ICMP6 => (TIME_EXCEEDED.1, UNREACHABLE.1),
            _ => return None,
        };
        if error.ee_type == exceeded {
            Some(Answer::Passed(from))
        } else if error.ee_type == unreachable {
            // whatever the host itself refuses, a port or all strangers, it has answered
            Some(if from == self.target {
                Answer::Reached
            } else {
                Answer::Refused(from)
            })
        } else {
            None
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

fn create(packet: &Packet) -> Result<(OwnedFd, bool), Errno> {
    let (family, icmp) = match packet.target {
        IpAddr::V4(_) => (AddressFamily::Inet, SockProtocol::Icmp),
        IpAddr::V6(_) => (AddressFamily::Inet6, SockProtocol::IcmpV6),
    };
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let open = |kind, protocol| socket(family, kind, flags, protocol);
    match packet.method {
        Method::Tcp => Ok((open(SockType::Stream, None)?, false)),
        Method::Udp => Ok((open(SockType::Datagram, None)?, false)),
        Method::Icmp => match open(SockType::Datagram, Some(icmp)) {
            Ok(descriptor) => Ok((descriptor, false)),
            Err(_) => Ok((open(SockType::Raw, Some(icmp))?, true)),
        },
    }
}
