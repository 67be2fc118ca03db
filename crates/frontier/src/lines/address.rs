//! The line of hosts at one address.

use super::allowance::Sum;
use super::share::GroupId;
use ground::HostId;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::net::IpAddr;

/// The number of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AddressId(pub u32);

impl AddressId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An address: one at a time, the sites it serves in turn.
#[derive(Debug)]
pub(super) struct Address {
    pub ip: IpAddr,
    pub network: GroupId,
    pub under_way: u16,
    /// Requests at a time that all hosts found here put up with.
    pub parallel: u16,
    pub not_before: f64,
    /// Its first host waits for a connection.
    pub offered: bool,
    /// It has a place among the instants.
    pub timed: bool,
    /// What its hosts allow, by account.
    pub allowed: [Sum; 2],
    line: BinaryHeap<Reverse<(u64, u64, HostId)>>,
    /// The next turn of each site that has hosts here.
    next: HashMap<GroupId, u64>,
    served: u64,
    joined: u64,
}

impl Address {
    pub fn new(ip: IpAddr, network: GroupId) -> Self {
        Self {
            ip,
            network,
            under_way: 0,
            parallel: u16::MAX,
            not_before: 0.0,
            offered: false,
            timed: false,
            allowed: [Sum::default(); 2],
            line: BinaryHeap::new(),
            next: HashMap::new(),
            served: 1,
            joined: 0,
        }
    }

    /// A host waits here, `first` of all or when it is its site's turn.
    pub fn join(&mut self, host: HostId, site: GroupId, first: bool) {
        let next = self.next.entry(site).or_default();
        let tag = self.served.max(*next);
        *next = tag + 1;
        self.joined += 1;
        let tag = if first { 0 } else { tag };
        self.line.push(Reverse((tag, self.joined, host)));
    }

    /// Whether a host waits.
    pub fn is_waited_for(&self) -> bool {
        !self.line.is_empty()
    }

    /// The host that is next.
    pub fn pop(&mut self) -> Option<HostId> {
        let Reverse((tag, _, host)) = self.line.pop()?;
        self.served = self.served.max(tag);
        // what no longer puts anybody back
        if self.next.len() > 2 * self.line.len() + 8 {
            self.next.retain(|_, next| *next > self.served);
        }
        Some(host)
    }
}
