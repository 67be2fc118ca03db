//! A keeper in a fleet: which hosts are its own, and what comes and goes with them.

use super::Keeper;
use super::hosts::KeptHost;
use super::pages::Stage;
use super::work::Ticket;
use crate::clock::Now;
use crate::message::{Arrived, Of, Order, Write};
use frontier::robots::{Fetched, Standing};
use ground::Seconds;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use storage::{HostId, PageId};

/// A name is bound to its server for good.
const FOR_GOOD: f64 = 1e9;
/// Seconds after which another robot is asked again for a robots.txt that it was to fetch.
const PATIENCE: f64 = 300.0;

/// What the fleet said.
#[derive(Debug, Default)]
pub(super) struct Fleet {
    /// The servers of names, and the hosts at each.
    servers: HashMap<String, IpAddr>,
    hosts: HashMap<IpAddr, Vec<HostId>>,
    /// Servers that are ours alone, and from when on.
    open: HashMap<IpAddr, f64>,
    /// Servers whose last requests end, and by which the fleet knows that.
    closing: BTreeMap<IpAddr, u64>,
    /// Hosts whose robots.txt another robot fetches, and how long that is waited for.
    awaited: BTreeMap<HostId, f64>,
    /// robots.txt files that are fetched for others, by ticket.
    favours: HashMap<u64, Arc<str>>,
    quiet: bool,
}

impl Keeper {
    /// Shares the work with others from now on: only hosts of servers are asked that the fleet opens. To be
    /// called before anything is restored, with the servers that names are bound to.
    pub fn join(&mut self, servers: impl IntoIterator<Item = (String, IpAddr)>) {
        self.fleet = Some(Box::default());
        self.bind(servers);
        // in a fleet seeds are given once, by whoever has them
        self.unstored -= 1;
    }

    pub(super) fn bind(&mut self, servers: impl IntoIterator<Item = (String, IpAddr)>) {
        if let Some(fleet) = &mut self.fleet {
            fleet.servers.extend(servers);
        }
    }

    pub(super) fn fleet_is_quiet(&self) -> bool {
        self.fleet.as_ref().is_none_or(|fleet| fleet.quiet)
    }

    /// A host that is new here waits until its server is ours.
    pub(super) fn bar_until_ours(&mut self, host: HostId) {
        let Some(fleet) = &mut self.fleet else { return };
        let name = &self.hosts[host.index()].name;
        let server = fleet.servers.get(name).copied();
        if let Some(server) = server {
            fleet.hosts.entry(server).or_default().push(host);
        }
        match server.and_then(|server| fleet.open.get(&server)) {
            Some(&from) => self.lines.hold(host, from),
            None => self.lines.bar(host),
        }
    }

    pub(super) fn resolve_bound(&mut self, at: f64, host: HostId) {
        let name = &self.hosts[host.index()].name;
        let server = (self.fleet.as_ref()).and_then(|fleet| fleet.servers.get(name).copied());
        self.lines
            .resolved(host, at, server.map(|server| (server, Seconds(FOR_GOOD))));
    }

    pub(super) fn ordered(&mut self, now: Now, order: Order) {
        let Some(fleet) = &mut self.fleet else { return };
        match order {
            Order::Open { server, from } => {
                fleet.closing.remove(&server);
                fleet.open.insert(server, from);
                for host in fleet.hosts.get(&server).into_iter().flatten() {
                    self.lines.unbar(*host, from);
                }
            }
            Order::Close { server, token } => {
                fleet.open.remove(&server);
                fleet.closing.insert(server, token);
                for host in fleet.hosts.get(&server).into_iter().flatten() {
                    self.lines.bar(*host);
                }
                self.export_what_is_closed(now);
            }
            Order::Quiet(quiet) => fleet.quiet = quiet,
        }
    }

    /// Looks whether something that was waited for has come.
    pub(super) fn look_after_fleet(&mut self, now: Now, is_time: bool) {
        self.export_what_is_closed(now);
        let Some(fleet) = &mut self.fleet else { return };
        if !is_time {
            return;
        }
        let late = fleet.awaited.iter().filter(|(_, until)| **until <= now.at);
        let late: Vec<HostId> = late.map(|(host, _)| *host).collect();
        for host in late {
            self.robots_unknown(now, host);
        }
    }

    /// Servers to which nothing is under way any more are for their next owners.
    fn export_what_is_closed(&mut self, now: Now) {
        let Some(fleet) = &mut self.fleet else { return };
        if fleet.closing.is_empty() {
            return;
        }
        let tickets = &self.tickets;
        let hosts = &fleet.hosts;
        let ended = fleet.closing.extract_if(.., |server, _| {
            let hosts = hosts.get(server).map_or(&[][..], Vec::as_slice);
            !tickets.any_to(hosts)
        });
        let ended: Vec<(IpAddr, u64)> = ended.collect();
        for (server, token) in ended {
            let fleet = self.fleet.as_ref().expect("it was there");
            let hosts = fleet.hosts.get(&server).cloned().unwrap_or_default();
            for &host in &hosts {
                self.save_host(host);
            }
            let wait = (self.lines.address_not_before(server) - now.at).max(0.0);
            let dues = self.revisits.dues(&hosts.into_iter().collect());
            self.writes.push(Write::Export {
                server,
                token,
                wait,
                dues,
            });
        }
    }

    pub(super) fn hosts_arrived(&mut self, now: Now, hosts: Vec<(HostId, Vec<u8>)>) {
        for (host, blob) in hosts {
            if let Ok(kept) = serde_json::from_slice::<KeptHost>(&blob) {
                self.adopt_host(now, host, kept);
            }
        }
    }

    /// Pages that others knew are waited for as if they had always been here.
    pub(super) fn pages_arrived(&mut self, now: Now, arrived: Vec<Arrived>) {
        if arrived.is_empty() {
            return;
        }
        let mut hosts: Vec<HostId> = arrived.iter().map(|one| one.host).collect();
        hosts.sort_unstable();
        hosts.dedup();
        // those that wait already may have been visited elsewhere
        let waiting = hosts
            .into_iter()
            .flat_map(|host| self.lines.take_pages(host));
        let waiting: Vec<PageId> = waiting.collect();
        for &page in &waiting {
            self.pages.set(page, Stage::Idle);
        }
        for one in arrived {
            let page = one.page;
            if self.pages.stage(page) == Stage::Elsewhere {
                self.status.pages_elsewhere -= u64::from(!one.requisite);
            } else {
                self.clear(now, page);
            }
            self.pages.set(page, Stage::Idle);
            self.resume(now, &one);
        }
        for page in waiting {
            if self.pages.stage(page) == Stage::Idle && !self.revisits.keeps(page) {
                self.wait_in_line(page);
            }
        }
    }

    /// Hosts, with their pages, that another robot has from now on.
    pub(super) fn hosts_left(&mut self, now: Now, (hosts, left): (Vec<HostId>, Vec<PageId>)) {
        for host in hosts {
            for page in self.lines.take_pages(host) {
                self.pages.set(page, Stage::Idle);
            }
            for errand in self.lines.drop_errands(host) {
                if let Some((Of::Host(of), ..)) = self.errands.remove(&errand) {
                    self.robots_unknown(now, of);
                }
            }
            self.lines.forget_pages(host);
        }
        for page in left {
            if self.pages.stage(page) != Stage::Elsewhere {
                self.clear(now, page);
                self.status.pages_elsewhere += u64::from(!self.requisites.has(page));
                self.pages.set(page, Stage::Elsewhere);
            }
        }
    }

    /// Nothing that was known of a page counts any more.
    fn clear(&mut self, now: Now, page: PageId) {
        self.gone.remove(&page);
        self.excluded.remove(&page);
        if self.revisits.keeps(page) {
            self.revisits.drop_page(page, now.at);
            self.status.pages_fetched -= 1;
        }
    }

    /// Whose robots.txt a job was about.
    pub(super) fn for_whom(&mut self, id: u64, ticket: &Ticket) -> Of {
        let fleet = self.fleet.as_mut();
        let peer = fleet.and_then(|fleet| fleet.favours.remove(&id));
        peer.map_or(Of::Host(ticket.of()), Of::Peer)
    }

    pub(super) fn do_favour(&mut self, ticket: u64, of: Arc<str>) {
        if let Some(fleet) = &mut self.fleet {
            fleet.favours.insert(ticket, of);
        }
    }

    pub(super) fn end_favour(&mut self, ticket: u64) {
        if let Some(fleet) = &mut self.fleet {
            fleet.favours.remove(&ticket);
        }
    }

    /// Other robots fetch these hosts' robots.txt.
    pub(super) fn robots_asked(&mut self, now: Now, hosts: &[HostId]) {
        if let Some(fleet) = &mut self.fleet {
            let until = now.at + PATIENCE;
            fleet
                .awaited
                .extend(hosts.iter().map(|&host| (host, until)));
        }
    }

    /// What they found; what nobody asked for counts for nothing.
    pub(super) fn robots_answered(&mut self, now: Now, answers: Vec<(HostId, Standing)>) {
        for (host, standing) in answers {
            let Some(fleet) = &mut self.fleet else { return };
            if fleet.awaited.remove(&host).is_some() {
                self.robots_known(now, host, Arc::new(standing));
            }
        }
    }

    /// robots.txt could not be had elsewhere.
    fn robots_unknown(&mut self, now: Now, host: HostId) {
        if let Some(fleet) = &mut self.fleet {
            fleet.awaited.remove(&host);
        }
        let previous = self.hosts[host.index()].standing.as_deref();
        let standing = Standing::after(previous, Fetched::Failure, None, now.at);
        self.robots_known(now, host, Arc::new(standing));
    }

    /// When a page is due, as things stand.
    pub fn due(&self, page: PageId) -> Option<f64> {
        self.revisits.due(page)
    }

    /// What there is to visit, for the fleet's budget.
    pub fn wanted(&self) -> f64 {
        (self.lines.new_waiting() + self.lines.due_waiting() + self.revisits.pages()) as f64
    }
}
