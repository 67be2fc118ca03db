//! What was last seen of a fleet, for all who look at it, and how its robots went in the last minutes.

use super::{Fleet, Servers, Source};
use crate::words;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Looks that are remembered: about a quarter of an hour.
const REMEMBERED: usize = 900;
/// What is asked of all robots is kept for so long.
const STALE: Duration = Duration::from_secs(5);

/// Requests a second of each robot at a moment, in seconds since 1970.
pub(crate) struct Sample {
    pub at: f64,
    pub rates: Vec<(String, f64)>,
}

#[derive(Default)]
struct Seen {
    fleet: Arc<Fleet>,
    trouble: Option<String>,
    samples: VecDeque<Arc<Sample>>,
    looks: u64,
}

pub(crate) struct Watch {
    source: Box<dyn Source>,
    seen: Mutex<Seen>,
    servers: Mutex<Option<(Instant, Arc<Servers>)>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watch {
    pub fn new(source: Box<dyn Source>) -> Self {
        Self {
            source,
            seen: Mutex::default(),
            servers: Mutex::new(None),
        }
    }

    pub fn name(&self) -> String {
        self.source.name()
    }

    /// Looks once; says how many looks showed something new.
    pub fn look(&self) -> u64 {
        let found = self.source.look();
        let mut seen = lock(&self.seen);
        let (fleet, trouble) = match found {
            Ok(fleet) => (Arc::new(fleet), None),
            // what was seen before is better than nothing
            Err(error) => (seen.fleet.clone(), Some(format!("{error:#}"))),
        };
        if *fleet != *seen.fleet || trouble != seen.trouble {
            seen.looks += 1;
        }
        let rates = fleet.robots.iter().filter(|robot| robot.at_work);
        let rates = rates.map(|robot| (robot.name.clone(), robot.requests_per_second));
        let sample = Sample {
            at: words::now() as f64 / 1e3,
            rates: rates.collect(),
        };
        if trouble.is_none() {
            seen.samples.push_back(Arc::new(sample));
        }
        if seen.samples.len() > REMEMBERED {
            seen.samples.pop_front();
        }
        seen.fleet = fleet;
        seen.trouble = trouble;
        seen.looks
    }

    pub fn latest(&self) -> Arc<Fleet> {
        lock(&self.seen).fleet.clone()
    }

    /// Why the last look failed.
    pub fn trouble(&self) -> Option<String> {
        lock(&self.seen).trouble.clone()
    }

    pub fn samples(&self) -> Vec<Arc<Sample>> {
        lock(&self.seen).samples.iter().cloned().collect()
    }

    /// Asked of all robots, not more often than every few seconds.
    pub fn servers(&self) -> anyhow::Result<Arc<Servers>> {
        let mut kept = lock(&self.servers);
        if let Some((at, servers)) = &*kept
            && at.elapsed() < STALE
        {
            return Ok(servers.clone());
        }
        let servers = Arc::new(self.source.servers()?);
        *kept = Some((Instant::now(), servers.clone()));
        Ok(servers)
    }

    pub fn way(&self, host: &str) -> anyhow::Result<String> {
        self.source.way(host)
    }

    pub fn owners(&self, servers: &[IpAddr]) -> anyhow::Result<Vec<Option<String>>> {
        self.source.owners(servers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::Robot;
    use anyhow::anyhow;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Answers differently each time.
    struct Turns(Arc<AtomicU64>);

    impl Source for Turns {
        fn name(&self) -> String {
            "web".into()
        }

        fn look(&self) -> anyhow::Result<Fleet> {
            match self.0.fetch_add(1, Ordering::Relaxed) {
                2 => Err(anyhow!("the engine is silent")),
                turn => Ok(Fleet {
                    robots: vec![Robot {
                        name: "robot-1".into(),
                        at_work: turn < 3,
                        ..Robot::default()
                    }],
                    ..Fleet::default()
                }),
            }
        }

        fn servers(&self) -> anyhow::Result<Servers> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(Servers::default())
        }

        fn way(&self, _: &str) -> anyhow::Result<String> {
            Ok(String::new())
        }

        fn owners(&self, _: &[IpAddr]) -> anyhow::Result<Vec<Option<String>>> {
            Ok(Vec::new())
        }
    }

    #[test]
    fn only_what_is_new_is_news_and_trouble_leaves_what_was_seen() {
        let watch = Watch::new(Box::new(Turns(Arc::default())));
        assert_eq!(watch.look(), 1);
        assert_eq!(watch.look(), 1, "nothing new");
        assert_eq!(watch.look(), 2);
        assert_eq!(watch.trouble().unwrap(), "the engine is silent");
        assert_eq!(watch.latest().at_work(), 1, "seen before");
        assert_eq!(watch.look(), 3);
        assert_eq!((watch.trouble(), watch.latest().at_work()), (None, 0));
        // a look that failed says nothing of robots
        assert_eq!(watch.samples().len(), 3);
    }

    #[test]
    fn robots_are_asked_for_servers_once_for_all_who_look() {
        let asked = Arc::new(AtomicU64::new(0));
        let watch = Watch::new(Box::new(Turns(asked.clone())));
        for _ in 0..3 {
            watch.servers().unwrap();
        }
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }
}
