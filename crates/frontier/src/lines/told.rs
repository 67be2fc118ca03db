//! What the lines tell of themselves.

use super::account::Account;
use super::line::Place;
use super::{Lines, is_later};
use crate::politeness::Courtesy;
use ground::HostId;
use std::cmp::Reverse;
use std::net::IpAddr;

/// What a host waits for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Waiting {
    /// It is another robot's, or not this one's alone yet.
    ForOwner,
    /// No page waits.
    ForWork,
    /// A request to it is under way.
    ForAnswer,
    /// Its site must earn it; so many of its hosts wait for that.
    ForOpening(usize),
    /// It is closed at this time of the day; perhaps for longer.
    ForHours(f64),
    /// Its interval, or what it asked for, is not over.
    Until(f64),
    /// Its address is being asked for.
    ForAddress,
    /// Another host of the same address has the turn, or had it just now.
    ForNeighbours(IpAddr),
    /// Its robots.txt comes first.
    ForRobots,
    /// Its site or network holds its share of the connections.
    ForShare,
    /// Nothing; it is next.
    ForNothing,
}

/// Who holds connections while others wait for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greedy {
    /// The hosts to which requests are under way: those of the site or network that holds more than
    /// its share, and most; where none does, all.
    pub hosts: Vec<HostId>,
    /// Whether they hold more than their share.
    pub above_share: bool,
    /// So many requests would have to be given up, and no more.
    pub too_many: usize,
}

impl Lines {
    /// New pages that wait.
    pub fn new_waiting(&self) -> usize {
        self.new
    }

    /// Due pages that wait.
    pub fn due_waiting(&self) -> usize {
        self.due
    }

    /// Due pages whose turn may come soon. Not those of hosts that wait for longer, whatever for, or for their
    /// neighbours; and of each host only as many as it could be asked for at once, a few times over. Whoever takes
    /// more of others only below a limit is not kept waiting by a host that does not move.
    pub fn due_soon(&mut self, now: f64) -> usize {
        self.advance(now);
        self.due_soon
    }

    /// New and due pages that wait for this host.
    pub fn waiting_at(&self, host: HostId) -> (usize, usize) {
        let line = &self.hosts[host.index()];
        (line.new_waiting(), line.due.len())
    }

    /// Hosts that wait to be opened.
    pub fn unopened(&self) -> usize {
        self.unopened
    }

    /// Connections in use, questions for addresses included.
    pub fn under_way(&self) -> usize {
        self.shares.under_way()
    }

    /// The host's standing.
    pub fn courtesy(&self, host: HostId) -> &Courtesy {
        &self.hosts[host.index()].courtesy
    }

    /// Where the host was last found.
    pub fn address(&self, host: HostId) -> Option<IpAddr> {
        let number = self.hosts[host.index()].address?;
        Some(self.addresses[number.index()].ip)
    }

    /// No request to the address before then.
    pub fn address_not_before(&self, ip: IpAddr) -> f64 {
        let number = self.address_numbers.get(&ip);
        number.map_or(0.0, |&number| self.addresses[number.index()].not_before)
    }

    /// The time between two requests to this host, as things stand.
    pub fn interval(&self, host: HostId) -> f64 {
        let line = &self.hosts[host.index()];
        line.courtesy.interval(line.manners.interval, line.pages)
    }

    /// Requests at a time to this host.
    pub fn parallel(&self, host: HostId) -> u16 {
        self.hosts[host.index()].manners.parallel
    }

    /// The host's hours, by number.
    pub fn hours(&self, host: HostId) -> u8 {
        self.hosts[host.index()].manners.hours
    }

    /// Until when its hours keep the host closed.
    pub(super) fn closed_until(&self, host: HostId) -> f64 {
        self.closed[usize::from(self.hours(host))]
    }

    /// Requests per second that politeness allows as things stand, by host and by address.
    pub fn allowed_per_second(&self) -> f64 {
        self.allowed(Account::All)
    }

    /// Of these, what new pages that wait can use at present.
    pub fn allowed_to_new(&self) -> f64 {
        self.allowed(Account::New)
    }

    fn allowed(&self, account: Account) -> f64 {
        let account = account as usize;
        self.allowed[account].max(0.0) + self.allowed_elsewhere[account].at_once()
    }

    /// When a host has its next turn; infinite while all that wait, wait for an answer.
    pub fn next_turn(&self) -> f64 {
        if self.shares.is_waited_for() {
            return f64::NEG_INFINITY;
        }
        let next = self.instants.peek();
        next.map_or(f64::INFINITY, |Reverse((at, ..))| *at as f64 / 1e6)
    }

    /// Who is to give something up, while somebody below its share waits for a connection, and there
    /// is none that it may have.
    pub fn greediest(&mut self, now: f64) -> Option<Greedy> {
        self.advance(now);
        let groups = |host: HostId| super::Groups {
            tempo: self.hosts[host.index()].hindered_by(),
            ..self.groups(host)
        };
        let held: Vec<_> = (self.asked.iter())
            .map(|&host| (host, groups(host)))
            .collect();
        let crowd = self.shares.crowd(held.iter().map(|&(_, groups)| groups))?;
        let is_greedy = |groups: super::Groups| match crowd.greediest {
            _ if crowd.tempo && groups.tempo.is_none() => false,
            Some((_, id)) => groups.site == id || groups.network == Some(id),
            None => true,
        };
        let hosts = held.iter().filter(|&&(_, groups)| is_greedy(groups));
        Some(Greedy {
            hosts: hosts.map(|&(host, _)| host).collect(),
            above_share: crowd.greediest.is_some(),
            too_many: (crowd.greediest)
                .map_or(crowd.waiting, |(excess, _)| excess.min(crowd.waiting)),
        })
    }

    /// What the host waits for at `now`.
    pub fn waiting(&self, host: HostId, now: f64) -> Waiting {
        let line = &self.hosts[host.index()];
        let address = line.address.map(|number| &self.addresses[number.index()]);
        if line.barred {
            Waiting::ForOwner
        } else if line.is_empty() {
            Waiting::ForWork
        } else if line.is_resolving() {
            Waiting::ForAddress
        } else if line.asking_robots {
            Waiting::ForRobots
        } else if line.under_way >= line.manners.parallel {
            Waiting::ForAnswer
        } else if line.place == Place::Unopened {
            Waiting::ForOpening(self.sites[line.site.index()].unopened())
        } else if is_later(self.closed_until(host), now) {
            Waiting::ForHours(self.closed_until(host))
        } else if is_later(line.courtesy.not_before, now) {
            Waiting::Until(line.courtesy.not_before)
        } else if let Some(address) = address
            && line.place != Place::Offered
            && (address.offered
                || address.under_way >= address.parallel
                || is_later(address.not_before, now))
        {
            Waiting::ForNeighbours(address.ip)
        } else if self.shares.hold_their_share(self.groups(host)) {
            Waiting::ForShare
        } else if line.needs_robots(now) {
            Waiting::ForRobots
        } else {
            Waiting::ForNothing
        }
    }
}
