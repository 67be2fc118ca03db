//! Keys: a stream with one subject a key. Read from the leader only; accepted changes are told by
//! the server on plain subjects, which costs it no consumer and cannot hang after a restart.

use std::sync::Arc;

use bytes::Bytes;
use fleet::identity::GroupId;
use fleet::io::Outcome;
use fleet::key::{Key, Value};
use fleet::wire::{encode, limits};
use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::sync::mpsc;

use super::{Inner, Written};
use crate::{BusError, Reading};

/// Keys that are read at the same time.
const AT_ONCE: usize = 32;
/// Watched changes that wait to be read.
const WAITING: usize = 256;

impl Inner {
    pub(super) async fn swap(&self, key: Key, revision: u64, value: &Value) -> Outcome {
        let bytes = encode(value);
        if bytes.len() > limits::VALUE {
            self.tally.oversized.one();
            return Outcome::Refused;
        }
        let (group, subject) = (key.group, self.names.key(key));
        let bucket = self.names.bucket(group);
        let written = self.write(group, &bucket, &subject, revision, Bytes::from(bytes));
        match written.await {
            Written::Stored(revision) => Outcome::Done(revision),
            Written::Other | Written::Refused(_) => Outcome::Refused,
            Written::Unknown => Outcome::Unknown,
        }
    }

    pub(super) async fn poll(&self, group: GroupId) -> Result<Vec<Reading>, BusError> {
        let bucket = self.names.bucket(group);
        let stream = self.stream(group, &bucket).await?;
        let silent = |_| Self::silent(&bucket);
        let found = stream.info_with_subjects(self.names.keys(group)).await;
        let subjects: Vec<(String, usize)> =
            (found.map_err(silent)?.try_collect().await).map_err(silent)?;
        let readings = stream::iter(subjects).map(|(subject, _)| {
            let bucket = &bucket;
            async move {
                let message = self.last(group, bucket, &subject).await?;
                Ok(message.and_then(|m| self.reading(group, &subject, m.sequence, &m.payload)))
            }
        });
        let readings: Result<Vec<Option<Reading>>, BusError> =
            readings.buffer_unordered(AT_ONCE).try_collect().await;
        Ok(readings?.into_iter().flatten().collect())
    }

    /// A key's value; nothing if no robot has such a key.
    fn reading(
        &self,
        group: GroupId,
        subject: &str,
        revision: u64,
        bytes: &[u8],
    ) -> Option<Reading> {
        let Some(key) = self.names.read_key(group, subject) else {
            self.tally.unreadable.one();
            return None;
        };
        let value = limits::value(key, bytes);
        if let Err(error) = &value {
            tracing::warn!(subject, %error, "a key has a value that is not readable");
            self.tally.unreadable.one();
        }
        Some(Reading {
            key,
            revision,
            value,
        })
    }

    pub(super) async fn watch(
        self: &Arc<Self>,
        group: GroupId,
    ) -> Result<mpsc::Receiver<Reading>, BusError> {
        let subject = self.names.changes(group);
        let changes = self.client.subscribe(subject.clone()).await;
        let mut changes = changes.map_err(|_| Self::silent(&subject))?;
        // the server knows of the subscription before anything that we write next
        (self.client.flush().await).map_err(|_| Self::silent(&subject))?;
        let (sender, receiver) = mpsc::channel(WAITING);
        let inner = Arc::clone(self);
        tokio::spawn(async move {
            loop {
                let change = tokio::select! {
                    change = changes.next() => change,
                    () = sender.closed() => None,
                };
                let Some(change) = change else { break };
                let header = |name| change.headers.as_ref().and_then(|all| all.get(name));
                let told = header("Nats-Sequence").and_then(|n| n.as_str().parse().ok());
                let (Some(revision), Some(subject)) = (told, header("Nats-Subject")) else {
                    inner.tally.unreadable.one();
                    continue;
                };
                let reading = inner.reading(group, subject.as_str(), revision, &change.payload);
                if reading.is_some_and(|reading| sender.try_send(reading).is_err()) {
                    inner.tally.missed.one();
                }
            }
        });
        Ok(receiver)
    }
}
