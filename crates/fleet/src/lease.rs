//! Session leases: who may act, held by time. The holder's lease ends earlier for itself than for
//! everybody else, on monotonic clocks that may run one per cent fast or slow.

use std::collections::BTreeMap;

use crate::identity::{Millis, Session};

/// The time that a lease lasts, and what is allowed for clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// From renewal to expiry.
    pub lasts: Millis,
    /// Taken off for the holder, added for observers. At least 1 % of `lasts` for each clock.
    pub margin: Millis,
}

/// The holder's side.
#[derive(Clone, Debug)]
pub struct Holder {
    term: Term,
    until: Millis,
    pending: Option<Pending>,
}

/// A renewal of which we do not know whether it was applied.
#[derive(Clone, Copy, Debug)]
struct Pending {
    nonce: u64,
    sent: Millis,
}

impl Holder {
    /// No lease yet.
    pub fn new(term: Term) -> Self {
        Self {
            term,
            until: 0,
            pending: None,
        }
    }

    /// A renewal with this nonce leaves now.
    pub fn sending(&mut self, now: Millis, nonce: u64) {
        self.pending = Some(Pending { nonce, sent: now });
    }

    /// What was written last is known to be stored: by the answer, or by reading the nonce back.
    /// The lease counts from before it was sent.
    pub fn stored(&mut self, nonce: u64) -> bool {
        let Some(pending) = self.pending.filter(|pending| pending.nonce == nonce) else {
            return false;
        };
        self.pending = None;
        self.until = self
            .until
            .max(pending.sent + self.term.lasts - self.term.margin);
        true
    }

    /// As [`Holder::stored`], but counted from the answer: wrong, and kept to show that the
    /// simulation sees it.
    #[doc(hidden)]
    pub fn stored_counted_from(&mut self, nonce: u64, now: Millis) -> bool {
        if let Some(pending) = &mut self.pending {
            pending.sent = now;
        }
        self.stored(nonce)
    }

    /// A renewal that was certainly not applied.
    pub fn failed(&mut self) {
        self.pending = None;
    }

    /// The nonce of a renewal whose fate is open.
    pub fn open(&self) -> Option<u64> {
        self.pending.map(|pending| pending.nonce)
    }

    /// The lease is gone: somebody else wrote the key.
    pub fn lost(&mut self) {
        self.pending = None;
        self.until = 0;
    }

    /// Until when, on the holder's clock.
    pub fn until(&self) -> Millis {
        self.until
    }

    /// Whether the holder may act.
    pub fn valid(&self, now: Millis) -> bool {
        now < self.until
    }
}

/// Everybody else's side: when each session, or each group, was last heard of.
#[derive(Clone, Debug)]
pub struct Observer<Who = Session> {
    term: Term,
    heard: BTreeMap<Who, (u64, Millis)>,
}

impl<Who: Copy + Ord> Observer<Who> {
    /// Nobody heard yet.
    pub fn new(term: Term) -> Self {
        Self {
            term,
            heard: BTreeMap::new(),
        }
    }

    /// A revision of a session's key was received. Only one not seen before is a sign of life; says whether it was not
    /// the first.
    pub fn heard(&mut self, who: Who, revision: u64, now: Millis) -> bool {
        self.said(who, revision, now, |said, known| said > known)
    }

    /// The same for a count that begins anew where the engine lost it: any other than the last is a sign of life.
    pub fn counted(&mut self, who: Who, count: u64, now: Millis) -> bool {
        self.said(who, count, now, |said, known| said != known)
    }

    fn said(&mut self, who: Who, said: u64, now: Millis, is_sign: fn(u64, u64) -> bool) -> bool {
        let entry = self.heard.entry(who).or_insert((said, now));
        let known = entry.0;
        if is_sign(said, known) {
            *entry = (said, now);
        }
        // 0 was only expected
        known > 0 && is_sign(said, known)
    }

    /// One that others know: its time begins now at the latest.
    pub fn expect(&mut self, who: Who, now: Millis) {
        self.heard.entry(who).or_insert((0, now));
    }

    /// When it counts as expired, unless it is heard of.
    pub fn expiry(&self, who: Who) -> Option<Millis> {
        let (_, at) = self.heard.get(&who)?;
        Some(at + self.term.lasts + self.term.margin)
    }

    /// Whether its time is over.
    pub fn expired(&self, who: Who, now: Millis) -> bool {
        self.expiry(who).is_some_and(|expiry| now >= expiry)
    }

    /// Nobody needs to know of it any more.
    pub fn forget(&mut self, who: Who) {
        self.heard.remove(&who);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::RobotId;

    const TERM: Term = Term {
        lasts: 30_000,
        margin: 1_000,
    };

    #[test]
    fn the_holder_counts_from_before_sending_and_observers_from_receipt() {
        let mut holder = Holder::new(TERM);
        assert!(!holder.valid(0));
        holder.sending(100, 7);
        assert!(!holder.stored(8), "another's nonce proves nothing");
        assert!(holder.stored(7));
        assert_eq!(holder.until(), 29_100);
        assert!(!holder.stored(7), "only once");

        let session = Session {
            robot: RobotId(1),
            incarnation: 1,
        };
        let mut observer = Observer::new(TERM);
        observer.heard(session, 5, 150);
        observer.heard(session, 5, 20_000);
        observer.heard(session, 4, 20_000);
        assert_eq!(observer.expiry(session), Some(31_150));
        observer.heard(session, 6, 5_000);
        assert!(observer.expired(session, 36_000) && !observer.expired(session, 35_999));
    }

    #[test]
    fn a_count_that_begins_anew_is_a_sign_of_life() {
        let mut observer = Observer::new(TERM);
        observer.counted(1, 400, 0);
        observer.counted(1, 400, 20_000);
        assert!(observer.expired(1, 31_000), "it was not counted on");
        observer.counted(1, 1, 32_000);
        assert!(!observer.expired(1, 62_999) && observer.expired(1, 63_000));
    }

    #[test]
    fn clocks_one_per_cent_apart_never_overlap() {
        // the holder's clock is slow, the observer's fast; the renewal arrives at once
        let holder_true = (TERM.lasts - TERM.margin) as f64 / 0.99;
        let observer_true = (TERM.lasts + TERM.margin) as f64 / 1.01;
        assert!(holder_true < observer_true);
    }
}
