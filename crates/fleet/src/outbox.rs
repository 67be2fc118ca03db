//! Custody: what is for others is kept until its next holder has it in its log (a receipt).

use std::collections::{BTreeMap, BTreeSet};

use crate::identity::{Millis, Text, Unit};
use crate::moves::Notice;
use crate::parcel::{Cargo, Subject};

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
            Cargo::Url(_) => patience << self.tries.saturating_sub(1).min(DOUBLED),
            Cargo::Moved(_) | Cargo::Seen(_) => patience,
        }
    }
}

/// What is for others.
#[derive(Clone, Debug, Default)]
pub struct Outbox {
    entries: BTreeMap<u64, Kept>,
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
            to: None,
            tries: 0,
        };
        self.entries.insert(number, kept);
    }

    /// An entry that is still in custody.
    pub fn get(&self, number: u64) -> Option<&Kept> {
        self.entries.get(&number)
    }

    /// It is published now.
    pub fn publishing(&mut self, number: u64, to: Subject, now: Millis) {
        if let Some(kept) = self.entries.get_mut(&number) {
            kept.sent = Some(now);
            kept.tries = kept.tries.saturating_add(1);
            kept.to = Some(to);
            if kept.tries > 1 {
                self.silent.insert(to);
            }
        }
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
        self.entries.values_mut().for_each(|kept| kept.tries = 0);
    }

    /// Somebody answers again: whatever else it does not answer soon goes to it once more. It has time for what lies
    /// in its stream.
    pub fn answered(&mut self, by: Subject, now: Millis) {
        if !self.silent.remove(&by) {
            return;
        }
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

    /// As [`Outbox::forget`], because somebody has it, who is there then.
    pub fn receipted(&mut self, number: u64, now: Millis) -> Option<Cargo> {
        let kept = self.entries.remove(&number)?;
        if let Some(by) = kept.to {
            self.answered(by, now);
        }
        Some(kept.cargo)
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
}
