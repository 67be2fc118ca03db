//! Logs: a stream a site, a subject a session, every append fenced by the subject's last sequence.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use async_nats::jetstream::message::PublishMessage;
use bytes::Bytes;
use fleet::identity::Session;
use fleet::io::{Outcome, Tail};
use fleet::wire::{decode, encode};
use futures_util::StreamExt;
use tokio::time::{Instant, sleep, timeout};

use super::{Answer, Inner, PAUSE, Written};
use crate::chunk::{Chunk, Joiner};
use crate::{BusError, Entry, Replayed};

/// Messages that are asked for at once when a log is read.
const BATCH: usize = 256;
/// So often a log is read when it does not come whole, and so many batches may be empty.
const ATTEMPTS: u32 = 3;
/// So many bytes of them.
const BATCH_BYTES: usize = 16 << 20;

/// Where logs end, as far as we wrote them ourselves.
#[derive(Debug, Default)]
pub(super) struct Ends(Mutex<HashMap<Session, End>>);

#[derive(Clone, Copy, Debug, Default)]
struct End {
    sequence: u64,
    entries: u64,
    sealed: bool,
}

impl End {
    fn tail(self) -> Tail {
        Tail {
            entries: Some(self.entries),
            sealed: self.sealed,
        }
    }
}

const SILENCE: Tail = Tail {
    entries: None,
    sealed: false,
};

impl Ends {
    fn get(&self, session: Session) -> Option<End> {
        let ends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ends.get(&session).copied()
    }

    fn set(&self, session: Session, end: Option<End>) {
        let mut ends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match end {
            Some(end) => ends.insert(session, end),
            None => ends.remove(&session),
        };
    }
}

impl Inner {
    fn log(&self, session: Session) -> (String, String) {
        let site = self.site;
        (self.names.logs(site), self.names.log(site, session))
    }

    async fn end(&self, session: Session) -> Result<End, BusError> {
        let (stream, subject) = self.log(session);
        let Some(last) = self.last(self.site, &stream, &subject).await? else {
            return Ok(End::default());
        };
        let chunk: Chunk = decode(&last.payload).map_err(|error| {
            self.tally.unreadable.one();
            BusError::Refused {
                what: subject,
                why: error.to_string(),
            }
        })?;
        Ok(End {
            sequence: last.sequence,
            entries: chunk.complete,
            sealed: chunk.sealed,
        })
    }

    pub(super) async fn tail(&self, session: Session) -> Tail {
        self.end(session).await.map_or(SILENCE, End::tail)
    }

    pub(super) async fn append(&self, session: Session, expected: u64, entries: &[Entry]) -> Tail {
        let known = self.ends.get(session).filter(|end| end.entries == expected);
        self.ends.set(session, None);
        let mut end = match known {
            Some(end) => end,
            None => match self.end(session).await {
                Ok(end) => end,
                Err(_) => return SILENCE,
            },
        };
        if end.sealed || end.entries != expected {
            return end.tail();
        }
        let (stream, subject) = self.log(session);
        for chunk in Chunk::cut(expected, entries) {
            let bytes = Bytes::from(encode(&chunk));
            let written = self.write(self.site, &stream, &subject, end.sequence, bytes);
            match written.await {
                Written::Stored(sequence) => {
                    end.sequence = sequence;
                    end.entries = chunk.complete;
                }
                Written::Other | Written::Refused(_) => return self.tail(session).await,
                Written::Unknown => return SILENCE,
            }
        }
        self.ends.set(session, Some(end));
        end.tail()
    }

    /// Expects no sequence, so that an owner who goes on appending cannot be first for ever: it
    /// stands where it stands, and the owner's next append finds another end than it knew. What the
    /// owner appended since we looked is in the log, but not in the length that the seal tells.
    pub(super) async fn seal(&self, session: Session) -> Outcome {
        let subject = self.log(session).1;
        let until = Instant::now() + self.layout.patience;
        loop {
            if let Ok(end) = self.end(session).await {
                if end.sealed {
                    return Outcome::Done(end.sequence);
                }
                let bytes = Bytes::from(encode(&Chunk::seal(end.entries)));
                let message = PublishMessage::build().payload(bytes);
                match self.attempt(self.site, &subject, message).await {
                    Answer::Stored(sequence) => return Outcome::Done(sequence),
                    Answer::No(_) => return Outcome::Refused,
                    Answer::Other | Answer::Nobody | Answer::Silence => {}
                }
            }
            if Instant::now() > until {
                return Outcome::Unknown;
            }
            sleep(PAUSE).await;
        }
    }

    pub(super) async fn replay(&self, session: Session) -> Option<Replayed> {
        let end = self.end(session).await.ok()?;
        if !end.sealed {
            return None;
        }
        // a replica that has just come back may not have all of it yet
        for _ in 0..ATTEMPTS {
            let mut joiner = Joiner::default();
            let read = self.read(session, end.sequence, |chunk, _| {
                let pushed = joiner.push(chunk);
                if let Err(error) = &pushed {
                    self.tally.unreadable.one();
                    tracing::error!(?session, %error, "a damaged log");
                }
                pushed.is_ok()
            });
            match read.await {
                Some(whole) => return joiner.sealed().filter(|_| whole),
                None => sleep(PAUSE).await,
            }
        }
        None
    }

    /// Reads a log up to a sequence; tells whether `take` wanted all of it.
    async fn read(
        &self,
        session: Session,
        upto: u64,
        mut take: impl FnMut(&Chunk, u64) -> bool,
    ) -> Option<bool> {
        let (stream, subject) = self.log(session);
        let stream = self.stream(self.site, &stream).await.ok()?;
        let config = pull::Config {
            // with a name, servers can judge by the subject who may read what
            name: Some(self.client.new_inbox().replace('.', "_")),
            filter_subject: subject,
            deliver_policy: DeliverPolicy::All,
            ack_policy: AckPolicy::None,
            inactive_threshold: self.layout.ack_wait,
            memory_storage: true,
            num_replicas: 1,
            ..pull::Config::default()
        };
        let consumer = stream.create_consumer(config).await.ok()?;
        let (mut seen, mut idle) = (0, 0);
        while idle < ATTEMPTS {
            idle += 1;
            let batch = (consumer.batch())
                .max_messages(BATCH)
                .max_bytes(BATCH_BYTES)
                .expires(self.layout.attempt);
            let mut batch = batch.messages().await.ok()?;
            while let Ok(Some(Ok(message))) = timeout(self.layout.patience, batch.next()).await {
                let info = message.info().ok()?;
                let sequence = info.stream_sequence;
                // without acknowledgements the server sends each once: a gap is a loss
                seen += 1;
                idle = 0;
                if info.consumer_sequence != seen {
                    return None;
                }
                let chunk: Chunk = decode(&message.payload).ok()?;
                if !take(&chunk, sequence) {
                    return Some(false);
                }
                if sequence >= upto {
                    return Some(true);
                }
            }
        }
        None
    }

    pub(super) async fn purge(&self, session: Session, upto: u64) -> Outcome {
        let Ok(end) = self.end(session).await else {
            return Outcome::Unknown;
        };
        if end.sequence == 0 {
            return Outcome::Done(0);
        }
        let mut keep = 0;
        let read = self.read(session, end.sequence, |chunk, sequence| {
            if chunk.complete > upto {
                return false;
            }
            // what belongs together goes together, and the last of all stays: it knows the length
            if chunk.finishes() && sequence < end.sequence {
                keep = sequence + 1;
            }
            true
        });
        if read.await.is_none() {
            return Outcome::Unknown;
        }
        if keep == 0 {
            return Outcome::Done(0);
        }
        let (stream, subject) = self.log(session);
        let Ok(stream) = self.stream(self.site, &stream).await else {
            return Outcome::Unknown;
        };
        match stream.purge().filter(subject).sequence(keep).await {
            Ok(_) => Outcome::Done(keep),
            Err(_) => Outcome::Unknown,
        }
    }
}
