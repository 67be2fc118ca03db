//! A lane: wishes that wait for each other.

use std::sync::mpsc::Sender;

use bus::Bus;
use fleet::identity::{GroupId, Session};
use fleet::io::{Input, Outcome, Output, Token};
use fleet::key::Key;
use fleet::parcel::Subject;
use futures_util::StreamExt;
use futures_util::stream::unfold;
use tokio::sync::mpsc::UnboundedReceiver;

/// Objects that are stored or fetched at the same time.
const OBJECTS: usize = 4;
/// Messages to one subject that are published and not yet acknowledged.
const AT_ONCE: usize = 8;

/// Which wishes wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Name {
    Key(Key),
    Bucket(GroupId),
    Subject(Subject),
    /// The robot's own log, or another's.
    Log(Session),
    Object(usize),
}

/// The same for the same object.
fn object_lane(name: &str) -> usize {
    name.bytes().map(usize::from).sum::<usize>() % OBJECTS
}

impl Name {
    /// The lane of a wish; none for what is not the bus's.
    pub fn of(wish: &Output) -> Option<Self> {
        Some(match wish {
            Output::Poll(group) => Self::Bucket(*group),
            Output::Swap { key, .. } => Self::Key(*key),
            Output::Publish { subject, .. } => Self::Subject(*subject),
            Output::Append { session, .. }
            | Output::Tail(session)
            | Output::Seal(_, session)
            | Output::Purge(session, _)
            | Output::Sweep(session, _)
            | Output::Replay(session) => Self::Log(*session),
            Output::Put(_, name, _) | Output::Get(name) | Output::Remove(name) => {
                Self::Object(object_lane(name))
            }
            Output::Acknowledge(_)
            | Output::Return(_)
            | Output::Write(..)
            | Output::Resolve(_)
            | Output::Survey(..)
            | Output::Recall(_)
            | Output::Open(..)
            | Output::Close(..)
            | Output::Forget(_)
            | Output::Reset
            | Output::Replaced => return None,
        })
    }
}

/// Answers `Unknown` if nobody else did.
struct Owed<'a>(&'a Sender<Input>, Option<Token>);

impl Owed<'_> {
    fn answer(mut self, outcome: Outcome) {
        if let Some(token) = self.1.take() {
            // whoever has ended hears nothing
            let _ = self.0.send(Input::Outcome(token, outcome));
        }
    }
}

impl Drop for Owed<'_> {
    fn drop(&mut self) {
        if let Some(token) = self.1.take() {
            let _ = self.0.send(Input::Outcome(token, Outcome::Unknown));
        }
    }
}

/// Publishes one after the other, and does not wait for the answer to one before the next is sent.
pub async fn send<B: Bus>(bus: B, wishes: UnboundedReceiver<Output>, teller: Sender<Input>) {
    let wishes = unfold(wishes, async |mut wishes| {
        Some((wishes.recv().await?, wishes))
    });
    wishes
        .map(|wish| perform(&bus, wish, &teller))
        .buffer_unordered(AT_ONCE)
        .for_each(async |()| {})
        .await;
}

/// Does what is wished for, one after the other.
pub async fn work<B: Bus>(bus: B, mut wishes: UnboundedReceiver<Output>, teller: Sender<Input>) {
    let mut next = None;
    loop {
        let wish = match next.take() {
            Some(wish) => Some(wish),
            None => wishes.recv().await,
        };
        let Some(wish) = wish else { return };
        if let Output::Poll(group) = wish {
            // all that were wished for so far are this one
            while let Ok(more) = wishes.try_recv() {
                if !matches!(more, Output::Poll(_)) {
                    next = Some(more);
                    break;
                }
            }
            poll(&bus, group, &teller).await;
        } else {
            perform(&bus, wish, &teller).await;
        }
    }
}

/// All keys; without an answer nothing is told, and the robot asks again.
async fn poll<B: Bus>(bus: &B, group: GroupId, teller: &Sender<Input>) {
    let readings = match bus.poll(group).await {
        Ok(readings) => readings,
        Err(error) => return tracing::debug!(%error, "not polled"),
    };
    for reading in readings {
        let _ = teller.send(read(reading));
    }
    let _ = teller.send(Input::Polled(group));
}

/// What was read under a key.
pub fn read(reading: bus::Reading) -> Input {
    match reading.value {
        Ok(value) => Input::Read {
            key: reading.key,
            revision: reading.revision,
            value,
        },
        Err(_) => Input::Unreadable(None),
    }
}

async fn perform<B: Bus>(bus: &B, wish: Output, teller: &Sender<Input>) {
    let owed = |token| Owed(teller, Some(token));
    let tell = |input| {
        let _ = teller.send(input);
    };
    match wish {
        Output::Swap {
            token,
            key,
            revision,
            value,
        } => {
            let owed = owed(token);
            owed.answer(bus.swap(key, revision, &value).await);
        }
        Output::Publish {
            token,
            subject,
            message,
        } => {
            let owed = owed(token);
            owed.answer(bus.publish(subject, &message).await);
        }
        Output::Append {
            session,
            expected,
            entries,
        } => tell(Input::Log(bus.append(session, expected, &entries).await)),
        Output::Tail(session) => tell(Input::Log(bus.tail(session).await)),
        Output::Seal(token, session) => {
            let owed = owed(token);
            owed.answer(bus.seal(session).await);
        }
        Output::Replay(session) => {
            let replayed = bus.replay(session).await;
            tell(Input::Records(session, replayed.map(|log| log.entries)));
        }
        // what is not done now is done with the next snapshot
        Output::Purge(session, upto) => drop(bus.purge(session, upto).await),
        Output::Put(token, name, bytes) => {
            let owed = owed(token);
            owed.answer(bus.put(&name, bytes).await);
        }
        // what stays takes room, and harms nobody
        Output::Remove(name) => drop(bus.remove(&name).await),
        Output::Sweep(session, needed) => drop(bus.sweep(session, &needed).await),
        Output::Get(name) => {
            let object = bus.get(&name).await;
            tell(Input::Object(name, object));
        }
        other => tracing::error!(?other, "not for a lane"),
    }
}
