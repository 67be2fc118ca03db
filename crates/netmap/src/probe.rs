//! Round-trip times, measured.
#![doc = include_str!("probe/README.md")]

mod route;

pub use route::{Hop, Route, Tracing, trace};

use crate::pace::Pace;
use crate::sampling::{self, median};
use crate::wire::{Answer, Error, Method, Packet};
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Unanswered echoes after which TCP is tried instead.
const PATIENCE: usize = 2;

/// How to measure an RTT.
#[derive(Clone, Copy, Debug)]
pub struct Probing {
    /// One method only; absent: ICMP, then TCP.
    pub method: Option<Method>,
    /// Packets.
    pub count: usize,
    /// How long an answer may take.
    pub timeout: Duration,
    /// The port of TCP and UDP.
    pub port: u16,
}

impl Default for Probing {
    fn default() -> Self {
        Self {
            method: None,
            count: sampling::PROBES,
            timeout: Duration::from_secs(2),
            port: 80,
        }
    }
}

/// What probing found.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Which packets were sent in the end.
    pub method: Method,
    /// Milliseconds until each answer; none where there was none.
    pub samples: Vec<Option<f64>>,
}

impl Measured {
    /// The samples that were answered.
    pub fn answered(&self) -> Vec<f64> {
        self.samples.iter().copied().flatten().collect()
    }

    /// The figure that is kept.
    pub fn median_ms(&self) -> Option<f64> {
        median(&self.answered())
    }
}

/// Measures the RTT of a target. None when told to stop before the last sample: the median of a few
/// is not that of all.
pub fn probe(target: IpAddr, how: &Probing, pace: &Pace) -> Result<Option<Measured>, Error> {
    match how.method {
        Some(method) => series(target, method, how, how.count, pace),
        None => match series(target, Method::Icmp, how, PATIENCE, pace) {
            Err(Error::NotAllowed) => series(target, Method::Tcp, how, usize::MAX, pace),
            Ok(Some(found)) if found.median_ms().is_none() => {
                series(target, Method::Tcp, how, usize::MAX, pace)
            }
            outcome => outcome,
        },
    }
}

/// Packets one after another; given up when the first `patience` of them have no answer.
fn series(
    target: IpAddr,
    method: Method,
    how: &Probing,
    patience: usize,
    pace: &Pace,
) -> Result<Option<Measured>, Error> {
    let packet = Packet {
        target,
        method,
        port: how.port,
        hop_limit: None,
    };
    let mut samples = Vec::with_capacity(how.count);
    while samples.len() < how.count {
        if samples.len() == patience && samples.iter().all(Option::is_none) {
            break;
        }
        if !pace.turn() {
            return Ok(None);
        }
        let reply = ask(&packet, how.timeout)?;
        let reached = reply.filter(|(answer, _)| *answer == Answer::Reached);
        samples.push(reached.map(|(_, ms)| ms));
    }
    Ok(Some(Measured { method, samples }))
}

/// Sends a packet and waits for its answer, in milliseconds.
fn ask(packet: &Packet, timeout: Duration) -> Result<Option<(Answer, f64)>, Error> {
    let reply = packet.send()?.wait(Instant::now() + timeout);
    Ok(reply.map(|reply| (reply.answer, 1e3 * reply.after.as_secs_f64())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
    use std::sync::atomic::AtomicBool;

    fn measure(target: IpAddr, method: Method, port: u16) -> Option<Measured> {
        let stop = AtomicBool::new(false);
        let pace = Pace::new(1000.0, &stop);
        let how = Probing {
            method: Some(method),
            port,
            count: 3,
            ..Probing::default()
        };
        match probe(target, &how, &pace) {
            Ok(found) => found,
            Err(error) => {
                eprintln!("skipped: {error}");
                None
            }
        }
    }

    #[test]
    fn this_machine_answers_every_method() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let open = listener.local_addr().unwrap().port();
        let closed = {
            let gone = TcpListener::bind("127.0.0.1:0").unwrap();
            gone.local_addr().unwrap().port()
        };
        let here = IpAddr::from(Ipv4Addr::LOCALHOST);
        for (method, port) in [
            (Method::Tcp, open),
            (Method::Tcp, closed),
            (Method::Udp, closed),
            (Method::Icmp, 0),
        ] {
            let Some(found) = measure(here, method, port) else {
                assert_eq!(method, Method::Icmp, "only ICMP may be forbidden");
                continue;
            };
            assert_eq!(found.answered().len(), 3, "{method} {port}");
            assert!(found.median_ms().unwrap() < 1000.0);
        }
        for method in Method::ALL {
            if let Some(found) = measure(Ipv6Addr::LOCALHOST.into(), method, closed) {
                assert_eq!(found.answered().len(), 3, "{method} over IPv6");
            }
        }
    }
}
