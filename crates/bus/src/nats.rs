//! The driver for NATS `JetStream`.

mod keys;
mod log;
mod objects;
pub mod papers;
mod queue;
pub mod setup;

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::context::{ContextBuilder, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{LastRawMessageErrorKind, Stream};
use async_nats::jetstream::{self, Context};
use async_nats::{Client, ConnectOptions, Event};
use bytes::Bytes;
use fleet::identity::{GroupId, RobotId, Session, Text};
use fleet::io::{Outcome, Tail};
use fleet::key::{Key, Value};
use fleet::parcel::{Message, Subject};
use fleet::wire::limits;
use futures_util::StreamExt;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout};

use crate::access::{Access, Credentials};
use crate::delivery::Arrival;
use crate::layout::Layout;
use crate::names::Names;
use crate::tally::Tally;
use crate::{Bus, BusError, DeadLetter, Entry, QUESTION, Question, Reading, Replayed};

/// Says which attempt at a write a stored message came from.
const ATTEMPT: &str = "Evercrawl-Attempt";
/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(100);

/// A connection that comes back by itself. Clones share it.
#[derive(Clone, Debug)]
pub struct Nats {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    client: Client,
    access: Access,
    names: Names,
    layout: Layout,
    /// Whose logs these are.
    site: GroupId,
    tally: Arc<Tally>,
    home: Context,
    domains: BTreeMap<GroupId, Context>,
    ends: log::Ends,
}

/// What the engine answered to a write.
enum Answer {
    /// Stored under this sequence.
    Stored(u64),
    /// Another sequence was the last one.
    Other,
    /// No, in the server's words.
    No(String),
    /// Surely not stored: nobody there to do it.
    Nobody,
    /// No answer: stored or not.
    Silence,
}

/// What became of a write that expects a sequence.
enum Written {
    Stored(u64),
    Other,
    /// In the server's words; mostly, it is full.
    Refused(String),
    Unknown,
}

impl Nats {
    /// Connects. `site` is the group whose stream has the logs of this robot and its siblings.
    pub async fn connect(
        access: &Access,
        names: Names,
        layout: Layout,
        site: GroupId,
    ) -> Result<Self, BusError> {
        let tally = Arc::new(Tally::default());
        let client = connect(access, &access.servers, Arc::clone(&tally)).await?;
        let builder = || ContextBuilder::new().timeout(layout.attempt);
        let home = builder().build(client.clone());
        let domains = (layout.domains.iter())
            .map(|(group, domain)| (*group, builder().domain(domain).build(client.clone())))
            .collect();
        Ok(Self {
            inner: Arc::new(Inner {
                access: access.clone(),
                names,
                site,
                tally,
                home,
                domains,
                ends: log::Ends::default(),
                layout,
                client,
            }),
        })
    }

    /// The version of the server that we are connected to.
    pub fn server_version(&self) -> String {
        self.inner.client.server_info().version
    }
}

impl Inner {
    fn context(&self, group: GroupId) -> &Context {
        self.domains.get(&group).unwrap_or(&self.home)
    }

    async fn stream(&self, group: GroupId, name: &str) -> Result<Stream<()>, BusError> {
        let stream = self.context(group).get_stream_no_info(name).await;
        stream.map_err(|error| BusError::Refused {
            what: name.to_owned(),
            why: error.to_string(),
        })
    }

    /// One attempt at a write.
    async fn attempt(&self, group: GroupId, subject: &str, message: PublishMessage) -> Answer {
        let context = self.context(group);
        let sent = context.send_publish(subject.to_owned(), message).await;
        let error = match sent {
            Ok(answer) => match answer.await {
                Ok(stored) => return Answer::Stored(stored.sequence),
                Err(error) => error,
            },
            Err(error) => error,
        };
        match error.kind() {
            PublishErrorKind::WrongLastSequence => Answer::Other,
            PublishErrorKind::StreamNotFound => Answer::Nobody,
            PublishErrorKind::MaxPayloadExceeded => Answer::No(error.to_string()),
            _ => {
                let answer = error.source();
                let refusal = answer.and_then(|e| e.downcast_ref::<jetstream::Error>());
                match refusal {
                    // 5xx: no leader, no quorum, no memory; another time it may work
                    Some(refusal)
                        if refusal.error_code() == jetstream::ErrorCode::STREAM_STORE_FAILED =>
                    {
                        Answer::No(refusal.to_string())
                    }
                    Some(refusal) if refusal.code() >= 500 => Answer::Silence,
                    Some(refusal) => Answer::No(refusal.to_string()),
                    None => Answer::Silence,
                }
            }
        }
    }

    /// Writes if the subject's last message has this sequence. A lost answer is found again by
    /// reading which message followed: if it has our mark, we are done.
    async fn write(
        &self,
        group: GroupId,
        stream: &str,
        subject: &str,
        expected: u64,
        bytes: Bytes,
    ) -> Written {
        let mark = self.client.new_inbox();
        let until = Instant::now() + self.layout.patience;
        let mut doubtful = false;
        loop {
            let message = PublishMessage::build()
                .payload(bytes.clone())
                .header(ATTEMPT, mark.as_str())
                .expected_last_subject_sequence(expected);
            match self.attempt(group, subject, message).await {
                Answer::Stored(sequence) => return Written::Stored(sequence),
                Answer::Other if !doubtful => return Written::Other,
                Answer::No(why) if !doubtful => {
                    tracing::warn!(subject, why, "refused");
                    self.tally.full.one();
                    return Written::Refused(why);
                }
                Answer::Nobody => {}
                _ => {
                    if !doubtful {
                        self.tally.ambiguous.one();
                    }
                    doubtful = true;
                }
            }
            if doubtful
                && let Ok(Some(follower)) = self.next(group, stream, subject, expected + 1).await
            {
                let ours = follower
                    .headers
                    .get(ATTEMPT)
                    .is_some_and(|m| m.as_str() == mark);
                if !ours {
                    // somebody else's follows: ours is not there and can never be
                    return Written::Other;
                }
                self.tally.resolved.one();
                return Written::Stored(follower.sequence);
            }
            if Instant::now() > until {
                return Written::Unknown;
            }
            sleep(PAUSE).await;
        }
    }

    /// The first message of a subject from this sequence on, from the stream's leader.
    async fn next(
        &self,
        group: GroupId,
        stream: &str,
        subject: &str,
        sequence: u64,
    ) -> Result<Option<jetstream::message::StreamMessage>, BusError> {
        let stream = self.stream(group, stream).await?;
        let builder = stream.raw_message_builder().sequence(sequence);
        found_or_none(subject, builder.next_by_subject(subject).send().await)
    }

    /// The last message of a subject, from the stream's leader.
    async fn last(
        &self,
        group: GroupId,
        stream: &str,
        subject: &str,
    ) -> Result<Option<jetstream::message::StreamMessage>, BusError> {
        let stream = self.stream(group, stream).await?;
        found_or_none(
            subject,
            stream.get_last_raw_message_by_subject(subject).await,
        )
    }

    fn silent(what: &str) -> BusError {
        BusError::Silent {
            what: what.to_owned(),
        }
    }
}

fn found_or_none<T>(
    what: &str,
    found: Result<T, async_nats::jetstream::stream::LastRawMessageError>,
) -> Result<Option<T>, BusError> {
    match found {
        Ok(message) => Ok(Some(message)),
        Err(error) => match error.kind() {
            LastRawMessageErrorKind::NoMessageFound => Ok(None),
            LastRawMessageErrorKind::JetStream(refusal)
                if refusal.error_code() == jetstream::ErrorCode::NO_MESSAGE_FOUND =>
            {
                Ok(None)
            }
            LastRawMessageErrorKind::JetStream(refusal) => Err(BusError::Refused {
                what: what.to_owned(),
                why: refusal.to_string(),
            }),
            _ => Err(Inner::silent(what)),
        },
    }
}

async fn connect(
    access: &Access,
    servers: &[String],
    tally: Arc<Tally>,
) -> Result<Client, BusError> {
    let what = servers.join(",");
    let refused = |why: String| BusError::Refused {
        what: what.clone(),
        why,
    };
    let mut options = ConnectOptions::new()
        .name(&access.name)
        .connection_timeout(Duration::from_secs(5))
        .ping_interval(Duration::from_secs(10))
        .require_tls(access.require_tls)
        .event_callback(move |event| {
            let tally = Arc::clone(&tally);
            async move {
                match event {
                    Event::Disconnected => tally.reconnects.one(),
                    Event::Connected => tracing::info!("connected to the messaging engine"),
                    other => tracing::warn!("messaging engine: {other}"),
                }
            }
        });
    if let Some(words) = &access.inbox {
        options = options.custom_inbox_prefix(format!("_INBOX.{words}"));
    }
    if let Some(path) = &access.authority {
        options = options.add_root_certificates(path.clone());
    }
    if let Some((certificate, key)) = &access.certificate {
        options = options.add_client_certificate(certificate.clone(), key.clone());
    }
    options = match &access.credentials {
        Credentials::None => options,
        Credentials::Nkey(seed) => options.nkey(seed.0.clone()),
        Credentials::Signed(text) => (options.credentials(&text.0))
            .map_err(|_| refused("the credentials file is damaged".to_owned()))?,
        Credentials::Password(user, password) => {
            options.user_and_password(user.clone(), password.0.clone())
        }
    };
    (options.connect(servers).await).map_err(|error| refused(error.to_string()))
}

impl Bus for Nats {
    async fn swap(&self, key: Key, revision: u64, value: &Value) -> Outcome {
        self.inner.swap(key, revision, value).await
    }

    async fn poll(&self, group: GroupId) -> Result<Vec<Reading>, BusError> {
        self.inner.poll(group).await
    }

    async fn watch(&self, group: GroupId) -> Result<mpsc::Receiver<Reading>, BusError> {
        self.inner.watch(group).await
    }

    async fn publish(&self, subject: Subject, message: &Message) -> Outcome {
        self.inner.publish(subject, message).await
    }

    async fn consume(
        &self,
        subject: Subject,
    ) -> Result<mpsc::UnboundedReceiver<Arrival>, BusError> {
        queue::consume(Arc::clone(&self.inner), subject).await
    }

    async fn append(&self, session: Session, expected: u64, entries: &[Entry]) -> Tail {
        self.inner.append(session, expected, entries).await
    }

    async fn tail(&self, session: Session) -> Tail {
        self.inner.tail(session).await
    }

    async fn seal(&self, session: Session) -> Outcome {
        self.inner.seal(session).await
    }

    async fn replay(&self, session: Session) -> Option<Replayed> {
        self.inner.replay(session).await
    }

    async fn purge(&self, session: Session, upto: u64) -> Outcome {
        self.inner.purge(session, upto).await
    }

    async fn put(&self, name: &str, bytes: Arc<[u8]>) -> Outcome {
        self.inner.put(name, &bytes).await
    }

    async fn get(&self, name: &str) -> Option<Arc<[u8]>> {
        self.inner.get(name).await
    }

    async fn remove(&self, name: &str) -> Outcome {
        self.inner.remove(name).await
    }

    async fn sweep(&self, session: Session, needed: &[Text]) -> Outcome {
        self.inner.sweep(session, needed).await
    }

    async fn ask(&self, robot: RobotId, question: &[u8]) -> Option<Vec<u8>> {
        let subject = self.inner.names.ask(robot);
        let bytes = Bytes::copy_from_slice(question);
        let answer = timeout(
            self.inner.layout.attempt,
            self.inner.client.request(subject, bytes),
        );
        let payload = answer.await.ok()?.ok()?.payload;
        (payload.len() <= limits::MESSAGE).then(|| payload.to_vec())
    }

    async fn questions(&self, robot: RobotId) -> Result<mpsc::Receiver<Question>, BusError> {
        let subject = self.inner.names.ask(robot);
        let client = self.inner.client.clone();
        let asked = client.subscribe(subject.clone()).await;
        let mut asked = asked.map_err(|_| Inner::silent(&subject))?;
        let tally = Arc::clone(&self.inner.tally);
        let (sender, receiver) = mpsc::channel(64);
        tokio::spawn(async move {
            loop {
                let message = tokio::select! {
                    message = asked.next() => message,
                    () = sender.closed() => None,
                };
                let Some(message) = message else { break };
                let Some(reply) = message.reply else { continue };
                if message.payload.len() > QUESTION {
                    tally.oversized.one();
                    continue;
                }
                let (answer, answered) = oneshot::channel();
                let bytes = message.payload.to_vec();
                if sender.try_send(Question { bytes, answer }).is_err() {
                    tally.missed.one();
                    continue;
                }
                let client = client.clone();
                tokio::spawn(async move {
                    if let Ok(bytes) = answered.await {
                        let _ = client.publish(reply, Bytes::from(bytes)).await;
                    }
                });
            }
        });
        Ok(receiver)
    }

    async fn bury(&self, subject: Subject, reason: &str, bytes: Vec<u8>) -> Outcome {
        let buried = self.inner.bury(subject, reason, bytes.into()).await;
        if !matches!(buried, Outcome::Done(_)) {
            self.inner.tally.unburied.one();
        }
        buried
    }

    async fn dead_letters(&self, most: usize) -> Result<(u64, Vec<DeadLetter>), BusError> {
        self.inner.dead_letters(most).await
    }

    fn tally(&self) -> &Tally {
        &self.inner.tally
    }
}
