//! The account of who wants connections, and of what politeness allows.

use super::allowance::{Part, Sum};
use super::line::{Place, Trust};
use super::share::Groups;
use super::{AddressId, Lines, Manners};
use ground::HostId;

/// A host that is to be left alone for longer, in seconds, does not have its turn soon.
const SOON: f64 = 60.0;
/// Due pages of a host that count for each request that may be under way to it.
const DUE_A_CONNECTION: usize = 4;

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
        self.count_due(host);
    }

    /// Keeps account of the due pages whose turn may come soon.
    fn count_due(&mut self, host: HostId) {
        let far = self.now + SOON;
        let closed_until = self.closed_until(host);
        let line = &mut self.hosts[host.index()];
        let soon = match line.place {
            Place::Unopened | Place::AtAddress => false,
            Place::Timed => line.courtesy.not_before <= far && closed_until <= self.now,
            Place::Nowhere | Place::Offered => true,
        };
        let most = DUE_A_CONNECTION * usize::from(line.manners.parallel);
        let counts = if soon && !line.barred {
            line.due.len().min(most)
        } else {
            0
        };
        self.due_soon += counts;
        self.due_soon -= std::mem::replace(&mut line.due_soon, counts);
    }

    /// Keeps account of which sites and networks want connections, and what is due soon.
    pub(super) fn claim(&mut self, host: HostId) {
        self.count_due(host);
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
        let line = &mut self.hosts[host.index()];
        if let Some(part) = line.part.take() {
            self.change_allowed(self.hosts[host.index()].address, part, Sum::remove);
        }
    }

    /// Keeps account of what politeness allows. A host that is not opened, or barred, promises nothing.
    pub(super) fn count_allowed(&mut self, host: HostId) {
        self.uncount_allowed(host);
        let line = &mut self.hosts[host.index()];
        if line.trust == Trust::Unopened || line.barred {
            return;
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
        line.part = Some(part);
        self.change_allowed(self.hosts[host.index()].address, part, Sum::add);
    }

    fn change_allowed(
        &mut self,
        address: Option<AddressId>,
        part: Part,
        change: fn(&mut Sum, Part),
    ) {
        if let Some(number) = address {
            let sum = &mut self.addresses[number.index()].allowed;
            self.allowed -= sum.in_turn();
            change(sum, part);
            self.allowed += sum.in_turn();
        } else {
            change(&mut self.allowed_elsewhere, part);
        }
    }
}
