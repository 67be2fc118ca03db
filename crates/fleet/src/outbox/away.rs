//! What is in custody for receivers who do not answer: of most of it the numbers alone are kept in memory. What it is
//! stands on disk, and is read again when it is to be sent again.

use std::collections::{BTreeMap, BTreeSet};

use super::wait;
use crate::identity::Millis;
use crate::parcel::Subject;

/// By receiver.
#[derive(Clone, Debug, Default)]
pub(super) struct Away(BTreeMap<Subject, Waiting>);

#[derive(Clone, Debug, Default)]
struct Waiting {
    numbers: BTreeSet<u64>,
    /// When the last of it was sent, or asked for.
    sent: Millis,
    tries: u8,
}

impl Away {
    pub(super) fn put(&mut self, number: u64, to: Subject, now: Millis, tries: u8) {
        let waiting = self.0.entry(to).or_default();
        waiting.numbers.insert(number);
        waiting.sent = waiting.sent.max(now);
        waiting.tries = waiting.tries.max(tries);
    }

    /// Whose it was, when it was sent last, and how often.
    pub(super) fn take(&mut self, number: u64) -> Option<(Subject, Millis, u8)> {
        let (&to, waiting) = (self.0.iter_mut()).find(|(_, w)| w.numbers.contains(&number))?;
        let (sent, tries) = (waiting.sent, waiting.tries);
        waiting.numbers.remove(&number);
        if waiting.numbers.is_empty() {
            self.0.remove(&to);
        }
        Some((to, sent, tries))
    }

    pub(super) fn len(&self) -> usize {
        self.0.values().map(|waiting| waiting.numbers.len()).sum()
    }

    pub(super) fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
        (self.0.values()).flat_map(|waiting| waiting.numbers.iter().copied())
    }

    pub(super) fn hurry(&mut self) {
        self.0.values_mut().for_each(|waiting| waiting.tries = 0);
    }

    pub(super) fn answered(&mut self, by: Subject, now: Millis) {
        if let Some(waiting) = self.0.get_mut(&by) {
            waiting.tries = 0;
            waiting.sent = waiting.sent.max(now);
        }
    }

    /// What is to be sent again; it counts as sent now.
    pub(super) fn overdue(&mut self, now: Millis, patience: Millis) -> Vec<u64> {
        let mut numbers = Vec::new();
        for waiting in self.0.values_mut() {
            if waiting.sent + wait(patience, waiting.tries) < now {
                waiting.sent = now;
                numbers.extend(&waiting.numbers);
            }
        }
        numbers
    }
}
