//! The lines in which pages wait for their host's turn.
//!
//! # The life of a URL
//!
//! A URL that was admitted waits in its host's line of new pages. When it is the host's turn (its
//! address is known, its robots.txt too, nobody else is talking to the host or the address, and
//! the interval is over) the page is handed out; the host is busy until the request has `ended`.
//! From its first visit on the page belongs to the revisit policy, which puts it into the host's
//! line of due pages when a visit is worth its price. Where both lines wait, new pages have a fixed
//! share of the turns.
//!
//! # The way of a host
//!
//! A host that has something to do is opened when its site has earned that (`opening.rs`), waits
//! for its instant, then in the line of its address (`address.rs`), then for a connection, of which
//! every site and network has its share (`share.rs`). Whoever cannot go on is put back to the
//! beginning of that way. Instants are seconds of one axis that never goes back.

mod account;
mod address;
mod allowance;
mod line;
mod opening;
mod share;
mod told;
mod way;

use crate::order::{Lasting, Order, Rank, Traits};
use crate::politeness::{Answer, Courtesy, Interval};
use crate::site::site;
use address::{Address, AddressId};
use allowance::Sum;
use ground::{HostId, PageId, Seconds, network};
use line::{Line, Place, Trust};
use opening::{Site, SiteId};
use share::{Groups, Kind, Shares};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::net::IpAddr;
pub use told::{Greedy, Waiting};

/// How turns are given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// The time between two requests to a host, and to an address.
    pub interval: Interval,
    /// Requests at a time to a host, and to an address.
    pub parallel: u16,
    /// Requests, and questions for addresses, at a time in all.
    pub connections: usize,
    /// The share of turns that new pages have where pages are due as well.
    pub share_of_new: f64,
    /// Which of them goes first.
    pub order_of_new: Order,
    /// Requests per second in all; infinite without a limit.
    pub requests_per_second: f64,
    /// Bytes per second in all; infinite without a limit.
    pub bytes_per_second: f64,
    /// A name that has no address is asked for again after this many seconds.
    pub ask_again: f64,
}

/// How one host is treated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Manners {
    /// The time between two requests to it, and after one to it at its address.
    pub interval: Interval,
    /// Requests at a time to it; to its address as many as all hosts there put up with.
    pub parallel: u16,
    /// Its hours, by number: 0 for a host that is always open.
    pub hours: u8,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            interval: Interval::default(),
            parallel: 1,
            connections: 64,
            share_of_new: 0.5,
            order_of_new: Order::default(),
            requests_per_second: f64::INFINITY,
            bytes_per_second: f64::INFINITY,
            ask_again: 300.0,
        }
    }
}

/// What is to be done now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Turn {
    /// Find the address of this host and say so with `resolved`.
    Resolve(HostId),
    /// Fetch this host's robots.txt; say so with `set_robots` and `ended`.
    Robots {
        /// The host.
        host: HostId,
        /// Where to connect to.
        address: IpAddr,
    },
    /// Do what was asked of this host for another's sake, then say so with `ended`.
    Errand {
        /// The host.
        host: HostId,
        /// What was given to `push_errand`.
        errand: u32,
        /// Where to connect to.
        address: IpAddr,
    },
    /// Fetch this page, then say so with `ended`.
    Visit {
        /// The host.
        host: HostId,
        /// The page.
        page: PageId,
        /// Whether it came from the line of new pages.
        new: bool,
        /// Where to connect to.
        address: IpAddr,
    },
    /// Nothing before this instant, unless something is added.
    Wait(f64),
    /// Nothing, unless something is added or a request ends.
    Idle,
}

/// Who has a place among the instants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Whose {
    Host(HostId),
    Address(AddressId),
    Site(SiteId),
}

/// All hosts' lines.
#[derive(Debug)]
pub struct Lines {
    rules: Rules,
    hosts: Vec<Line>,
    sites: Vec<Site>,
    addresses: Vec<Address>,
    site_numbers: HashMap<Box<str>, SiteId>,
    address_numbers: HashMap<IpAddr, AddressId>,
    networks: HashMap<IpAddr, share::GroupId>,
    /// Who waits for an instant; of the same instant, in the order they came.
    instants: BinaryHeap<Reverse<(i64, u64, Whose)>>,
    came: u64,
    shares: Shares,
    /// Hosts to which a request is under way.
    asked: BTreeSet<HostId>,
    /// Addresses nobody has talked to since the start wait until here.
    opening: f64,
    requests_at: f64,
    bytes_at: f64,
    /// By number of hours: until when hosts are closed.
    closed: Vec<f64>,
    /// The last instant that was told.
    now: f64,
    new: usize,
    due: usize,
    /// Of these, those whose turn may come soon.
    due_soon: usize,
    errands: usize,
    unopened: usize,
    /// By account: requests per second that addresses allow, and hosts whose address is not known.
    allowed: [f64; 2],
    allowed_elsewhere: [Sum; 2],
    /// How long contents last, where that decides who goes first.
    lasting: Lasting,
    /// A mistake on purpose.
    rules_expire_unused: bool,
}

/// Instants as integers, in microseconds, to be sorted.
fn ticks(at: f64) -> i64 {
    (at * 1e6).ceil() as i64
}

/// Whether there is something to wait for: by the same measure by which instants are sorted, or one
/// that is due would be put off for ever.
fn is_later(at: f64, now: f64) -> bool {
    ticks(at) > ticks(now)
}

/// What an unused budget may catch up, in seconds.
const CREDIT: f64 = 1.0;

impl Lines {
    /// Other budgets from now on; what was used of the old ones is forgiven.
    pub fn set_budget(&mut self, requests_per_second: f64, bytes_per_second: f64) {
        self.rules.requests_per_second = requests_per_second;
        self.rules.bytes_per_second = bytes_per_second;
        self.requests_at = f64::NEG_INFINITY;
        self.bytes_at = f64::NEG_INFINITY;
    }

    /// No host yet; `opening` is the instant from which on any address may be talked to.
    pub fn new(rules: Rules, opening: f64) -> Self {
        Self {
            rules,
            hosts: Vec::new(),
            sites: Vec::new(),
            addresses: Vec::new(),
            site_numbers: HashMap::new(),
            address_numbers: HashMap::new(),
            networks: HashMap::new(),
            instants: BinaryHeap::new(),
            came: 0,
            shares: Shares::new(rules.connections.max(1)),
            asked: BTreeSet::new(),
            opening,
            requests_at: f64::NEG_INFINITY,
            bytes_at: f64::NEG_INFINITY,
            closed: vec![f64::NEG_INFINITY],
            now: f64::NEG_INFINITY,
            new: 0,
            due: 0,
            due_soon: 0,
            errands: 0,
            unopened: 0,
            allowed: [0.0; 2],
            allowed_elsewhere: [Sum::default(); 2],
            lasting: Lasting::new(0),
            rules_expire_unused: false,
        }
    }

    /// Adds the next host: its name, its standing, and until when its robots.txt is known. One that
    /// has answered before need not be opened again.
    pub fn add_host(&mut self, name: &str, courtesy: Courtesy, robots_until: f64) -> HostId {
        let name = site(name);
        let site = if let Some(&known) = self.site_numbers.get(name) {
            known
        } else {
            let group = self.shares.add_group(Kind::Site);
            self.sites.push(Site::new(group));
            let number = SiteId(self.sites.len() as u32 - 1);
            self.site_numbers.insert(name.into(), number);
            number
        };
        let host = HostId(self.hosts.len() as u32);
        let manners = Manners {
            interval: self.rules.interval,
            parallel: self.rules.parallel,
            hours: 0,
        };
        self.hosts
            .push(Line::new(site, manners, courtesy, robots_until));
        self.count_allowed(host);
        host
    }

    /// The host, which was just added, is treated otherwise than by the rules.
    pub fn set_manners(&mut self, host: HostId, manners: Manners) {
        let hours = usize::from(manners.hours);
        if self.closed.len() <= hours {
            self.closed.resize(hours + 1, f64::NEG_INFINITY);
        }
        self.hosts[host.index()].manners = manners;
        self.count_allowed(host);
    }

    /// Hosts with these hours are asked for nothing before then.
    pub fn close(&mut self, hours: u8, until: f64) {
        let hours = usize::from(hours);
        if self.closed.len() <= hours {
            self.closed.resize(hours + 1, f64::NEG_INFINITY);
        }
        self.closed[hours] = until;
    }

    /// All hosts that were added.
    pub fn hosts(&self) -> impl Iterator<Item = HostId> + use<> {
        (0..self.hosts.len() as u32).map(HostId)
    }

    /// A page to be fetched for the first time, which nobody has counted yet.
    pub fn push_new(&mut self, host: HostId, page: PageId) {
        self.count_new(host);
        self.push_again(host, page);
    }

    /// A page to be fetched for the first time, which was counted before.
    pub fn push_again(&mut self, host: HostId, page: PageId) {
        self.hosts[host.index()].new.push_back(page);
        self.new += 1;
        self.place(host);
    }

    /// The same of a page that has a rank.
    pub fn push_ranked(&mut self, host: HostId, page: PageId, rank: Rank) {
        let is_new = (self.hosts[host.index()].ranked).insert((Reverse(rank), page));
        self.new += usize::from(is_new);
        self.place(host);
    }

    /// A page has another rank; nothing happens where it does not wait.
    pub fn rise(&mut self, host: HostId, page: PageId, from: Rank, to: Rank) {
        let ranked = &mut self.hosts[host.index()].ranked;
        if ranked.remove(&(Reverse(from), page)) {
            ranked.insert((Reverse(to), page));
        }
    }

    /// The same of a page that is drawn by how long its contents are expected to last.
    pub fn push_lasting(&mut self, host: HostId, page: PageId) {
        self.hosts[host.index()].lasting.push_back(page);
        self.new += 1;
        self.place(host);
    }

    /// What the URL of a page says, by which it is drawn, and since when the page is known.
    pub fn describe(&mut self, page: PageId, traits: Traits, since: f64) {
        self.lasting.describe(page, traits, since);
    }

    /// The first visit to a page found contents of that age, in seconds.
    pub fn found_aged(&mut self, page: PageId, age: f64) {
        self.lasting.found(page, self.now, age);
    }

    /// A first visit before a restart found contents of that age; since when the page was known, and when it was visited.
    pub fn recall_aged(&mut self, traits: Traits, (since, at): (f64, f64), age: f64) {
        self.lasting.recall(traits, since, at, age);
    }

    /// A part of a page, such as a stylesheet: fetched with the page, not after all others that wait. Where new pages
    /// wait they have every second turn, so that parts without end keep no page waiting.
    pub fn push_part(&mut self, host: HostId, part: PageId) {
        self.hosts[host.index()].parts.push_back(part);
        self.new += 1;
        self.place(host);
    }

    /// A page to be fetched again.
    pub fn push_due(&mut self, host: HostId, page: PageId) {
        self.hosts[host.index()].due.push_back(page);
        self.due += 1;
        self.place(host);
    }

    /// A page that waits goes before all others of its host.
    pub fn hurry(&mut self, host: HostId, page: PageId) {
        let line = &mut self.hosts[host.index()];
        let ranked = line.ranked.iter().find(|(_, other)| *other == page);
        if let Some(&ranked) = ranked {
            line.ranked.remove(&ranked);
            line.new.push_front(page);
        }
        if let Some(at) = line.lasting.iter().position(|&other| other == page) {
            line.lasting.remove(at);
            line.new.push_front(page);
        }
        for waiting in [&mut line.new, &mut line.parts, &mut line.due] {
            if let Some(at) = waiting.iter().position(|&other| other == page) {
                waiting.remove(at);
                waiting.push_front(page);
            }
        }
    }

    /// A request that goes before all pages and needs no robots.txt, such as the next hop of a
    /// redirected robots.txt.
    pub fn push_errand(&mut self, host: HostId, errand: u32) {
        self.hosts[host.index()].errands.push_back(errand);
        self.errands += 1;
        self.place(host);
    }

    /// Takes back the errands to a host that cannot be reached.
    pub fn drop_errands(&mut self, host: HostId) -> Vec<u32> {
        let errands = std::mem::take(&mut self.hosts[host.index()].errands);
        self.errands -= errands.len();
        self.claim(host);
        errands.into()
    }

    /// Takes back all pages that wait for a host.
    pub fn take_pages(&mut self, host: HostId) -> Vec<PageId> {
        let line = &mut self.hosts[host.index()];
        self.new -= line.new_waiting();
        self.due -= line.due.len();
        let ranked = std::mem::take(&mut line.ranked).into_iter();
        let new = (line.new.drain(..))
            .chain(ranked.map(|(_, page)| page))
            .chain(line.lasting.drain(..))
            .chain(line.parts.drain(..));
        let pages = new.chain(line.due.drain(..)).collect();
        self.claim(host);
        pages
    }

    /// A page known from before, which waits for nothing now: its host has been asked before.
    pub fn count_page(&mut self, host: HostId) {
        let line = &mut self.hosts[host.index()];
        if line.place == Place::Unopened {
            let number = line.site;
            self.sites[number.index()].refund();
            self.time_site(number, f64::NEG_INFINITY);
        } else {
            line.trust = Trust::Proven;
        }
        self.count_new(host);
    }

    /// A page that nobody has counted yet.
    pub fn count_new(&mut self, host: HostId) {
        self.hosts[host.index()].pages += 1;
        self.count_allowed(host);
    }

    /// What to do at `now`.
    pub fn next(&mut self, now: f64) -> Turn {
        let affordable = self.requests_at.max(self.bytes_at);
        if affordable > now {
            return if self.new + self.due + self.errands == 0 {
                Turn::Idle
            } else {
                Turn::Wait(affordable)
            };
        }
        loop {
            self.advance(now);
            let Some(host) = self.shares.take() else {
                break;
            };
            if let Some(turn) = self.turn_of(host, now) {
                return turn;
            }
        }
        let next = self.instants.peek();
        next.map_or(Turn::Idle, |Reverse((at, ..))| Turn::Wait(*at as f64 / 1e6))
    }

    /// What came of a `Turn::Resolve`: the address and how long it holds.
    pub fn resolved(&mut self, host: HostId, now: f64, found: Option<(IpAddr, Seconds)>) {
        let line = &mut self.hosts[host.index()];
        if line.is_resolving() {
            let groups = self.site_of(host);
            self.shares.end(groups);
        } else if line.place != Place::Nowhere {
            return; // nobody asked, and it stands in a line
        }
        if let Some((ip, Seconds(seconds))) = found {
            let number = self.address_number(ip);
            self.found_at(host, number);
            self.hosts[host.index()].address_until = now + seconds;
        } else {
            let then = now + self.rules.ask_again;
            let line = &mut self.hosts[host.index()];
            line.found(None);
            line.courtesy.not_before = line.courtesy.not_before.max(then);
            if line.trust == Trust::Paid {
                line.trust = Trust::Found;
                let number = line.site;
                self.sites[number.index()].refund();
                self.time_site(number, now);
            }
        }
        self.place(host);
    }

    fn address_number(&mut self, ip: IpAddr) -> AddressId {
        if let Some(&number) = self.address_numbers.get(&ip) {
            return number;
        }
        let shares = &mut self.shares;
        let network =
            *(self.networks.entry(network(ip))).or_insert_with(|| shares.add_group(Kind::Network));
        let number = AddressId(self.addresses.len() as u32);
        self.addresses.push(Address::new(ip, network));
        self.address_numbers.insert(ip, number);
        number
    }

    /// robots.txt could not be had: nothing is asked of the host before then, and it first.
    pub fn without_robots(&mut self, host: HostId, until: f64) {
        self.hosts[host.index()].rules_missing();
        self.hold(host, until);
        self.place(host);
    }

    /// robots.txt, read just now, is known until then, and asks for this delay, which holds for
    /// the request after it too.
    pub fn set_robots(&mut self, host: HostId, now: f64, until: f64, crawl_delay: Seconds) {
        let line = &mut self.hosts[host.index()];
        line.rules_read(until, self.rules_expire_unused);
        let Seconds(crawl_delay) = crawl_delay;
        line.courtesy.crawl_delay = crawl_delay;
        line.courtesy.not_before = line.courtesy.not_before.max(now + crawl_delay);
        self.count_allowed(host);
        self.place(host);
    }

    /// A request to the host at that address ended.
    pub fn ended(&mut self, host: HostId, address: IpAddr, now: f64, answer: Answer, bytes: u64) {
        let line = &mut self.hosts[host.index()];
        let interval = line.manners.interval;
        line.courtesy.ended(interval, line.pages, now, answer);
        let wait = line.courtesy.address_interval(interval, line.pages);
        self.bytes_at =
            self.bytes_at.max(now - CREDIT) + bytes as f64 / self.rules.bytes_per_second;
        let is_page = line.visiting > 0 && matches!(answer, Answer::Fine { .. });
        if is_page && line.trust != Trust::Proven {
            line.trust = Trust::Proven;
            let number = line.site;
            self.sites[number.index()].earn();
            if self.sites[number.index()].unopened() > 0 {
                self.time_site(number, now);
            }
        }
        self.count_allowed(host);
        self.release(host, address, now + wait);
    }

    /// The turn was given back: no request was made.
    pub fn unused(&mut self, host: HostId, address: IpAddr) {
        self.release(host, address, f64::NEG_INFINITY);
    }

    fn release(&mut self, host: HostId, ip: IpAddr, not_before: f64) {
        let line = &mut self.hosts[host.index()];
        let tempo = line.end();
        if line.under_way == 0 {
            self.asked.remove(&host);
        }
        let site = self.sites[line.site.index()].group;
        // mostly where it was last found
        let found = line
            .address
            .filter(|&at| self.addresses[at.index()].ip == ip);
        let number = found.unwrap_or_else(|| self.address_number(ip));
        let address = &mut self.addresses[number.index()];
        address.under_way -= 1;
        address.not_before = address.not_before.max(not_before);
        let network = Some(address.network);
        self.shares.end(Groups {
            site,
            network,
            tempo,
        });
        self.time_address(number);
        self.place(host);
    }

    /// Nothing is asked of the host until that is lifted; what waits for it waits on.
    pub fn bar(&mut self, host: HostId) {
        self.hosts[host.index()].barred = true;
        self.count_allowed(host);
        self.claim(host);
    }

    /// The host may be asked, from then on.
    pub fn unbar(&mut self, host: HostId, from: f64) {
        self.hosts[host.index()].barred = false;
        self.hold(host, from);
        self.count_allowed(host);
        self.place(host);
    }

    /// What others knew of the host: it is left alone for as long as the more careful one says.
    pub fn adopt(&mut self, host: HostId, courtesy: Courtesy, robots_until: f64) {
        let line = &mut self.hosts[host.index()];
        line.adopt(courtesy, robots_until);
        self.count_allowed(host);
    }

    /// Its pages have gone elsewhere, and count no more. What waits is to be taken before.
    pub fn forget_pages(&mut self, host: HostId) {
        self.hosts[host.index()].pages = 0;
        self.count_allowed(host);
    }

    /// A mistake on purpose: rules hold until they expire, and no visit follows them.
    #[doc(hidden)]
    pub fn let_rules_expire_unused(&mut self) {
        self.rules_expire_unused = true;
    }

    /// A mistake on purpose: whoever comes first has the turn.
    #[doc(hidden)]
    pub fn share_nothing(&mut self) {
        self.shares.lawless = true;
    }

    /// No request to this host before then.
    pub fn hold(&mut self, host: HostId, until: f64) {
        let courtesy = &mut self.hosts[host.index()].courtesy;
        courtesy.not_before = courtesy.not_before.max(until);
    }
}

#[cfg(test)]
mod tests;
