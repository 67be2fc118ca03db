//! Custody: what is for others is kept until its next holder has it in its log (a receipt).

use std::collections::BTreeMap;

use crate::identity::{Millis, Text, Unit};
use crate::moves::Notice;
use crate::parcel::Cargo;

/// An entry in custody.
#[derive(Clone, Debug)]
pub struct Kept {
    /// What.
    pub cargo: Cargo,
    /// When it was last published; nothing if it never was.
    pub sent: Option<Millis>,
    /// How often it was, under the present plans.
    tries: u8,
}

/// A holder who is away for long is not sent the same again and again: the wait doubles so often.
const DOUBLED: u8 = 3;

/// What is for others.
#[derive(Clone, Debug, Default)]
pub struct Outbox {
    entries: BTreeMap<u64, Kept>,
    last: u64,
    /// Notices whose pieces are on their way to the object store.
    pub(crate) prepared: BTreeMap<Unit, Notice>,
}

impl Outbox {
    /// The last number that was given.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Numbers up to this one were given.
    pub fn given(&mut self, last: u64) {
        self.last = self.last.max(last);
    }

    /// All that is in custody, with its numbers.
    pub fn all(&self) -> impl Iterator<Item = (u64, &Cargo)> {
        self.entries
            .iter()
            .map(|(number, kept)| (*number, &kept.cargo))
    }

    /// Takes something into custody and numbers it.
    pub fn keep(&mut self, cargo: Cargo) -> u64 {
        self.last += 1;
        self.restore(self.last, cargo);
        self.last
    }

    /// As it was on disk.
    pub fn restore(&mut self, number: u64, cargo: Cargo) {
        self.last = self.last.max(number);
        let kept = Kept {
            cargo,
            sent: None,
            tries: 0,
        };
        self.entries.insert(number, kept);
    }

    /// An entry that is still in custody.
    pub fn get(&self, number: u64) -> Option<&Kept> {
        self.entries.get(&number)
    }

    /// It is published now.
    pub fn publishing(&mut self, number: u64, now: Millis) {
        if let Some(kept) = self.entries.get_mut(&number) {
            kept.sent = Some(now);
            kept.tries = kept.tries.saturating_add(1);
        }
    }

    /// The objects that notices speak of.
    pub fn packages(&self) -> impl Iterator<Item = Text> {
        let sent = self.entries.values().filter_map(|kept| match &kept.cargo {
            Cargo::Moved(notice) => Some(notice),
            _ => None,
        });
        sent.chain(self.prepared.values())
            .flat_map(Notice::all_pieces)
    }

    /// It could not be published, and counts as if it had been then.
    pub fn sending(&mut self, number: u64, then: Millis) {
        if let Some(kept) = self.entries.get_mut(&number) {
            kept.sent = Some(then);
            kept.tries = 0;
        }
    }

    /// Others may be the holders now: nothing waits longer than it must.
    pub fn hurry(&mut self) {
        self.entries.values_mut().for_each(|kept| kept.tries = 0);
    }

    /// Its next holder has it, or it is ours after all.
    pub fn forget(&mut self, number: u64) -> Option<Cargo> {
        self.entries.remove(&number).map(|kept| kept.cargo)
    }

    /// Those without a receipt for so long since they were published, and twice as long after each time.
    pub fn overdue(&self, now: Millis, patience: Millis) -> impl Iterator<Item = u64> + '_ {
        let wait = move |kept: &Kept| patience << kept.tries.saturating_sub(1).min(DOUBLED);
        (self.entries.iter())
            .filter(move |(_, kept)| kept.sent.is_some_and(|sent| sent + wait(kept) < now))
            .map(|(number, _)| *number)
    }

    /// All numbers in custody.
    pub fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
        self.entries.keys().copied()
    }

    /// Whether nothing is in custody.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How much is.
    pub fn len(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parcel::Parcel;

    #[test]
    fn the_same_is_sent_less_and_less_often_until_the_plan_changes() {
        let mut outbox = Outbox::default();
        let url = Parcel::new("a.example".into(), "http://a.example/".into());
        let number = outbox.keep(Cargo::Url(url));
        let mut times = Vec::new();
        outbox.publishing(number, 0);
        for now in 0..1_000 {
            if outbox.overdue(now, 20).next().is_some() {
                times.push(now);
                outbox.publishing(number, now);
            }
        }
        assert_eq!(times[..4], [21, 62, 143, 304]);
        // no later than after eight times as long
        assert!(
            times.windows(2).all(|two| two[1] - two[0] <= 161),
            "{times:?}"
        );
        let last = times[times.len() - 1];
        outbox.hurry();
        assert_eq!(outbox.overdue(last + 21, 20).collect::<Vec<_>>(), [number]);
        // what could not be published is tried again soon
        outbox.publishing(number, 2_000);
        outbox.sending(number, 1_985);
        assert!(outbox.overdue(2_006, 20).next().is_some());
    }
}
