//! Turns and connections, shared by site and by network.
//!
//! Whoever may go is offered here with a tag: one after the last of its site, one after the last of
//! its network, and not before the tag served last. The least tag is next, so that sites and
//! networks take turns however many hosts they have (start-time fair queueing with two parents).
//!
//! A group (a site or a network) that holds its share of the connections waits until nobody below
//! its share does, and leaves some connections free for those who will be. Nor do hosts get these
//! that are slow, or of which nobody knows yet, though each may be a site of its own.

use ground::HostId;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// A site or a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct GroupId(u32);

/// What a group is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Site,
    Network,
    /// All hosts of one [`Tempo`].
    Tempo,
}

/// What keeps a host from the last connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tempo {
    /// It has shown no page yet.
    Unknown,
    /// It was slow the last time, or is in trouble.
    Slow,
}

/// The groups a host is in; the network is known once it has an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Groups {
    pub site: GroupId,
    pub network: Option<GroupId>,
    pub tempo: Option<Tempo>,
}

#[derive(Debug)]
struct Group {
    kind: Kind,
    /// Connections held.
    under_way: u32,
    /// Hosts that have something to do or are doing it.
    claims: u32,
    /// The tag of its next turn.
    next: u64,
    /// Its hosts that wait because it holds its share.
    parked: BinaryHeap<Reverse<Offer>>,
}

/// A host that may go; the least is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Offer {
    tag: u64,
    asked: u64,
    host: HostId,
    groups: Groups,
}

/// One in so many connections is kept for groups below their share.
const RESERVE: usize = 8;
/// How far apart two turns of a group are that is due one at a time.
const TURN: u64 = 1 << 20;
/// The groups of tempo are the first.
const TEMPOS: [GroupId; 2] = [GroupId(0), GroupId(1)];

#[derive(Debug)]
pub(super) struct Shares {
    connections: usize,
    under_way: usize,
    groups: Vec<Group>,
    /// Groups with claims, by kind.
    claimants: [usize; 3],
    ready: BinaryHeap<Reverse<Offer>>,
    /// Groups with parked hosts, those with the fewest connections first.
    over: BTreeSet<(u32, GroupId)>,
    /// The tag served last.
    served: u64,
    asked: u64,
    /// A mistake on purpose: nobody keeps to its share.
    pub lawless: bool,
}

impl Groups {
    fn each(self) -> impl Iterator<Item = GroupId> {
        let tempo = self.tempo.map(|tempo| TEMPOS[tempo as usize]);
        std::iter::once(self.site).chain(self.network).chain(tempo)
    }

    /// Without the last, which take no turns and claim nothing.
    fn own(self) -> Self {
        Self {
            tempo: None,
            ..self
        }
    }
}

impl Shares {
    pub fn new(connections: usize) -> Self {
        let mut shares = Self {
            connections,
            under_way: 0,
            groups: Vec::new(),
            claimants: [0; 3],
            ready: BinaryHeap::new(),
            over: BTreeSet::new(),
            served: 0,
            asked: 0,
            lawless: false,
        };
        for id in TEMPOS {
            assert_eq!(shares.add_group(Kind::Tempo), id);
        }
        shares
    }

    pub fn add_group(&mut self, kind: Kind) -> GroupId {
        self.groups.push(Group {
            kind,
            under_way: 0,
            claims: 0,
            next: 0,
            parked: BinaryHeap::new(),
        });
        GroupId(self.groups.len() as u32 - 1)
    }

    fn group(&mut self, id: GroupId) -> &mut Group {
        &mut self.groups[id.0 as usize]
    }

    /// A host of the group has something to do from now on.
    pub fn claim(&mut self, groups: Groups) {
        for id in groups.each() {
            let group = self.group(id);
            group.claims += 1;
            let (kind, first) = (group.kind, group.claims == 1);
            self.claimants[kind as usize] += usize::from(first);
        }
    }

    /// … and has not any more.
    pub fn unclaim(&mut self, groups: Groups) {
        for id in groups.each() {
            let group = self.group(id);
            group.claims -= 1;
            let (kind, last) = (group.kind, group.claims == 0);
            self.claimants[kind as usize] -= usize::from(last);
        }
    }

    /// Connections that are everybody's due.
    fn share(&self, kind: Kind) -> usize {
        let share = match kind {
            Kind::Tempo => self.connections - self.reserve(),
            Kind::Site | Kind::Network => self.connections / self.claimants[kind as usize].max(1),
        };
        share.max(1)
    }

    /// Connections kept for those below their share.
    fn reserve(&self) -> usize {
        (self.connections / RESERVE)
            .max(1)
            .min(self.connections - 1)
    }

    fn holds_its_share(&self, id: GroupId) -> bool {
        if self.lawless {
            return false;
        }
        let under_way = |id: GroupId| self.groups[id.0 as usize].under_way as usize;
        let kind = self.groups[id.0 as usize].kind;
        let held = match kind {
            Kind::Tempo => TEMPOS.into_iter().map(under_way).sum(),
            Kind::Site | Kind::Network => under_way(id),
        };
        held >= self.share(kind)
    }

    /// The host may go; one that is due more turns comes again the sooner.
    pub fn offer(&mut self, host: HostId, groups: Groups, turns: u64) {
        let mut tag = self.served;
        let lawless = self.lawless;
        for id in groups.own().each().filter(|_| !lawless) {
            let served = self.served;
            let group = self.group(id);
            tag = tag.max(group.next);
            group.next = group.next.max(served) + TURN / turns;
        }
        self.asked += 1;
        self.ready.push(Reverse(Offer {
            tag,
            asked: self.asked,
            host,
            groups,
        }));
    }

    /// The host whose turn it is, if a connection is free for it.
    pub fn take(&mut self) -> Option<HostId> {
        if self.under_way >= self.connections {
            return None;
        }
        if self.someone_below_its_share().is_some() {
            return self.ready.pop().map(|Reverse(offer)| offer.host);
        }
        if self.connections - self.under_way <= self.reserve() {
            return None;
        }
        let &(_, id) = self.over.first()?;
        self.unpark(id).map(|offer| offer.host)
    }

    /// Parks those in front whose group holds its share, so that the first is one below it.
    fn someone_below_its_share(&mut self) -> Option<Offer> {
        while let Some(&Reverse(offer)) = self.ready.peek() {
            self.served = self.served.max(offer.tag);
            let Some(over) = offer.groups.each().find(|&id| self.holds_its_share(id)) else {
                return Some(offer);
            };
            self.ready.pop();
            let group = self.group(over);
            group.parked.push(Reverse(offer));
            let key = (group.under_way, over);
            self.over.insert(key);
        }
        None
    }

    fn unpark(&mut self, id: GroupId) -> Option<Offer> {
        let group = self.group(id);
        let Reverse(offer) = group.parked.pop()?;
        if group.parked.is_empty() {
            let key = (group.under_way, id);
            self.over.remove(&key);
        }
        Some(offer)
    }

    /// A connection is taken.
    pub fn begin(&mut self, groups: Groups) {
        self.under_way += 1;
        groups.each().for_each(|id| self.set_under_way(id, 1));
    }

    /// A connection is free again.
    pub fn end(&mut self, groups: Groups) {
        self.under_way -= 1;
        for id in groups.each() {
            self.set_under_way(id, -1);
            if let Some(offer) = self.unpark(id) {
                self.ready.push(Reverse(offer));
            }
        }
    }

    fn set_under_way(&mut self, id: GroupId, more: i32) {
        let group = self.group(id);
        let before = group.under_way;
        group.under_way = before.saturating_add_signed(more);
        let after = group.under_way;
        if self.over.remove(&(before, id)) {
            self.over.insert((after, id));
        }
    }

    /// Connections in use.
    pub fn under_way(&self) -> usize {
        self.under_way
    }

    /// Whether somebody waits for a connection, or for a share of them.
    pub fn is_waited_for(&self) -> bool {
        !self.ready.is_empty() || !self.over.is_empty()
    }

    /// Whether the host's groups hold their share.
    pub fn hold_their_share(&self, groups: Groups) -> bool {
        groups.each().any(|id| self.holds_its_share(id))
    }

    /// Where somebody below its share waits for a connection and there is none: how many wait, and
    /// the group that holds most and more than its share among those who hold one, given by their
    /// groups, with how many it has too many.
    pub fn crowd(&mut self, holders: impl Iterator<Item = Groups>) -> Option<Crowd> {
        let below = self.someone_below_its_share().filter(|_| !self.lawless);
        let (first, waiting, tempo) = if self.under_way >= self.connections && below.is_some() {
            (below?, self.ready.len(), false)
        } else {
            // whoever nobody knows must not wait for what is slow
            let unknown = TEMPOS[Tempo::Unknown as usize];
            let parked = &self.groups[unknown.0 as usize].parked;
            let &Reverse(first) = parked.peek().filter(|_| self.holds_its_share(unknown))?;
            (first, parked.len(), true)
        };
        let waits = first.groups;
        let excess = |id: GroupId| {
            let group = &self.groups[id.0 as usize];
            (group.under_way as usize).saturating_sub(self.share(group.kind))
        };
        let greediest = holders
            .filter(|groups| !tempo || groups.tempo.is_some())
            .flat_map(|groups| groups.own().each())
            .filter(|&id| waits.each().all(|own| own != id))
            .map(|id| (excess(id), id))
            .max();
        Some(Crowd {
            waiting,
            tempo,
            greediest: greediest.filter(|&(excess, _)| excess > 0),
        })
    }
}

/// Who waits while all connections are taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crowd {
    pub waiting: usize,
    /// They wait for one of those that hosts unknown or slow may have.
    pub tempo: bool,
    pub greediest: Option<(usize, GroupId)>,
}
