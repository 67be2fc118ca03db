//! Who is who: lasting identities of robots and groups, and what is owned.

use std::net::IpAddr;
use std::sync::Arc;

use partition::hash::stable_hash;

use crate::wire::{Wire, wire_enum, wire_struct};

/// Milliseconds on a robot's own monotonic clock, which counts suspension.
pub type Millis = u64;
/// A host name or another text that is passed around a lot.
pub type Text = Arc<str>;

macro_rules! identity {
    ($(#[$doc:meta] $name:ident $letter:literal),*) => {$(
        #[$doc]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u64);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($letter, "{}"), self.0)
            }
        }

        impl Wire for $name {
            fn put(&self, out: &mut Vec<u8>) {
                self.0.put(out);
            }
            fn take(from: &mut &[u8]) -> Result<Self, crate::wire::WireError> {
                u64::take(from).map(Self)
            }
        }
    )*};
}
identity!(
    /// A robot, for as long as its owner calls it the same.
    RobotId "r",
    /// A site, a region or the fleet.
    GroupId "g",
    /// A machine of a robot.
    NodeId "n"
);

/// A direct member of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Member {
    /// A leaf.
    Robot(RobotId),
    /// A site or a region.
    Group(GroupId),
}
wire_enum!(Member { 0 => Robot(id), 1 => Group(id) });

impl Member {
    /// The number that stands for it on a ring.
    pub fn identity(self) -> u64 {
        match self {
            Self::Robot(RobotId(id)) => stable_hash(&[&[0], &id.to_be_bytes()[..]].concat()),
            Self::Group(GroupId(id)) => stable_hash(&[&[1], &id.to_be_bytes()[..]].concat()),
        }
    }
}

/// One life of a robot. A robot that lost its disk or its share comes back as another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Session {
    /// Whose.
    pub robot: RobotId,
    /// The how many-th.
    pub incarnation: u64,
}
wire_struct!(Session { robot, incarnation });

impl Session {
    /// Whether an object of this name is the session's: part of a package or of a snapshot.
    pub fn stored(&self, name: &str) -> bool {
        let Self { robot, incarnation } = self;
        let parts = name.split_once('/');
        let rest =
            parts.and_then(|(kind, rest)| ["package", "snapshot"].contains(&kind).then_some(rest));
        let rest = rest.and_then(|rest| rest.strip_prefix(&format!("{robot}.{incarnation}/")));
        rest.is_some()
    }
}

/// How many registers of names there are in a fleet.
pub const REGISTERS: u8 = 64;

/// What has one owner: a server with all names bound to it, or a register of names, which says
/// which server a name is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    /// A server.
    Server(IpAddr),
    /// Names whose hash ends so.
    Register(u8),
}
wire_enum!(Unit { 0 => Server(address), 1 => Register(number) });

impl Unit {
    /// The register that a name is in.
    pub fn register_of(name: &str) -> Self {
        Self::Register((stable_hash(name.as_bytes()) % u64::from(REGISTERS)) as u8)
    }
}

impl std::fmt::Display for Unit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Server(address) => write!(f, "{address}"),
            Self::Register(number) => write!(f, "register {number}"),
        }
    }
}
