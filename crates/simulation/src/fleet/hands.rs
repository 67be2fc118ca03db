//! Messages in the hands of readers. The engine lets none hold more than so many: whoever neither acknowledges nor
//! returns what it was given hears nothing any more.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use fleet::identity::Millis;
use fleet::io::Delivery;
use fleet::parcel::{Message, Subject};

use super::engine::Engine;

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
    given: u64,
}

impl Hands {
    /// Takes from a queue what waits there and these have room for; it waits no longer until the given time.
    pub fn take(
        &mut self,
        engine: &mut Engine,
        readers: &[Reader],
        subject: Subject,
        (now, until): (Millis, Millis),
    ) -> Vec<(u64, Arc<Message>)> {
        let room = readers.iter().map(|reader| self.room(*reader, subject));
        let room: usize = room.sum();
        let mut taken = Vec::new();
        for queued in engine.ready(subject, now) {
            if taken.len() == room {
                self.starved.insert(subject);
                break;
            }
            queued.out_until = until;
            taken.push((queued.id, Arc::clone(&queued.message)));
        }
        taken
    }

    fn room(&self, reader: Reader, subject: Subject) -> usize {
        MOST - self.full.get(&(reader, subject)).copied().unwrap_or(0)
    }

    /// Gives a message to the `wanted` reader, or to another if that one has no room: says to which process.
    pub fn give(
        &mut self,
        message: u64,
        readers: &[Reader],
        wanted: usize,
        subject: Subject,
    ) -> Option<(Delivery, usize)> {
        let mut candidates = std::iter::once(readers[wanted]).chain(readers.iter().copied());
        let by = candidates.find(|reader| self.room(*reader, subject) > 0)?;
        self.given += 1;
        let delivery = Delivery(self.given);
        *self.full.entry((by, subject)).or_default() += 1;
        let held = Held {
            by,
            subject,
            message,
            let_go: false,
        };
        self.held.insert(delivery, held);
        Some((delivery, by.0))
    }

    /// Its reader holds it no longer, whether the engine hears of that or not.
    pub fn let_go(&mut self, delivery: Delivery) {
        if let Some(held) = self.held.get_mut(&delivery).filter(|held| !held.let_go) {
            held.let_go = true;
            *(self.full.get_mut(&(held.by, held.subject))).expect("it was counted") -= 1;
        }
    }

    /// The engine hears that a message is dealt with: says of which queue.
    pub fn acknowledged(&mut self, engine: &mut Engine, delivery: Delivery) -> Option<Subject> {
        let held = self.held.remove(&delivery)?;
        engine.acknowledge(held.subject, held.message);
        Some(held.subject)
    }

    /// The engine hears that a message is to come again from this time on: says of which queue.
    pub fn returned(
        &mut self,
        engine: &mut Engine,
        delivery: Delivery,
        from: Millis,
    ) -> Option<Subject> {
        let held = self.held.remove(&delivery)?;
        engine.put_back(held.subject, held.message, from);
        Some(held.subject)
    }

    /// Whether more of it waits for the room that there is now.
    pub fn was_starved(&mut self, subject: Subject) -> bool {
        self.starved.remove(&subject)
    }
}
