//! The model of the messaging engine: keys with compare-and-set, work queues, logs, objects.
//! Answers, delays and losses are the world's business; here is what is true.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use fleet::identity::{GroupId, Millis, Session, Text};
use fleet::io::{Input, Outcome, Output, Tail};
use fleet::key::{Key, Value, What};
use fleet::parcel::{Message, Subject};
use fleet::record::Record;

/// A message in a queue.
#[derive(Clone, Debug)]
pub struct Queued {
    /// Its number.
    pub id: u64,
    /// Itself.
    pub message: Arc<Message>,
    /// Delivered, and not to be delivered again before this.
    pub out_until: Millis,
}

/// A key's present value, and the one before for those who read late.
#[derive(Clone, Debug)]
struct Cell {
    revision: u64,
    value: Value,
    written: Millis,
    before: Option<(u64, Value)>,
}

#[derive(Clone, Debug, Default)]
struct Log {
    entries: Vec<Arc<Vec<Record>>>,
    /// How many were cut off before them.
    cut: u64,
    sealed: bool,
}

/// What the engine holds.
#[derive(Clone, Debug, Default)]
pub struct Engine {
    cells: BTreeMap<Key, Cell>,
    queues: BTreeMap<Subject, VecDeque<Queued>>,
    logs: BTreeMap<Session, Log>,
    objects: HashMap<Text, Arc<[u8]>>,
    sequence: u64,
}

/// What a process takes for the answer when none comes.
pub fn unanswered(output: &Output) -> Option<Input> {
    Some(match output {
        Output::Swap { token, .. }
        | Output::Publish { token, .. }
        | Output::Put(token, ..)
        | Output::Seal(token, _) => Input::Outcome(*token, Outcome::Unknown),
        Output::Append { .. } | Output::Tail(_) => Input::Log(Tail {
            entries: None,
            sealed: false,
        }),
        Output::Replay(session) => Input::Records(*session, None),
        Output::Get(name) => Input::Object(name.clone(), None),
        _ => return None,
    })
}

impl Engine {
    /// Compare and set.
    pub fn swap(&mut self, now: Millis, key: Key, expected: u64, value: Value) -> Outcome {
        let present = self.cells.get(&key).map_or(0, |cell| cell.revision);
        if present != expected {
            return Outcome::Refused;
        }
        self.sequence += 1;
        let before = self
            .cells
            .remove(&key)
            .map(|cell| (cell.revision, cell.value));
        let cell = Cell {
            revision: self.sequence,
            value,
            written: now,
            before,
        };
        self.cells.insert(key, cell);
        Outcome::Done(self.sequence)
    }

    /// A key as it is.
    pub fn get(&self, key: &Key) -> Option<(u64, &Value)> {
        self.cells.get(key).map(|cell| (cell.revision, &cell.value))
    }

    /// All keys of a bucket, as they are or as they were before changes younger than `lag`.
    pub fn read(&self, now: Millis, group: GroupId, lag: Millis) -> Vec<(Key, u64, Value)> {
        let first = Key {
            group,
            what: What::Plan,
        };
        let cells = self.cells.range(first..);
        cells
            .take_while(|(key, _)| key.group == group)
            .filter_map(|(key, cell)| {
                if cell.written + lag > now {
                    let (revision, value) = cell.before.as_ref()?;
                    return Some((*key, *revision, value.clone()));
                }
                Some((*key, cell.revision, cell.value.clone()))
            })
            .collect()
    }

    /// Puts a message into a queue.
    pub fn publish(&mut self, subject: Subject, message: Arc<Message>) -> u64 {
        self.sequence += 1;
        let queued = Queued {
            id: self.sequence,
            message,
            out_until: 0,
        };
        self.queues.entry(subject).or_default().push_back(queued);
        self.sequence
    }

    /// The messages of a queue that may be delivered now.
    pub fn ready(&mut self, subject: Subject, now: Millis) -> impl Iterator<Item = &mut Queued> {
        let queue = self.queues.entry(subject).or_default();
        queue
            .iter_mut()
            .filter(move |queued| queued.out_until <= now)
    }

    /// The subjects with messages.
    pub fn waiting(&self) -> impl Iterator<Item = Subject> + '_ {
        (self.queues.iter())
            .filter(|(_, queue)| !queue.is_empty())
            .map(|(subject, _)| *subject)
    }

    /// How many messages wait for a subject.
    pub fn depth(&self, subject: Subject) -> usize {
        self.queues.get(&subject).map_or(0, VecDeque::len)
    }

    /// How many messages a group's stream holds.
    pub fn crowd(&self, group: GroupId) -> usize {
        let queues = self
            .queues
            .iter()
            .filter(|(subject, _)| subject.group == group);
        queues.map(|(_, queue)| queue.len()).sum()
    }

    /// A message is to be delivered again from this time on.
    pub fn put_back(&mut self, subject: Subject, id: u64, from: Millis) {
        let queue = self.queues.entry(subject).or_default();
        if let Some(queued) = queue.iter_mut().find(|queued| queued.id == id) {
            queued.out_until = from;
        }
    }

    /// A message is dealt with.
    pub fn acknowledge(&mut self, subject: Subject, id: u64) {
        if let Some(queue) = self.queues.get_mut(&subject) {
            queue.retain(|queued| queued.id != id);
        }
    }

    /// Appends if the log has the expected length and is not sealed.
    pub fn append(
        &mut self,
        session: Session,
        expected: u64,
        entries: &[Arc<Vec<Record>>],
    ) -> Tail {
        let log = self.logs.entry(session).or_default();
        if !log.sealed && log.cut + log.entries.len() as u64 == expected {
            log.entries.extend_from_slice(entries);
        }
        self.tail(session)
    }

    /// How long a log is.
    pub fn tail(&self, session: Session) -> Tail {
        let log = self.logs.get(&session);
        Tail {
            entries: Some(log.map_or(0, |log| log.cut + log.entries.len() as u64)),
            sealed: log.is_some_and(|log| log.sealed),
        }
    }

    /// Cuts off the entries before a number.
    pub fn purge(&mut self, session: Session, upto: u64) -> u64 {
        let Some(log) = self.logs.get_mut(&session) else {
            return 0;
        };
        let count = upto.saturating_sub(log.cut).min(log.entries.len() as u64);
        log.entries.drain(..count as usize);
        log.cut += count;
        count
    }

    /// Ends a log.
    pub fn seal(&mut self, session: Session) {
        self.logs.entry(session).or_default().sealed = true;
    }

    /// A sealed log; nothing if it is not sealed.
    pub fn replay(&self, session: Session) -> Option<Vec<Arc<Vec<Record>>>> {
        let log = self.logs.get(&session).filter(|log| log.sealed)?;
        Some(log.entries.clone())
    }

    /// Stores an object.
    pub fn put(&mut self, name: Text, bytes: Arc<[u8]>) {
        self.objects.insert(name, bytes);
    }

    /// Removes an object.
    pub fn remove(&mut self, name: &Text) {
        self.objects.remove(name);
    }

    /// Removes a session's objects but these.
    pub fn sweep(&mut self, session: Session, needed: &[Text]) {
        self.objects
            .retain(|name, _| !session.stored(name) || needed.contains(name));
    }

    /// The names of all objects.
    pub fn objects(&self) -> impl Iterator<Item = &Text> {
        self.objects.keys()
    }

    /// An object, if it is there.
    pub fn object(&self, name: &Text) -> Option<Arc<[u8]>> {
        self.objects.get(name).cloned()
    }

    /// What the logs say of something.
    pub fn search(&self, wanted: &dyn Fn(&Record) -> bool) -> Vec<String> {
        let mut lines = Vec::new();
        for (session, log) in &self.logs {
            for record in log.entries.iter().flat_map(|entry| entry.iter()) {
                if wanted(record) {
                    let sealed = if log.sealed { "sealed " } else { "" };
                    lines.push(format!("the {sealed}log of {session:?} has {record:?}"));
                }
            }
        }
        lines
    }
}
