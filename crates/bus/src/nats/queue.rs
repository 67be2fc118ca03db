//! Messages: a work queue a group, a subject and a durable consumer a reader. Whatever is neither
//! acknowledged nor worked on comes again; what comes too often is buried by the reader itself,
//! because a server's own limit would leave it in the stream, unread and uncounted.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::consumer::{PullConsumer, pull};
use async_nats::jetstream::message::{Acker, PublishMessage};
use async_nats::jetstream::{AckKind, Message as Stored};
use bytes::Bytes;
use fleet::io::Outcome;
use fleet::parcel::{Message, Subject};
use fleet::wire::{encode, limits};
use futures_util::StreamExt;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until};

use super::{Answer, Inner, PAUSE};
use crate::delivery::{Arrival, Delivered, LONGEST, Verdict, away};
use crate::{BusError, DeadLetter};

/// Why a letter is dead.
const REASON: &str = "Evercrawl-Reason";
const REASON_LENGTH: usize = 300;
/// Most bytes that are asked for at once.
const BATCH_BYTES: usize = 16 << 20;
/// Before a consumer that does not answer as it should is looked for.
const LOST: Duration = Duration::from_millis(500);

impl Inner {
    pub(super) async fn publish(&self, subject: Subject, message: &Message) -> Outcome {
        let bytes = encode(message);
        if bytes.len() > limits::MESSAGE {
            self.tally.oversized.one();
            return Outcome::Refused;
        }
        let until = Instant::now() + self.layout.patience;
        let (name, bytes) = (self.names.subject(subject), Bytes::from(bytes));
        loop {
            let message = PublishMessage::build().payload(bytes.clone());
            match self.attempt(subject.group, &name, message).await {
                Answer::Stored(sequence) => return Outcome::Done(sequence),
                Answer::Other | Answer::No(_) => {
                    self.tally.full.one();
                    return Outcome::Refused;
                }
                // no leader: surely not stored, so that it may be tried again
                Answer::Nobody if Instant::now() < until => sleep(PAUSE).await,
                Answer::Nobody => return Outcome::Unknown,
                Answer::Silence => {
                    self.tally.ambiguous.one();
                    return Outcome::Unknown;
                }
            }
        }
    }

    pub(super) async fn bury(&self, subject: Subject, reason: &str, bytes: Bytes) -> Outcome {
        let letter = PublishMessage::build()
            .payload(bytes)
            .header(REASON, in_a_line(reason).as_str());
        let name = self.names.dead_of(subject);
        match self.attempt(subject.group, &name, letter).await {
            Answer::Stored(sequence) => Outcome::Done(sequence),
            Answer::Other | Answer::No(_) => Outcome::Refused,
            Answer::Nobody | Answer::Silence => Outcome::Unknown,
        }
    }

    pub(super) async fn dead_letters(
        &self,
        most: usize,
    ) -> Result<(u64, Vec<DeadLetter>), BusError> {
        let name = self.names.dead();
        let silent = |_| Self::silent(&name);
        let stream = self.home.get_stream(&name).await.map_err(silent)?;
        let state = &stream.cached_info().state;
        let mut letters = Vec::new();
        for sequence in (state.first_sequence..=state.last_sequence)
            .rev()
            .take(most)
        {
            let Ok(found) = stream.get_raw_message(sequence).await else {
                continue;
            };
            let reason = found.headers.get(REASON).map(ToString::to_string);
            letters.push(DeadLetter {
                at: found.time.unix_timestamp(),
                subject: found.subject.to_string(),
                reason: reason.unwrap_or_default(),
                bytes: found.payload.to_vec(),
            });
        }
        Ok((state.messages, letters))
    }
}

/// Reads a subject until nobody wants to hear any more.
pub(super) async fn consume(
    inner: Arc<Inner>,
    subject: Subject,
) -> Result<mpsc::UnboundedReceiver<Arrival>, BusError> {
    let consumer = inner.consumer(subject).await?;
    let (arrivals, receiver) = mpsc::unbounded_channel();
    let reader = Reader {
        inner,
        subject,
        consumer,
        arrivals,
        held: HashMap::new(),
        number: 0,
    };
    tokio::spawn(reader.run());
    Ok(receiver)
}

struct Reader {
    inner: Arc<Inner>,
    subject: Subject,
    consumer: PullConsumer,
    /// Never has more than the consumer allows in flight.
    arrivals: mpsc::UnboundedSender<Arrival>,
    held: HashMap<u64, Held>,
    number: u64,
}

/// A message that was passed on, and of which nothing was heard since.
struct Held {
    acker: Acker,
    since: Instant,
    times: u64,
}

impl Reader {
    async fn run(mut self) {
        let (to, mut verdicts) = mpsc::unbounded_channel();
        let mut work = interval(self.inner.layout.ack_wait / 3);
        work.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let arrivals = self.arrivals.clone();
        loop {
            let mut batch = self.ask().await;
            // the answer may have been lost with the connection
            let late = sleep_until(Instant::now() + 2 * self.inner.layout.attempt);
            tokio::pin!(late);
            let mut is_answered = false;
            loop {
                tokio::select! {
                    () = arrivals.closed() => return,
                    () = &mut late => break,
                    _ = work.tick() => self.work().await,
                    Some(verdict) = verdicts.recv() => {
                        self.judge(verdict).await;
                        if batch.is_none() {
                            break;
                        }
                    }
                    next = next(&mut batch) => match next {
                        Some(Ok(message)) => {
                            is_answered = true;
                            self.take(message, &to).await;
                        }
                        // the consumer is there: most often all bytes came that were asked for
                        Some(Err(error)) if is_answered => {
                            tracing::debug!(%error, "no more messages");
                            break;
                        }
                        Some(Err(error)) => {
                            tracing::debug!(%error, "no messages");
                            self.find_again().await;
                            break;
                        }
                        None => break,
                    }
                }
            }
        }
    }

    /// Servers that lost what they had lost the consumer too: it is made again where it is missing.
    async fn find_again(&mut self) {
        sleep(LOST).await;
        match self.inner.consumer(self.subject).await {
            Ok(consumer) => self.consumer = consumer,
            Err(error) => tracing::debug!(%error, "no consumer"),
        }
    }

    /// As many messages as there is room for.
    async fn ask(&self) -> Option<pull::Batch> {
        let room = (self.inner.layout.in_flight as usize).saturating_sub(self.held.len());
        if room == 0 {
            return None;
        }
        let batch = (self.consumer.batch())
            .max_messages(room)
            .max_bytes(BATCH_BYTES)
            .expires(self.inner.layout.attempt);
        match batch.messages().await {
            Ok(batch) => Some(batch),
            Err(error) => {
                tracing::debug!(%error, "no batch");
                sleep(PAUSE).await;
                None
            }
        }
    }

    async fn take(&mut self, message: Stored, to: &mpsc::UnboundedSender<Verdict>) {
        let times = message.info().map_or(1, |info| info.delivered.max(1)) as u64;
        if times > self.inner.layout.deliveries {
            let reason = format!("delivered {} times and never finished", times - 1);
            if self.bury(message, &reason).await {
                self.inner.tally.given_up.one();
                let _ = self.arrivals.send(Arrival::GivenUp);
            }
            return;
        }
        match limits::message(&message.payload) {
            Ok(content) => {
                let (_, acker) = message.split();
                self.number += 1;
                let since = Instant::now();
                let held = Held {
                    acker,
                    since,
                    times,
                };
                self.held.insert(self.number, held);
                let delivered = Delivered::new(content, times, self.number, to.clone());
                let _ = self.arrivals.send(Arrival::Message(delivered));
            }
            Err(error) => {
                if self.bury(message, &error.to_string()).await {
                    self.inner.tally.unreadable.one();
                    let _ = self.arrivals.send(Arrival::Unreadable(error));
                }
            }
        }
    }

    /// Puts it among the dead letters; if that fails it comes again.
    async fn bury(&self, message: Stored, reason: &str) -> bool {
        tracing::warn!(subject = %message.subject, reason, "a dead letter");
        let bytes = message.payload.clone();
        let buried = self.inner.bury(self.subject, reason, bytes).await;
        matches!(buried, Outcome::Done(_)) && message.ack().await.is_ok()
    }

    async fn judge(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Done(number) => {
                if let Some(Held { acker, .. }) = self.held.remove(&number)
                    && let Err(error) = acker.ack().await
                {
                    tracing::debug!(%error, "an acknowledgement was not sent");
                }
            }
            Verdict::Dropped(number) => {
                if let Some(Held { acker, times, .. }) = self.held.remove(&number) {
                    let away = away(times, self.inner.layout.ack_wait);
                    // if the server does not hear of it, it comes again when the wait is over
                    let _ = acker.ack_with(AckKind::Nak(Some(away))).await;
                }
            }
        }
    }

    /// Tells the server that what we hold is worked on. What was held too long is not ours any more: it must not take
    /// the room of others for ever.
    async fn work(&mut self) {
        let longest: Duration = self.inner.layout.ack_wait * LONGEST;
        self.held.retain(|_, held| held.since.elapsed() < longest);
        for held in self.held.values() {
            let _ = held.acker.ack_with(AckKind::Progress).await;
        }
    }
}

/// What others wrote may be in it, and must not become a header of its own.
fn in_a_line(reason: &str) -> String {
    let plain = reason.chars().filter(|c| !c.is_control());
    plain.take(REASON_LENGTH).collect()
}

async fn next(batch: &mut Option<pull::Batch>) -> Option<Result<Stored, async_nats::Error>> {
    match batch {
        Some(batch) => batch.next().await,
        None => std::future::pending().await,
    }
}
