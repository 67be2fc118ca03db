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
}

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
        self.entries.insert(number, Kept { cargo, sent: None });
    }

    /// An entry that is still in custody.
    pub fn get(&self, number: u64) -> Option<&Kept> {
        self.entries.get(&number)
    }

    /// It is published now.
    pub fn sending(&mut self, number: u64, now: Millis) {
        if let Some(kept) = self.entries.get_mut(&number) {
            kept.sent = Some(now);
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

    /// Those published before `then` without a receipt since.
    pub fn overdue(&self, then: Millis) -> impl Iterator<Item = u64> + '_ {
        (self.entries.iter())
            .filter(move |(_, kept)| kept.sent.is_some_and(|sent| sent < then))
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
