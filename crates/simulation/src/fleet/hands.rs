//! Messages in the hands of readers. The engine lets none hold more than so many: whoever neither acknowledges nor
//! returns what it was given hears nothing any more.

use std::collections::{BTreeSet, HashMap};

use fleet::io::Delivery;
use fleet::parcel::Subject;

/// Most messages of a subject that a reader holds.
const MOST: usize = 16;

/// A process in one of its lives.
pub type Reader = (usize, u32);

#[derive(Clone, Copy, Debug)]
struct Held {
    by: Reader,
    subject: Subject,
    message: u64,
    let_go: bool,
}

#[derive(Debug, Default)]
pub struct Hands {
    held: HashMap<Delivery, Held>,
    full: HashMap<(Reader, Subject), usize>,
    /// Subjects of which more waits than there was room for.
    starved: BTreeSet<Subject>,
}

impl Hands {
    /// How much more of a subject these can hold.
    pub fn room(&self, readers: &[Reader], subject: Subject) -> usize {
        readers
            .iter()
            .map(|reader| self.room_of(*reader, subject))
            .sum()
    }

    fn room_of(&self, reader: Reader, subject: Subject) -> usize {
        MOST - self.full.get(&(reader, subject)).copied().unwrap_or(0)
    }

    /// The `wanted` reader, or another if that one has no room.
    pub fn choose(&self, readers: &[Reader], wanted: usize, subject: Subject) -> Option<Reader> {
        let others = readers.iter().copied();
        std::iter::once(readers[wanted])
            .chain(others)
            .find(|reader| self.room_of(*reader, subject) > 0)
    }

    pub fn give(&mut self, delivery: Delivery, by: Reader, subject: Subject, message: u64) {
        *self.full.entry((by, subject)).or_default() += 1;
        let held = Held {
            by,
            subject,
            message,
            let_go: false,
        };
        self.held.insert(delivery, held);
    }

    /// Its reader holds it no longer, whether the engine hears of that or not.
    pub fn let_go(&mut self, delivery: Delivery) {
        if let Some(held) = self.held.get_mut(&delivery).filter(|held| !held.let_go) {
            held.let_go = true;
            *(self.full.get_mut(&(held.by, held.subject))).expect("it was counted") -= 1;
        }
    }

    /// The engine hears of it: the subject and the number of the message.
    pub fn heard(&mut self, delivery: Delivery) -> Option<(Subject, u64)> {
        let held = self.held.remove(&delivery)?;
        Some((held.subject, held.message))
    }

    pub fn starves(&mut self, subject: Subject) {
        self.starved.insert(subject);
    }

    /// Whether more of it waits for the room that there is now.
    pub fn was_starved(&mut self, subject: Subject) -> bool {
        self.starved.remove(&subject)
    }
}
