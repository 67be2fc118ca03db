//! The fleet's seeds at a robot: what they reach is in scope; whoever divides the fleet passes them on, once.

use crate::fleet::groups::TOP;
use crate::fleet::office::Office;
use crate::fleet::seed::{self, Chunk};
use anyhow::Result;
use fleet::parcel::Parcel;
use robot::config::{Config, Seed};
use robot::seeds::SeedList;
use robot::{Crawl, Sight};
use std::time::{Duration, Instant, SystemTime};
use url::Url;

/// So often the fleet's papers are read.
pub const EVERY: Duration = Duration::from_secs(2);

/// A paper with seeds: its name, its revision, and what it says.
pub type Kept = (String, u64, Chunk);

pub struct Seeds<'a> {
    office: &'a Office,
    sight: Sight,
    next: Instant,
    known: usize,
    /// A paper whose seeds were given, and the commit that has them.
    giving: Option<(String, u64, Chunk, u64)>,
}

impl<'a> Seeds<'a> {
    pub fn new(office: &'a Office, sight: Sight) -> Self {
        Self {
            office,
            sight,
            next: Instant::now(),
            known: 0,
            giving: None,
        }
    }

    /// At the start: all that there are.
    pub fn take_in(&mut self, config: &mut Config) -> Result<()> {
        let all = seed::all(self.office)?;
        config.seeds = (all.into_iter())
            .flat_map(|(_, _, chunk)| chunk.seeds)
            .collect();
        self.known = config.seeds.len();
        Ok(())
    }

    /// Whether it is time to read them.
    pub fn is_due(&mut self) -> bool {
        let due = Instant::now() >= self.next;
        if due {
            self.next = Instant::now() + EVERY;
        }
        due
    }

    /// Looks whether there are more, and gives those that nobody gave. Says what there is, if it was read.
    pub fn look(&mut self, config: &Config, crawl: &Crawl) -> Result<Option<Vec<Kept>>> {
        if let Some((name, revision, chunk, commit)) = &self.giving {
            let on_disk = self.sight.look(|seam| seam.protocol().commits().1);
            if on_disk.is_some_and(|on_disk| on_disk >= *commit) {
                let given = Chunk {
                    given: true,
                    ..chunk.clone()
                };
                // if somebody else was first, they are given
                let _ = self.office.write(name, *revision, &given);
                self.giving = None;
            }
            return Ok(None);
        }
        if !self.is_due() {
            return Ok(None);
        }
        let all = seed::all(self.office)?;
        let seeds = || all.iter().flat_map(|(_, _, chunk)| &chunk.seeds);
        if seeds().count() > self.known {
            add(config, seeds().skip(self.known))?;
            crawl.look_at_seeds().map_err(anyhow::Error::msg)?;
            self.known = seeds().count();
        }
        let divides = (self.sight).look(|seam| seam.protocol().makes(TOP)) == Some(true);
        if let Some((name, revision, chunk)) = all.iter().find(|(_, _, chunk)| !chunk.given)
            && divides
        {
            let parcels = chunk.seeds.iter().filter_map(parcel);
            if let Some(commit) = self.sight.give(parcels) {
                self.giving = Some((name.clone(), *revision, chunk.clone(), commit));
            }
        }
        Ok(Some(all))
    }
}

fn add<'a>(config: &Config, new: impl Iterator<Item = &'a Seed>) -> Result<()> {
    let new: Vec<Seed> = new.cloned().collect();
    let read = robot::seeds::read_all(&new)?;
    SeedList::change(config, |list| list.add(config, &read))?;
    Ok(())
}

fn parcel(seed: &Seed) -> Option<Parcel> {
    let url: Url = robot::seeds::read(&seed.url).ok()?;
    let name = url.host_str()?;
    let name = name.trim_start_matches('[').trim_end_matches(']');
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    Some(Parcel {
        found: now.unwrap_or_default().as_millis() as u64,
        ..Parcel::new(name.into(), url.as_str().into())
    })
}
