//! Custody: what is for others is kept until its next holder has it in its log (a receipt).

mod away;

use std::collections::{BTreeMap, BTreeSet};

use crate::identity::{Millis, Text, Unit};
use crate::moves::Notice;
use crate::parcel::{Cargo, Subject};
use away::Away;

/// A holder who is away is not sent the same again and again: the wait doubles so often.
const DOUBLED: u8 = 4;

/// An entry in custody.
#[derive(Clone, Debug)]
pub struct Kept {
    /// What.
    pub cargo: Cargo,
    /// When it was last published; nothing if it never was.
    pub sent: Option<Millis>,
    /// To whom, and how often without a receipt.
    to: Option<Subject>,
    tries: u8,
}

impl Kept {
    /// How long a receipt is waited for. Packages are made anew before long, so their notices do not wait.
    fn wait(&self, patience: Millis) -> Millis {
        match self.cargo {
            Cargo::Url(_) => wait(patience, self.tries),
            Cargo::Moved(_) | Cargo::Seen(_) => patience,
        }
    }
}

fn wait(patience: Millis, tries: u8) -> Millis {
    patience << tries.saturating_sub(1).min(DOUBLED)
}

/// What is for others.
#[derive(Clone, Debug, Default)]
pub struct Outbox {
    entries: BTreeMap<u64, Kept>,
    away: Away,
    /// All is wanted in memory, and was asked for then.
    pub(crate) gathering: Option<Millis>,
    last: u64,
    /// Receivers who have not answered for long.
    silent: BTreeSet<Subject>,
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

    /// All that is in custody and in memory, with its numbers.
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
            to: None,
            tries: 0,
        };
        self.entries.insert(number, kept);
    }

    /// An entry that is still in custody, if it is in memory.
    pub fn get(&self, number: u64) -> Option<&Kept> {
        self.entries.get(&number)
    }

    /// It is published now; whether it was before.
    pub fn publishing(&mut self, number: u64, to: Subject, now: Millis) -> bool {
        let Some(kept) = self.entries.get_mut(&number) else {
            return false;
        };
        let again = kept.sent.replace(now).is_some();
        kept.tries = kept.tries.saturating_add(1);
        kept.to = Some(to);
        if kept.tries > 1 {
            self.silent.insert(to);
        }
        again
    }

    /// It could not be published, and counts as if it had been then.
    pub fn sending(&mut self, number: u64, then: Millis) {
        if let Some(kept) = self.entries.get_mut(&number) {
            kept.sent = Some(then);
            kept.tries = kept.tries.saturating_sub(1);
        }
    }

    /// Others may be the holders now: nothing waits longer than it must.
    pub fn hurry(&mut self) {
        self.silent.clear();
        self.away.hurry();
        self.entries.values_mut().for_each(|kept| kept.tries = 0);
    }

    /// Somebody answers again: whatever else it does not answer soon goes to it once more. It has time for what lies
    /// in its stream.
    pub fn answered(&mut self, by: Subject, now: Millis) {
        if !self.silent.remove(&by) {
            return;
        }
        self.away.answered(by, now);
        let waiting = self.entries.values_mut();
        for kept in waiting.filter(|kept| kept.to == Some(by)) {
            kept.tries = 0;
            kept.sent = kept.sent.max(Some(now));
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

    /// Its next holder has it, or it is ours after all.
    pub fn forget(&mut self, number: u64) -> Option<Cargo> {
        self.entries.remove(&number).map(|kept| kept.cargo)
    }

    /// As [`Outbox::forget`], because somebody has it, who is there then. Of what is not in memory there is nothing to
    /// tell.
    pub fn receipted(&mut self, number: u64, now: Millis) -> Option<Option<Cargo>> {
        let (by, cargo) = match self.entries.remove(&number) {
            Some(kept) => (kept.to, Some(kept.cargo)),
            None => (Some(self.away.take(number)?.0), None),
        };
        if let Some(by) = by {
            self.answered(by, now);
        }
        Some(cargo)
    }

    /// Keeps no more than the number of a URL that was sent again and is on disk, if more than `most` are in memory.
    pub fn put_away(&mut self, number: u64, most: usize) {
        if self.entries.len() <= most || self.gathering.is_some() {
            return;
        }
        let Some(Kept {
            cargo: Cargo::Url(_),
            sent: Some(sent),
            to: Some(to),
            tries: tries @ 2..,
        }) = self.entries.get(&number)
        else {
            return;
        };
        self.away.put(number, *to, *sent, *tries);
        self.entries.remove(&number);
    }

    /// It was read from disk again; whether it is still in custody.
    pub fn recalled(&mut self, number: u64, cargo: Cargo) -> bool {
        let Some((to, sent, tries)) = self.away.take(number) else {
            return false;
        };
        let kept = Kept {
            cargo,
            sent: Some(sent),
            to: Some(to),
            tries,
        };
        self.entries.insert(number, kept);
        true
    }

    /// What is to be read from disk and sent again.
    pub fn overdue_away(&mut self, now: Millis, patience: Millis) -> Vec<u64> {
        self.away.overdue(now, patience)
    }

    /// All that is not in memory.
    pub fn away(&self) -> Vec<u64> {
        self.away.numbers().collect()
    }

    /// Those without a receipt for so long since they were published, and twice as long after each time.
    pub fn overdue(&self, now: Millis, patience: Millis) -> impl Iterator<Item = u64> + '_ {
        let late = move |kept: &Kept| {
            let wait = kept.wait(patience);
            kept.sent.is_some_and(|sent| sent + wait < now)
        };
        (self.entries.iter())
            .filter(move |(_, kept)| late(kept))
            .map(|(number, _)| *number)
    }

    /// All numbers in custody.
    pub fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
        self.entries.keys().copied().chain(self.away.numbers())
    }

    /// Whether nothing is in custody.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How much is.
    pub fn len(&self) -> usize {
        self.entries.len() + self.away.len()
    }

    /// How much of it is in memory.
    pub fn in_memory(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::{GroupId, Member, RobotId};
    use crate::parcel::{Parcel, To};

    fn to(robot: u64) -> Subject {
        Subject {
            group: GroupId(1),
            to: To::Member(Member::Robot(RobotId(robot))),
        }
    }

    fn keep(outbox: &mut Outbox) -> u64 {
        let url = Parcel::new("a.example".into(), "http://a.example/".into());
        outbox.keep(Cargo::Url(url))
    }

    /// When it is sent again until then.
    fn again(outbox: &mut Outbox, number: u64, times: std::ops::Range<Millis>) -> Vec<Millis> {
        let mut sent = Vec::new();
        for now in times {
            if outbox.overdue(now, 20).any(|late| late == number) {
                sent.push(now);
                outbox.publishing(number, to(1), now);
            }
        }
        sent
    }

    #[test]
    fn whoever_is_away_is_sent_the_same_less_and_less_often() {
        let mut outbox = Outbox::default();
        let number = keep(&mut outbox);
        outbox.publishing(number, to(1), 0);
        let times = again(&mut outbox, number, 0..2_000);
        assert_eq!(times[..4], [21, 62, 143, 304]);
        // no later than after sixteen times as long
        let waits: Vec<Millis> = times.windows(2).map(|two| two[1] - two[0]).collect();
        assert_eq!(waits.iter().max(), Some(&321));
        // what could not be published is tried again soon, and does not count
        outbox.publishing(number, to(1), 2_000);
        outbox.sending(number, 2_000 - 16 * 20);
        assert!(outbox.overdue(2_001, 20).next().is_some());
        // by other plans others have it
        outbox.publishing(number, to(1), 3_000);
        outbox.hurry();
        assert!(outbox.overdue(3_021, 20).next().is_some());
    }

    #[test]
    fn whoever_answers_again_is_sent_the_rest_soon() {
        let mut outbox = Outbox::default();
        let [first, second, other] = [(); 3].map(|()| keep(&mut outbox));
        for (number, subject) in [(first, to(1)), (second, to(1)), (other, to(2))] {
            for at in [0, 21, 62, 143, 304] {
                outbox.publishing(number, subject, at);
            }
        }
        assert_eq!(outbox.overdue(600, 20).count(), 0);
        assert!(outbox.receipted(first, 500).is_some());
        // it has a moment for what lies in its stream
        assert_eq!(outbox.overdue(520, 20).count(), 0);
        assert_eq!(outbox.overdue(521, 20).collect::<Vec<_>>(), [second]);
        assert_eq!(outbox.overdue(626, 20).count(), 2);
    }

    #[test]
    fn of_what_waits_for_long_the_numbers_are_kept() {
        let mut outbox = Outbox::default();
        let numbers: Vec<u64> = (0..10).map(|_| keep(&mut outbox)).collect();
        for at in [0, 21] {
            for &number in &numbers {
                outbox.publishing(number, to(1), at);
                outbox.put_away(number, 4);
            }
        }
        assert_eq!((outbox.len(), outbox.in_memory()), (10, 4));
        // with the rest, and once
        assert!(outbox.overdue_away(61, 20).is_empty());
        let late = outbox.overdue_away(62, 20);
        assert_eq!(late, numbers[..6]);
        assert!(outbox.overdue_away(63, 20).is_empty());
        let url = || Cargo::Url(Parcel::new("a.example".into(), "http://a.example/".into()));
        assert!(
            outbox
                .receipted(late[0], 64)
                .is_some_and(|cargo| cargo.is_none())
        );
        assert!(!outbox.recalled(late[0], url()) && outbox.recalled(late[1], url()));
        assert_eq!((outbox.len(), outbox.in_memory()), (9, 5));
        assert!(
            outbox
                .receipted(late[1], 65)
                .is_some_and(|cargo| cargo.is_some())
        );
        assert_eq!(outbox.numbers().count(), 8);
    }
}
