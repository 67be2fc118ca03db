//! What a robot's protocol hears and wants. Whoever drives it has the bus, the store and the clock.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use crate::counts::Reading;
use crate::identity::{GroupId, Millis, RobotId, Session, Text, Unit};
use crate::key::{Key, Value};
use crate::moves::Ages;
use crate::parcel::{Cargo, Message, Parcel, Subject};
use crate::record::Record;

/// Names an operation until its outcome is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u64);

/// Names a delivery until it is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Delivery(pub u64);

/// What became of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done; for a compare-and-set the new revision.
    Done(u64),
    /// Not done: another revision, or a full stream.
    Refused,
    /// No answer in time: done or not.
    Unknown,
}

/// What became of an append to a log, or what a question for its end found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    /// Entries that were ever in the log, those that were cut included; nothing if there was no answer.
    pub entries: Option<u64>,
    /// Nobody may append any more.
    pub sealed: bool,
}

/// What the robot hears.
#[derive(Clone, Debug)]
pub enum Input {
    /// Time has passed.
    Tick,
    /// A key as read or watched; it may be an old revision.
    Read {
        /// Which.
        key: Key,
        /// As counted by the engine.
        revision: u64,
        /// What it holds.
        value: Value,
    },
    /// A poll of a bucket is complete: keys not named before do not exist.
    Polled(GroupId),
    /// The outcome of a compare-and-set, a publication, an object or a seal.
    Outcome(Token, Outcome),
    /// The outcome of [`Output::Append`] and [`Output::Tail`].
    Log(Tail),
    /// A sealed log, all that is there of it, oldest first; nothing if it could not be read.
    Records(Session, Option<Vec<Arc<Vec<Record>>>>),
    /// A message, which is delivered again if it is not acknowledged.
    Message(Delivery, Message),
    /// A message or a value that [`crate::wire::limits`] refuses: it is counted, and acknowledged
    /// if it was delivered, because it would never become readable.
    Unreadable(Option<Delivery>),
    /// A piece of a package, if it is there.
    Object(Text, Option<Arc<[u8]>>),
    /// All writes up to this one are on disk.
    Committed(u64),
    /// Something to admit that no page names: seeds. What comes together is committed together.
    Seeds(Vec<Parcel>),
    /// A page was read: its row, and the URLs that it names.
    Visited {
        /// The server.
        unit: Unit,
        /// For the store.
        row: Arc<[u8]>,
        /// What was found.
        links: Vec<Parcel>,
        /// Where it links to, if it was read for the first time.
        read: Option<Reading>,
        /// Microseconds that the server took to begin its answer, if it gave one.
        delay: Option<u32>,
    },
    /// The registrar's own lookup; nothing only after the resolver's own repetitions.
    Resolved(Text, Option<IpAddr>),
    /// No request to the unit is under way any more, and this is all that is known of it, with
    /// everything that was to be written before it was closed.
    Exported {
        /// As in [`Output::Close`]; the answer to an earlier one counts for nothing.
        token: Token,
        /// Which.
        unit: Unit,
        /// Rows.
        records: Vec<Record>,
        /// For politeness.
        ages: Ages,
    },
    /// What the store has, as it would be logged: rows, and URLs that were never visited.
    Surveyed {
        /// As in [`Output::Survey`].
        token: Token,
        /// From the place that was asked for on.
        records: Vec<Record>,
        /// The place to ask for next; nothing if that was all.
        next: Option<u64>,
    },
    /// Some of what [`Output::Recall`] asked for.
    Recalled(Vec<(u64, Cargo)>),
    /// Demand and idleness, with every tick, after the outputs of all inputs before were done.
    Load {
        /// Visits wanted at each price.
        demand: crate::demand::Curve,
        /// Nothing to fetch and nothing under way, and nothing waits in the subjects that the robot
        /// reads, delivered or not.
        idle: bool,
    },
    /// How busy the robot is, from 0 to 100, and in how many milliseconds its siblings answer it:
    /// whoever is quick and has time answers for the group.
    Measured {
        /// Of itself.
        load: u8,
        /// Medians of several measurements.
        responses: BTreeMap<RobotId, u32>,
    },
    /// The robot is to leave the fleet.
    Leave,
}

/// What the robot wants done.
#[derive(Clone, Debug)]
pub enum Output {
    /// Read all keys of a bucket.
    Poll(GroupId),
    /// Compare and set: only if the revision is still this; 0 if there is to be none.
    Swap {
        /// For the outcome.
        token: Token,
        /// Which.
        key: Key,
        /// As last seen.
        revision: u64,
        /// The new value.
        value: Value,
    },
    /// Publish.
    Publish {
        /// For the outcome.
        token: Token,
        /// Where to.
        subject: Subject,
        /// What.
        message: Message,
    },
    /// Acknowledge a delivery.
    Acknowledge(Delivery),
    /// A delivery cannot be dealt with now and shall come again. Each is acknowledged or returned: an engine lets a reader
    /// hold only so many.
    Return(Delivery),
    /// Append to the session's log if it has so many entries.
    Append {
        /// Whose log.
        session: Session,
        /// Entries that it is to have.
        expected: u64,
        /// New ones.
        entries: Vec<Arc<Vec<Record>>>,
    },
    /// Ask how long the log is.
    Tail(Session),
    /// End another's log.
    Seal(Token, Session),
    /// Read a sealed log.
    Replay(Session),
    /// Entries of the session's log before this number are not needed any more; numbers go on as before.
    /// Nothing depends on its being done.
    Purge(Session, u64),
    /// Put an object.
    Put(Token, Text, Arc<[u8]>),
    /// Get an object.
    Get(Text),
    /// Nobody needs an object any more. Nothing depends on its being removed.
    Remove(Text),
    /// Nobody needs the session's objects ([`Session::stored`]) any more but these. Nothing depends on it.
    Sweep(Session, Vec<Text>),
    /// Write to disk in one commit. One that begins with a [`Record::Checkpoint`] stands for all before it, which may
    /// be forgotten with it or later.
    Write(u64, Arc<Vec<Record>>),
    /// Say what the store has from this place on, some of it, as of all commits so far. Places are 0 and what
    /// [`Input::Surveyed`] says; what comes into the store meanwhile may be left out.
    Survey(Token, u64),
    /// Say what was committed for others under these numbers, by [`Input::Recalled`], some at a time. What is
    /// committed by now, in any order.
    Recall(Vec<u64>),
    /// Look a name up.
    Resolve(Text),
    /// The unit may be asked from this time on, if the gate agrees.
    Open(Unit, Millis),
    /// No more requests to the unit; [`Input::Exported`] when the last has ended.
    Close(Token, Unit),
    /// Rows of the unit are elsewhere now.
    Forget(Unit),
    /// The share is lost: wipe the store and begin another life.
    Reset,
    /// Another process works under the robot's name: this one is to end, and leave the name to it.
    Replaced,
}
