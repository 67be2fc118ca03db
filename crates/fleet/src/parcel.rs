//! What robots send each other.

use std::net::IpAddr;

use crate::identity::{GroupId, Member, RobotId, Session, Text, Unit};
use crate::moves::Notice;
use crate::plan::Version;
use crate::wire::{wire_enum, wire_struct};

/// A URL under way, with what cannot be computed again. The receiver judges scope and computes
/// keys anew: a peer is not trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parcel {
    /// The host name.
    pub name: Text,
    /// Path and query.
    pub path: Text,
    /// The server that the register bound the name to, once it did.
    pub server: Option<IpAddr>,
    /// Links from a seed.
    pub depth: u16,
    /// Redirects so far.
    pub redirects: u8,
    /// When a sitemap says that it changed, in days since 1970.
    pub dated: Option<u32>,
    /// The page that links here.
    pub referrer: Option<Text>,
}
wire_struct!(Parcel {
    name,
    path,
    server,
    depth,
    redirects,
    dated,
    referrer
});

impl Parcel {
    /// A URL that nothing more is known of.
    pub fn new(name: Text, path: Text) -> Self {
        Self {
            name,
            path,
            server: None,
            depth: 0,
            redirects: 0,
            dated: None,
            referrer: None,
        }
    }

    /// Who has to deal with it next: the owner of its server, or who knows the server.
    pub fn unit(&self) -> Unit {
        self.server
            .map_or_else(|| Unit::register_of(&self.name), Unit::Server)
    }
}

/// What is in custody: kept until whoever has to keep it next has it in its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cargo {
    /// A URL.
    Url(Parcel),
    /// A unit was packed for its next owner.
    Moved(Notice),
}
wire_enum!(Cargo { 0 => Url(parcel), 1 => Moved(notice) });

impl Cargo {
    /// The unit it is about.
    pub fn unit(&self) -> Unit {
        match self {
            Self::Url(parcel) => parcel.unit(),
            Self::Moved(notice) => notice.unit,
        }
    }
}

/// Where a message goes: a group's stream, and a subject in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject {
    /// Whose stream.
    pub group: GroupId,
    /// For whom.
    pub to: To,
}
wire_struct!(Subject { group, to });

/// A reader of a group's stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum To {
    /// A direct member: the robot itself, or whichever representative of the group comes first.
    Member(Member),
    /// A robot anywhere below the group: receipts.
    Robot(RobotId),
}
wire_enum!(To { 0 => Member(member), 1 => Robot(robot) });

/// Who has custody of a batch, and where it wants its receipts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// The sender.
    pub session: Session,
    /// Its subject in the stream of the group that both have above them.
    pub reply: Subject,
}
wire_struct!(Origin { session, reply });

/// Things of one sender for one receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Who has custody.
    pub origin: Origin,
    /// How many robots have passed it on.
    pub hops: u8,
    /// The plan by which it was sent here.
    pub by: (GroupId, Version),
    /// With the numbers that the sender gave them.
    pub entries: Vec<(u64, Cargo)>,
}
wire_struct!(Batch {
    origin,
    hops,
    by,
    entries
});

/// The entries are in the receiver's log: the sender may forget them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// To whom they were in custody.
    pub session: Session,
    /// The sender's numbers.
    pub entries: Vec<u64>,
    /// Names that the sender had no server for.
    pub bindings: Vec<(Text, IpAddr)>,
}
wire_struct!(Receipt {
    session,
    entries,
    bindings
});

/// A message in a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// For whoever owns what is in it.
    Batch(Batch),
    /// For the sender of batches.
    Receipt(Receipt),
}
wire_enum!(Message { 0 => Batch(batch), 1 => Receipt(receipt) });
