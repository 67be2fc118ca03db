//! A cluster is ready when each of its servers has found the others, and is one of those that keep streams.

use super::Servers;
use anyhow::{Result, anyhow};
use std::time::{Duration, Instant};

/// A cluster that has not formed after this never will.
const TO_FORM: Duration = Duration::from_mins(2);
/// One that was left out for so long stays out.
const TO_JOIN: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(100);

impl Servers {
    /// Until they can keep streams together: on a busy machine that takes longer than `fleet init` waits. Of servers
    /// that start together two may become a group without the third, which says that it is well, but gets no
    /// streams until it is started again (2.10.27; about one start in a hundred).
    pub(super) fn form(&mut self) -> Result<()> {
        let until = Instant::now() + TO_FORM;
        (0..self.count()).try_for_each(|at| self.await_health(at, until))?;
        let mut since = Instant::now();
        while let Some(at) = self.left_out() {
            if Instant::now() > until {
                return Err(anyhow!("nats-server {at} stays out of its cluster"));
            }
            if since.elapsed() > TO_JOIN {
                self.kill(at)?;
                self.run(at)?;
                self.await_health(at, until)?;
                since = Instant::now();
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// A server that the leader of the cluster does not count.
    fn left_out(&self) -> Option<usize> {
        if self.count() == 1 {
            return None;
        }
        let views = (0..self.count()).filter_map(|at| self.look(at, "/jsz").ok());
        let counted = views.map(|view| {
            let meta = &view["meta_cluster"];
            let followers = meta["replicas"].as_array().cloned().unwrap_or_default();
            let names = followers.iter().map(|one| one["name"].clone());
            names.chain([meta["leader"].clone()]).collect::<Vec<_>>()
        });
        // only the leader names its followers
        let counted = counted.max_by_key(Vec::len).unwrap_or_default();
        (0..self.count()).find(|at| !counted.iter().any(|name| *name == format!("s{at}")))
    }

    /// Until a server says that it has found the others, and that they have a leader.
    fn await_health(&self, at: usize, until: Instant) -> Result<()> {
        loop {
            let told = self.look(at, "/healthz").unwrap_or_default();
            if told["status"] == "ok" {
                return Ok(());
            }
            if Instant::now() > until {
                return Err(anyhow!(
                    "nats-server {at} is not ready after {TO_FORM:?}: {told}"
                ));
            }
            std::thread::sleep(LOOK);
        }
    }
}
