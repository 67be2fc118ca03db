//! What the robot hears unasked: messages to its subjects, changes of its groups' keys.

use std::collections::HashMap;
use std::sync::mpsc::Sender;
use std::time::Duration;

use bus::{Arrival, Bus, Delivered};
use fleet::identity::GroupId;
use fleet::io::Input;
use fleet::parcel::Subject;
use robot::Sight;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::Held;
use crate::lane::read;

/// Before a reader that was refused, or ended, is begun again.
const PAUSE: Duration = Duration::from_secs(1);

/// Readers of subjects, and watches of groups.
pub struct Readers<B> {
    bus: B,
    runtime: Handle,
    teller: Sender<Input>,
    held: Held,
    subjects: HashMap<Subject, JoinHandle<()>>,
    groups: HashMap<GroupId, JoinHandle<()>>,
}

impl<B> Drop for Readers<B> {
    fn drop(&mut self) {
        let tasks = self.subjects.values().chain(self.groups.values());
        tasks.for_each(JoinHandle::abort);
    }
}

impl<B: Bus> Readers<B> {
    pub fn new(bus: B, runtime: Handle, (teller, held): (Sender<Input>, Held)) -> Self {
        Self {
            bus,
            runtime,
            teller,
            held,
            subjects: HashMap::new(),
            groups: HashMap::new(),
        }
    }

    /// Reads what the robot reads now, and nothing else.
    pub fn follow(&mut self, sight: &Sight) {
        let subjects = sight.subjects();
        let groups = sight.look(|seam| seam.protocol().above().collect::<Vec<_>>());
        let groups = groups.unwrap_or_default();
        self.subjects.retain(|subject, task| {
            let stays = subjects.contains(subject);
            if !stays {
                task.abort();
            }
            stays
        });
        self.groups.retain(|group, task| {
            let stays = groups.contains(group);
            if !stays {
                task.abort();
            }
            stays
        });
        for subject in subjects {
            let (bus, teller, held) = (&self.bus, &self.teller, &self.held);
            let runtime = &self.runtime;
            (self.subjects.entry(subject)).or_insert_with(|| {
                runtime.spawn(consume(bus.clone(), subject, teller.clone(), held.clone()))
            });
        }
        for group in groups {
            let (bus, teller) = (&self.bus, &self.teller);
            let runtime = &self.runtime;
            (self.groups.entry(group))
                .or_insert_with(|| runtime.spawn(watch(bus.clone(), group, teller.clone())));
        }
    }
}

async fn consume<B: Bus>(bus: B, subject: Subject, teller: Sender<Input>, held: Held) {
    loop {
        match bus.consume(subject).await {
            Ok(mut arrivals) => {
                while let Some(arrival) = arrivals.recv().await {
                    let input = match arrival {
                        Arrival::Message(Delivered { message, claim, .. }) => {
                            Input::Message(held.keep(claim), message)
                        }
                        // both are among the dead letters, and acknowledged
                        Arrival::Unreadable(_) | Arrival::GivenUp => Input::Unreadable(None),
                    };
                    let _ = teller.send(input);
                }
            }
            Err(error) => tracing::debug!(%error, "not read"),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn watch<B: Bus>(bus: B, group: GroupId, teller: Sender<Input>) {
    loop {
        match bus.watch(group).await {
            Ok(mut readings) => {
                while let Some(reading) = readings.recv().await {
                    let _ = teller.send(read(reading));
                }
            }
            Err(error) => tracing::debug!(%error, "not watched"),
        }
        tokio::time::sleep(PAUSE).await;
    }
}
