//! Seeds as they are written down: papers that never change, and a mark that says how far they were given.

use crate::fleet::office::Office;
use anyhow::Result;
use robot::config::Seed as Given;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What all papers with seeds are called by, and the one that says which were given.
pub(super) const PAPERS: &str = "seeds.";
pub const MARK: &str = "seeds.given";

/// A paper with some of the seeds; it never changes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Chunk {
    pub seeds: Vec<Given>,
    /// A robot of version 0.2 has them on its disk; later ones write the mark.
    pub given: bool,
    /// In the mark: robots have all papers up to this one on their disks. To version 0.2 it is a paper without seeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<String>,
}

impl Chunk {
    /// The mark after this paper.
    pub fn mark(through: &str) -> Self {
        Self {
            seeds: Vec::new(),
            given: true,
            through: Some(through.to_owned()),
        }
    }
}

/// All papers with seeds, as they were last read.
#[derive(Clone, Default)]
pub struct Papers {
    /// By name.
    pub chunks: Vec<(String, Arc<Chunk>)>,
    /// The last that was given, and the mark's revision.
    pub through: Option<String>,
    pub revision: u64,
}

impl Papers {
    pub fn read(office: &Office) -> Result<Self> {
        let mut papers = Self::default();
        papers.renew(office)?;
        Ok(papers)
    }

    /// Reads what is new.
    pub fn renew(&mut self, office: &Office) -> Result<()> {
        let names = office.runtime.block_on(office.nats.paper_names(PAPERS))?;
        let mut known = std::mem::take(&mut self.chunks).into_iter().peekable();
        let mut chunks = Vec::new();
        for name in names.into_iter().filter(|name| name != MARK) {
            while known.next_if(|(known, _)| *known < name).is_some() {}
            let chunk = match known.next_if(|(known, _)| *known == name) {
                Some((_, chunk)) => Some(chunk),
                None => read(office, &name)?.map(|(_, chunk)| Arc::new(chunk)),
            };
            chunks.extend(chunk.map(|chunk| (name, chunk)));
        }
        self.chunks = chunks;
        let mark = read(office, MARK)?;
        (self.revision, self.through) =
            mark.map_or((0, None), |(revision, mark)| (revision, mark.through));
        Ok(())
    }

    pub fn seeds(&self) -> impl Iterator<Item = &Given> {
        self.chunks.iter().flat_map(|(_, chunk)| &chunk.seeds)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.chunks.iter().map(|(_, chunk)| chunk.seeds.len()).sum()
    }

    /// Papers that no robot has on its disk yet.
    pub fn waiting(&self) -> impl Iterator<Item = &(String, Arc<Chunk>)> {
        let is_given = |name: &String| self.through.as_ref().is_some_and(|last| name <= last);
        (self.chunks.iter()).filter(move |(name, chunk)| !chunk.given && !is_given(name))
    }

    /// How many seeds are in them.
    pub fn count_waiting(&self) -> usize {
        self.waiting().map(|(_, chunk)| chunk.seeds.len()).sum()
    }

    /// The number of the next paper.
    pub(super) fn next(&self) -> usize {
        let last = self.chunks.last().and_then(|(name, _)| {
            let number: usize = name.strip_prefix(PAPERS)?.parse().ok()?;
            Some(number)
        });
        last.map_or(0, |last| last + 1)
    }
}

/// A paper with seeds, and its revision.
pub fn read(office: &Office, name: &str) -> Result<Option<(u64, Chunk)>> {
    office.read(name)
}
