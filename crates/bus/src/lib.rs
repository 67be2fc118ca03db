//! Between the fleet's protocol and the messaging engine.
#![doc = include_str!("../README.md")]

pub mod access;
mod chunk;
pub mod delivery;
pub mod layout;
pub mod memory;
pub mod names;
pub mod nats;
pub mod tally;

use std::sync::Arc;

use fleet::identity::{GroupId, RobotId, Session, Text};
use fleet::io::{Outcome, Tail};
use fleet::key::{Key, Value};
use fleet::parcel::{Message, Subject};
use fleet::record::Record;
use fleet::wire::WireError;
use tokio::sync::{mpsc, oneshot};

pub use delivery::{Arrival, Claim, Delivered};
pub use tally::Tally;

/// Most bytes of an object. Larger ones fail on replicated streams.
pub const PIECE: usize = 16 << 20;
/// Most bytes of a question.
pub const QUESTION: usize = 64 << 10;

/// What was appended to a log at once.
pub type Entry = Arc<Vec<Record>>;

/// Why the engine did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum BusError {
    /// No answer in time, or no connection.
    #[error("{what}: no answer from the messaging engine")]
    Silent {
        /// What was asked for.
        what: String,
    },
    /// The engine said no.
    #[error("{what}: {why}")]
    Refused {
        /// What was asked for.
        what: String,
        /// In the engine's words.
        why: String,
    },
}

/// A key as it was read.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Which.
    pub key: Key,
    /// As counted by the engine.
    pub revision: u64,
    /// What it holds, if that can be read.
    pub value: Result<Value, WireError>,
}

/// What is left of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// Entries before the first; they were purged.
    pub from: u64,
    /// Oldest first.
    pub entries: Vec<Entry>,
}

/// A question that waits for its answer; without one, the asker hears nothing.
#[derive(Debug)]
pub struct Question {
    /// What is asked.
    pub bytes: Vec<u8>,
    /// Where the answer goes.
    pub answer: oneshot::Sender<Vec<u8>>,
}

/// A message that nobody could deal with, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// When, in seconds since 1970.
    pub at: i64,
    /// Where it was found.
    pub subject: String,
    /// Why it is here.
    pub reason: String,
    /// Itself.
    pub bytes: Vec<u8>,
}

/// What the protocol's outputs need of a messaging engine. Every call ends in bounded time.
pub trait Bus: Clone + Send + Sync + 'static {
    /// Compare and set: only if the key has this revision, 0 for none. Answers that got lost are
    /// found again by reading back, as long as patience lasts.
    fn swap(&self, key: Key, revision: u64, value: &Value) -> impl Future<Output = Outcome> + Send;

    /// All keys of a group's bucket, or an error if some could not be read.
    fn poll(&self, group: GroupId) -> impl Future<Output = Result<Vec<Reading>, BusError>> + Send;

    /// Changes of a group's keys from now on. Some may be missing: poll as well.
    fn watch(
        &self,
        group: GroupId,
    ) -> impl Future<Output = Result<mpsc::Receiver<Reading>, BusError>> + Send;

    /// Publishes; refused if the stream, or the reader's part of it, is full.
    fn publish(&self, subject: Subject, message: &Message) -> impl Future<Output = Outcome> + Send;

    /// Reads a subject together with everybody else who does. What is dropped without being
    /// acknowledged comes again.
    fn consume(
        &self,
        subject: Subject,
    ) -> impl Future<Output = Result<mpsc::UnboundedReceiver<Arrival>, BusError>> + Send;

    /// Appends to a session's log if it has so many entries and is not sealed. If it is cut off in
    /// the middle, the first of the entries are in.
    fn append(
        &self,
        session: Session,
        expected: u64,
        entries: &[Entry],
    ) -> impl Future<Output = Tail> + Send;

    /// How long a log is.
    fn tail(&self, session: Session) -> impl Future<Output = Tail> + Send;

    /// Ends a log: nobody appends any more. The tail of a sealed log may tell fewer entries than it
    /// has, if its owner appended at that moment.
    fn seal(&self, session: Session) -> impl Future<Output = Outcome> + Send;

    /// A sealed log; nothing if it is not sealed or could not be read whole.
    fn replay(&self, session: Session) -> impl Future<Output = Option<Replayed>> + Send;

    /// Forgets entries of a log before `upto`; where they were written together, fewer.
    fn purge(&self, session: Session, upto: u64) -> impl Future<Output = Outcome> + Send;

    /// Stores an object of at most [`PIECE`] bytes.
    fn put(&self, name: &str, bytes: Arc<[u8]>) -> impl Future<Output = Outcome> + Send;

    /// An object, if it is there and undamaged.
    fn get(&self, name: &str) -> impl Future<Output = Option<Arc<[u8]>>> + Send;

    /// Removes an object.
    fn remove(&self, name: &str) -> impl Future<Output = Outcome> + Send;

    /// Removes all objects of a session but these.
    fn sweep(&self, session: Session, needed: &[Text]) -> impl Future<Output = Outcome> + Send;

    /// Asks a robot; nothing if it does not answer.
    fn ask(&self, robot: RobotId, question: &[u8]) -> impl Future<Output = Option<Vec<u8>>> + Send;

    /// What a robot is asked.
    fn questions(
        &self,
        robot: RobotId,
    ) -> impl Future<Output = Result<mpsc::Receiver<Question>, BusError>> + Send;

    /// Puts something that came to a reader, and was not taken, among the dead letters. The oldest give way.
    fn bury(
        &self,
        subject: Subject,
        reason: &str,
        bytes: Vec<u8>,
    ) -> impl Future<Output = Outcome> + Send;

    /// How many dead letters there are, and the newest of them, newest first.
    fn dead_letters(
        &self,
        most: usize,
    ) -> impl Future<Output = Result<(u64, Vec<DeadLetter>), BusError>> + Send;

    /// What was refused, lost and found again so far.
    fn tally(&self) -> &Tally;
}
