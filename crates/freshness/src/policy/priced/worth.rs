//! What an index policy believes of pages.

use crate::estimate::{Evidence, Findings};
use crate::policy::shape::Stake;
use crate::policy::{Outcome, Seen};
use crate::record::{Reader, Writer};
use crate::{PageId, ServerId};

/// What an index policy believes of pages.
pub(in crate::policy) trait Worth: Send {
    /// What is known of all pages together, as it was at one time.
    type Outlook: Clone + Send;

    /// Tells whose bytes they are.
    const TAG: u8;

    /// What is at stake with the page after its last visit; its weight is zero when it was removed.
    fn stake(&self, page: PageId) -> Stake;

    /// The page's last visit; none before the first.
    fn last_visit(&self, page: PageId) -> Option<f64>;

    /// Takes in what came of a visit.
    fn learn(&mut self, page: PageId, server: ServerId, at: f64, outcome: Outcome<'_>);

    /// What is known of all pages together now.
    fn outlook(&self) -> Self::Outlook;

    /// Brings what is at stake with the page up to date with what is known of it and of all.
    fn judge(&mut self, page: PageId, server: ServerId, outlook: &Self::Outlook);

    /// Whether what is at stake with a page depends on what was learnt from the others.
    fn learns_from_others(&self) -> bool;

    /// A signal says that the page changed.
    fn signal(&mut self, page: PageId, server: ServerId);

    /// By how much signals since its last visit bring the page's next visit forward.
    fn forward(&self, page: PageId) -> f64;

    /// Adds a page, or replaces a removed one.
    fn add(&mut self, page: PageId, server: ServerId, weight: f64, known: Option<Evidence>);

    /// How important a page is from now on.
    fn weigh(&mut self, page: PageId, weight: f64);

    /// Forgets a page.
    fn remove(&mut self, page: PageId, server: ServerId);

    /// A server more.
    fn add_server(&mut self);

    /// The time in which the budget pays for one visit to each page.
    fn set_round(&mut self, round: f64);

    /// What is at stake with the page once the news of its last visits has grown old, which takes a
    /// round; none when no news is taken in.
    fn once_settled(&self, _page: PageId) -> Option<Stake> {
        None
    }

    /// No page that changes waits for more than this many times the average interval: beliefs may
    /// be wrong, and only a visit can tell.
    fn ceiling_rounds(&self) -> f64;

    /// For how long visits have watched the page, where it is kept.
    fn watched(&self, _page: PageId) -> f64 {
        f64::INFINITY
    }

    /// What visits to the page have shown of its rate, where it is kept.
    fn findings(&self, _page: PageId) -> Option<Findings> {
        None
    }

    /// Writes down what is known of a page, so that [`restore`](Self::restore) knows it again.
    fn memo(&self, page: PageId, to: &mut Writer);

    /// Adds a page of which this was seen and written; nothing happens when it is not understood.
    fn restore(
        &mut self,
        page: PageId,
        server: ServerId,
        weight: f64,
        seen: Seen,
        from: &mut Reader,
    ) -> Option<()>;

    /// Writes down what is known of all pages together, and of each server.
    fn learnt(&self, to: &mut Writer);

    /// Takes it in again; what is not understood leaves things half done and is thrown away.
    fn relearn(&mut self, from: &mut Reader) -> Option<()>;

    /// The same of an outlook.
    fn write_outlook(outlook: &Self::Outlook, to: &mut Writer);

    /// And back.
    fn read_outlook(from: &mut Reader) -> Option<Self::Outlook>;
}
