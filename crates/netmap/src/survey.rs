//! Many targets, politely: at the pace of the survey, none twice within a given time, every result
//! kept at once, so that a survey that was interrupted goes on where it was.

use crate::pace::Pace;
use crate::probe::{self, Measured, Probing, Route, Tracing};
use crate::store::{self, Kind, Store};
use ground::is_public;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// What to do with each target.
#[derive(Clone, Copy, Debug)]
pub enum Task {
    /// Measure its RTT.
    Probe(Probing),
    /// Find the way to it.
    Trace(Tracing),
}

/// Addresses of which family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Whatever the system prefers.
    Any,
    /// IPv4 only.
    V4,
    /// IPv6 only.
    V6,
}

/// How to go about it.
pub struct Survey<'a> {
    /// Where results are kept.
    pub store: &'a Mutex<Store>,
    /// Who measures, as the store knows it.
    pub source: i64,
    /// What to do.
    pub task: Task,
    /// How fast packets leave.
    pub pace: &'a Pace<'a>,
    /// For how many seconds a target is left alone.
    pub again_after: f64,
    /// Targets to probe at the same time.
    pub parallel: usize,
    /// Whether addresses that are not public may be contacted.
    pub allow_private: bool,
    /// Which addresses of a name.
    pub family: Family,
}

/// What came of a target.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Its RTT.
    Measured(Measured),
    /// The way to it.
    Traced(Route),
    /// It was asked not long ago.
    LeftAlone,
    /// Its name has no address.
    Unknown,
    /// It is not on the public Internet.
    NotPublic,
    /// Nothing could be sent.
    Failed(String),
}

impl Survey<'_> {
    /// Goes through the targets, names or addresses; `each` hears of every one, from any thread.
    pub fn run(
        &self,
        targets: &[String],
        each: impl Fn(usize, Option<IpAddr>, Outcome) + Sync,
    ) -> Result<(), store::Error> {
        let next = AtomicUsize::new(0);
        let failure = Mutex::new(None);
        let work = || {
            while !self.pace.is_over() {
                let k = next.fetch_add(1, Ordering::Relaxed);
                let Some(target) = targets.get(k) else { break };
                match self.one(target) {
                    Ok(Some((address, outcome))) => each(k, address, outcome),
                    Ok(None) => break,
                    Err(error) => {
                        // without a store nothing may be sent, as nothing would be remembered
                        next.store(targets.len(), Ordering::Relaxed);
                        *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..self.parallel.clamp(1, targets.len().max(1)) {
                scope.spawn(work);
            }
        });
        let failure = failure.into_inner();
        match failure.unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// None when told to stop before its end: then it is as if it had not been asked.
    fn one(&self, target: &str) -> Result<Option<(Option<IpAddr>, Outcome)>, store::Error> {
        let Some(address) = resolve(target, self.family) else {
            return Ok(Some((None, Outcome::Unknown)));
        };
        if !self.allow_private && !is_public(address) {
            return Ok(Some((Some(address), Outcome::NotPublic)));
        }
        let kind = match self.task {
            Task::Probe(_) => Kind::Probe,
            Task::Trace(_) => Kind::Trace,
        };
        let at = now();
        let store = || self.store.lock().unwrap_or_else(PoisonError::into_inner);
        store().target(target, address)?;
        if !store().claim(kind, self.source, address, at, self.again_after)? {
            return Ok(Some((Some(address), Outcome::LeftAlone)));
        }
        let nothing = || {
            store().release(kind, self.source, address)?;
            Ok(None)
        };
        let outcome = match &self.task {
            Task::Probe(how) => match probe::probe(address, how, self.pace) {
                Ok(Some(found)) => {
                    store().keep_rtt(self.source, address, at, &found)?;
                    Outcome::Measured(found)
                }
                Ok(None) => return nothing(),
                Err(error) => Outcome::Failed(error.to_string()),
            },
            Task::Trace(how) => match probe::trace(address, how, self.pace) {
                Ok(Some(found)) => {
                    store().keep_route(self.source, at, &found)?;
                    Outcome::Traced(found)
                }
                Ok(None) => return nothing(),
                Err(error) => Outcome::Failed(error.to_string()),
            },
        };
        Ok(Some((Some(address), outcome)))
    }
}

/// Seconds since 1970.
pub fn now() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
}

fn resolve(target: &str, family: Family) -> Option<IpAddr> {
    let fits = |address: &IpAddr| match family {
        Family::Any => true,
        Family::V4 => address.is_ipv4(),
        Family::V6 => address.is_ipv6(),
    };
    if let Ok(address) = target.parse::<IpAddr>() {
        return Some(address).filter(fits);
    }
    let found = (target, 0).to_socket_addrs().ok()?;
    found.map(|address| address.ip()).find(fits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Method;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn targets_are_probed_once_and_private_ones_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("map.db")).unwrap();
        let source = store.source("here", None).unwrap();
        store
            .claim(Kind::Probe, source, [127, 0, 0, 9].into(), now(), 1.0)
            .unwrap();
        let store = Mutex::new(store);
        let stop = AtomicBool::new(false);
        let pace = Pace::new(1000.0, &stop);
        let mut survey = Survey {
            store: &store,
            source,
            task: Task::Probe(Probing {
                // closed, most likely; open would do too
                port: 9,
                method: Some(Method::Tcp),
                count: 2,
                ..Probing::default()
            }),
            pace: &pace,
            again_after: 3600.0,
            parallel: 3,
            allow_private: false,
            family: Family::Any,
        };
        let targets = [
            "127.0.0.1",
            "127.0.0.2",
            "127.0.0.1",
            "127.0.0.9",
            "no.such.invalid",
        ];
        let targets = targets.map(str::to_owned);
        let run = |survey: &Survey| {
            let found = Mutex::new(Vec::new());
            survey
                .run(&targets, |k, _, outcome| {
                    found.lock().unwrap().push((k, outcome));
                })
                .unwrap();
            let mut found = found.into_inner().unwrap();
            found.sort_by_key(|(k, _)| *k);
            found
        };
        let refused = run(&survey);
        assert_eq!(refused.len(), 5);
        assert!(refused[..4].iter().all(|(_, o)| *o == Outcome::NotPublic));
        assert_eq!(refused[4].1, Outcome::Unknown);
        survey.allow_private = true;
        let first = run(&survey);
        let measured = first
            .iter()
            .filter(|(_, o)| matches!(o, Outcome::Measured(_)));
        assert_eq!(measured.count(), 2, "the same address only once: {first:?}");
        assert_eq!(first[3].1, Outcome::LeftAlone, "claimed before");
        let second = run(&survey);
        assert!(second[..4].iter().all(|(_, o)| *o == Outcome::LeftAlone));
        assert_eq!(store.lock().unwrap().measurements(0.0).unwrap().len(), 2);
        stop.store(true, Ordering::Relaxed);
        assert!(run(&survey).is_empty());
    }

    #[test]
    fn what_was_interrupted_is_not_kept_and_may_be_asked_again() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("map.db")).unwrap();
        let source = store.source("here", None).unwrap();
        let store = Mutex::new(store);
        let stop = AtomicBool::new(false);
        // the first of many packets leaves at once, the second after seconds
        let pace = Pace::new(0.2, &stop);
        let survey = |pace| Survey {
            store: &store,
            source,
            task: Task::Probe(Probing {
                port: 9,
                method: Some(Method::Tcp),
                count: 2,
                ..Probing::default()
            }),
            pace,
            again_after: 3600.0,
            parallel: 1,
            allow_private: true,
            family: Family::Any,
        };
        let heard = AtomicUsize::new(0);
        let targets = ["127.0.0.1".to_owned()];
        let each = |_, _, outcome| {
            assert!(matches!(outcome, Outcome::Measured(_)), "{outcome:?}");
            heard.fetch_add(1, Ordering::Relaxed);
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(500));
                stop.store(true, Ordering::Relaxed);
            });
            survey(&pace).run(&targets, each).unwrap();
        });
        assert_eq!(heard.load(Ordering::Relaxed), 0);
        assert!(store.lock().unwrap().measurements(0.0).unwrap().is_empty());
        stop.store(false, Ordering::Relaxed);
        survey(&Pace::new(1000.0, &stop))
            .run(&targets, each)
            .unwrap();
        assert_eq!(heard.load(Ordering::Relaxed), 1);
    }
}
