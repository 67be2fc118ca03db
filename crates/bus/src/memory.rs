//! A model of the engine in memory, for robots of one process. It passes the same conformance
//! suite as the real one, and everything goes through the same bytes.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fleet::identity::{GroupId, RobotId, Session, Text};
use fleet::io::{Outcome, Tail};
use fleet::key::{Key, Value};
use fleet::parcel::{Message, Subject};
use fleet::wire::{decode, encode, limits};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout};

use crate::chunk::{Chunk, Joiner};
use crate::delivery::{Arrival, Delivered, LONGEST, Verdict, away};
use crate::layout::Layout;
use crate::names::Names;
use crate::tally::Tally;
use crate::{Bus, BusError, DeadLetter, Entry, PIECE, QUESTION, Question, Reading, Replayed};

/// The engine. Clones share it.
#[derive(Clone, Debug)]
pub struct Memory {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    names: Names,
    layout: Layout,
    state: Mutex<State>,
    published: Notify,
    tally: Tally,
}

#[derive(Debug, Default)]
struct State {
    sequence: u64,
    cells: BTreeMap<Key, (u64, Vec<u8>)>,
    watchers: Vec<(GroupId, mpsc::Sender<Reading>)>,
    queues: BTreeMap<Subject, VecDeque<Queued>>,
    logs: BTreeMap<Session, Vec<Vec<u8>>>,
    objects: HashMap<String, Arc<[u8]>>,
    asked: BTreeMap<RobotId, mpsc::Sender<Question>>,
    dead: VecDeque<DeadLetter>,
}

#[derive(Debug)]
struct Queued {
    id: u64,
    bytes: Vec<u8>,
    times: u64,
    /// Delivered, and not to be delivered again before this.
    until: Option<Instant>,
}

impl State {
    fn next(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    fn tail(&self, session: Session) -> Tail {
        let last = self.logs.get(&session).and_then(|log| log.last());
        let chunk = last.and_then(|bytes| decode::<Chunk>(bytes).ok());
        Tail {
            entries: Some(chunk.as_ref().map_or(0, |chunk| chunk.complete)),
            sealed: chunk.is_some_and(|chunk| chunk.sealed),
        }
    }
}

impl Memory {
    /// An empty engine.
    pub fn new(names: Names, layout: Layout) -> Self {
        Self {
            shared: Arc::new(Shared {
                names,
                layout,
                state: Mutex::default(),
                published: Notify::new(),
                tally: Tally::default(),
            }),
        }
    }

    /// Puts bytes into a queue as they are: for tests of what is none of ours.
    pub fn publish_bytes(&self, subject: Subject, bytes: Vec<u8>) -> Outcome {
        let layout = &self.shared.layout;
        let mut state = self.state();
        let stream = state
            .queues
            .iter()
            .filter(|(s, _)| s.group == subject.group);
        let held: usize = stream
            .flat_map(|(_, queue)| queue)
            .map(|q| q.bytes.len())
            .sum();
        let waiting = state.queues.get(&subject).map_or(0, VecDeque::len);
        if waiting as u64 >= layout.waiting || (held + bytes.len()) as u64 > layout.queue_bytes {
            self.shared.tally.full.one();
            return Outcome::Refused;
        }
        let id = state.next();
        state.queues.entry(subject).or_default().push_back(Queued {
            id,
            bytes,
            times: 0,
            until: None,
        });
        drop(state);
        self.shared.published.notify_waiters();
        Outcome::Done(id)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        (self.shared.state.lock()).unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next message of a queue that nobody holds.
    fn take(&self, subject: Subject) -> Option<(u64, u64, Vec<u8>)> {
        let now = Instant::now();
        let mut state = self.state();
        let mut queue = state.queues.get_mut(&subject)?.iter_mut();
        let queued = queue.find(|queued| queued.until.is_none_or(|until| until <= now))?;
        queued.times += 1;
        queued.until = Some(now + self.shared.layout.ack_wait);
        Some((queued.id, queued.times, queued.bytes.clone()))
    }

    /// What a reader holds does not come again, unless it was held too long.
    fn work(&self, subject: Subject, held: &mut BTreeMap<u64, (Instant, u64)>) {
        let longest = self.shared.layout.ack_wait * LONGEST;
        held.retain(|_, (since, _)| since.elapsed() < longest);
        let until = Instant::now() + self.shared.layout.ack_wait;
        let mut state = self.state();
        for queued in state.queues.entry(subject).or_default() {
            if held.contains_key(&queued.id) {
                queued.until = Some(until);
            }
        }
    }

    /// It comes again, after a while.
    fn put_back(&self, subject: Subject, id: u64, times: u64) {
        let until = Instant::now() + away(times, self.shared.layout.ack_wait);
        let mut state = self.state();
        let queue = state.queues.entry(subject).or_default();
        if let Some(queued) = queue.iter_mut().find(|queued| queued.id == id) {
            queued.until = Some(until);
        }
    }

    fn forget(&self, subject: Subject, id: u64) -> Option<Vec<u8>> {
        let mut state = self.state();
        let queue = state.queues.get_mut(&subject)?;
        let at = queue.iter().position(|queued| queued.id == id)?;
        queue.remove(at).map(|queued| queued.bytes)
    }

    fn give_up(&self, subject: Subject, id: u64, reason: String) {
        if let Some(bytes) = self.forget(subject, id) {
            self.keep_dead(subject, reason, bytes);
        }
    }

    fn keep_dead(&self, subject: Subject, reason: String, bytes: Vec<u8>) {
        let at = SystemTime::now().duration_since(UNIX_EPOCH);
        let letter = DeadLetter {
            at: at.map_or(0, |at| at.as_secs().cast_signed()),
            subject: self.shared.names.dead_of(subject),
            reason,
            bytes,
        };
        let mut state = self.state();
        state.dead.push_front(letter);
        let mut held = 0;
        let most = self.shared.layout.dead_bytes;
        let fits = |letter: &&DeadLetter| {
            held += letter.bytes.len() as u64;
            held <= most
        };
        let kept = state.dead.iter().take_while(fits).count();
        state.dead.truncate(kept);
    }

    async fn deliver(self, subject: Subject, arrivals: mpsc::UnboundedSender<Arrival>) {
        let layout = self.shared.layout.clone();
        let (to, mut verdicts) = mpsc::unbounded_channel();
        let mut held = BTreeMap::new();
        loop {
            self.work(subject, &mut held);
            let published = self.shared.published.notified();
            while (held.len() as u64) < layout.in_flight
                && let Some((id, times, bytes)) = self.take(subject)
            {
                let arrival = match limits::message(&bytes) {
                    _ if times > layout.deliveries => {
                        let reason = format!("delivered {} times and never finished", times - 1);
                        self.give_up(subject, id, reason);
                        self.shared.tally.given_up.one();
                        Arrival::GivenUp
                    }
                    Ok(message) => {
                        held.insert(id, (Instant::now(), times));
                        Arrival::Message(Delivered::new(message, times, id, to.clone()))
                    }
                    Err(error) => {
                        self.give_up(subject, id, error.to_string());
                        self.shared.tally.unreadable.one();
                        Arrival::Unreadable(error)
                    }
                };
                if arrivals.send(arrival).is_err() {
                    return;
                }
            }
            tokio::select! {
                () = arrivals.closed() => return,
                () = published => {}
                () = sleep(Duration::from_millis(20).min(layout.ack_wait)) => {}
                Some(verdict) = verdicts.recv() => {
                    match verdict {
                        Verdict::Done(id) => {
                            held.remove(&id);
                            self.forget(subject, id);
                        }
                        Verdict::Dropped(id) => {
                            if let Some((_, times)) = held.remove(&id) {
                                self.put_back(subject, id, times);
                            }
                        }
                    }
                }
            }
        }
    }
}

impl Bus for Memory {
    async fn swap(&self, key: Key, revision: u64, value: &Value) -> Outcome {
        let bytes = encode(value);
        if bytes.len() > limits::VALUE {
            self.shared.tally.oversized.one();
            return Outcome::Refused;
        }
        let mut state = self.state();
        if state.cells.get(&key).map_or(0, |cell| cell.0) != revision {
            return Outcome::Refused;
        }
        let revision = state.next();
        let reading = Reading {
            key,
            revision,
            value: limits::value(key, &bytes),
        };
        state.cells.insert(key, (revision, bytes));
        state.watchers.retain(|(_, watcher)| !watcher.is_closed());
        for (_, watcher) in state
            .watchers
            .iter()
            .filter(|(group, _)| *group == key.group)
        {
            if watcher.try_send(reading.clone()).is_err() {
                self.shared.tally.missed.one();
            }
        }
        Outcome::Done(revision)
    }

    async fn poll(&self, group: GroupId) -> Result<Vec<Reading>, BusError> {
        let state = self.state();
        let cells = state.cells.iter().filter(|(key, _)| key.group == group);
        let readings = cells.map(|(key, (revision, bytes))| Reading {
            key: *key,
            revision: *revision,
            value: limits::value(*key, bytes),
        });
        Ok(readings.collect())
    }

    async fn watch(&self, group: GroupId) -> Result<mpsc::Receiver<Reading>, BusError> {
        let (sender, receiver) = mpsc::channel(256);
        self.state().watchers.push((group, sender));
        Ok(receiver)
    }

    async fn publish(&self, subject: Subject, message: &Message) -> Outcome {
        let bytes = encode(message);
        if bytes.len() > limits::MESSAGE {
            self.shared.tally.oversized.one();
            return Outcome::Refused;
        }
        self.publish_bytes(subject, bytes)
    }

    async fn consume(
        &self,
        subject: Subject,
    ) -> Result<mpsc::UnboundedReceiver<Arrival>, BusError> {
        let (sender, receiver) = mpsc::unbounded_channel();
        tokio::spawn(self.clone().deliver(subject, sender));
        Ok(receiver)
    }

    async fn append(&self, session: Session, expected: u64, entries: &[Entry]) -> Tail {
        let mut state = self.state();
        let tail = state.tail(session);
        if tail.sealed || tail.entries != Some(expected) {
            return tail;
        }
        let chunks = Chunk::cut(expected, entries);
        let log = state.logs.entry(session).or_default();
        log.extend(chunks.iter().map(encode));
        state.tail(session)
    }

    async fn tail(&self, session: Session) -> Tail {
        self.state().tail(session)
    }

    async fn seal(&self, session: Session) -> Outcome {
        let mut state = self.state();
        let tail = state.tail(session);
        if !tail.sealed {
            let seal = encode(&Chunk::seal(tail.entries.unwrap_or(0)));
            state.logs.entry(session).or_default().push(seal);
        }
        Outcome::Done(0)
    }

    async fn replay(&self, session: Session) -> Option<Replayed> {
        let state = self.state();
        let mut joiner = Joiner::default();
        for bytes in state.logs.get(&session)? {
            joiner.push(&decode(bytes).ok()?).ok()?;
        }
        joiner.sealed()
    }

    async fn purge(&self, session: Session, upto: u64) -> Outcome {
        let mut state = self.state();
        let log = state.logs.entry(session).or_default();
        let mut keep = 0;
        for (at, bytes) in log.iter().enumerate().take(log.len().saturating_sub(1)) {
            match decode::<Chunk>(bytes) {
                Ok(chunk) if chunk.complete <= upto => {
                    if chunk.finishes() {
                        keep = at + 1;
                    }
                }
                _ => break,
            }
        }
        log.drain(..keep);
        Outcome::Done(keep as u64)
    }

    async fn put(&self, name: &str, bytes: Arc<[u8]>) -> Outcome {
        if bytes.len() > PIECE {
            self.shared.tally.oversized.one();
            return Outcome::Refused;
        }
        self.state().objects.insert(name.to_owned(), bytes);
        Outcome::Done(0)
    }

    async fn get(&self, name: &str) -> Option<Arc<[u8]>> {
        self.state().objects.get(name).cloned()
    }

    async fn remove(&self, name: &str) -> Outcome {
        match self.state().objects.remove(name) {
            Some(_) => Outcome::Done(0),
            None => Outcome::Unknown,
        }
    }

    async fn sweep(&self, session: Session, needed: &[Text]) -> Outcome {
        let needed: HashSet<&str> = needed.iter().map(|name| &**name).collect();
        let mut state = self.state();
        (state.objects).retain(|name, _| !session.stored(name) || needed.contains(&**name));
        Outcome::Done(0)
    }

    async fn ask(&self, robot: RobotId, question: &[u8]) -> Option<Vec<u8>> {
        let asked = self.state().asked.get(&robot).cloned()?;
        if question.len() > QUESTION {
            self.shared.tally.oversized.one();
            return None;
        }
        let (answer, answered) = oneshot::channel();
        let bytes = question.to_vec();
        asked.try_send(Question { bytes, answer }).ok()?;
        timeout(self.shared.layout.attempt, answered)
            .await
            .ok()?
            .ok()
    }

    async fn questions(&self, robot: RobotId) -> Result<mpsc::Receiver<Question>, BusError> {
        let (sender, receiver) = mpsc::channel(64);
        self.state().asked.insert(robot, sender);
        Ok(receiver)
    }

    async fn bury(&self, subject: Subject, reason: &str, bytes: Vec<u8>) -> Outcome {
        self.keep_dead(subject, reason.to_owned(), bytes);
        Outcome::Done(0)
    }

    async fn dead_letters(&self, most: usize) -> Result<(u64, Vec<DeadLetter>), BusError> {
        let state = self.state();
        let letters = state.dead.iter().take(most).cloned().collect();
        Ok((state.dead.len() as u64, letters))
    }

    fn tally(&self) -> &Tally {
        &self.shared.tally
    }
}
