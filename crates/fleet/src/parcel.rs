//! What robots send each other.

use std::net::IpAddr;
use std::sync::Arc;

use crate::counts::Observation;
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
    /// What to ask for, as the finder knows it.
    pub url: Text,
    /// The server that the register bound the name to, once it did.
    pub server: Option<IpAddr>,
    /// Links from a seed.
    pub depth: u16,
    /// Redirects so far.
    pub redirects: u8,
    /// When it was found, in milliseconds since 1970 by the finder's wall clock.
    pub found: u64,
    /// When a sitemap says that it changed, in milliseconds since 1970.
    pub dated: Option<u64>,
    /// The page that links here.
    pub referrer: Option<Text>,
    /// It is no page, but something to be done for another host.
    pub errand: Option<Errand>,
}
wire_struct!(Parcel {
    name,
    url,
    server,
    depth,
    redirects,
    found,
    dated,
    referrer,
    errand
});

/// A robots.txt that redirects to another host is fetched by that host's owner, in its own turn, and
/// the answer goes back. Whoever asked asks again if none comes, so nobody inherits errands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errand {
    /// Whose robots.txt it is: scheme, name and port.
    pub of: Text,
    /// Redirects followed so far.
    pub hops: u8,
    /// What it comes to; nothing in a question.
    pub answer: Option<Arc<[u8]>>,
}
wire_struct!(Errand { of, hops, answer });

impl Parcel {
    /// A URL that nothing more is known of.
    pub fn new(name: Text, url: Text) -> Self {
        Self {
            name,
            url,
            server: None,
            depth: 0,
            redirects: 0,
            found: 0,
            dated: None,
            referrer: None,
            errand: None,
        }
    }

    /// What stands behind the host.
    pub fn path(&self) -> &str {
        let Some((_, rest)) = self.url.split_once("://") else {
            return &self.url;
        };
        rest.find('/').map_or("/", |at| &rest[at..])
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
    /// What was read, for a group's partitioner. In nobody's custody: it is told again, or anew.
    Seen(Vec<Observation>),
}
wire_enum!(Cargo { 0 => Url(parcel), 1 => Moved(notice), 2 => Seen(observations) });

impl Cargo {
    /// How many bytes of a message it takes, roughly.
    pub(crate) fn bytes(&self) -> usize {
        let Self::Url(parcel) = self else { return 128 };
        let texts = [Some(&parcel.url), parcel.referrer.as_ref()];
        let texts: usize = texts.into_iter().flatten().map(|text| text.len()).sum();
        let errand = parcel.errand.as_ref();
        let answer = errand.and_then(|errand| errand.answer.as_ref());
        128 + parcel.name.len() + texts + answer.map_or(0, |answer| answer.len())
    }

    /// The unit it is about, if it is about one.
    pub fn unit(&self) -> Option<Unit> {
        match self {
            Self::Url(parcel) => Some(parcel.unit()),
            Self::Moved(notice) => Some(notice.unit),
            Self::Seen(_) => None,
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

impl Receipt {
    /// As several, none of which names more than `most` entries or bindings: whoever was away for long has much to
    /// thank for, and larger messages are refused.
    pub fn in_parts(self, most: usize) -> impl Iterator<Item = Self> {
        let count = self.entries.len().max(self.bindings.len()).div_ceil(most);
        (0..count).map(move |part| {
            fn cut<T: Clone>(all: &[T], part: usize, most: usize) -> Vec<T> {
                all.iter().skip(part * most).take(most).cloned().collect()
            }
            Self {
                session: self.session,
                entries: cut(&self.entries, part, most),
                bindings: cut(&self.bindings, part, most),
            }
        })
    }
}

/// A message in a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// For whoever owns what is in it.
    Batch(Batch),
    /// For the sender of batches.
    Receipt(Receipt),
}
wire_enum!(Message { 0 => Batch(batch), 1 => Receipt(receipt) });
