//! The routers on the way to a target.

use super::ask;
use crate::pace::Pace;
use crate::sampling::median;
use crate::wire::{Answer, Error, Method, Packet};
use std::net::IpAddr;
use std::time::Duration;

/// Silent hops in a row after which nothing more is to be expected.
const MOST_SILENT: usize = 5;

/// How to find a route.
#[derive(Clone, Copy, Debug)]
pub struct Tracing {
    /// What to send.
    pub method: Method,
    /// Packets for each hop.
    pub attempts: usize,
    /// How long an answer may take.
    pub timeout: Duration,
    /// The port of TCP and UDP.
    pub port: u16,
    /// Where to give up.
    pub most_hops: u8,
}

impl Tracing {
    /// The usual values for a method.
    pub fn by(method: Method) -> Self {
        Self {
            method,
            attempts: 3,
            timeout: Duration::from_secs(1),
            // 33434 is where traceroute has always knocked, and nobody listens
            port: if method == Method::Tcp { 80 } else { 33434 },
            most_hops: 30,
        }
    }
}

/// A router, or the target, at its place in the route.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hop {
    /// Its place, from 1 on.
    pub limit: u8,
    /// Who it is; absent when silent.
    pub address: Option<IpAddr>,
    /// The median of its answers in milliseconds.
    pub rtt_ms: Option<f64>,
}

/// The way to a target.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// Whose way.
    pub target: IpAddr,
    /// What was sent.
    pub method: Method,
    /// Whether the target answered.
    pub reached: bool,
    /// In order.
    pub hops: Vec<Hop>,
}

/// Finds the route to a target. None when told to stop before its end.
pub fn trace(target: IpAddr, how: &Tracing, pace: &Pace) -> Result<Option<Route>, Error> {
    let mut route = Route {
        target,
        method: how.method,
        reached: false,
        hops: Vec::new(),
    };
    for limit in 1..=how.most_hops {
        let packet = Packet {
            target,
            method: how.method,
            port: how.port,
            hop_limit: Some(limit),
        };
        let mut answers = Vec::with_capacity(how.attempts);
        for _ in 0..how.attempts {
            if !pace.turn() {
                return Ok(None);
            }
            answers.extend(ask(&packet, how.timeout)?);
        }
        route.hops.push(hop(limit, target, &answers));
        let is_end = |(answer, _): &(Answer, f64)| !matches!(answer, Answer::Passed(_));
        route.reached = answers.iter().any(|(answer, _)| *answer == Answer::Reached);
        let silent = route.hops.iter().rev().take_while(|h| h.address.is_none());
        if answers.iter().any(is_end) || silent.count() == MOST_SILENT {
            break;
        }
    }
    // silence at the end says nothing about routers
    while route.hops.last().is_some_and(|hop| hop.address.is_none()) {
        route.hops.pop();
    }
    Ok(Some(route))
}

/// The one who answered most often, the earliest among equals.
fn hop(limit: u8, target: IpAddr, answers: &[(Answer, f64)]) -> Hop {
    let sender = |answer: &Answer| match answer {
        Answer::Reached => target,
        Answer::Passed(from) | Answer::Refused(from) => *from,
    };
    let votes = |address| answers.iter().filter(|(a, _)| sender(a) == address).count();
    let senders = answers.iter().map(|(answer, _)| sender(answer));
    let address = senders.rev().max_by_key(|&address| votes(address));
    let own = answers.iter().filter(|(a, _)| Some(sender(a)) == address);
    let times: Vec<f64> = own.map(|(_, ms)| *ms).collect();
    Hop {
        limit,
        address,
        rtt_ms: median(&times),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_router_with_most_answers_is_kept_with_its_own_times() {
        let target = IpAddr::from([192, 0, 2, 9]);
        let [a, b] = [1, 2].map(|last| IpAddr::from([192, 0, 2, last]));
        let passed = |from, ms| (Answer::Passed(from), ms);
        let found = hop(3, target, &[passed(a, 9.0), passed(b, 2.0), passed(b, 4.0)]);
        assert_eq!((found.address, found.rtt_ms), (Some(b), Some(3.0)));
        let tie = hop(3, target, &[passed(a, 9.0), passed(b, 2.0)]);
        assert_eq!(tie.address, Some(a));
        let silent = hop(3, target, &[]);
        assert_eq!((silent.address, silent.rtt_ms), (None, None));
        let end = hop(3, target, &[(Answer::Reached, 5.0)]);
        assert_eq!(end.address, Some(target));
    }
}
