//! What a robot measures for partitioners: how far servers are, and, at a low rate, the ways to them.

use super::gauge::{Gauge, Limits, Running};
use anyhow::Result;
use fleet::trace::Trace;
use netmap::pace::Pace;
use netmap::probe::{Probing, Tracing, probe, trace};
use netmap::wire::{Error, Method};
use robot::config::Config;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Seven packets each.
const PROBES: Limits = Limits {
    at_once: 8,
    every: Duration::ZERO,
    lasts: Duration::from_hours(24),
    known: 100_000,
};
/// One at a time; ways change less than times.
const TRACES: Limits = Limits {
    at_once: 1,
    every: Duration::ZERO,
    lasts: Duration::from_hours(7 * 24),
    known: 10_000,
};

/// Both, and what others may be told of.
#[derive(Clone)]
pub struct Prober {
    /// Microseconds to a server and back; nothing if it does not answer.
    pub distances: Gauge<Option<u32>>,
    /// The way to a server; without routers if there is nothing to find.
    pub traces: Gauge<Trace>,
    public: Arc<dyn Fn(IpAddr) -> bool + Send + Sync>,
}

/// Ends both.
pub struct Probed {
    _distances: Running<Option<u32>>,
    _traces: Running<Trace>,
}

impl Prober {
    /// Finds no more ways than so many a minute.
    pub fn start(config: &Config, traces_per_minute: f64) -> Result<(Self, Probed)> {
        let may = robot::may_probe(config)?;
        let (distances, probing) = Gauge::start(PROBES, move |server, pace| {
            let measured = allowed(&may, server).then(|| distance(server, pace));
            measured.flatten().map(Some)
        })?;
        let may = robot::may_probe(config)?;
        let public = Arc::new(robot::may_contact(config)?);
        let (of, without_icmp) = (public.clone(), AtomicBool::new(false));
        let limits = Limits {
            every: Duration::from_secs_f64(60.0 / traces_per_minute.clamp(1e-3, 6e3)),
            ..TRACES
        };
        let (traces, tracing) = Gauge::start(limits, move |server, pace| {
            let found = allowed(&may, server).then(|| way(server, pace, &without_icmp));
            let mut found = found.flatten()?;
            found.tidy(&*of);
            Some(found).filter(|found| !found.hops.is_empty() || found.end.is_some())
        })?;
        let prober = Self {
            distances,
            traces,
            public,
        };
        let running = Probed {
            _distances: probing,
            _traces: tracing,
        };
        Ok((prober, running))
    }

    /// Whether others may be told of an address, and believed.
    pub fn is_public(&self, address: IpAddr) -> bool {
        (self.public)(address)
    }
}

fn allowed(may: &impl Fn(IpAddr) -> bool, server: IpAddr) -> bool {
    let may = may(server);
    if !may {
        tracing::debug!(%server, "not measured: it may not be contacted");
    }
    may
}

fn micros(ms: f64) -> u32 {
    (1e3 * ms) as u32
}

fn distance(server: IpAddr, pace: &Pace) -> Option<u32> {
    let measured = probe(server, &Probing::default(), pace)
        .inspect_err(|error| tracing::debug!(%server, %error, "not probed"));
    Some(micros(measured.ok()??.median_ms()?))
}

/// By ICMP, or by UDP where the system does not allow that, which is said once.
fn way(server: IpAddr, pace: &Pace, without_icmp: &AtomicBool) -> Option<Trace> {
    let by = |method| trace(server, &Tracing::by(method), pace);
    let found = if without_icmp.load(Ordering::Relaxed) {
        by(Method::Udp)
    } else {
        by(Method::Icmp).or_else(|error| match error {
            Error::NotAllowed => {
                without_icmp.store(true, Ordering::Relaxed);
                tracing::warn!("routes are traced by UDP, which fewer servers answer: {error}");
                by(Method::Udp)
            }
            other => Err(other),
        })
    };
    let found = found.inspect_err(|error| tracing::debug!(%server, %error, "not traced"));
    let route = found.ok()??;
    let hops = route
        .hops
        .iter()
        .filter_map(|hop| Some((hop.address?, micros(hop.rtt_ms?))));
    let mut hops: Vec<(IpAddr, u32)> = hops.collect();
    let end = hops.pop_if(|(address, _)| *address == server);
    Some(Trace {
        hops,
        end: end.map(|(_, micros)| micros),
    })
}

#[cfg(test)]
mod tests {
    use super::super::gauge::PER_SECOND;
    use super::*;
    use std::time::Instant;

    #[test]
    fn what_may_be_contacted_is_measured_and_nothing_else() {
        let mut config = Config::default();
        config.fetch.allow_networks = vec!["127.0.0.0/16".into()];
        let (prober, running) = Prober::start(&config, 600.0).unwrap();
        let here: IpAddr = [127, 0, 0, 1].into();
        let private: IpAddr = [10, 99, 99, 99].into();
        let both = [here, private];
        let began = Instant::now();
        let (known, ways) = loop {
            let (known, ways) = (prober.distances.of(&both), prober.traces.of(&both));
            if known.len() + ways.len() == 4 {
                break (known, ways);
            }
            assert!(began.elapsed() < Duration::from_mins(1), "{known:?}");
            std::thread::sleep(Duration::from_millis(50));
        };
        assert!(
            known[0].1.is_some_and(|micros| micros < 1_000_000),
            "{known:?}"
        );
        assert_eq!(known[1], (private, None));
        assert!(
            ways[0].1.hops.is_empty() && ways[0].1.end.is_some(),
            "{ways:?}"
        );
        assert_eq!(ways[1], (private, Trace::default()));
        // seven packets to the one, none to the other
        let tally = prober.distances.tally();
        assert_eq!((tally.measured, tally.failed), (1, 1));
        assert!(began.elapsed() >= Duration::from_secs_f64(6.0 / PER_SECOND));
        assert!(prober.is_public(here) && !prober.is_public(private));
        drop(running);
    }
}
