//! The fleet's seeds at a robot: what they reach is in scope; whoever divides the fleet passes them on, once.

use crate::fleet::groups::TOP;
use crate::fleet::office::Office;
use crate::fleet::seed::{self, Chunk, MARK, Papers};
use anyhow::Result;
use bus::nats::papers::PaperError;
use fleet::parcel::Parcel;
use robot::config::{Config, Seed};
use robot::seeds::SeedList;
use robot::{Crawl, Sight};
use std::time::{Duration, Instant, SystemTime};
use url::Url;

/// So often the fleet's papers are read.
pub const EVERY: Duration = Duration::from_secs(2);

pub struct Seeds<'a> {
    office: &'a Office,
    sight: Sight,
    next: Instant,
    known: usize,
    papers: Papers,
    /// A paper whose seeds were given, and the commit that has them.
    giving: Option<(String, u64)>,
    /// The last paper that this robot gave, whether the fleet has that written down or not.
    given: Option<String>,
    unmarked: u64,
}

impl<'a> Seeds<'a> {
    pub fn new(office: &'a Office, sight: Sight) -> Self {
        Self {
            office,
            sight,
            next: Instant::now(),
            known: 0,
            papers: Papers::default(),
            giving: None,
            given: None,
            unmarked: 0,
        }
    }

    /// At the start: all that there are.
    pub fn take_in(&mut self, config: &mut Config) -> Result<()> {
        self.papers.renew(self.office)?;
        config.seeds = self.papers.seeds().cloned().collect();
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

    /// How often it could not be written down that seeds were given.
    pub fn unmarked(&self) -> u64 {
        self.unmarked
    }

    /// Looks whether there are more, and gives those that nobody gave. Says what there is, if it was read.
    pub fn look(&mut self, config: &Config, crawl: &Crawl) -> Result<Option<&Papers>> {
        if let Some((_, commit)) = &self.giving {
            let on_disk = self.sight.look(|seam| seam.protocol().commits().1);
            if on_disk.is_some_and(|on_disk| on_disk >= *commit) {
                self.given = self.giving.take().map(|(name, _)| name);
                self.mark();
            }
            return Ok(None);
        }
        if !self.is_due() {
            return Ok(None);
        }
        self.papers.renew(self.office)?;
        let count = self.papers.count();
        if count > self.known {
            add(config, self.papers.seeds().skip(self.known))?;
            crawl.look_at_seeds().map_err(anyhow::Error::msg)?;
            self.known = count;
        }
        self.mark();
        if (self.sight).look(|seam| seam.protocol().makes(TOP)) == Some(true) {
            self.give()?;
        }
        Ok(Some(&self.papers))
    }

    /// Gives the first paper that nobody gave.
    fn give(&mut self) -> Result<()> {
        let is_new = |name: &String| self.given.as_ref().is_none_or(|given| name > given);
        let mut waiting = self.papers.waiting();
        let Some((name, chunk)) = waiting.find(|(name, _)| is_new(name)) else {
            return Ok(());
        };
        // a robot of version 0.2 marks them there
        if seed::read(self.office, name)?.is_some_and(|(_, now)| now.given) {
            self.given = Some(name.clone());
            return Ok(());
        }
        let parcels = chunk.seeds.iter().filter_map(parcel);
        self.giving = (self.sight.give(parcels)).map(|commit| (name.clone(), commit));
        Ok(())
    }

    /// Writes down how far this robot came; if that fails, again at the next look.
    fn mark(&mut self) {
        let Some(given) = (self.given.as_ref()).filter(|given| {
            let through = self.papers.through.as_ref();
            through.is_none_or(|through| through < *given)
        }) else {
            return;
        };
        let mark = serde_json::to_vec(&Chunk::mark(given)).unwrap_or_default();
        let written = (self.office.nats).write_paper(MARK, self.papers.revision, mark);
        match self.office.runtime.block_on(written) {
            Ok(revision) => {
                self.papers.through = Some(given.clone());
                self.papers.revision = revision;
                // the next ones at once: a pause might look like the end
                self.next = Instant::now();
            }
            // somebody else gives them as well, and was first
            Err(PaperError::Changed) => {}
            Err(error) => {
                self.unmarked += 1;
                tracing::warn!("which seeds were given could not be written down: {MARK} {error}");
            }
        }
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
