//! Changes as they are told to other programs: by `evercrawl changes`, and by webhooks.

use crate::copies::Copies;
use crate::difference::{Difference, Told};
use crate::watch::Watch;
use ground::calendar;
use parse::change::Noise;
use serde::Serialize;
use std::path::Path;
use storage::archive::digest_text;
use storage::{Digest, Observation, Outcome, Time};
use url::Url;

/// A change found by a visit.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// When, in UTC.
    pub time: String,
    /// `first`, `changed`, `minor` or `gone`.
    pub kind: &'static str,
    /// Of which page.
    pub url: String,
    /// The status of the answer.
    pub status: u16,
    /// Why a minor change is minor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// Of the body as transferred.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Of the body before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
    /// What differs, where both copies are in the archive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<Told>,
    /// The same, with the words that differ.
    #[serde(skip)]
    pub words: Option<Difference>,
    /// When, in milliseconds since the epoch.
    #[serde(skip)]
    pub at: Time,
}

/// What a visit found, in a word, if that is a change.
pub fn kind(outcome: Outcome, minor: bool) -> Option<&'static str> {
    match outcome {
        Outcome::FirstSeen => Some("first"),
        Outcome::Changed => Some("changed"),
        Outcome::Minor => minor.then_some("minor"),
        Outcome::Gone => Some("gone"),
        Outcome::Unchanged | Outcome::Failed(_) => None,
    }
}

impl Change {
    /// The change that a visit found, if it is one.
    pub fn of(
        observation: &Observation,
        url: String,
        previous: Option<Digest>,
        minor: bool,
    ) -> Option<Self> {
        let there = observation.outcome != Outcome::Gone;
        Some(Self {
            time: calendar::iso(observation.at),
            kind: kind(observation.outcome, minor)?,
            url,
            status: observation.status,
            reason: Noise::from_number(observation.reason).map(Noise::word),
            digest: there.then(|| digest_text(&observation.digest)),
            previous: previous.map(|digest| digest_text(&digest)),
            difference: None,
            words: None,
            at: observation.at,
        })
    }

    /// Reads the copies again for what differs; at most `limit` bytes of each.
    pub fn compare(&mut self, archive: &Path, watch: &Watch, limit: u64) -> storage::Result<()> {
        let (Some(digest), Ok(url)) = (&self.digest, Url::parse(&self.url)) else {
            return Ok(());
        };
        if self.kind == "first" {
            return Ok(());
        }
        let copies = Copies::of(archive, &self.url)?;
        let Some(after) = copies.with_digest(digest, self.at) else {
            return Ok(());
        };
        let Some(before) = copies.before(after) else {
            return Ok(());
        };
        if self.previous.is_none() {
            self.previous = Some(copies.entries[before].digest.clone());
        }
        self.words = copies.difference([before, after], watch, &url, limit)?;
        self.difference = self.words.as_ref().map(Difference::told);
        Ok(())
    }
}
