//! The way of a host from having something to do to its turn.

use super::line::{Place, Trust};
use super::share::Groups;
use super::{AddressId, CREDIT, Lines, SiteId, Turn, Whose, is_later, ticks};
use ground::HostId;
use std::cmp::Reverse;

impl Lines {
    /// Lets all go on whose instant has come.
    pub(super) fn advance(&mut self, now: f64) {
        self.now = self.now.max(now);
        while let Some(&Reverse((at, _, whose))) = self.instants.peek() {
            if at > ticks(now) {
                break;
            }
            self.instants.pop();
            match whose {
                Whose::Host(host) => self.approach(host, now),
                Whose::Address(address) => {
                    self.addresses[address.index()].timed = false;
                    self.offer_first(address, now);
                }
                Whose::Site(site) => {
                    if self.sites[site.index()].timed == Some(at) {
                        self.sites[site.index()].timed = None;
                        self.open_hosts(site, now);
                    }
                }
            }
        }
    }

    fn at_instant(&mut self, at: f64, whose: Whose) {
        self.came += 1;
        self.instants.push(Reverse((ticks(at), self.came, whose)));
    }

    /// Puts a host that stands nowhere to the beginning of its way.
    pub(super) fn place(&mut self, host: HostId) {
        self.claim(host);
        let line = &mut self.hosts[host.index()];
        if line.place != Place::Nowhere || line.rests() {
            return;
        }
        if line.trust == Trust::Unopened && !self.shares.lawless {
            let number = line.site;
            self.stand(host, Place::Unopened);
            self.unopened += 1;
            self.sites[number.index()].push(host);
            self.time_site(number, f64::NEG_INFINITY);
        } else {
            let at = line.courtesy.not_before.max(self.opening);
            self.stand(host, Place::Timed);
            let at = at.max(self.closed_until(host));
            self.at_instant(at, Whose::Host(host));
        }
    }

    pub(super) fn time_site(&mut self, number: SiteId, at: f64) {
        let site = &mut self.sites[number.index()];
        if site.timed.is_none_or(|timed| ticks(at) < timed) {
            site.timed = Some(ticks(at));
            self.at_instant(at, Whose::Site(number));
        }
    }

    /// Opens the hosts that the site has earned.
    fn open_hosts(&mut self, number: SiteId, now: f64) {
        while let Some(host) = self.sites[number.index()].open(now) {
            self.unopened -= 1;
            self.hosts[host.index()].trust = Trust::Paid;
            self.stand(host, Place::Nowhere);
            self.count_allowed(host);
            self.place(host);
        }
        let site = &self.sites[number.index()];
        if site.unopened() > 0 {
            let at = site.next();
            self.time_site(number, at);
        }
    }

    /// A host's own time has come: on to its address, or to where that is asked for.
    fn approach(&mut self, host: HostId, now: f64) {
        let closed_until = self.closed_until(host);
        self.stand(host, Place::Nowhere);
        let line = &self.hosts[host.index()];
        if line.rests() {
            return; // placed again by whoever ends that
        }
        if is_later(line.courtesy.not_before.max(closed_until), now) {
            self.place(host);
        } else if let Some(address) = line.address {
            self.join(host, address);
            if !self.addresses[address.index()].timed {
                self.offer_first(address, now);
            }
        } else {
            self.stand(host, Place::Offered);
            let groups = self.groups(host);
            let turns = self.turns_due(host);
            self.shares.offer(host, groups, turns);
        }
    }

    fn join(&mut self, host: HostId, address: AddressId) {
        self.stand(host, Place::AtAddress);
        let line = &self.hosts[host.index()];
        let site = self.sites[line.site.index()].group;
        self.addresses[address.index()].join(host, site, line.goes_first());
    }

    /// Sees to it that this is done in time.
    pub(super) fn time_address(&mut self, number: AddressId) {
        let address = &mut self.addresses[number.index()];
        let is_free = !address.offered && address.under_way < address.parallel;
        if is_free && address.is_waited_for() && !address.timed {
            address.timed = true;
            let at = address.not_before.max(self.opening);
            self.at_instant(at, Whose::Address(number));
        }
    }

    /// Offers the first host of the address a connection, as soon as the address may be asked.
    fn offer_first(&mut self, number: AddressId, now: f64) {
        let opening = self.opening;
        let address = &mut self.addresses[number.index()];
        if address.offered || address.under_way >= address.parallel {
            return; // timed again by whoever ends that
        }
        if is_later(address.not_before.max(opening), now) {
            return self.time_address(number);
        }
        while let Some(host) = self.addresses[number.index()].pop() {
            self.stand(host, Place::Nowhere);
            if self.hosts[host.index()].rests() {
                continue;
            }
            self.stand(host, Place::Offered);
            self.addresses[number.index()].offered = true;
            let tempo = self.hosts[host.index()].tempo();
            let groups = self.groups(host);
            let turns = self.turns_due(host);
            return self.shares.offer(host, Groups { tempo, ..groups }, turns);
        }
    }

    fn turns_due(&self, host: HostId) -> u64 {
        let waiting = self.hosts[host.index()].new_waiting();
        self.rules.order_of_new.turns(waiting)
    }

    /// The turn of a host that was offered one, unless it has to wait after all.
    pub(super) fn turn_of(&mut self, host: HostId, now: f64) -> Option<Turn> {
        let closed_until = self.closed_until(host);
        self.stand(host, Place::Nowhere);
        let line = &mut self.hosts[host.index()];
        let number = line.address;
        if let Some(number) = number {
            self.addresses[number.index()].offered = false;
        }
        let not_before = line.courtesy.not_before.max(closed_until);
        let must_wait = line.rests() || is_later(not_before, now);
        let turn = if must_wait {
            None
        } else if line.needs_address(now) {
            line.resolve();
            let groups = self.site_of(host);
            self.shares.begin(groups);
            Some(Turn::Resolve(host))
        } else {
            self.request(host, number.expect("it needs none"), now)
        };
        if let Some(number) = number {
            self.time_address(number);
        }
        // where a host takes several at a time, the others first: few connections serve all
        self.place(host);
        turn
    }

    /// A request to a host, whose own time has come, at its address.
    fn request(&mut self, host: HostId, number: AddressId, now: f64) -> Option<Turn> {
        let line = &mut self.hosts[host.index()];
        let address = &mut self.addresses[number.index()];
        let wants_robots = line.errands.is_empty() && line.needs_robots(now);
        let is_busy = address.under_way >= address.parallel;
        if is_busy || is_later(address.not_before, now) || wants_robots && line.rise() {
            self.join(host, number);
            return None;
        }
        address.under_way += 1;
        let tempo = line.tempo();
        line.begin();
        let address = address.ip;
        let turn = if let Some(errand) = line.errands.pop_front() {
            self.errands -= 1;
            Turn::Errand {
                host,
                errand,
                address,
            }
        } else if wants_robots {
            line.asking_robots = true;
            Turn::Robots { host, address }
        } else {
            line.visiting += 1;
            line.rules_used(now);
            let new = line.choose(self.rules.share_of_new);
            let page = if new {
                self.new -= 1;
                line.pop_new(now, &mut self.lasting)
            } else {
                self.due -= 1;
                line.due.pop_front()
            };
            let page = page.expect("a page waits");
            Turn::Visit {
                host,
                page,
                new,
                address,
            }
        };
        self.requests_at =
            self.requests_at.max(now - CREDIT) + 1.0 / self.rules.requests_per_second;
        let groups = self.groups(host);
        self.shares.begin(Groups { tempo, ..groups });
        self.asked.insert(host);
        Some(turn)
    }
}
