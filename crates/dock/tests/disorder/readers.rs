//! Readers that keep no order, on a real bus.

use bus::nats::Nats;
use bus::tally::Tally;
use bus::{Arrival, Bus, BusError, DeadLetter, Delivered, Entry, Question, Reading, Replayed};
use fleet::identity::{GroupId, RobotId, Session, Text};
use fleet::io::{Outcome, Tail};
use fleet::key::{Key, Value};
use fleet::parcel::{Message, Subject};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

/// Messages that are shuffled: as many as are under way to one receiver.
const SHUFFLED: usize = 8;
/// A reader dies after so many. It dies with what the robot still holds, which then comes again to the next one: if
/// all died so soon, nothing would ever be finished.
const LIFE: u64 = 12;
/// So many readers do.
const DEATHS: u64 = 8;

/// What became of messages.
#[derive(Debug, Default)]
pub struct Told {
    pub dropped: AtomicU64,
    pub killed: AtomicU64,
    /// By the server's count.
    pub again: AtomicU64,
    /// Passed on after one that the sender numbered later.
    pub late: AtomicU64,
}

/// The bus, with readers that keep no order.
#[derive(Clone)]
pub struct Disorderly {
    bus: Nats,
    told: Arc<Told>,
}

impl Disorderly {
    pub fn new(bus: Nats, told: Arc<Told>) -> Self {
        Self { bus, told }
    }
}

/// Numbers that look random, the same in every run.
fn shuffle_key(seed: u64, at: u64) -> u64 {
    let mixed = (seed ^ at.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 16
}

fn first_number(message: &Message) -> Option<u64> {
    match message {
        Message::Batch(batch) => batch.entries.first().map(|(number, _)| *number),
        Message::Receipt(_) => None,
    }
}

/// Passes on what it reads, until it dies with whatever the robot still holds.
async fn read(
    mut from: UnboundedReceiver<Arrival>,
    to: UnboundedSender<Arrival>,
    told: Arc<Told>,
    seed: u64,
) {
    let (mut read, mut last) = (0, 0);
    while read < LIFE || told.killed.load(Ordering::Relaxed) >= DEATHS {
        let Some(first) = from.recv().await else {
            return;
        };
        let mut some = vec![first];
        let more = async {
            while some.len() < SHUFFLED
                && let Some(arrival) = from.recv().await
            {
                some.push(arrival);
            }
        };
        // what is alone is not kept for company
        let _ = timeout(Duration::from_millis(50), more).await;
        let mut keyed: Vec<(u64, Arrival)> = Vec::new();
        for arrival in some {
            read += 1;
            keyed.push((shuffle_key(seed, read), arrival));
        }
        keyed.sort_by_key(|(key, _)| *key);
        for (key, arrival) in keyed {
            if let Arrival::Message(Delivered { message, times, .. }) = &arrival {
                told.again
                    .fetch_add(u64::from(*times > 1), Ordering::Relaxed);
                if *times == 1 && key % 4 == 0 {
                    told.dropped.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
                if let Some(number) = first_number(message) {
                    told.late
                        .fetch_add(u64::from(number < last), Ordering::Relaxed);
                    last = last.max(number);
                }
            }
            if to.send(arrival).is_err() {
                return;
            }
        }
    }
    told.killed.fetch_add(1, Ordering::Relaxed);
}

impl Bus for Disorderly {
    async fn consume(&self, subject: Subject) -> Result<UnboundedReceiver<Arrival>, BusError> {
        let from = self.bus.consume(subject).await?;
        let (to, arrivals) = unbounded_channel();
        let killed = self.told.killed.load(Ordering::Relaxed);
        tokio::spawn(read(from, to, self.told.clone(), killed));
        Ok(arrivals)
    }

    async fn swap(&self, key: Key, revision: u64, value: &Value) -> Outcome {
        self.bus.swap(key, revision, value).await
    }
    async fn poll(&self, group: GroupId) -> Result<Vec<Reading>, BusError> {
        self.bus.poll(group).await
    }
    async fn watch(&self, group: GroupId) -> Result<Receiver<Reading>, BusError> {
        self.bus.watch(group).await
    }
    async fn publish(&self, subject: Subject, message: &Message) -> Outcome {
        self.bus.publish(subject, message).await
    }
    async fn append(&self, session: Session, expected: u64, entries: &[Entry]) -> Tail {
        self.bus.append(session, expected, entries).await
    }
    async fn tail(&self, session: Session) -> Tail {
        self.bus.tail(session).await
    }
    async fn seal(&self, session: Session) -> Outcome {
        self.bus.seal(session).await
    }
    async fn replay(&self, session: Session) -> Option<Replayed> {
        self.bus.replay(session).await
    }
    async fn purge(&self, session: Session, upto: u64) -> Outcome {
        self.bus.purge(session, upto).await
    }
    async fn put(&self, name: &str, bytes: Arc<[u8]>) -> Outcome {
        self.bus.put(name, bytes).await
    }
    async fn get(&self, name: &str) -> Option<Arc<[u8]>> {
        self.bus.get(name).await
    }
    async fn remove(&self, name: &str) -> Outcome {
        self.bus.remove(name).await
    }
    async fn sweep(&self, session: Session, needed: &[Text]) -> Outcome {
        self.bus.sweep(session, needed).await
    }
    async fn ask(&self, robot: RobotId, question: &[u8]) -> Option<Vec<u8>> {
        self.bus.ask(robot, question).await
    }
    async fn questions(&self, robot: RobotId) -> Result<Receiver<Question>, BusError> {
        self.bus.questions(robot).await
    }
    async fn bury(&self, subject: Subject, reason: &str, bytes: Vec<u8>) -> Outcome {
        self.bus.bury(subject, reason, bytes).await
    }
    async fn dead_letters(&self, most: usize) -> Result<(u64, Vec<DeadLetter>), BusError> {
        self.bus.dead_letters(most).await
    }
    fn tally(&self) -> &Tally {
        self.bus.tally()
    }
}
