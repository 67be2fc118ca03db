//! What is kept under a key that is written by compare-and-set.

use std::collections::BTreeMap;

use crate::demand::Curve;
use crate::filter::Filter;
use crate::identity::{GroupId, Member, RobotId, Session};
use crate::plan::{Plan, Version};
use crate::record::Shared;
use crate::wire::{wire_enum, wire_struct};

/// A key in a group's bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Whose bucket.
    pub group: GroupId,
    /// What for.
    pub what: What,
}

/// What a key is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum What {
    /// The group's plan.
    Plan,
    /// The division of its budget.
    Grant,
    /// Whether the fleet has anything left to do; in the bucket of the top alone.
    Quiet,
    /// The lease of a robot that is a direct member.
    Lease(RobotId),
    /// How a group that is a direct member is doing.
    Summary(GroupId),
    /// What the group's owners want of it.
    Charter,
}

/// What is under a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// See [`What::Plan`].
    Plan(Shared<Plan>),
    /// See [`What::Grant`].
    Grant(Grant),
    /// See [`What::Lease`].
    Lease(Lease),
    /// See [`What::Summary`].
    Summary(Summary),
    /// See [`What::Quiet`].
    Quiet(Quiet),
    /// See [`What::Charter`].
    Charter(Charter),
}
wire_enum!(Value { 0 => Plan(plan), 1 => Grant(grant), 2 => Lease(lease), 3 => Summary(summary), 4 => Quiet(quiet), 5 => Charter(charter) });

/// What a group's owners want of it. They write it; the group's partitioner carries it out when
/// it is safe.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Charter {
    /// Higher with every change: an older one is never carried out after a newer.
    pub number: u64,
    /// The group above; nothing for the fleet.
    pub parent: Option<GroupId>,
    /// Groups that are to be members.
    pub groups: Vec<GroupId>,
    /// What members take.
    pub filters: BTreeMap<Member, Filter>,
    /// Members share by the ring alone: the nodes of one robot.
    pub ring: bool,
}
wire_struct!(Charter {
    number,
    parent,
    groups,
    filters,
    ring
});

/// How far a member has come with the plans of the groups above it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// The newest plan that it has on disk.
    pub adopted: BTreeMap<GroupId, Version>,
    /// The newest plan under which it holds nothing that is another's, and took what is its own.
    pub settled: BTreeMap<GroupId, Version>,
    /// Visits wanted at each price.
    pub demand: Curve,
    /// The newest division of the budget, for each group, that it keeps to.
    pub rounds: BTreeMap<GroupId, u64>,
    /// For the end of a crawl.
    pub counters: Counters,
}
wire_struct!(Progress {
    adopted,
    settled,
    demand,
    rounds,
    counters
});

/// What a robot, or a group, says of its work, for the end of a crawl.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Nothing to fetch, nothing under way, nothing in custody.
    pub idle: bool,
    /// URLs that were ever taken.
    pub taken: u64,
    /// Another whenever anything was written since.
    pub state: u64,
    /// The newest question for quiet that was known when this was said.
    pub asked: u64,
}
wire_struct!(Counters {
    idle,
    taken,
    state,
    asked
});

/// A question to everybody whether there is anything left to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quiet {
    /// The how many-th.
    pub round: u64,
    /// Two rounds said so: there is not.
    pub reached: bool,
}
wire_struct!(Quiet { round, reached });

/// A session lease: renewed by writing it again.
#[derive(Clone, Debug, PartialEq)]
pub struct Lease {
    /// Whose.
    pub session: Session,
    /// Higher in every renewal, and never the same twice.
    pub nonce: u64,
    /// The partitioner saw it expire: this session is over.
    pub sealed: bool,
    /// The robot wants to go.
    pub leaving: bool,
    /// In units of an average robot.
    pub capacity: u32,
    /// How busy it is, from 0 to 100.
    pub load: u8,
    /// Milliseconds that its siblings take to answer it.
    pub responses: BTreeMap<RobotId, u32>,
    /// With plans and budget.
    pub progress: Progress,
}
wire_struct!(Lease {
    session,
    nonce,
    sealed,
    leaving,
    capacity,
    load,
    responses,
    progress
});

/// What a group's partitioner says of it to the group above.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The group's partitioner.
    pub maker: RobotId,
    /// Higher every time that it is written: a sign of life.
    pub beat: u64,
    /// Of all robots together.
    pub capacity: u32,
    /// Who answers for the group.
    pub representatives: Vec<RobotId>,
    /// Of the member that is furthest behind; demand is the sum.
    pub progress: Progress,
}
wire_struct!(Summary {
    maker,
    beat,
    capacity,
    representatives,
    progress
});

/// How a group's budget is divided, in requests per window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    /// The how many-th division.
    pub round: u64,
    /// What each member had.
    pub before: BTreeMap<Member, u32>,
    /// What each gets.
    pub shares: BTreeMap<Member, u32>,
    /// Whether all have given up what they have to, so that the others may take it.
    pub firm: bool,
}
wire_struct!(Grant {
    round,
    before,
    shares,
    firm
});

impl Grant {
    /// What a member may use now.
    pub fn allowed(&self, member: Member) -> u32 {
        let new = self.shares.get(&member).copied().unwrap_or(0);
        let old = self.before.get(&member).copied().unwrap_or(0);
        if self.firm { new } else { new.min(old) }
    }
}
