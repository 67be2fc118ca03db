//! What people write down about a fleet, and what happened in it. Robots' protocol knows nothing of it.

use async_nats::jetstream::message::PublishMessage;
use bytes::Bytes;
use fleet::identity::{GroupId, RobotId};
use fleet::wire::limits;
use futures_util::TryStreamExt;

use super::{Answer, Inner, Nats, Written};
use crate::BusError;

/// No group: papers are in the domain that we are connected to.
const NOBODY: GroupId = GroupId(u64::MAX);

/// A paper as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paper {
    /// Words with dots between them.
    pub name: String,
    /// As counted by the engine.
    pub revision: u64,
    /// What it says.
    pub bytes: Vec<u8>,
}

/// Why a paper was not written.
#[derive(Debug, thiserror::Error)]
pub enum PaperError {
    /// It has another revision.
    #[error("was changed by someone else: check it and try again")]
    Changed,
    /// One paper holds no more.
    #[error("takes {bytes} bytes; expected at most {}", limits::VALUE)]
    Large {
        /// As it is.
        bytes: usize,
    },
    /// The engine said no.
    #[error(
        "was not taken by NATS ({0}); if its room is used up, a fleet with more --storage has more"
    )]
    Refused(String),
    /// Written or not.
    #[error("may or may not have been written: no answer from NATS, as when you may not change it")]
    Silent,
}

/// How much the papers may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes in all.
    pub most: u64,
    /// Bytes that are taken.
    pub taken: u64,
}

impl Nats {
    /// A paper, if there is one.
    pub async fn paper(&self, name: &str) -> Result<Option<Paper>, BusError> {
        let inner = &self.inner;
        let (stream, subject) = (inner.names.papers(), inner.names.paper(name));
        let found = inner.last(NOBODY, &stream, &subject).await?;
        Ok(found.map(|message| Paper {
            name: name.to_owned(),
            revision: message.sequence,
            bytes: message.payload.to_vec(),
        }))
    }

    /// All papers whose names begin so, in the order of their names.
    pub async fn papers(&self, beginning: &str) -> Result<Vec<Paper>, BusError> {
        let mut papers = Vec::new();
        for name in self.paper_names(beginning).await? {
            papers.extend(self.paper(&name).await?);
        }
        Ok(papers)
    }

    /// The names alone.
    pub async fn paper_names(&self, beginning: &str) -> Result<Vec<String>, BusError> {
        let inner = &self.inner;
        let bucket = inner.names.papers();
        let stream = inner.stream(NOBODY, &bucket).await?;
        let silent = |_| Inner::silent(&bucket);
        let filter = inner.names.paper("");
        let found = stream.info_with_subjects(filter.clone()).await;
        let subjects: Vec<(String, usize)> =
            (found.map_err(silent)?.try_collect().await).map_err(silent)?;
        let prefix = filter.trim_end_matches('>');
        let mut names: Vec<String> = (subjects.iter())
            .filter_map(|(subject, _)| subject.strip_prefix(prefix))
            .filter(|name| name.starts_with(beginning))
            .map(str::to_owned)
            .collect();
        names.sort_unstable();
        Ok(names)
    }

    /// How much room papers have.
    pub async fn room_for_papers(&self) -> Result<Room, BusError> {
        let name = self.inner.names.papers();
        let stream = self.inner.home.get_stream(&name).await;
        let stream = stream.map_err(|_| Inner::silent(&name))?;
        let info = stream.cached_info();
        Ok(Room {
            most: u64::try_from(info.config.max_bytes).unwrap_or(u64::MAX),
            taken: info.state.bytes,
        })
    }

    /// Removes a paper, and all that it ever said.
    pub async fn remove_paper(&self, name: &str) -> Result<(), BusError> {
        let bucket = self.inner.names.papers();
        let stream = self.inner.stream(NOBODY, &bucket).await?;
        let purged = stream.purge().filter(self.inner.names.paper(name)).await;
        let purged = purged.map_err(|error| BusError::Refused {
            what: name.to_owned(),
            why: error.to_string(),
        })?;
        if purged.success {
            Ok(())
        } else {
            Err(Inner::silent(&bucket))
        }
    }

    /// Writes a paper if it has this revision, 0 if there is to be none; the new revision.
    pub async fn write_paper(
        &self,
        name: &str,
        revision: u64,
        bytes: Vec<u8>,
    ) -> Result<u64, PaperError> {
        let inner = &self.inner;
        if bytes.len() > limits::VALUE {
            inner.tally.oversized.one();
            return Err(PaperError::Large { bytes: bytes.len() });
        }
        let (stream, subject) = (inner.names.papers(), inner.names.paper(name));
        let written = inner.write(NOBODY, &stream, &subject, revision, Bytes::from(bytes));
        match written.await {
            Written::Stored(revision) => Ok(revision),
            Written::Other => Err(PaperError::Changed),
            Written::Refused(why) => Err(PaperError::Refused(why)),
            Written::Unknown => Err(PaperError::Silent),
        }
    }

    /// Tells what happened to a robot; whether the engine has it.
    pub async fn tell(&self, robot: RobotId, event: Vec<u8>) -> bool {
        let subject = self.inner.names.events_of(Some(robot));
        let message = PublishMessage::build().payload(Bytes::from(event));
        let told = self.inner.attempt(NOBODY, &subject, message).await;
        matches!(told, Answer::Stored(_))
    }

    /// The newest of what happened, oldest first.
    pub async fn told(&self, most: usize) -> Result<Vec<Vec<u8>>, BusError> {
        let name = self.inner.names.events();
        let silent = |_| Inner::silent(&name);
        let stream = self.inner.home.get_stream(&name).await.map_err(silent)?;
        let state = &stream.cached_info().state;
        let first = state.first_sequence;
        let from = (state.last_sequence + 1).saturating_sub(most as u64);
        let mut told = Vec::new();
        for sequence in first.max(from)..=state.last_sequence {
            if let Ok(message) = stream.get_raw_message(sequence).await {
                told.push(message.payload.to_vec());
            }
        }
        Ok(told)
    }
}
