//! What a robot writes: to its own disk in one commit, and, where others would need it if the
//! disk died, to the log.

use std::net::IpAddr;
use std::sync::Arc;

use crate::counts::{Answered, Counts, Observation, Reading};
use crate::identity::{GroupId, Session, Text, Unit};
use crate::key::Grant;
use crate::parcel::{Cargo, Parcel};
use crate::plan::{Plan, Version};
use crate::wire::{Wire, WireError, wire_enum, wire_struct};

/// A change.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// A URL of a unit that is ours or becomes ours: a new row, if it was not seen before.
    Admit(Parcel),
    /// A row as the store writes it: what a visit made of it, or part of a package.
    Row(Unit, Arc<[u8]>),
    /// A name is bound to a server.
    Bound(Text, IpAddr),
    /// A URL waits for its name to be bound.
    Waiting(Parcel),
    /// The unit is ours to keep, whether we may already use it or not.
    Held(Unit),
    /// The unit was packed and the next owner has it: rows become "elsewhere".
    Handed(Unit),
    /// Something for somebody else, with our number for it.
    Out(u64, Cargo),
    /// Its next holder has it.
    Receipted(u64),
    /// A plan was adopted.
    Adopted(Shared<Plan>),
    /// We took our part of what a dead session left, under the plan of this version.
    Taken(Session, Version),
    /// The URLs that waited for this name are on their way.
    Dispatched(Text),
    /// Which life of the robot this is.
    Began(Session),
    /// A division of the budget was heard of.
    Granted(Grant),
    /// Entries that could not be published for long, as the log's entry of this number: whoever
    /// takes over has custody of them. What waited for their publication need not wait any more.
    Kept(u64, Vec<(u64, Cargo)>),
    /// A page of the unit was read for the first time, for those who divide.
    Read(Unit, Reading),
    /// All that was read of the unit, in a package or a snapshot.
    Counted(Unit, Counts),
    /// What others read, told to us as the group's partitioner.
    Observed(GroupId, Arc<Vec<Observation>>),
    /// What the log said before is stored, as the log's entry of this number says.
    Snapshot(u64, Snapshot),
    /// An answer of the unit was timed, for those who divide.
    Timed(Unit, Answered),
    /// All that was committed before comes to what this commit says: nothing before it is needed any more.
    Checkpoint(Checkpoint),
    /// The same for whoever drives the robot: where names are, and after how many redirects URLs came.
    Names(Vec<(Text, IpAddr)>, Vec<(Text, u8)>),
    /// The engine forgot more of the log than can be told again: our entry of the first number is its entry of the
    /// second from now on.
    Renumbered(u64, u64),
}
wire_enum!(Record {
    0 => Admit(parcel),
    1 => Row(unit, bytes),
    2 => Bound(name, server),
    3 => Waiting(parcel),
    4 => Held(unit),
    5 => Handed(unit),
    6 => Out(number, cargo),
    7 => Receipted(number),
    8 => Adopted(plan),
    9 => Taken(session, version),
    10 => Dispatched(name),
    11 => Began(session),
    12 => Granted(grant),
    13 => Kept(position, entries),
    14 => Read(unit, reading),
    15 => Counted(unit, counts),
    16 => Observed(group, observations),
    17 => Snapshot(position, snapshot),
    18 => Timed(unit, answered),
    19 => Checkpoint(checkpoint),
    20 => Names(servers, redirects),
    21 => Renumbered(ours, theirs),
});

/// What no other record of a checkpoint says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The number of the log's first entry that is still needed.
    pub base: u64,
    /// The log's entries from there on, as they are written: an engine that forgets is told them again.
    pub journal: Vec<Arc<[u8]>>,
    /// The last number that was given to something for others.
    pub last: u64,
    /// Those of them that the log has in place of a publication.
    pub kept: Vec<u64>,
    /// URLs that were ever taken.
    pub taken: u64,
}
wire_struct!(Checkpoint {
    base,
    journal,
    last,
    kept,
    taken
});

/// What a session's log said up to an entry, in the object store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Whose.
    pub session: Session,
    /// Its own number for it.
    pub number: u64,
    /// Entries of the log that it stands for.
    pub upto: u64,
    /// How many pieces it has.
    pub pieces: u32,
    /// Of all pieces together.
    pub digest: u64,
}
wire_struct!(Snapshot {
    session,
    number,
    upto,
    pieces,
    digest
});

impl Snapshot {
    /// The name of a piece in the object store.
    pub fn piece(&self, index: u32) -> Text {
        let Session { robot, incarnation } = self.session;
        format!("snapshot/{robot}.{incarnation}/{}/{index}", self.number).into()
    }

    /// The names of all pieces.
    pub fn all_pieces(&self) -> Vec<Text> {
        (0..self.pieces).map(|index| self.piece(index)).collect()
    }
}

/// Whether a commit stands for all before it.
pub fn is_checkpoint(commit: &[Record]) -> bool {
    matches!(commit.first(), Some(Record::Checkpoint(_)))
}

impl Record {
    /// Whether those who take over need it.
    pub fn replicated(&self) -> bool {
        match self {
            Self::Admit(parcel) | Self::Waiting(parcel) => parcel.errand.is_none(),
            Self::Row(..)
            | Self::Read(..)
            | Self::Counted(..)
            | Self::Timed(..)
            | Self::Bound(..)
            | Self::Held(_)
            | Self::Handed(_)
            | Self::Dispatched(_) => true,
            _ => false,
        }
    }

    /// The unit it belongs to, if it is about a unit.
    pub fn unit(&self) -> Option<Unit> {
        match self {
            Self::Admit(parcel) => Some(parcel.unit()),
            Self::Row(unit, _)
            | Self::Held(unit)
            | Self::Handed(unit)
            | Self::Read(unit, _)
            | Self::Counted(unit, _)
            | Self::Timed(unit, _) => Some(*unit),
            Self::Bound(name, _) | Self::Dispatched(name) => Some(Unit::register_of(name)),
            Self::Waiting(parcel) => Some(Unit::register_of(&parcel.name)),
            _ => None,
        }
    }
}

/// Shared and never changed.
#[derive(Debug, PartialEq)]
pub struct Shared<T>(pub Arc<T>);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> std::ops::Deref for Shared<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Wire> Wire for Shared<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    fn take(from: &mut &[u8]) -> Result<Self, WireError> {
        T::take(from).map(|value| Self(Arc::new(value)))
    }
}
