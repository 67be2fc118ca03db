//! Which page to visit, and when.
#![doc = include_str!("policy/README.md")]

mod adaptive;
mod beliefs;
mod greedy;
mod index;
mod intervals;
mod learning;
mod lifetime;
mod market;
mod memory;
mod names;
mod planned;
mod priced;
mod queue;
pub mod schedule;
mod shape;
mod signals;
mod trim;

pub use adaptive::LONGEST_TRUST;
pub use names::{Error, build, names, split};

use crate::estimate::{Evidence, Findings};
use crate::{PageId, ServerId};

/// A revisit policy.
pub trait Policy: Send {
    /// What to do at `now`. Time never runs backwards from call to call. A visit that is returned
    /// counts as under way from `now` on; the outcome of every visit has to be told, be it a
    /// failure, and until then the policy may leave the page alone.
    fn next(&mut self, now: f64) -> Next;

    /// What came of a visit to `page` made at `at`, be it one that was asked for here or not.
    fn observe(&mut self, page: PageId, at: f64, outcome: Outcome<'_>);

    /// Something other than a page's content changed.
    fn change(&mut self, now: f64, change: Change);

    /// Somebody else visits the page, and goes on until there is an answer: it is left alone until
    /// its next outcome, where the policy can leave a page alone.
    fn leave(&mut self, page: PageId) {
        let _ = page;
    }

    /// Limits to the times between visits from now on, for a class of pages: the first, the next, or one that is
    /// known; false when the policy knows no limits, so that whoever asks has to see to them.
    fn set_limits(&mut self, class: u16, limits: Limits) -> bool {
        let _ = (class, limits);
        false
    }

    /// Of which class the page is, if not of the first. To be told before the page is added.
    fn set_class(&mut self, page: PageId, class: u16) {
        let _ = (page, class);
    }

    /// How important the page is from now on.
    fn weigh(&mut self, page: PageId, weight: f64) {
        let _ = (page, weight);
    }

    /// How important the page is, where the policy knows.
    fn weight(&self, page: PageId) -> Option<f64> {
        let _ = page;
        None
    }

    /// By what the estimator believes, the page has changed with the least chance of the limits so many
    /// seconds after its last visit. To be told after the page is added and after its outcome is.
    fn hold(&mut self, page: PageId, seconds: f64) {
        let _ = (page, seconds);
    }

    /// Which of these limits the page's due time goes by, if it is one of them.
    fn limit(&self, page: PageId) -> Option<Limit> {
        let _ = page;
        None
    }

    /// When the page is due as things stand, where the policy thinks in due times of pages.
    fn due(&self, page: PageId) -> Option<f64> {
        let _ = page;
        None
    }

    /// The page is due then, as somebody else decided by what he knew; until its next visit with an outcome, or for
    /// about a round if it has none. To be told after it is added.
    fn promise(&mut self, page: PageId, now: f64, due: f64) {
        let _ = (page, now, due);
    }

    /// When the page was promised to be due, while that holds.
    fn promised(&self, page: PageId) -> Option<f64> {
        let _ = page;
        None
    }

    /// What visits to the page have shown of its rate, where the policy keeps it.
    fn findings(&self, page: PageId) -> Option<Findings> {
        let _ = page;
        None
    }

    /// Writes down all that the policy knows of a page, where it knows more than what was
    /// [`Seen`].
    fn memo(&self, page: PageId, to: &mut Vec<u8>) {
        let _ = (page, to);
    }

    /// Adds a page of which this was seen and written; false, and nothing happens, when that is not
    /// understood. After [`relearn`](Self::relearn) numbers need not be dense.
    fn restore(
        &mut self,
        page: PageId,
        server: ServerId,
        weight: f64,
        seen: Seen,
        memo: &[u8],
    ) -> bool {
        let _ = (page, server, weight, seen, memo);
        false
    }

    /// Writes down what the policy knows of all pages together.
    fn learnt(&self, to: &mut Vec<u8>) {
        let _ = to;
    }

    /// Takes it in again, before there are pages or servers; a policy that answers false is of no
    /// use any more.
    fn relearn(&mut self, learnt: &[u8]) -> bool {
        let _ = learnt;
        false
    }
}

/// What visits to a page have shown, whatever the policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// Of its rate.
    pub findings: Findings,
    /// When the last of them was.
    pub last: f64,
}

/// How close and how far apart visits to a page may be, whatever the budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// No two visits are closer.
    pub least_interval: f64,
    /// No page waits for longer, where the policy thinks in due times.
    pub most_interval: f64,
    /// No visit is made before the page has changed with this chance, but for the longest wait.
    pub least_chance: f64,
}

/// One of the [`Limits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// It is too soon after the last visit.
    LeastInterval,
    /// It has waited for as long as a page may.
    MostInterval,
    /// It has hardly changed yet.
    LeastChance,
}

/// A number for each of some pages, and zero for the others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Classes(Vec<u16>);

impl Classes {
    pub fn set(&mut self, page: PageId, class: u16) {
        // mostly there are no classes
        if self.0.len() <= page.index() && class > 0 {
            self.0.resize(page.index() + 1, 0);
        }
        if let Some(known) = self.0.get_mut(page.index()) {
            *known = class;
        }
    }

    /// What holds for the page's class.
    pub fn of<'a, T>(&self, page: PageId, all: &'a [T]) -> &'a T {
        let class = self.0.get(page.index()).copied().unwrap_or(0);
        all.get(usize::from(class)).unwrap_or(&all[0])
    }
}

impl Limits {
    /// None at all.
    pub const NONE: Self = Self {
        least_interval: 0.0,
        most_interval: f64::INFINITY,
        least_chance: 0.0,
    };
}

/// A policy's answer, pages being numbered as `P` says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next<P = PageId> {
    /// Visit this page now.
    Visit(P),
    /// Nothing before this instant, unless something changes; ask again then.
    Wait(f64),
    /// Nothing at all, unless something changes.
    Idle,
}

/// What came of a visit. Times are instants on the same clock as `now`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome<'a> {
    /// No answer, or an error: says nothing about changes.
    Failed,
    /// The page is as it was at the last visit.
    Unchanged,
    /// The page differs from the last visit; when it changed is not known. The first visit to a
    /// page is told so too.
    Changed,
    /// The page's content dates from this instant: changed if it is later than the last visit.
    LastModified(f64),
    /// All the instants at which the page changed since the last visit, ascending; empty when it
    /// did not.
    History(&'a [f64]),
}

impl Outcome<'_> {
    /// Whether the page changed since its last visit; nothing is said by a failure or by a first
    /// visit.
    pub fn changed_since(&self, last: Option<f64>) -> Option<bool> {
        let last = last?;
        match self {
            Self::Failed => None,
            Self::Unchanged => Some(false),
            Self::Changed => Some(true),
            Self::LastModified(modified) => Some(*modified > last),
            Self::History(changes) => Some(!changes.is_empty()),
        }
    }
}

/// What may change while a policy runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// A page to keep fresh from now on. Indices are dense: either one past the last, or that of a
    /// page that was removed.
    AddPage {
        /// Its index.
        page: PageId,
        /// Its server; a new server is announced by its delay first.
        server: ServerId,
        /// Its importance.
        weight: f64,
        /// What is known of its changes from before.
        known: Option<Evidence>,
        /// Its last visit, made before the policy knew of it.
        visited: Option<f64>,
    },
    /// A page no longer to be visited.
    RemovePage(PageId),
    /// Visits per unit of time from now on.
    Budget(f64),
    /// The least time between two requests to a server from now on. Indices are dense.
    Delay {
        /// The server.
        server: ServerId,
        /// The time.
        delay: f64,
    },
    /// A sitemap, feed or ping says that the page changed; it may be wrong.
    Signal(PageId),
}

/// What a policy starts with.
#[derive(Clone, Copy)]
pub struct Setup<'a> {
    /// The server of each page, as an index into `delay`.
    pub server: &'a [u32],
    /// The importance of each page; `None` means that all weigh one.
    pub weight: Option<&'a [f64]>,
    /// The least time between two requests to each server; zero without politeness.
    pub delay: &'a [f64],
    /// Visits per unit of time in all.
    pub budget: f64,
    /// The instant from which on the policy runs.
    pub start: f64,
    /// The seed of all randomness.
    pub seed: u64,
    /// What is known of how pages change.
    pub knowledge: Knowledge<'a>,
}

/// What a policy may know of how pages change.
#[derive(Clone, Copy)]
pub enum Knowledge<'a> {
    /// Rates are given and stay as they are.
    Known {
        /// Changes per unit of time of each page.
        rate: &'a [f64],
        /// Times between the changes of each page, where the policy can use more than the rate.
        gaps: Option<&'a [Vec<f64>]>,
    },
    /// Nothing but what the policy's own visits reveal.
    Online {
        /// A first guess of a page's change rate.
        guess: f64,
    },
}

#[cfg(test)]
mod tests;
