//! Plans: how a group divides its share among its members, one version after the other.

use std::sync::OnceLock;

use partition::routing::{Entry, Lookup, Table};

use crate::filter::{Block, Filter};
use crate::flaw::Flaw;
use crate::identity::{GroupId, Member, RobotId, Session, Unit};
use crate::ring;
use crate::wire::{Wire, WireError, wire_enum, wire_struct};

/// Of a plan. Higher numbers are newer; of equal numbers the higher term, which is the case only
/// after the engine forgot one of the two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The how many-th plan of the group.
    pub number: u64,
    /// The how many-th partitioner made it.
    pub term: u64,
}
wire_struct!(Version { number, term });

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "v{}.{}", self.number, self.term)
    }
}

/// Who makes the plan of a group that nobody is in yet.
pub const NOBODY: RobotId = RobotId(0);

/// The term that a group begins with which was founded again. No group has so many partitioners one after the other
/// before long.
const AGAIN: u64 = 1_000;

/// What a seat is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Has a share.
    Active,
    /// Has none any more, and is handing over what it had.
    Leaving,
    /// A group without robots: it has no share, and nothing is asked of it.
    Empty,
}
wire_enum!(Standing { 0 => Active, 1 => Leaving, 2 => Empty });

/// A member as a plan knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Who.
    pub member: Member,
    /// Which life of a robot; 0 for groups.
    pub incarnation: u64,
    /// In units of an average member.
    pub capacity: u32,
    /// Whether it has a share.
    pub standing: Standing,
    /// Who answers for a group; nobody for a robot.
    pub representatives: Vec<RobotId>,
    /// What it takes.
    pub filter: Filter,
}
wire_struct!(Seat {
    member,
    incarnation,
    capacity,
    standing,
    representatives,
    filter
});

impl Seat {
    /// Of a robot.
    pub fn session(&self) -> Option<Session> {
        match self.member {
            Member::Robot(robot) => Some(Session {
                robot,
                incarnation: self.incarnation,
            }),
            Member::Group(_) => None,
        }
    }

    /// An ordinary member.
    pub fn new(member: Member, incarnation: u64, capacity: u32) -> Self {
        Self {
            member,
            incarnation,
            capacity,
            standing: Standing::Active,
            representatives: Vec::new(),
            filter: Filter::default(),
        }
    }
}

/// How a group divides its share.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Whose.
    pub group: GroupId,
    /// Which.
    pub version: Version,
    /// The partitioner.
    pub maker: RobotId,
    /// All direct members.
    pub seats: Vec<Seat>,
    /// Sessions that ended without handing over: their logs are sealed, the others take them over.
    pub dead: Vec<Session>,
    /// Blocks of addresses and the members they go to. The ring has the rest, so a plan is total.
    pub table: Vec<(Block, Member)>,
    /// The group above; nothing for the fleet.
    pub parent: Option<GroupId>,
    /// The newest charter that was carried out.
    pub charter: u64,
    /// All robots were gone, and the group above was told to take over in a plan newer than this:
    /// whoever comes gets a seat only then.
    pub buried: Option<Version>,
    routes: Routes,
}

/// The table made ready for lookups, once.
#[derive(Debug, Default)]
struct Routes(OnceLock<Lookup>);

impl Clone for Routes {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Plan {
    fn eq(&self, other: &Self) -> bool {
        (self.group, self.version, self.maker) == (other.group, other.version, other.maker)
            && (&self.seats, &self.dead, &self.table) == (&other.seats, &other.dead, &other.table)
            && (self.parent, self.charter, self.buried)
                == (other.parent, other.charter, other.buried)
    }
}

impl Wire for Plan {
    fn put(&self, out: &mut Vec<u8>) {
        self.group.put(out);
        self.version.put(out);
        self.maker.put(out);
        self.seats.put(out);
        self.dead.put(out);
        self.table.put(out);
        self.parent.put(out);
        self.charter.put(out);
        self.buried.put(out);
    }

    fn take(from: &mut &[u8]) -> Result<Self, WireError> {
        let mut plan = Self::new(Wire::take(from)?, Wire::take(from)?, Wire::take(from)?);
        plan.seats = Wire::take(from)?;
        plan.dead = Wire::take(from)?;
        plan.table = Wire::take(from)?;
        plan.parent = Wire::take(from)?;
        plan.charter = Wire::take(from)?;
        plan.buried = Wire::take(from)?;
        Ok(plan)
    }
}

impl Plan {
    /// The sessions of its member robots.
    pub fn sessions(&self) -> impl Iterator<Item = Session> {
        self.seats.iter().filter_map(Seat::session)
    }

    /// The sessions that are over, and those that are about to be.
    pub fn gone(&self) -> impl Iterator<Item = Session> {
        let leaving = (self.seats.iter()).filter(|seat| seat.standing == Standing::Leaving);
        let leaving = leaving.filter_map(Seat::session);
        self.dead.iter().copied().chain(leaving)
    }

    /// The first plan of a group that nobody is in yet.
    pub fn founding(group: GroupId, parent: Option<GroupId>) -> Self {
        let mut plan = Self::new(group, Version { number: 1, term: 0 }, NOBODY);
        plan.parent = parent;
        plan
    }

    /// As [`Plan::founding`], in place of plans that were lost: there may be robots who know more, and servers that
    /// were asked a moment ago.
    pub fn founding_again(group: GroupId, parent: Option<GroupId>) -> Self {
        let mut plan = Self::founding(group, parent);
        plan.version.term = AGAIN;
        plan
    }

    /// Whether the group was founded once, and had few partitioners since.
    pub fn is_of_first_founding(&self) -> bool {
        self.version.term < AGAIN
    }

    /// A plan for nobody.
    pub fn new(group: GroupId, version: Version, maker: RobotId) -> Self {
        Self {
            group,
            version,
            maker,
            seats: Vec::new(),
            dead: Vec::new(),
            table: Vec::new(),
            parent: None,
            charter: 0,
            buried: None,
            routes: Routes::default(),
        }
    }

    /// The seat of a member.
    pub fn seat(&self, member: Member) -> Option<&Seat> {
        self.seats.iter().find(|seat| seat.member == member)
    }

    /// The members that have something to say: all but groups without robots.
    pub fn asked(&self) -> impl Iterator<Item = &Seat> {
        (self.seats.iter()).filter(|seat| seat.standing != Standing::Empty)
    }

    /// Whether anybody has a share.
    pub fn has_active(&self) -> bool {
        (self.seats.iter()).any(|seat| seat.standing == Standing::Active)
    }

    /// Whether the session has a seat.
    pub fn seats_session(&self, session: Session) -> bool {
        self.seat(Member::Robot(session.robot))
            .is_some_and(|seat| seat.incarnation == session.incarnation)
    }

    /// The next plan by `maker`: a new term if it is another's.
    #[must_use]
    pub fn successor(&self, maker: RobotId) -> Self {
        let mut next = self.clone();
        next.version.number += 1;
        next.version.term += u64::from(self.maker != maker);
        next.maker = maker;
        next
    }

    /// The member that a unit goes to; nobody if there is no member or all filters refuse it.
    pub fn owner(&self, unit: Unit, flaw: Option<Flaw>) -> Option<Member> {
        let takes = |seat: &Seat| {
            seat.standing == Standing::Active
                && match unit {
                    Unit::Server(address) => seat.filter.takes_server(address),
                    Unit::Register(_) => true,
                }
        };
        if let Some(listed) = self.listed(unit).filter(|seat| takes(seat)) {
            return Some(listed.member);
        }
        let members = (0..).zip(&self.seats).map(|(position, seat)| {
            let identity = match flaw {
                Some(Flaw::PositionalRing) => position,
                _ => seat.member.identity(),
            };
            (identity, if takes(seat) { seat.capacity } else { 0 })
        });
        ring::choose(ring::key_of(unit), members).map(|position| self.seats[position].member)
    }

    /// Whether the table has a place for the unit, so that the ring is not asked.
    pub fn lists(&self, unit: Unit) -> bool {
        self.listed(unit).is_some()
    }

    fn listed(&self, unit: Unit) -> Option<&Seat> {
        let Unit::Server(address) = unit else {
            return None;
        };
        if self.table.is_empty() {
            return None;
        }
        let lookup = self.routes.0.get_or_init(|| {
            let mut entries: Vec<Entry> = (self.table.iter())
                .filter_map(|(block, member)| {
                    let owner = self.seats.iter().position(|s| s.member == *member)? as u32;
                    let prefix = block.0;
                    Some(Entry { prefix, owner })
                })
                .collect();
            // of contradicting entries the first counts, for everybody
            entries.sort_by_key(|entry| entry.prefix);
            entries.dedup_by_key(|entry| entry.prefix);
            Lookup::new(&Table::new(entries).expect("each block once"))
        });
        let owner = lookup.owner(address)?;
        self.seats.get(owner as usize)
    }
}

#[cfg(test)]
mod tests;
