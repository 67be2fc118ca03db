//! The account of who wants connections, and of what politeness allows.

use super::allowance::Part;
use super::line::{Place, Trust};
use super::share::Groups;
use super::{AddressId, Lines, Manners};
use ground::HostId;

/// A host that is to be left alone for longer, in seconds, does not have its turn soon.
const SOON: f64 = 60.0;
/// Due pages of a host that count for each request that may be under way to it.
const DUE_A_CONNECTION: usize = 4;

/// Whose requests are counted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Account {
    /// Those of all hosts.
    All,
    /// Those of hosts whose new pages may have their turn soon.
    New,
}

impl Lines {
    pub(super) fn site_of(&self, host: HostId) -> Groups {
        let site = self.sites[self.hosts[host.index()].site.index()].group;
        Groups {
            site,
            network: None,
            tempo: None,
        }
    }

    pub(super) fn groups(&self, host: HostId) -> Groups {
        let line = &self.hosts[host.index()];
        let network = |number: AddressId| self.addresses[number.index()].network;
        Groups {
            network: line.address.map(network),
            ..self.site_of(host)
        }
    }

    /// A host stands there from now on.
    pub(super) fn stand(&mut self, host: HostId, place: Place) {
        self.hosts[host.index()].place = place;
        self.count_soon(host);
    }

    /// Whether the host may be asked soon, unless its neighbours keep it waiting.
    fn moves(&self, host: HostId) -> bool {
        let line = &self.hosts[host.index()];
        let is_free = match line.place {
            Place::Unopened => false,
            Place::Timed => {
                let far = self.now + SOON;
                line.courtesy.not_before <= far && self.closed_until(host) <= self.now
            }
            Place::AtAddress | Place::Nowhere | Place::Offered => true,
        };
        is_free && !line.barred
    }

    /// Keeps account of what may have its turn soon: due pages, and what new ones can use.
    fn count_soon(&mut self, host: HostId) {
        let moves = self.moves(host);
        let line = &mut self.hosts[host.index()];
        let most = DUE_A_CONNECTION * usize::from(line.manners.parallel);
        let due = if moves && line.place != Place::AtAddress {
            line.due.len().min(most)
        } else {
            0
        };
        self.due_soon += due;
        self.due_soon -= std::mem::replace(&mut line.due_soon, due);
        let of_all = line.allows[Account::All as usize];
        let of_new = of_all.filter(|_| moves && line.has_new());
        self.allow(host, Account::New, of_new);
    }

    /// Keeps account of which sites and networks want connections, and what is due soon.
    pub(super) fn claim(&mut self, host: HostId) {
        self.count_soon(host);
        let line = &mut self.hosts[host.index()];
        let waits = !line.is_empty() && !line.barred;
        let wants = waits || line.under_way > 0 || line.is_resolving();
        if std::mem::replace(&mut line.claims, wants) != wants {
            let groups = self.groups(host);
            if wants {
                self.shares.claim(groups);
            } else {
                self.shares.unclaim(groups);
            }
        }
    }

    /// The host is found at this address.
    pub(super) fn found_at(&mut self, host: HostId, number: AddressId) {
        if self.hosts[host.index()].address == Some(number) {
            return self.hosts[host.index()].found(Some(number));
        }
        self.uncount_allowed(host);
        if std::mem::take(&mut self.hosts[host.index()].claims) {
            let groups = self.groups(host);
            self.shares.unclaim(groups);
        }
        self.hosts[host.index()].found(Some(number));
        let address = &mut self.addresses[number.index()];
        address.parallel = (address.parallel).min(self.hosts[host.index()].manners.parallel);
        self.claim(host);
        self.count_allowed(host);
    }

    fn uncount_allowed(&mut self, host: HostId) {
        self.allow(host, Account::All, None);
        self.allow(host, Account::New, None);
    }

    /// Keeps account of what politeness allows. A host that is not opened, or barred, promises nothing.
    pub(super) fn count_allowed(&mut self, host: HostId) {
        let line = &self.hosts[host.index()];
        if line.trust == Trust::Unopened || line.barred {
            return self.uncount_allowed(host);
        }
        let Manners {
            interval, parallel, ..
        } = line.manners;
        let (courtesy, pages) = (&line.courtesy, line.pages);
        let part = Part::new(
            courtesy.interval(interval, pages),
            courtesy.address_interval(interval, pages),
            courtesy.response,
            parallel,
        );
        self.allow(host, Account::All, Some(part));
        self.count_soon(host);
    }

    /// What the host adds to an account from now on.
    fn allow(&mut self, host: HostId, account: Account, part: Option<Part>) {
        let account = account as usize;
        let line = &mut self.hosts[host.index()];
        let before = std::mem::replace(&mut line.allows[account], part);
        if before == part {
            return;
        }
        let address = line.address;
        let sum = match address {
            Some(number) => &mut self.addresses[number.index()].allowed[account],
            None => &mut self.allowed_elsewhere[account],
        };
        let in_turn = sum.in_turn();
        if let Some(before) = before {
            sum.remove(before);
        }
        if let Some(part) = part {
            sum.add(part);
        }
        if address.is_some() {
            self.allowed[account] += sum.in_turn() - in_turn;
        }
    }
}
