//! One host's line.

use super::allowance::Part;
use super::share::Tempo;
use super::{AddressId, Manners, SiteId};
use crate::order::{Lasting, Rank};
use crate::politeness::Courtesy;
use ground::PageId;
use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};

/// Visits that follow a fetch of robots.txt before other hosts of the address have their turn.
const VISITS_A_SITTING: u8 = 4;
/// An answer that takes longer, in seconds, makes a host a slow one.
const SLOW: f64 = 5.0;
/// Rules hold for so many seconds from the first visit made by them, however long it had to wait.
const RULES_HOLD: f64 = 60.0;

/// Where a host with something to do stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Place {
    /// Nowhere: it has nothing to do, or somebody is doing it.
    #[default]
    Nowhere,
    /// Among the hosts of its site that are to be opened.
    Unopened,
    /// Among the instants.
    Timed,
    /// In the line of its address.
    AtAddress,
    /// Among those who wait for a connection.
    Offered,
}

/// What a host has shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Trust {
    /// Nothing: its site must earn that it is asked.
    #[default]
    Unopened,
    /// Its site paid for it; no address was found yet.
    Paid,
    /// It exists.
    Found,
    /// It answered.
    Proven,
}

/// Whether a host's address is being asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Lookup {
    #[default]
    No,
    /// It is.
    Asking,
    /// It is anew, because it was too old when its host's turn had come.
    AskingAgain,
    /// It was, and holds for one request; its host keeps its turn.
    Again,
    /// It was, and holds for one request; its host has moved, and waits like others there.
    Elsewhere,
}

#[derive(Debug)]
#[allow(clippy::struct_excessive_bools)] // each is a fact of its own
pub(super) struct Line {
    pub manners: Manners,
    pub new: VecDeque<PageId>,
    /// New pages that have ranks, and come after those that have none.
    pub ranked: BTreeSet<(Reverse<Rank>, PageId)>,
    /// New pages of which those that last are drawn first, after all others.
    pub lasting: VecDeque<PageId>,
    /// Parts of pages, to be fetched for the first time.
    pub parts: VecDeque<PageId>,
    pub due: VecDeque<PageId>,
    pub errands: VecDeque<u32>,
    pub courtesy: Courtesy,
    pub site: SiteId,
    pub address: Option<AddressId>,
    pub address_until: f64,
    pub lookup: Lookup,
    pub pages: u32,
    pub under_way: u16,
    /// Of these, visits; and, by tempo, those that began when that kept it from something.
    pub visiting: u16,
    hindered: [u16; 2],
    pub place: Place,
    /// Its due pages that are counted as such whose turn may come soon.
    pub due_soon: usize,
    pub trust: Trust,
    /// It is another's, or not ours alone yet: nothing is asked of it.
    pub barred: bool,
    /// What it adds to what politeness allows, by account.
    pub allows: [Option<Part>; 2],
    /// It is counted among those who want connections.
    pub claims: bool,
    pub asking_robots: bool,
    robots_until: f64,
    /// No visit was made by the rules yet.
    untried_rules: bool,
    /// Visits left of a sitting.
    sitting: u8,
    credit: f32,
    /// The last that was new was a part of a page.
    after_part: bool,
}

impl Line {
    /// One that has answered before need not be opened again.
    pub fn new(site: SiteId, manners: Manners, courtesy: Courtesy, robots_until: f64) -> Self {
        let known = courtesy.response > 0.0;
        Self {
            manners,
            site,
            courtesy,
            robots_until,
            trust: if known {
                Trust::Proven
            } else {
                Trust::Unopened
            },
            new: VecDeque::new(),
            ranked: BTreeSet::new(),
            lasting: VecDeque::new(),
            parts: VecDeque::new(),
            due: VecDeque::new(),
            errands: VecDeque::new(),
            address: None,
            address_until: 0.0,
            lookup: Lookup::No,
            pages: 0,
            under_way: 0,
            visiting: 0,
            hindered: [0; 2],
            place: Place::Nowhere,
            due_soon: 0,
            barred: false,
            allows: [None; 2],
            claims: false,
            asking_robots: false,
            untried_rules: false,
            sitting: 0,
            credit: 0.0,
            after_part: false,
        }
    }

    /// As if it had been known from the start.
    pub fn adopt(&mut self, courtesy: Courtesy, robots_until: f64) {
        let not_before = self.courtesy.not_before.max(courtesy.not_before);
        self.courtesy = Courtesy {
            not_before,
            ..courtesy
        };
        self.robots_until = robots_until;
        if courtesy.response > 0.0 && self.place != Place::Unopened {
            self.trust = Trust::Proven;
        }
    }

    pub fn is_empty(&self) -> bool {
        !self.has_new() && self.due.is_empty() && self.errands.is_empty()
    }

    /// Whether something waits to be fetched for the first time.
    pub fn has_new(&self) -> bool {
        self.new_waiting() > 0
    }

    /// Pages and parts of pages to be fetched for the first time.
    pub fn new_waiting(&self) -> usize {
        self.new.len() + self.ranked.len() + self.lasting.len() + self.parts.len()
    }

    /// What keeps it from the last connections.
    pub fn tempo(&self) -> Option<Tempo> {
        if self.courtesy.response > SLOW || self.courtesy.extra > 0.0 {
            Some(Tempo::Slow)
        } else {
            (self.trust != Trust::Proven).then_some(Tempo::Unknown)
        }
    }

    /// The same for a request under way.
    pub fn hindered_by(&self) -> Option<Tempo> {
        let tempos = [Tempo::Slow, Tempo::Unknown].into_iter();
        tempos
            .into_iter()
            .find(|&tempo| self.hindered[tempo as usize] > 0)
    }

    /// Whether nothing can be asked of it before somebody says that something ended.
    pub fn rests(&self) -> bool {
        self.is_empty()
            || self.barred
            || self.is_resolving()
            || self.asking_robots && self.errands.is_empty()
            || self.under_way >= self.manners.parallel
    }

    /// Whether its address is being asked for.
    pub fn is_resolving(&self) -> bool {
        matches!(self.lookup, Lookup::Asking | Lookup::AskingAgain)
    }

    /// Whether its address must be asked for before a request.
    pub fn needs_address(&self, now: f64) -> bool {
        let holds_once = matches!(self.lookup, Lookup::Again | Lookup::Elsewhere);
        self.address.is_none() || self.address_until <= now && !holds_once
    }

    /// Its turn has come, but its address must be asked for.
    pub fn resolve(&mut self) {
        self.lookup = match self.address {
            None => Lookup::Asking,
            Some(_) => Lookup::AskingAgain,
        };
    }

    /// It is found where it was, elsewhere, or nowhere. Where its turn had come it goes first, but
    /// not where others wait already.
    pub fn found(&mut self, address: Option<AddressId>) {
        let moved = address != self.address;
        self.lookup = match self.lookup {
            Lookup::AskingAgain if address.is_none() => Lookup::No,
            Lookup::AskingAgain if moved => Lookup::Elsewhere,
            Lookup::AskingAgain => Lookup::Again,
            _ => Lookup::No,
        };
        if moved {
            self.sitting = 0;
            self.address = address.or(self.address);
        }
    }

    /// A request begins.
    pub fn begin(&mut self) {
        self.under_way += 1;
        if let Some(tempo) = self.tempo() {
            self.hindered[tempo as usize] += 1;
        }
        self.lookup = Lookup::No;
    }

    /// A request ends; says by what it was hindered.
    pub fn end(&mut self) -> Option<Tempo> {
        self.under_way -= 1;
        self.visiting = self.visiting.saturating_sub(1);
        let tempo = self.hindered_by()?;
        self.hindered[tempo as usize] -= 1;
        Some(tempo)
    }

    /// Whether robots.txt must be fetched before a visit. Rules that were read are used at least
    /// once: with many hosts at an address their time may be over before their host's turn comes.
    pub fn needs_robots(&self, now: f64) -> bool {
        self.robots_until <= now && !self.untried_rules
    }

    /// Rules were read; by mistake they may expire before they are used.
    pub fn rules_read(&mut self, until: f64, expire_unused: bool) {
        self.asking_robots = false;
        self.robots_until = until;
        self.untried_rules = !expire_unused;
        self.sitting = if expire_unused { 0 } else { VISITS_A_SITTING };
    }

    /// There are no rules to go by: they must be asked for again before any visit.
    pub fn rules_missing(&mut self) {
        self.asking_robots = false;
        self.robots_until = f64::NEG_INFINITY;
        self.untried_rules = false;
        self.sitting = 0;
    }

    /// A visit begins.
    pub fn rules_used(&mut self, now: f64) {
        if std::mem::take(&mut self.untried_rules) {
            self.robots_until = self.robots_until.max(now + RULES_HOLD);
        }
        self.sitting = self.sitting.saturating_sub(1);
    }

    /// Whether it goes before other hosts of its address.
    pub fn goes_first(&self) -> bool {
        self.lookup == Lookup::Again || self.sitting > 0
    }

    /// Others have their turn before robots.txt is fetched again; says whether that is news.
    pub fn rise(&mut self) -> bool {
        std::mem::take(&mut self.sitting) > 0
    }

    /// Whether a new page has this turn.
    pub fn choose(&mut self, share_of_new: f64) -> bool {
        if self.due.is_empty() || !self.has_new() {
            return self.due.is_empty();
        }
        self.credit += share_of_new as f32;
        let new = self.credit >= 1.0;
        if new {
            self.credit -= 1.0;
        }
        new
    }

    /// The new page, or part of one, that is next.
    pub fn pop_new(&mut self, now: f64, lasting: &mut Lasting) -> Option<PageId> {
        let has_pages = self.new_waiting() > self.parts.len();
        let is_part = !self.parts.is_empty() && (!has_pages || !self.after_part);
        self.after_part = is_part;
        if is_part {
            return self.parts.pop_front();
        }
        let unranked = self.new.pop_front();
        let ranked = || self.ranked.pop_first().map(|(_, page)| page);
        let drawn = || {
            (!self.lasting.is_empty())
                .then(|| lasting.choose(&self.lasting, now))
                .and_then(|at| self.lasting.remove(at))
        };
        unranked.or_else(ranked).or_else(drawn)
    }
}
